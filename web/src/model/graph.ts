import type { components } from "../api/schema";
import { natural } from "./natural";

export type Graph = components["schemas"]["Graph"];
type Node = Graph["nodes"][number];

export const box = { width: 152, height: 30, across: 46, down: 12 };

export interface Placed extends Node {
  x: number;
  y: number;
}

export interface Drawn {
  from: string;
  to: string;
  kind: "after" | "sensor";
  path: string;
  blocks: number; // how many open runs it keeps waiting
}

export interface Layout {
  nodes: Placed[];
  edges: Drawn[];
  width: number;
  height: number;
}

/** Places upstreams to the left of a pipeline and downstreams to its right, by distance. */
export function layout(g: Pick<Graph, "nodes" | "edges" | "blocks">): Layout {
  const least = Math.min(...g.nodes.map((n) => n.distance));
  const columns = new Map<number, Node[]>();
  for (const n of g.nodes) columns.set(n.distance, [...(columns.get(n.distance) ?? []), n]);
  const most = Math.max(...[...columns.values()].map((c) => c.length));
  const step = box.height + box.down;
  const nodes: Placed[] = [];
  for (const [distance, column] of columns) {
    const top = ((most - column.length) * step) / 2;
    column.toSorted((a, b) => natural(a.pipeline, b.pipeline)).forEach((n, i) => nodes.push({ ...n, x: (distance - least) * (box.width + box.across), y: top + i * step }));
  }
  const at = new Map(nodes.map((n) => [n.pipeline, n]));
  const edges = g.edges.flatMap((e): Drawn[] => {
    const [a, b] = [at.get(e.from), at.get(e.to)];
    if (!a || !b) return [];
    return [{ ...e, path: curve(a, b), blocks: g.blocks.filter((k) => k.pipeline === e.to && k.by === e.from).length }];
  });
  const width = Math.max(...nodes.map((n) => n.x)) + box.width;
  return { nodes, edges, width, height: most * step - box.down };
}

/** From the right side of one box to the left side of another. */
function curve(a: Placed, b: Placed): string {
  const [x1, y1, x2, y2] = [a.x + box.width, a.y + box.height / 2, b.x - 5, b.y + box.height / 2];
  const bend = Math.max(20, Math.abs(x2 - x1) / 2);
  return `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
