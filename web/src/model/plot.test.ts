import { expect, test } from "vitest";
import { axisText, change, room } from "./plot";
import { hour, minute, second } from "./time";

test.each([
  [0, 100, false, [0, 106]], [90, 100, false, [0, 106]], [90, 100, true, [89.4, 100.6]], [10, 100, true, [0, 106]], [-50, 50, true, [-56, 56]], [0, 0, false, [0, 1]],
])("values from %d to %d have room (near: %s)", (low, high, near, want) => {
  expect(room(low, high, near)).toEqual(want);
});

test("a change is told in per cent", () => {
  expect(change(150, 100)).toBe(50);
  expect(change(5, 0)).toBeUndefined();
});

test.each([[0, "0"], [30 * second, "30 s"], [24 * hour, "1 d"], [24.5 * hour, "24 h 30 min"], [-90 * minute, "−1 h 30 min"]])("%d is %s on an axis", (ms, want) => {
  expect(axisText(ms)).toBe(want);
});
