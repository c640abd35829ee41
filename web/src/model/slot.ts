import type { components } from "../api/schema";
import { day, hour, minute } from "./time";

/** Slot is one period of a timeline. */
export type Slot = components["schemas"]["Slot"];
export type Bucket = components["schemas"]["Bucket"];
export type Phase = Slot["phase"];
export type Status = components["schemas"]["Run"]["status"];

/** How a period looks: each kind has its own shape, so that none depends on its colour. */
export type Kind =
  | "completed" | "dryrun" | "running" | "offered" | "starting" | "waiting" | "held" | "failed" | "final" | "exhausted" | "cancelled"
  | "excluded" | "missing" | "paused" | "due" | "upcoming";

/** The kinds, most important first. */
export const kinds: readonly Kind[] = [
  "final", "held", "exhausted", "missing", "failed", "running", "offered", "starting", "waiting", "paused", "cancelled", "completed", "dryrun",
  "due", "excluded", "upcoming",
];

export const kindName: Record<Kind, string> = {
  completed: "completed", dryrun: "dry run: would have started", running: "running", offered: "offered, waiting for a worker", starting: "starting",
  waiting: "waiting", held: "held", failed: "failed, retrying", final: "failed", exhausted: "window ended", cancelled: "cancelled",
  excluded: "excluded", missing: "missing", paused: "paused", due: "no run yet", upcoming: "upcoming",
};

const byPhase: Record<Phase, Kind> = {
  upcoming: "upcoming", due: "due", missing: "missing", excluded: "excluded", paused: "paused", waiting: "waiting", "not-due": "waiting",
  "max-active": "waiting", backoff: "failed", "start-refused": "failed", settling: "failed", starting: "starting", held: "held", offered: "offered",
  running: "running", "status-unread": "running", completed: "completed", "would-start": "dryrun", failed: "final", exhausted: "exhausted",
  cancelled: "cancelled",
};

/** How a period in a phase looks. An attempt in backoff is a failure, and a held start needs a human. */
export function kindOfPhase(phase: string): Kind {
  return byPhase[phase as Phase] ?? "waiting";
}

export function kindOf(slot: Slot): Kind {
  return kindOfPhase(slot.phase);
}

/** How a run looks; a dry run never completes anything. */
export function kindOfRun(r: { phase: string; dryRun: boolean }): Kind {
  const kind = kindOfPhase(r.phase);
  return kind === "completed" && r.dryRun ? "dryrun" : kind;
}

export function kindOfStatus(status: string): Kind {
  switch (status as Status) {
    case "COMPLETED": return "completed";
    case "RUNNING": return "running";
    case "TRIGGERING": return "starting";
    case "FAILED": return "failed";
    case "FAILED_FINAL": return "final";
    case "JOB_POLL_EXHAUSTED":
    case "VALIDATION_EXHAUSTED": return "exhausted";
    case "CANCELLED": return "cancelled";
    case "PENDING": break;
  }
  return "waiting";
}

export type Size = "quarter" | "month" | "week" | "day" | "hour" | "minute";

/** The length of a period, from the format of its name. */
export function sizeOf(period: string): Size {
  if (/^\d{4}-W\d\d$/.test(period)) return "week";
  if (/^\d{4}-\d\d$/.test(period)) return "month";
  if (/^\d{4}-Q\d$/.test(period)) return "quarter";
  const rest = period.slice(10);
  if (rest === "") return "day";
  return /^T\d\d:\d\d/.test(rest) ? "minute" : "hour";
}

const lengths: Record<Size, number> = { quarter: 92 * day, month: 31 * day, week: 7 * day, day, hour, minute };

/** The longest that a period of that name can be. */
export const lengthOf = (period: string) => lengths[sizeOf(period)];

export const startOf = (slot: Slot) => Date.parse(slot.startsAt);
export const endOf = (slot: Slot) => Date.parse(slot.endsAt);

/** The time in which a period ran: from its job's start, or as long as it has waited, to its end or to now. */
export function executionOf(slot: Slot, now: number): { from: number; to: number } {
  const from = Date.parse(slot.startedAt ?? slot.openedAt ?? slot.fireAt ?? slot.endsAt);
  const to = slot.endedAt ? Date.parse(slot.endedAt) : slot.openedAt ? Math.max(now, from) : from;
  return { from, to: Math.max(to, from) };
}

export type Promise = "armed" | "warned" | "met" | "breached";

export const promiseName: Record<Promise, string> = {
  armed: "deadline armed", warned: "deadline near", met: "deadline met", breached: "deadline breached",
};

const promises: Record<NonNullable<Slot["deadline"]>, Promise | undefined> = {
  ARMED: "armed", WARNED: "warned", MET: "met", BREACHED: "breached", CANCELLED: undefined,
};

/** The state of a period's deadline; undefined without one, or once it is cancelled. */
export function promiseOf(slot: Slot): Promise | undefined {
  return slot.deadline ? promises[slot.deadline] : undefined;
}
