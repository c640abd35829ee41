import { expect, test } from "vitest";
import type { Event } from "../api/live";
import { merge } from "./events";

const event = (id: string, severity: Event["detail"]["severity"]): Event => ({
  id, source: "interlock", "detail-type": "JOB_FAILED", time: "2026-03-03T10:00:00Z", silencedBy: null,
  detail: { pipelineId: "a", scheduleId: "", date: "", message: "", timestamp: "2026-03-03T10:00:00Z", severity },
});

test("an event that came live and was read as well is shown once", () => {
  const got = merge([event("3", "info"), event("2", "critical")], [event("2", "critical"), event("1", "warning")], "info");
  expect(got.map((e) => e.id)).toEqual(["3", "2", "1"]);
  expect(merge(got, [], "warning").map((e) => e.id)).toEqual(["2", "1"]);
});
