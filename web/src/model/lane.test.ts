import { expect, test } from "vitest";
import { type Choice, count, found, groups, lanesOf, type Row, rows } from "./lane";
import { pipeline, slot } from "./sample";
import type { Slot } from "./slot";

const all: Choice = { search: "", filters: new Set(), group: "", sort: "name" };
const names = (list: Row[]) => list.map((r) => ("head" in r ? `# ${r.head}` : r.lane.pipeline.id));

const pipelines = [
  pipeline("lane10", { owner: "billing" }), pipeline("lane2", { owner: "risk", tags: { layer: "gold" } }), pipeline("lane1", { owner: "billing", tags: { layer: "gold" } }),
];
const schedule = (id: string, counts: Record<string, number>, slots: Slot[]) => ({ pipeline: id, slots, buckets: [], bucketSeconds: null, counts, truncated: false });
const w = { from: Date.UTC(2026, 2, 3), to: Date.UTC(2026, 2, 4) };
const lanes = lanesOf(pipelines, [
  schedule("lane10", { failed: 1 }, [slot("2026-03-03T10", { phase: "failed" })]),
  schedule("lane2", { completed: 1, missing: 1 }, [slot("2026-03-03T10", { phase: "completed" }), slot("2026-03-03T11", { phase: "missing" })]),
], w);

test("lanes are in the order in which people count", () => {
  expect(names(rows(lanes, all))).toEqual(["lane1", "lane2", "lane10"]);
});

test("trouble comes first if asked for", () => {
  expect(names(rows(lanes, { ...all, sort: "trouble" }))).toEqual(["lane2", "lane10", "lane1"]);
});

test("groups have heads, and what has no tag is a group of its own", () => {
  expect(names(rows(lanes, { ...all, group: "owner" }))).toEqual(["# billing", "lane1", "lane10", "# risk", "lane2"]);
  expect(names(rows(lanes, { ...all, group: "layer" }))).toEqual(["# gold", "lane1", "lane2", "# no layer", "lane10"]);
  expect(groups(pipelines)).toEqual(["owner", "layer"]);
});

test("a filter shows the lanes that have such a period", () => {
  expect(names(rows(lanes, { ...all, filters: new Set(["final"]) }))).toEqual(["lane10"]);
  expect(names(rows(lanes, { ...all, filters: new Set(["final", "missing"]) }))).toEqual(["lane2", "lane10"]);
});

test("every word of a search has to be somewhere", () => {
  expect(found(pipelines[1]!, "GOLD ris")).toBe(true);
  expect(found(pipelines[1]!, "layer=gold")).toBe(true);
  expect(found(pipelines[1]!, "gold billing")).toBe(false);
});

test("a pipeline of which the timeline says nothing has an empty lane", () => {
  expect(lanes[2]).toMatchObject({ slots: [], buckets: [] });
});

test("kinds are counted", () => {
  expect(Object.fromEntries(count(lanes))).toEqual({ final: 1, completed: 1, missing: 1 });
});

test("a period whose deadline was breached is late", () => {
  const of = lanesOf([pipeline("a")], [schedule("a", { completed: 1 }, [slot("2026-03-03T08", { phase: "completed", deadline: "BREACHED" })])], w);
  expect(count(of).get("late")).toBe(1);
  expect(names(rows([...of, ...lanes], { ...all, filters: new Set(["late"]) }))).toEqual(["a"]);
});

test("counts follow the search", () => {
  expect(count(lanes).get("final")).toBe(1);
  expect(count(lanes, "risk").get("final")).toBeUndefined();
  expect(count(lanes, "risk").get("missing")).toBe(1);
});

test("what is not drawn is not counted, and what stands at the edge is", () => {
  const old = (phase: "failed" | "completed") => slot("2026-02-01", { phase, outside: true, deadline: "BREACHED" });
  const of = lanesOf([pipeline("a"), pipeline("b")], [schedule("a", { completed: 2 }, [old("completed"), slot("2026-03-03", { phase: "completed" })]), schedule("b", { failed: 1 }, [old("failed")])], w);
  expect(Object.fromEntries(count(of))).toEqual({ completed: 1, final: 1, late: 1 });
});
