import { expect, test } from "vitest";
import { asks, figure, spark } from "./rule";

test("rules are told in a few words", () => {
  expect(asks({ check: "gte", field: "count", needs: 20 })).toBe("count ≥ 20");
  expect(asks({ check: "exists", field: null, needs: null })).toBe("exists");
  expect(asks({ check: "age_lt", field: "updatedAt", needs: "2h" })).toBe("updatedAt age lt 2h");
});

test("a small chart goes from its lowest to its highest value", () => {
  expect(spark([{ at: 0, value: 1 }, { at: 10, value: 3 }, { at: 5, value: 2 }], 100, 10)).toBe("0.0,10.0 50.0,5.0 100.0,0.0");
  expect(spark([{ at: 0, value: 1 }], 100, 10)).toBe("");
  expect([figure({ a: { b: 2 } }, "a.b"), figure({ a: true }, "a"), figure({ a: "x" }, "a")]).toEqual([2, 1, undefined]);
});
