import type { components } from "../api/schema";
import type { Deadline } from "./lateness";

type Pipeline = components["schemas"]["Pipeline"];
type Run = components["schemas"]["Run"];
type Summary = components["schemas"]["TrendSummary"];

export type Column = "overdue" | "risk" | "track";

export const columnName: Record<Column, string> = { overdue: "Overdue", risk: "At risk", track: "On track" };

/** Card is one deadline of the board. */
export interface Card {
  deadline: Deadline;
  column: Column;
  owner: string;
  run: Run | null; // of this period; null if it has not opened, or is not the latest
  expectedEnd: number | undefined; // by the p90 of the durations of its pipeline
}

/** Places a deadline: overdue once it has passed, at risk if it has warned or the p90 of the durations ends after it. */
export function cardOf(d: Deadline, p: Pipeline | undefined, s: Pick<Summary, "durations"> | undefined, now: number): Card {
  const last = p?.lastRun ?? null;
  const run = last && last.date === d.date && last.schedule === d.schedule ? last : null;
  const expectedEnd = expected(d, p, run, s, now);
  const breach = Date.parse(d.breachAt);
  const late = d.state === "BREACHED" || breach <= now;
  const risk = d.warned || (expectedEnd !== undefined && expectedEnd > breach);
  return { deadline: d, column: late ? "overdue" : risk ? "risk" : "track", owner: p?.owner ?? "", run, expectedEnd };
}

/** When the run ends if its job takes as long as the p90: from its start, or from when it can start at the earliest. */
function expected(d: Deadline, p: Pipeline | undefined, run: Run | null, s: Pick<Summary, "durations"> | undefined, now: number): number | undefined {
  if (!s || s.durations.count === 0) return undefined;
  const p90 = s.durations.p90Seconds * 1000;
  if (run?.startedAt && !run.endedAt && run.phase === "running") return Math.max(now, Date.parse(run.startedAt) + p90);
  const fire = !run && p?.next.date === d.date && p.next.fireAt ? Date.parse(p.next.fireAt) : now;
  return Math.max(now, fire) + p90;
}

/** The cards of a column, the one that needs a person most first. */
export function inColumn(cards: readonly Card[], column: Column): Card[] {
  return cards.filter((c) => c.column === column).toSorted((a, b) => Date.parse(a.deadline.breachAt) - Date.parse(b.deadline.breachAt));
}
