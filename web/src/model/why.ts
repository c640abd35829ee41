import type { components } from "../api/schema";
import { asks, type Rule, value } from "./rule";

type Explanation = components["schemas"]["Explanation"];
type Run = NonNullable<Explanation["run"]>;

/** The last line that a job printed, which usually names the error. */
export function lastLine(output: string | null | undefined): string {
  return output?.trimEnd().split("\n").at(-1)?.trim() ?? "";
}

/** The first required rule that keeps the gate closed. */
export function firstClosed(rules: readonly Rule[] | undefined): Rule | undefined {
  return rules?.find((r) => r.effectiveOutcome !== "pass" && r.level === "required");
}

/** What a closed rule asks for and what it saw, such as "rows: count ≥ 1000, but it is 12". */
export function ruleText(r: Rule): string {
  const name = `${r.from ? `${r.from}/` : ""}${r.key}`;
  return r.value === null || r.value === undefined ? `${name}: ${asks(r)}, but there is no reading` : `${name}: ${asks(r)}, but it is ${value(r.value)}`;
}

const ended = new Set<Run["status"]>(["FAILED", "FAILED_FINAL", "JOB_POLL_EXHAUSTED", "VALIDATION_EXHAUSTED"]);

/** The output of the latest attempt that printed something. */
export function outputOf(x: Pick<Explanation, "attempts" | "jobLog">): string | undefined {
  return x.attempts.findLast((a) => a.output)?.output ?? x.jobLog.findLast((l) => l.output)?.output ?? undefined;
}

/** Why a run failed or waits, in one line: "failed after 4 attempts: exit code 75, connection refused". */
export function causeOf(x: Pick<Explanation, "run" | "attempts" | "jobLog" | "gate">): string | undefined {
  const run = x.run;
  if (!run) return undefined;
  if (run.held) return `held: ${run.held}`;
  const retrying = run.phase === "backoff" || run.phase === "start-refused";
  if (!ended.has(run.status) && !retrying) return undefined;
  if (run.status === "VALIDATION_EXHAUSTED") {
    const closed = firstClosed(x.gate?.rules);
    return `the evaluation window ended with the gate closed${closed ? `: ${ruleText(closed)}` : ""}`;
  }
  const failed = x.attempts.findLast((a) => a.result === "fail" || a.result === "timeout");
  const exit = failed?.exitCode ?? run.exitCode;
  const line = lastLine(failed?.output) || lastLine(outputOf(x)) || failed?.message || run.message || "";
  const parts = [exit ? `exit code ${exit}` : failed?.result === "timeout" || run.status === "JOB_POLL_EXHAUSTED" ? "no result in time" : "", line].filter(Boolean);
  const n = failed?.attempt ?? run.attempt;
  return `${retrying || run.status === "FAILED" ? "attempt" : "failed after"} ${retrying || run.status === "FAILED" ? `${n} failed` : `${n} ${n === 1 ? "attempt" : "attempts"}`}${parts.length ? `: ${parts.join(", ")}` : ""}`;
}
