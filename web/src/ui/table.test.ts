import { expect, test } from "vitest";
import { type Column, ordered, parseOrder } from "./table";

const columns: Column<{ id: string; n: number }>[] = [
  { name: "id", label: "Id", by: (r) => r.id, show: (r) => r.id },
  { name: "n", label: "N", by: (r) => r.n, show: (r) => r.n },
  { name: "fixed", label: "Fixed", show: () => "" },
];
const rows = [{ id: "lane10", n: 1 }, { id: "lane2", n: 3 }, { id: "lane1", n: 1 }];
const ids = (text: string) => ordered(rows, columns, parseOrder(text, { name: "id", down: false })).map((r) => r.id);

test("names are sorted as people count, figures by size", () => {
  expect(ids("")).toEqual(["lane1", "lane2", "lane10"]);
  expect(ids("-n")).toEqual(["lane2", "lane10", "lane1"]);
  expect(ids("n")).toEqual(["lane10", "lane1", "lane2"]);
});

test("an order that there is not changes nothing", () => {
  expect(ids("nonsense")).toEqual(["lane10", "lane2", "lane1"]);
  expect(ids("fixed")).toEqual(["lane10", "lane2", "lane1"]);
});
