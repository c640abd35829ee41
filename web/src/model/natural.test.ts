import { expect, test } from "vitest";
import { natural } from "./natural";

test("numbers in names count as numbers", () => {
  expect(["lane10", "lane2", "lane1b", "lane1"].sort(natural)).toEqual(["lane1", "lane1b", "lane2", "lane10"]);
});

test("names that differ in case alone have one order", () => {
  expect(["b", "A", "a"].sort(natural)).toEqual(["A", "a", "b"]);
});
