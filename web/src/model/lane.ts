import type { components } from "../api/schema";
import type { Window } from "./axis";
import { type Axis, isDrawn } from "./cell";
import { groupBy } from "./group";
import { natural } from "./natural";
import { type Bucket, type Kind, kindOf, kindOfPhase, kinds, promiseOf, type Slot } from "./slot";

export type Pipeline = components["schemas"]["Pipeline"];
export type Schedule = components["schemas"]["Schedule"];

/** Lane is one pipeline of a timeline. */
export interface Lane {
  pipeline: Pipeline;
  slots: Slot[];
  buckets: Bucket[]; // its periods counted, where there are too many to list
  counts: ReadonlyMap<Filter, number>;
}

/** The filters on lanes other than their kinds. */
export type Filter = Kind | "late";

export interface Choice {
  search: string;
  filters: ReadonlySet<Filter>;
  group: string; // "", "owner", or a tag's name
  sort: "name" | "trouble";
}

/** Row is what is drawn below the axis: the head of a group, or a lane. */
export type Row = { head: string; count: number } | { lane: Lane };

/** Joins the pipelines with their periods. The counts are of what is drawn in the window. */
export function lanesOf(pipelines: readonly Pipeline[], schedules: readonly Schedule[], w: Window, axis: Axis = "period"): Lane[] {
  const by = new Map(schedules.map((s) => [s.pipeline, s]));
  return pipelines.map((pipeline) => {
    const s = by.get(pipeline.id);
    return { pipeline, slots: s?.slots ?? [], buckets: s?.buckets ?? [], counts: s ? countsOf(s, w, axis) : new Map() };
  });
}

/** How many periods of each kind a lane shows, whether listed or counted in buckets. */
function countsOf(s: Schedule, w: Window, axis: Axis): Map<Filter, number> {
  const out = new Map<Filter, number>();
  const add = (f: Filter, n: number) => n !== 0 && out.set(f, (out.get(f) ?? 0) + n);
  for (const [phase, n] of Object.entries(s.counts)) add(kindOfPhase(phase), n);
  const counted = s.buckets.length > 0;
  for (const b of s.buckets) add("late", b.breached);
  for (const slot of s.slots) {
    if (counted && !slot.outside) continue; // it is in a bucket
    if (!isDrawn(slot, w, axis)) add(kindOf(slot), -1);
    else if (promiseOf(slot) === "breached") add("late", 1);
  }
  return new Map([...out].filter(([, n]) => n > 0));
}

/** The number of periods of each kind in the lanes that match the search. */
export function count(lanes: readonly Lane[], search = ""): Map<Filter, number> {
  const out = new Map<Filter, number>();
  for (const lane of lanes) {
    if (!found(lane.pipeline, search)) continue;
    for (const [f, n] of lane.counts) out.set(f, (out.get(f) ?? 0) + n);
  }
  return out;
}

/** Whether every word of a search is in the pipeline's id, owner, description or tags. */
export function found(p: Pipeline, search: string): boolean {
  const tags = Object.entries(p.tags).map(([k, v]) => `${k}=${v}`);
  const all = [p.id, p.owner, p.description, ...tags].join("\n").toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

function wanted(lane: Lane, c: Choice): boolean {
  if (!found(lane.pipeline, c.search)) return false;
  if (c.filters.size === 0) return true;
  return [...c.filters].some((f) => lane.counts.has(f));
}

const troubles = new Set<Kind>(["final", "exhausted", "missing", "held", "failed"]);

/** How much attention a lane needs. */
function trouble(lane: Lane): number {
  let n = 0;
  for (const [f, many] of lane.counts) n += many * (f === "late" ? 1 : troubles.has(f) ? 2 : 0);
  return n;
}

/** The names by which lanes can be grouped. */
export function groups(pipelines: readonly Pipeline[]): string[] {
  const tags = new Set(pipelines.flatMap((p) => Object.keys(p.tags)));
  return ["owner", ...[...tags].sort(natural)];
}

function groupOf(p: Pipeline, by: string): string {
  const name = by === "owner" ? p.owner : p.tags[by];
  return name || `no ${by}`;
}

/** The rows to draw: the matching lanes, in natural order of their names unless sorted or grouped otherwise. */
export function rows(lanes: readonly Lane[], c: Choice): Row[] {
  const shown = lanes.filter((l) => wanted(l, c));
  const order = (a: Lane, b: Lane) =>
    (c.sort === "trouble" ? trouble(b) - trouble(a) : 0) || natural(a.pipeline.id, b.pipeline.id);
  shown.sort(order);
  if (!c.group) return shown.map((lane) => ({ lane }));
  const grouped = groupBy(shown, (l) => groupOf(l.pipeline, c.group));
  return [...grouped.keys()].sort(natural).flatMap((head): Row[] => {
    const members = grouped.get(head)!;
    return [{ head, count: members.length }, ...members.map((lane) => ({ lane }))];
  });
}

/** Whether a name is a known filter. */
export function isFilter(name: string): name is Filter {
  return name === "late" || (kinds as readonly string[]).includes(name);
}
