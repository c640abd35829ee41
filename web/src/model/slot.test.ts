import { expect, test } from "vitest";
import { slot } from "./sample";
import { endOf, kindOf, kindOfRun, promiseOf, sizeOf, startOf } from "./slot";
import { hour } from "./time";

test.each([
  ["waiting", "waiting"], ["not-due", "waiting"], ["starting", "starting"], ["held", "held"], ["running", "running"], ["backoff", "failed"], ["start-refused", "failed"],
  ["completed", "completed"], ["would-start", "dryrun"], ["failed", "final"], ["exhausted", "exhausted"], ["cancelled", "cancelled"], ["paused", "paused"],
] as const)("%s looks %s", (phase, kind) => {
  expect(kindOf(slot("2026-03-03", { phase }))).toBe(kind);
});

test("a period without a run looks as its schedule says", () => {
  expect(kindOf(slot("2026-03-03", { phase: "missing" }))).toBe("missing");
  expect(kindOf(slot("2026-03-03", { phase: "excluded" }))).toBe("excluded");
});

test.each([["2026-03-03", "day"], ["2026-03-03T10", "hour"], ["2026-11-01T01-05:00", "hour"], ["2026-03-03T10:15", "minute"], ["2026-W10", "week"], ["2026-03", "month"], ["2026-Q1", "quarter"]])("%s is a %s", (name, size) => {
  expect(sizeOf(name)).toBe(size);
});

test("a period ends where the API says, whatever clock changes it contains", () => {
  const short = slot("2026-03-29", { startsAt: "2026-03-28T23:00:00Z", endsAt: "2026-03-29T22:00:00Z" });
  expect(endOf(short) - startOf(short)).toBe(23 * hour);
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

test("a dry run completes nothing", () => {
  expect(kindOfRun({ phase: "completed", dryRun: true })).toBe("dryrun");
  expect(kindOfRun({ phase: "backoff", dryRun: false })).toBe("failed");
});
