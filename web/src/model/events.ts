import type { Event } from "../api/live";
import { day, hour, minute } from "./time";

export const severities = ["info", "warning", "critical"] as const;
export type Severity = (typeof severities)[number];

/** The filter of an event list; an empty text matches everything. */
export interface Filter {
  type: string;
  pipeline: string;
  q: string;
  severity: string; // at least this severe
  from: string; // an instant, or how long ago
  to: string;
}

/** The filter as the query of a request. */
export function filterQuery(f: Filter): URLSearchParams {
  const q = new URLSearchParams({ limit: "200" });
  for (const [name, value] of Object.entries(f)) if (value) q.set(name, value as string);
  return q;
}

const units: Record<string, number> = { d: day, h: hour, m: minute };

/** Parses an instant, or a duration before now. */
function instantOf(text: string, now: number): number {
  const ago = /^(\d+)([dhm])$/.exec(text);
  return ago ? now - Number(ago[1]) * units[ago[2]!]! : Date.parse(text);
}

/** Whether a live event matches this filter. */
export function wants(f: Filter, e: Event, now = Date.now()): boolean {
  const at = Date.parse(e.time);
  if (f.type && e["detail-type"] !== f.type) return false;
  if (f.pipeline && e.detail.pipelineId !== f.pipeline) return false;
  if ((f.from && at < instantOf(f.from, now)) || (f.to && at >= instantOf(f.to, now))) return false;
  if (severities.indexOf(e.detail.severity) < severities.indexOf(f.severity as Severity)) return false;
  const text = [e.detail.message, e["detail-type"], e.detail.pipelineId, e.detail.date].join("\n").toLowerCase();
  return text.includes(f.q.toLowerCase());
}

/** Merges live events with those read before, without duplicates, newest first. */
export function merge(news: readonly Event[], read: readonly Event[]): Event[] {
  const seen = new Set<string>();
  const out: Event[] = [];
  for (const e of [...news, ...read]) {
    if (seen.has(e.id)) continue;
    seen.add(e.id);
    out.push(e);
  }
  return out;
}
