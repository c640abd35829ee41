import type { Pipeline } from "./lane";
import { natural } from "./natural";

export interface Neighbours {
  up: Pipeline[];
  down: Pipeline[];
}

/** The pipelines that one waits for, and those that wait for it. */
export function neighbours(all: readonly Pipeline[], id: string): Neighbours {
  const by = new Map(all.map((p) => [p.id, p]));
  const order = (a: Pipeline, b: Pipeline) => natural(a.id, b.id);
  return {
    up: (by.get(id)?.after ?? []).flatMap((a) => by.get(a) ?? []).sort(order),
    down: all.filter((p) => p.after.includes(id)).sort(order),
  };
}
