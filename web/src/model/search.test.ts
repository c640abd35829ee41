import { expect, test } from "vitest";
import { matches } from "./search";

test("a search finds every place, whatever its case, and an empty one finds none", () => {
  expect(matches("Error: refused\nerror again", "error")).toEqual([0, 15]);
  expect(matches("aaaa", "aa")).toEqual([0, 2]);
  expect(matches("text", "")).toEqual([]);
});
