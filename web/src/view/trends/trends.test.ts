import { expect, test } from "vitest";
import { completedShare } from "./trends";

test("a run that is still open does not count as not completed", () => {
  expect(completedShare({ pipeline: "a", runs: 1, completed: 0 }, new Map([["a", 1]]))).toBeUndefined();
  expect(completedShare({ pipeline: "a", runs: 5, completed: 4 }, new Map([["a", 1]]))).toBe(1);
  expect(completedShare({ pipeline: "a", runs: 4, completed: 3 }, new Map())).toBe(0.75);
});
