import type { Window } from "./axis";
import type { Lane } from "./lane";
import { type Bucket, type Kind, endOf, executionOf, kindOf, kindOfPhase, kinds, type Promise, promiseOf, type Slot, startOf } from "./slot";

/** Which time positions a period: that of its data, or that of its run. */
export type Axis = "period" | "execution";

/** Cell is what a lane draws: one period, or several that are too narrow to be told apart. */
export interface Cell {
  first: { schedule: string; date: string };
  slot: Slot | undefined; // if it is one period
  counts: Map<Kind, number>;
  total: number;
  kind: Kind; // the worst
  promise: Promise | undefined;
  again: boolean; // one of them had several attempts
  growing: boolean; // its right edge is now
  outside: boolean; // it lies outside the window, and is drawn at its edge
  from: number;
  to: number;
  left: number; // in pixels
  width: number;
}

/** Periods narrower than this many pixels are merged. */
const narrow = 5;
/** The width of a cell at the edge that stands for periods outside the window. */
const edge = 14;

const rank = new Map(kinds.map((k, i) => [k, i]));
const worse = (a: Kind, b: Kind): Kind => (rank.get(a)! <= rank.get(b)! ? a : b);

const promiseRank: (Promise | undefined)[] = ["breached", "warned", "armed", "met", undefined];
const worsePromise = (a: Promise | undefined, b: Promise | undefined) => (promiseRank.indexOf(a) <= promiseRank.indexOf(b) ? a : b);

/** Kinds that need no attention: outside the window they are omitted, while others are shown at its edge. */
const calmKinds: ReadonlySet<Kind> = new Set<Kind>(["completed", "dryrun", "due", "upcoming", "excluded"]);

/** Whether a period may be omitted. One that should have a run, with a deadline, may not. */
const calm = (kind: Kind, promise: Promise | undefined) => calmKinds.has(kind) && !(kind === "due" && promise !== undefined && promise !== "met");

const stretch = (slot: Slot, axis: Axis, now: number) => (axis === "execution" ? executionOf(slot, now) : { from: startOf(slot), to: endOf(slot) });
const inside = (c: { from: number; to: number }, w: Window) => c.from < w.to && (c.to > w.from || c.from >= w.from);

/** Whether a period is drawn at all: in the window, or at its edge. */
export function isDrawn(slot: Slot, w: Window, axis: Axis): boolean {
  return !calm(kindOf(slot), promiseOf(slot)) || inside(stretch(slot, axis, 0), w);
}

/** Positions the periods of a lane in a window of the given width in pixels. */
export function cells(lane: Pick<Lane, "slots" | "buckets">, w: Window, width: number, axis: Axis = "period", now = 0): Cell[] {
  const scale = width / (w.to - w.from);
  const counted = lane.buckets.length > 0; // then only what lies outside is drawn from the list
  const out = lane.buckets.flatMap((b) => place(ofBucket(b), w, scale) ?? []);
  const edges: Cell[] = [];
  const drawn = lane.slots.filter((s) => !counted || s.outside).map((s) => ofSlot(s, axis, now));
  if (axis === "execution") drawn.sort((a, b) => a.from - b.from);
  for (const c of drawn) {
    const placed = counted ? undefined : place(c, w, scale);
    if (placed) add(out, placed);
    else if (!calm(c.kind, c.promise)) edges.push({ ...c, outside: true, left: c.from < w.from ? 0 : width - edge, width: edge });
  }
  return [...merged(edges.filter((c) => c.left === 0)), ...out, ...merged(edges.filter((c) => c.left !== 0))];
}

function ofSlot(slot: Slot, axis: Axis, now: number): Cell {
  const { from, to } = stretch(slot, axis, now);
  return {
    first: slot, slot, counts: new Map([[kindOf(slot), 1]]), total: 1, kind: kindOf(slot), promise: promiseOf(slot), again: (slot.attempt ?? 0) > 1,
    growing: axis === "execution" && slot.openedAt !== null && slot.endedAt === null, outside: false, from, to, left: 0, width: 0,
  };
}

function ofBucket(b: Bucket): Cell {
  const counts = new Map<Kind, number>();
  for (const [phase, n] of Object.entries(b.counts)) counts.set(kindOfPhase(phase), (counts.get(kindOfPhase(phase)) ?? 0) + n);
  return {
    first: { schedule: b.schedule, date: b.first }, slot: undefined, counts, total: b.total, kind: kindOfPhase(b.worst), promise: b.breached > 0 ? "breached" : undefined,
    again: false, growing: false, outside: false, from: Date.parse(b.from), to: Date.parse(b.to), left: 0, width: 0,
  };
}

/** Clips a cell to the window; undefined if it lies outside. */
function place(c: Cell, w: Window, scale: number): Cell | undefined {
  if (!inside(c, w)) return undefined;
  const from = Math.max(c.from, w.from);
  const width = Math.max(2, (Math.min(c.to, w.to) - from) * scale);
  return { ...c, left: (from - w.from) * scale, width };
}

/** Adds a cell, to the one before it if both are too narrow to be told apart. */
function add(out: Cell[], c: Cell): void {
  const last = out[out.length - 1];
  if (!last || c.width >= narrow || last.width >= narrow * 2 || c.left - (last.left + last.width) >= 1) {
    out.push(c);
    return;
  }
  out[out.length - 1] = join(last, c);
}

function join(a: Cell, b: Cell): Cell {
  const counts = new Map(a.counts);
  for (const [k, n] of b.counts) counts.set(k, (counts.get(k) ?? 0) + n);
  const right = Math.max(a.left + a.width, b.left + b.width);
  return {
    ...a, slot: undefined, counts, total: a.total + b.total, kind: worse(a.kind, b.kind), promise: worsePromise(a.promise, b.promise), again: a.again || b.again,
    growing: a.growing || b.growing, to: Math.max(a.to, b.to), width: right - a.left,
  };
}

const merged = (all: Cell[]): Cell[] => (all.length > 1 ? [all.reduce(join)] : all);
