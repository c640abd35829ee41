import type { Pipeline } from "./lane";
import { lengthOf, type Slot } from "./slot";

// Sample values for tests, which override only the fields that matter.

export function slot(date: string, over: Partial<Slot> = {}): Slot {
  const whole = date.length === 10 ? `${date}T00:00:00Z` : date.length === 13 ? `${date}:00:00Z` : `${date}:00Z`;
  return {
    date, schedule: "cron", state: over.phase ? "run" : "upcoming", phase: "upcoming", startsAt: whole,
    endsAt: new Date(Date.parse(whole) + lengthOf(date)).toISOString(), retryAt: null, dryRun: false, gateBypassed: false, cause: null, degraded: [], outside: false, fireAt: null, excluded: null, status: null, attempt: null,
    openedAt: null, startedAt: null, endedAt: null, warnAt: null, breachAt: null, deadline: null, ...over,
  };
}

export function pipeline(id: string, over: Partial<Pipeline> = {}): Pipeline {
  return {
    id, state: "ok", owner: "data", description: "", tags: {}, file: null, version: null, problems: [], schedule: "cron", period: "hour",
    timezone: "UTC", after: [], jobType: "command", dryRun: false, maxActive: 0, horizon: null, acceptedAt: null, removedAt: null, current: null, slice: null, openRuns: 0, probes: [],
    lastRun: null, attention: [], next: { date: null, fireAt: null, warnAt: null, breachAt: null },
    pause: { paused: false, by: null, why: null, since: null, until: null, holdSla: false },
    pauseAll: { paused: false, by: null, why: null, since: null, until: null, holdSla: false }, ...over,
  };
}
