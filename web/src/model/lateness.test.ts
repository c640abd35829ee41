import { expect, test } from "vitest";
import { lateness } from "./lateness";
import { hour } from "./time";

test.each([
  ["MET", "2026-03-03T11:00:00Z", { word: "early by", by: hour, late: false }],
  ["BREACHED", "2026-03-03T13:00:00Z", { word: "late by", by: hour, late: true }],
  ["BREACHED", null, { word: "overdue by", by: 2 * hour, late: true }],
  ["ARMED", null, { word: "overdue by", by: 2 * hour, late: true }],
  ["CANCELLED", null, { word: "no longer applies", by: undefined, late: false }],
] as const)("a deadline that is %s, done at %s", (state, doneAt, want) => {
  expect(lateness({ state, doneAt, breachAt: "2026-03-03T12:00:00Z", warned: false }, Date.UTC(2026, 2, 3, 14))).toEqual(want);
});
