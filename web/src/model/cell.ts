import type { Window } from "./axis";
import { type Kind, kindOf, kinds, endOf, promiseOf, type Promise, type Slot, startOf } from "./slot";

/** Cell is what a lane draws: one period, or several that are too narrow to be told apart. */
export interface Cell {
  slots: Slot[];
  kind: Kind;
  promise: Promise | undefined;
  left: number; // in pixels
  width: number;
}

/** Below this many pixels periods are drawn together. */
const narrow = 5;

const rank = new Map(kinds.map((k, i) => [k, i]));
const worse = (a: Kind, b: Kind): Kind => (rank.get(a)! <= rank.get(b)! ? a : b);

const promiseRank: (Promise | undefined)[] = ["breached", "warned", "armed", "met", undefined];
const worsePromise = (a: Promise | undefined, b: Promise | undefined) =>
  promiseRank.indexOf(a) <= promiseRank.indexOf(b) ? a : b;

/** Places the periods of a lane, oldest first, in a window that is so many pixels wide. */
export function cells(slots: readonly Slot[], w: Window, width: number): Cell[] {
  const scale = width / (w.to - w.from);
  const out: Cell[] = [];
  slots.forEach((slot, i) => {
    const from = Math.max(startOf(slot), w.from);
    const to = Math.min(endOf(slot, slots[i + 1]), w.to);
    if (to <= from) return;
    const left = (from - w.from) * scale;
    const wide = (to - from) * scale;
    const last = out[out.length - 1];
    if (last && wide < narrow && last.width < narrow * 2 && left - (last.left + last.width) < 1) {
      last.slots.push(slot);
      last.kind = worse(last.kind, kindOf(slot));
      last.promise = worsePromise(last.promise, promiseOf(slot));
      last.width = left + wide - last.left;
      return;
    }
    out.push({ slots: [slot], kind: kindOf(slot), promise: promiseOf(slot), left, width: wide });
  });
  return out;
}
