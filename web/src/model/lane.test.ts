import { expect, test } from "vitest";
import { type Choice, count, found, groups, lanesOf, overdueKey, type Row, rows } from "./lane";
import { pipeline, slot } from "./sample";

const now = Date.UTC(2026, 2, 3, 12);
const all: Choice = { search: "", filters: new Set(), group: "", sort: "name" };
const names = (list: Row[]) => list.map((r) => ("head" in r ? `# ${r.head}` : r.lane.pipeline.id));

const pipelines = [
  pipeline("lane10", { owner: "billing" }), pipeline("lane2", { owner: "risk", tags: { layer: "gold" } }), pipeline("lane1", { owner: "billing", tags: { layer: "gold" } }),
];
const lanes = lanesOf(pipelines, [
  { pipeline: "lane10", truncated: true, slots: [slot("2026-03-03T10", { status: "FAILED_FINAL" })] },
  { pipeline: "lane2", truncated: false, slots: [slot("2026-03-03T10", { status: "COMPLETED" }), slot("2026-03-03T11", { state: "missing" })] },
], new Set());

test("lanes are in the order in which people count", () => {
  expect(names(rows(lanes, all, now))).toEqual(["lane1", "lane2", "lane10"]);
});

test("trouble comes first if asked for", () => {
  expect(names(rows(lanes, { ...all, sort: "trouble" }, now))).toEqual(["lane2", "lane10", "lane1"]);
});

test("groups have heads, and what has no tag is a group of its own", () => {
  expect(names(rows(lanes, { ...all, group: "owner" }, now))).toEqual(["# billing", "lane1", "lane10", "# risk", "lane2"]);
  expect(names(rows(lanes, { ...all, group: "layer" }, now))).toEqual(["# gold", "lane1", "lane2", "# no layer", "lane10"]);
  expect(groups(pipelines)).toEqual(["owner", "layer"]);
});

test("a filter shows the lanes that have such a period", () => {
  expect(names(rows(lanes, { ...all, filters: new Set(["final"]) }, now))).toEqual(["lane10"]);
  expect(names(rows(lanes, { ...all, filters: new Set(["final", "missing"]) }, now))).toEqual(["lane2", "lane10"]);
});

test("every word of a search has to be somewhere", () => {
  expect(found(pipelines[1]!, "GOLD ris")).toBe(true);
  expect(found(pipelines[1]!, "layer=gold")).toBe(true);
  expect(found(pipelines[1]!, "gold billing")).toBe(false);
});

test("a pipeline of which the timeline says nothing has an empty lane", () => {
  expect(lanes[2]).toMatchObject({ slots: [], truncated: false });
});

test("kinds are counted", () => {
  expect(Object.fromEntries(count(lanes, now))).toEqual({ final: 1, completed: 1, missing: 1 });
});

test("a deadline from before the pipeline was known counts for nothing", () => {
  const late = slot("2026-03-03T08", { status: "COMPLETED", endedAt: "2026-03-03T11:00:00Z", breachAt: "2026-03-03T09:30:00Z" });
  const with_ = (horizon: string) => count(lanesOf([pipeline("a", { horizon })], [{ pipeline: "a", truncated: false, slots: [late] }], new Set()), now).get("late");
  expect(with_("2026-03-03T09:00:00Z")).toBe(1);
  expect(with_("2026-03-03T10:00:00Z")).toBeUndefined();
});

test("a period that was announced as overdue is late", () => {
  const of = lanesOf([pipeline("a")], [{ pipeline: "a", truncated: false, slots: [slot("2026-03-03T08", { status: "PENDING" })] }], new Set([overdueKey("a", "2026-03-03T08")]));
  expect(count(of, now).get("late")).toBe(1);
});
