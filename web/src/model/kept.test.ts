import { expect, test } from "vitest";
import { binName, grade, isLate, offenders, percentText, type Window } from "./kept";

const bin = (fromSeconds: number | null, toSeconds: number | null, never = false) => ({ fromSeconds, toSeconds, never, counts: [0, 0, 0] });

test.each([
  [bin(null, -14400), "more than 4 h early", false],
  [bin(-14400, -3600), "1 h to 4 h early", false],
  [bin(-900, 0), "up to 15 min early", false],
  [bin(0, 900), "up to 15 min late", true],
  [bin(900, 3600), "15 min to 1 h late", true],
  [bin(14400, null), "more than 4 h late", true],
  [bin(null, null, true), "never completed", true],
])("%o is called %s", (b, name, late) => {
  expect(binName(b)).toBe(name);
  expect(isLate(b)).toBe(late);
});

test("a rate of less than all is never called all", () => {
  expect(percentText(99.99)).toBe("99.9 %");
  expect(percentText(100)).toBe("100 %");
  expect(percentText(null)).toBe("–");
  expect([100, 99, 98, 94, null].map(grade)).toEqual(["good", "good", "fair", "poor", "none"]);
});

test("the lowest rates come first, and a pipeline that met all is not listed", () => {
  const kept = (id: string, met: number, breached: number) => ({ id, windows: [{ met, breached, metPercent: (100 * met) / (met + breached) } as Window] });
  const got = offenders([kept("a", 9, 1), kept("b", 10, 0), kept("c", 1, 1), kept("d", 0, 4)], 0, 3);
  expect(got.map((k) => k.id)).toEqual(["d", "c", "a"]);
});
