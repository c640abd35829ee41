import { expect, test } from "vitest";
import { skipped } from "./run";

type X = Parameters<typeof skipped>[0];

test("a forced rerun names all that it skips", () => {
  const x = { run: { jobMayRun: true, counters: { manualReruns: 1 } }, gate: null } as unknown as X;
  const text = skipped(x).join("; ");
  for (const part of ["circuit breaker", "1 is used", "calendar", "may still be running"]) expect(text).toContain(part);
});
