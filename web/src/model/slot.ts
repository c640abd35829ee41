import type { components } from "../api/schema";
import { day, hour, minute } from "./time";

/** Slot is one period of a timeline. */
export type Slot = components["schemas"]["Slot"];
export type Status = components["schemas"]["Run"]["status"];

/** How a period looks: each kind has its own shape, so that none depends on its colour. */
export type Kind =
  | "completed" | "dryrun" | "running" | "starting" | "waiting" | "held" | "failed" | "final" | "exhausted" | "cancelled" | "excluded" | "missing" | "upcoming";

/** The kinds, the one that most needs to be seen first. */
export const kinds: readonly Kind[] = [
  "final", "exhausted", "missing", "held", "failed", "running", "starting", "waiting", "cancelled", "completed", "dryrun", "excluded", "upcoming",
];

export const kindName: Record<Kind, string> = {
  completed: "completed", dryrun: "dry run: would have started", running: "running", starting: "starting", waiting: "waiting", held: "held", failed: "failed, retrying", final: "failed",
  exhausted: "window ended", cancelled: "cancelled", excluded: "excluded", missing: "missing", upcoming: "upcoming",
};

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

export type Phase = components["schemas"]["Run"]["phase"];

/** How a run looks. Its phase says more than its status: an attempt in backoff is a failure, and a held start needs a human. */
export function kindOfRun(r: { status: string; phase?: Phase | null | undefined; dryRun?: boolean | undefined }): Kind {
  if (r.phase === "held") return "held";
  if (r.phase === "backoff" || r.phase === "start-refused") return "failed";
  const kind = kindOfStatus(r.status);
  return kind === "completed" && r.dryRun ? "dryrun" : kind;
}

export function kindOf(slot: Slot): Kind {
  return slot.state === "run" ? kindOfRun({ ...slot, status: slot.status ?? "" }) : slot.state;
}

export type Size = "month" | "week" | "day" | "hour" | "minute";

/** How much data a period holds, by the form of its name. */
export function sizeOf(period: string): Size {
  if (/^\d{4}-W\d\d$/.test(period)) return "week";
  if (/^\d{4}-\d\d$/.test(period)) return "month";
  const rest = period.slice(10);
  if (rest === "") return "day";
  return /^T\d\d:\d\d/.test(rest) ? "minute" : "hour";
}

const lengths: Record<Exclude<Size, "month">, number> = { week: 7 * day, day, hour, minute };

/** How long a period is, as far as its name tells. */
function lengthOf(period: string): number {
  const size = sizeOf(period);
  if (size !== "month") return lengths[size];
  const [year, month] = period.split("-").map(Number);
  return new Date(Date.UTC(year!, month!, 0)).getUTCDate() * day;
}

export function startOf(slot: Slot): number {
  return Date.parse(slot.startsAt);
}

/** Where a period ends, as far as its name tells; a day with a clock change ends where the next begins. */
export function endOf(slot: Slot, next?: Slot): number {
  const end = startOf(slot) + lengthOf(slot.date);
  if (!next) return end;
  const following = startOf(next);
  return following > startOf(slot) && following < end ? following : end;
}

export type Promise = "armed" | "warned" | "met" | "breached";

export const promiseName: Record<Promise, string> = {
  armed: "deadline armed", warned: "deadline near", met: "deadline met", breached: "deadline breached",
};

const promises: Record<NonNullable<Slot["deadline"]>, Promise | undefined> = {
  ARMED: "armed", WARNED: "warned", MET: "met", BREACHED: "breached", CANCELLED: undefined,
};

/** How a period stands to its deadline, by the ledger; undefined where it has none, or none that counts any more. */
export function promiseOf(slot: Slot): Promise | undefined {
  return slot.deadline ? promises[slot.deadline] : undefined;
}
