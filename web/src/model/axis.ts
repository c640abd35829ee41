import { date, day, fromWall, hour, minute, offset, shortClock, weekday } from "./time";

// The time window of a timeline, and its ticks.

export interface Window {
  from: number;
  to: number;
}

/** The zoom levels, closest first. */
export const spans = [15 * minute, hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 4 * day, 7 * day, 14 * day, 30 * day, 90 * day] as const;

const names = new Map<number, string>(spans.map((s) => [s, s < hour ? `${s / minute}m` : s < day ? `${s / hour}h` : `${s / day}d`]));

export function spanName(span: number): string {
  return names.get(span) ?? `${span / hour}h`;
}

/** The zoom level of that name; undefined if there is none. */
export function parseSpan(name: string | null): number | undefined {
  return spans.find((s) => names.get(s) === name);
}

export function zoom(span: number, by: 1 | -1): number {
  const at = spans.findIndex((s) => s >= span);
  return spans[Math.min(spans.length - 1, Math.max(0, at + by))] ?? span;
}

/** How much of a live window lies behind now. A window of weeks is mostly in the past. */
const behind = (span: number) => (span < 30 * day ? 0.8 : 0.97);

/**
 * The window to show: around a chosen instant, or with now in it. A live window moves in steps, so that cells stand still
 * in between and the same request serves them all.
 */
export function windowOf(span: number, at: number | undefined, now: number): Window {
  if (at !== undefined) return { from: at, to: at + span };
  const step = span / 60;
  const from = Math.floor((now - span * behind(span)) / step) * step;
  return { from, to: from + span };
}

export interface Tick {
  at: number;
  label: string;
  major: boolean; // a day begins
}

const steps = [minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 28 * day];

/** The width of a tick's label in pixels: labels of days are longer than those of hours. */
const room = (step: number) => (step < day ? 74 : 84);

/** The ticks of a window of the given width in pixels, at round times of the zone and far enough apart for their labels. */
export function ticks(w: Window, width: number, zone: string): Tick[] {
  const span = w.to - w.from;
  const step = steps.find((s) => (s / span) * width >= room(s)) ?? 28 * day;
  const out: Tick[] = [];
  let wall = Math.ceil((w.from + offset(w.from, zone)) / step) * step;
  for (let n = 0; n < 200; n++, wall += step) {
    const at = fromWall(wall, zone);
    if (at >= w.to) break;
    if (at < w.from || (out.length > 0 && at <= out[out.length - 1]!.at)) continue;
    const major = wall % day === 0;
    out.push({ at, major, label: major ? weekday(at, zone) : shortClock(at, zone) });
  }
  return out;
}

/** The days of a window, as text. */
export function title(w: Window, zone: string): string {
  const a = date(w.from, zone);
  const b = date(w.to - 1, zone);
  return a === b ? a : `${a} – ${b}`;
}
