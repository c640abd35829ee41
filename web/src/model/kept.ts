import type { components } from "../api/schema";
import { duration } from "./time";

export type Window = components["schemas"]["KeptWindow"];
type Bin = components["schemas"]["LatenessBin"];

/** The severity of a rate: good, a few misses, or bad. */
export function grade(percent: number | null): "good" | "fair" | "poor" | "none" {
  if (percent === null) return "none";
  if (percent >= 99) return "good";
  return percent >= 95 ? "fair" : "poor";
}

export function percentText(percent: number | null): string {
  if (percent === null) return "–";
  return `${percent === 100 ? "100" : (Math.floor(percent * 10) / 10).toFixed(1)} %`;
}

/** How early or late a completion was, in words. */
export function binName(b: Bin): string {
  if (b.never) return "never completed";
  const far = (s: number) => duration(Math.abs(s) * 1000);
  const { fromSeconds: from, toSeconds: to } = b;
  if (from === null) return `more than ${far(to!)} early`;
  if (to === null) return `more than ${far(from)} late`;
  if (to <= 0) return to === 0 ? `up to ${far(from)} early` : `${far(to)} to ${far(from)} early`;
  return from === 0 ? `up to ${far(to)} late` : `${far(from)} to ${far(to)} late`;
}

export const isLate = (b: Bin) => b.never || b.toSeconds === null || b.toSeconds > 0;

interface Kept {
  windows: Window[];
}

/** The entries with breaches in a window, lowest rate first, then by the number of breaches. */
export function offenders<T extends Kept>(items: readonly T[], window: number, most: number): T[] {
  const of = (k: T) => k.windows[window]!;
  return items
    .filter((k) => of(k).breached > 0)
    .toSorted((a, b) => (of(a).metPercent ?? 0) - (of(b).metPercent ?? 0) || of(b).breached - of(a).breached)
    .slice(0, most);
}
