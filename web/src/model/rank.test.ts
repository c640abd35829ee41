import { expect, test } from "vitest";
import { ranked, score } from "./rank";

const names = ["big-orders", "preorders", "orders-bronze", "orders", "billing"];

test("the best match comes first: the whole name, its start, a word of it, a part of it", () => {
  expect(ranked(names, "orders", (n) => score(n, "orders"))).toEqual(["orders", "orders-bronze", "big-orders", "preorders"]);
});

test("letters in order match last, and a single letter is not enough", () => {
  expect(ranked(names, "obz", (n) => score(n, "obz"))).toEqual(["orders-bronze"]);
  expect(score("billing", "x")).toBeUndefined();
});
