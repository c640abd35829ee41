import { expect, test } from "vitest";
import { slot } from "./sample";
import { endOf, kindOf, kindOfRun, promiseOf, sizeOf, startOf } from "./slot";
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

test.each([["2026-03-03", "day"], ["2026-03-03T10", "hour"], ["2026-11-01T01-05:00", "hour"], ["2026-03-03T10:15", "minute"], ["2026-W10", "week"], ["2026-03", "month"]])("%s is a %s", (name, size) => {
  expect(sizeOf(name)).toBe(size);
});

test("a period ends after its length, or where the next begins", () => {
  const a = slot("2026-03-03");
  expect(endOf(a) - startOf(a)).toBe(day);
  expect(endOf(slot("2026-03-03T10:15")) - startOf(slot("2026-03-03T10:15"))).toBe(minute);
  const week = slot("2026-W10", { startsAt: "2026-03-02T00:00:00Z" });
  expect(endOf(week) - startOf(week)).toBe(7 * day);
  const month = slot("2028-02", { startsAt: "2028-02-01T00:00:00Z" });
  expect(endOf(month) - startOf(month)).toBe(29 * day);
  const short = slot("2026-03-29", { startsAt: "2026-03-28T23:00:00Z" });
  expect(endOf(short, slot("2026-03-30", { startsAt: "2026-03-29T22:00:00Z" })) - startOf(short)).toBe(23 * hour);
});

test.each([["ARMED", "armed"], ["WARNED", "warned"], ["MET", "met"], ["BREACHED", "breached"], ["CANCELLED", undefined], [null, undefined]] as const)(
  "a deadline that the ledger calls %s is %s",
  (deadline, want) => {
    expect(promiseOf(slot("2026-03-03", { deadline }))).toBe(want);
  },
);

test("an instant in the file is no promise before the ledger has it", () => {
  expect(promiseOf(slot("2026-03-03", { breachAt: "2026-03-03T12:00:00Z" }))).toBeUndefined();
});

test("a run in backoff is a failure, a held start is neither starting nor calm, and a dry run completes nothing", () => {
  expect(kindOfRun({ status: "PENDING", phase: "backoff" })).toBe("failed");
  expect(kindOfRun({ status: "TRIGGERING", phase: "held" })).toBe("held");
  expect(kindOfRun({ status: "COMPLETED", phase: "completed", dryRun: true })).toBe("dryrun");
});
