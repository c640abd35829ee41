import { expect, test } from "vitest";
import { box, layout } from "./graph";

const node = (pipeline: string, distance: number) => ({ pipeline, distance, state: "ok" as const, date: null, schedule: null, status: null, phase: null });

test("what is upstream stands at the left, what is downstream at the right", () => {
  const g = layout({
    nodes: [node("a10", -1), node("a2", -1), node("b", 0), node("c", 1)],
    edges: [{ from: "a2", to: "b", kind: "after" }, { from: "a10", to: "b", kind: "sensor" }, { from: "b", to: "c", kind: "after" }, { from: "elsewhere", to: "c", kind: "after" }],
    blocks: [{ pipeline: "b", schedule: "cron", date: "2026-03-03", by: "a2", reason: "it runs", since: null }],
  });
  const x = (id: string) => g.nodes.find((n) => n.pipeline === id)!.x;
  expect([x("a2"), x("b"), x("c")]).toEqual([0, box.width + box.across, 2 * (box.width + box.across)]);
  expect(g.nodes.filter((n) => n.distance === -1).map((n) => n.pipeline)).toEqual(["a2", "a10"]);
  expect(g.edges.map((e) => [e.from, e.blocks])).toEqual([["a2", 1], ["a10", 0], ["b", 0]]);
  expect(g.height).toBe(2 * box.height + box.down);
});
