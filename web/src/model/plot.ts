import { day, duration, hour, minute, second } from "./time";

/** Round distances between durations, smallest first. */
export const durationSteps = [
  second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
  hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day,
];

/** Round distances between counts, smallest first. */
export const countSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** From where to where an axis goes for values between low and high: from nought, or where near is set and all are far from it, from them. */
export function room(low: number, high: number, near: boolean): [number, number] {
  const from = near && low > high / 2 ? low : Math.min(0, low);
  const margin = 0.06 * (high - from) || 1;
  return [from === 0 ? 0 : from - margin, high + margin];
}

/** How much larger or smaller something is than it was, in per cent; undefined where it was nothing. */
export function change(now: number, before: number): number | undefined {
  return before > 0 ? ((now - before) / before) * 100 : undefined;
}

/** A duration on an axis: unlike elsewhere, two that are near each other never look the same. */
export function axisText(ms: number): string {
  if (ms === 0) return "0";
  if (Math.abs(ms) < hour) return duration(ms);
  if (ms % day === 0) return `${ms / day} d`;
  const [h, m] = [Math.floor(Math.abs(ms) / hour), Math.floor((Math.abs(ms) % hour) / minute)];
  return `${ms < 0 ? "−" : ""}${h} h${m ? ` ${m} min` : ""}`;
}
