import { expect, test } from "vitest";
import { causeOf, firstClosed, lastLine, ruleText } from "./why";

type X = Parameters<typeof causeOf>[0];
const attempt = (n: number, over: object) => ({ attempt: n, result: "fail", exitCode: null, output: null, message: null, ...over });
const explained = (run: object, attempts: object[] = []) => ({ run: { held: null, attempt: attempts.length, message: null, exitCode: null, ...run }, attempts, jobLog: [], gate: null }) as unknown as X;
const rule = (over: object) => ({ key: "rows", check: "gte", field: "count", needs: 1000, value: 12, from: null, level: "required", effectiveOutcome: "fail", ...over }) as never;

test("a failed run names its exit code and the last line of its output", () => {
  const x = explained({ status: "FAILED_FINAL", phase: "failed" }, [attempt(1, {}), attempt(4, { exitCode: 75, output: "loading\nconnection refused\n" })]);
  expect(causeOf(x)).toBe("failed after 4 attempts: exit code 75, connection refused");
});

test("an attempt in backoff is a failure, and a run that waits for its gate is none", () => {
  expect(causeOf(explained({ status: "PENDING", phase: "backoff" }, [attempt(1, { exitCode: 3 })]))).toBe("attempt 1 failed: exit code 3");
  expect(causeOf(explained({ status: "PENDING", phase: "waiting" }))).toBeUndefined();
  expect(causeOf(explained({ status: "TRIGGERING", phase: "held", held: "no answer from the API" }))).toBe("held: no answer from the API");
});

test("the first required rule that does not pass is the reason, with the value it saw", () => {
  const closed = firstClosed([rule({ effectiveOutcome: "pass" }), rule({ level: "advisory" }), rule({}), rule({ key: "later" })]);
  expect(ruleText(closed!)).toBe("rows: count ≥ 1000, but it is 12");
  expect(ruleText(rule({ value: null, from: "fx" }))).toBe("fx/rows: count ≥ 1000, but there is no reading");
  expect(lastLine("a\nb\n\n")).toBe("b");
});
