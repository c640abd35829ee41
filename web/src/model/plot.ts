import { day, duration, hour, minute, second } from "./time";

/** Round steps of durations, smallest first. */
const steps = [
  second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
  hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day,
];

/** Round values between two durations in milliseconds, four at most beside the first; the last is not below the larger one. */
export function durationTicks(low: number, high: number): number[] {
  const step = steps.find((s) => (high - low) / s <= 4) ?? Math.ceil((high - low) / 4 / day) * day;
  const from = Math.floor(low / step) * step;
  const out = [from];
  while (out[out.length - 1]! < high) out.push(out[out.length - 1]! + step);
  return out;
}

/** Round values from nought to a count. */
export function countTicks(high: number): number[] {
  const rough = Math.max(1, high) / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * size).find((n) => n >= rough) ?? rough);
  const out = [0];
  while (out[out.length - 1]! < high) out.push(out[out.length - 1]! + step);
  return out.length > 1 ? out : [0, 1];
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
