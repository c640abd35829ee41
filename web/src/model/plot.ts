import { day, duration, hour, minute, second } from "./time";

/** Round step sizes of a duration axis, smallest first. */
export const durationSteps = [
  second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
  hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day,
];

/** Round step sizes of a count axis, smallest first. */
export const countSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** The range of an axis for values between low and high. It begins at zero, or, with near set and all values far from zero, at the lowest value. */
export function room(low: number, high: number, near: boolean): [number, number] {
  const from = near && low > high / 2 ? low : Math.min(0, low);
  const margin = 0.06 * (high - from) || 1;
  return [from === 0 ? 0 : from - margin, high + margin];
}

/** The change from before to now in per cent; undefined if before is zero. */
export function change(now: number, before: number): number | undefined {
  return before > 0 ? ((now - before) / before) * 100 : undefined;
}

/** A duration on an axis: unlike elsewhere, nearby values never look the same. */
export function axisText(ms: number): string {
  if (ms === 0) return "0";
  if (Math.abs(ms) < hour) return duration(ms);
  if (ms % day === 0) return `${ms / day} d`;
  const [h, m] = [Math.floor(Math.abs(ms) / hour), Math.floor((Math.abs(ms) % hour) / minute)];
  return `${ms < 0 ? "−" : ""}${h} h${m ? ` ${m} min` : ""}`;
}
