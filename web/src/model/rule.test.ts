import { expect, test } from "vitest";
import { asks, closing, figure, type Rule, ruleText, spark } from "./rule";

test("rules are told in a few words", () => {
  expect(asks({ check: "gte", field: "count", needs: 20 })).toBe("count ≥ 20");
  expect(asks({ check: "exists", field: null, needs: null })).toBe("exists");
  expect(asks({ check: "equals", field: "on", needs: true, negated: true })).toBe("not on = true");
  expect(asks({ check: "age_lt", field: "updatedAt", needs: "2h" })).toBe("updatedAt age lt 2h");
  expect(asks({ check: "gte", field: "count", needs: 20, time: "settled for 15m" })).toBe("count ≥ 20, settled for 15m");
});

test("the server says which rules keep a gate closed", () => {
  const rules = [true, false].map((closes) => ({ key: String(closes), level: "required", effectiveOutcome: "fail", closes })) as unknown as Rule[];
  expect(closing({ rules }).map((r) => r.key)).toEqual(["true"]);
  expect(closing(null)).toEqual([]);
});

test("a small chart goes from its lowest to its highest value", () => {
  expect(spark([{ at: 0, value: 1 }, { at: 10, value: 3 }, { at: 5, value: 2 }], 100, 10)).toBe("0.0,10.0 50.0,5.0 100.0,0.0");
  expect(spark([{ at: 0, value: 1 }], 100, 10)).toBe("");
});

test("what a rule saw is drawn as a figure", () => {
  const gte = { check: "gte", needs: 3 };
  expect([figure(2, gte), figure("2.5", gte), figure(true, gte), figure("x", gte), figure(null, gte)]).toEqual([2, 2.5, 1, undefined, undefined]);
  const ready = { check: "equals", needs: "ready" };
  expect([figure("ready", ready), figure("loading", ready)]).toEqual([1, 0]);
});

test("a closed rule is told with the value it saw", () => {
  const rule = { key: "rows", check: "gte", field: "count", needs: 1000, value: 12, from: null } as Parameters<typeof ruleText>[0];
  expect(ruleText(rule)).toBe("rows: count ≥ 1000, but it is 12");
  expect(ruleText({ ...rule, value: null, from: "fx" })).toBe("fx/rows: count ≥ 1000, but there is no reading");
});
