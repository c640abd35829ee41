import { expect, test } from "vitest";
import { axisText, change, countTicks, durationTicks } from "./plot";
import { hour, minute, second } from "./time";

test.each([
  [0, 3500, [0, second, 2 * second, 3 * second, 4 * second]],
  [0, 50 * minute, [0, 15 * minute, 30 * minute, 45 * minute, hour]],
  [-90 * minute, 2 * hour, [-2 * hour, -hour, 0, hour, 2 * hour]],
  [0, 0, [0]],
])("durations from %d to %d have round ticks", (low, high, want) => {
  expect(durationTicks(low, high)).toEqual(want);
});

test.each([[0, [0, 1]], [3, [0, 1, 2, 3]], [37, [0, 10, 20, 30, 40]], [1000, [0, 500, 1000]]])("counts up to %d have round ticks", (high, want) => {
  expect(countTicks(high)).toEqual(want);
});

test("a change is told in per cent", () => {
  expect(change(150, 100)).toBe(50);
  expect(change(5, 0)).toBeUndefined();
});

test.each([[0, "0"], [30 * second, "30 s"], [24 * hour, "1 d"], [24.5 * hour, "24 h 30 min"], [-90 * minute, "−1 h 30 min"]])("%d is %s on an axis", (ms, want) => {
  expect(axisText(ms)).toBe(want);
});
