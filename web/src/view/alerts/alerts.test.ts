import { expect, test } from "vitest";
import { takes } from "./alerts";
import { said } from "./said";

const route = { types: [] as string[], severity: null, pipelines: [] as string[], owners: [] as string[], tags: {} };

test("a route says what it takes", () => {
  expect(takes(route)).toBe("every event");
  expect(takes({ ...route, severity: "warning", pipelines: ["silver-*"], tags: { layer: "gold" } })).toBe("warning and above of silver-* tagged layer=gold");
  expect(takes({ ...route, types: ["SLA_BREACH"], owners: ["data"] })).toBe("SLA_BREACH owned by data");
});

test("what a sink refuses is an error with its words", () => {
  expect(said([{ sink: "slack", sent: true, error: null }], "Sent to")).toBe("Sent to slack.");
  expect(() => said([{ sink: "slack", sent: false, error: "channel_not_found" }], "Sent to")).toThrow("slack: channel_not_found");
});

test("a sink is named once, with the number of alerts", () => {
  const many = (n: number, over: object) => Array.from({ length: n }, () => ({ sink: "ops", sent: true, error: null, ...over }));
  expect(said(many(109, {}), "Accepted by")).toBe("Accepted by ops (109).");
  expect(() => said(many(3, { sent: false, error: "status 400" }), "Accepted by")).toThrow("ops: status 400 (3)");
});
