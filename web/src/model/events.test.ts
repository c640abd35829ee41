import { expect, test } from "vitest";
import type { Event } from "../api/live";
import { type Filter, filterQuery, merge, wants } from "./events";

const event = (id: string, severity: Event["detail"]["severity"]): Event => ({
  id, source: "interlock", "detail-type": "JOB_FAILED", time: "2026-03-03T10:00:00Z", silencedBy: null,
  detail: { pipelineId: "a", scheduleId: "", date: "", message: "", timestamp: "2026-03-03T10:00:00Z", severity },
});

test("an event that came live and was read as well is shown once", () => {
  const got = merge([event("3", "info"), event("2", "critical")], [event("2", "critical"), event("1", "warning")]);
  expect(got.map((e) => e.id)).toEqual(["3", "2", "1"]);
});

const all: Filter = { type: "", pipeline: "", q: "", severity: "", from: "", to: "" };
const noon = Date.parse("2026-03-03T12:00:00Z");

test("a new event is added if it matches every filter", () => {
  const e = event("1", "info"); // at ten
  expect(wants(all, e, noon)).toBe(true);
  expect(wants({ ...all, q: "job_f", pipeline: "a" }, e, noon)).toBe(true);
  expect(wants({ ...all, q: "other" }, e, noon)).toBe(false);
  expect([wants({ ...all, from: "1h" }, e, noon), wants({ ...all, from: "24h" }, e, noon)]).toEqual([false, true]);
  expect([wants({ ...all, severity: "info" }, e, noon), wants({ ...all, severity: "warning" }, e, noon)]).toEqual([true, false]);
  expect(wants({ ...all, to: "2026-03-03T10:00:00Z" }, e, noon)).toBe(false);
});

test("filters go to the server, and empty ones do not", () => {
  expect(filterQuery({ ...all, type: "JOB_FAILED", from: "1h" }).toString()).toBe("limit=200&type=JOB_FAILED&from=1h");
});
