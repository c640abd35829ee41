import type { Event } from "../api/live";

export const severities = ["info", "warning", "critical"] as const;
export type Severity = (typeof severities)[number];

/** Events that came live before those that were read, each once, newest first, of that severity and above. */
export function merge(news: readonly Event[], read: readonly Event[], least: Severity): Event[] {
  const seen = new Set<string>();
  const from = severities.indexOf(least);
  const out: Event[] = [];
  for (const e of [...news, ...read]) {
    if (seen.has(e.id) || severities.indexOf(e.detail.severity) < from) continue;
    seen.add(e.id);
    out.push(e);
  }
  return out;
}
