import { expect, test } from "vitest";
import { slot } from "./sample";
import { endOf, kindOf, promiseOf, sizeOf, startOf } from "./slot";
import { day, hour, minute } from "./time";

test.each([
  ["PENDING", "waiting"], ["TRIGGERING", "starting"], ["RUNNING", "running"], ["COMPLETED", "completed"], ["FAILED", "failed"],
  ["FAILED_FINAL", "final"], ["JOB_POLL_EXHAUSTED", "exhausted"], ["VALIDATION_EXHAUSTED", "exhausted"], ["CANCELLED", "cancelled"],
])("%s looks %s", (status, kind) => {
  expect(kindOf(slot("2026-03-03", { status }))).toBe(kind);
});

test("a period without a run looks as its schedule says", () => {
  expect(kindOf(slot("2026-03-03", { state: "missing" }))).toBe("missing");
  expect(kindOf(slot("2026-03-03", { state: "excluded" }))).toBe("excluded");
});

test.each([["2026-03-03", "day"], ["2026-03-03T10", "hour"], ["2026-11-01T01-05:00", "hour"], ["2026-03-03T10:15", "minute"]])("%s is a %s", (name, size) => {
  expect(sizeOf(name)).toBe(size);
});

test("a period ends after its length, or where the next begins", () => {
  const a = slot("2026-03-03");
  expect(endOf(a) - startOf(a)).toBe(day);
  expect(endOf(slot("2026-03-03T10:15")) - startOf(slot("2026-03-03T10:15"))).toBe(minute);
  const short = slot("2026-03-29", { startsAt: "2026-03-28T23:00:00Z" });
  expect(endOf(short, slot("2026-03-30", { startsAt: "2026-03-29T22:00:00Z" })) - startOf(short)).toBe(23 * hour);
});

const due = { warnAt: "2026-03-03T11:00:00Z", breachAt: "2026-03-03T12:00:00Z" };
const at = (h: number) => Date.UTC(2026, 2, 3, h);

test.each([
  ["is armed before its warning", { ...due, status: "PENDING" }, 10, "armed"],
  ["is near after it", { ...due, status: "RUNNING" }, 11, "warned"],
  ["is breached at its instant", { ...due, status: "RUNNING" }, 12, "breached"],
  ["is breached where there is no run at all", { ...due, state: "missing" as const }, 13, "breached"],
  ["is met for good by a run in time", { ...due, status: "COMPLETED", endedAt: "2026-03-03T11:59:00Z" }, 15, "met"],
  ["stays breached by a run that came late", { ...due, status: "COMPLETED", endedAt: "2026-03-03T12:01:00Z" }, 15, "breached"],
  ["does not count for an excluded period", { ...due, state: "excluded" as const }, 15, undefined],
  ["does not count for a cancelled run", { ...due, status: "CANCELLED" }, 15, undefined],
  ["is breached where that was announced", { status: "COMPLETED", overdue: true }, 15, "breached"],
  ["is none where there is none", { status: "PENDING" }, 15, undefined],
])("a deadline %s", (_, over, hour, want) => {
  expect(promiseOf(slot("2026-03-03", over), at(hour))).toBe(want);
});
