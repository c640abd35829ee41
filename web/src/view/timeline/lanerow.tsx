import { memo, useMemo } from "react";
import type { Window } from "../../model/axis";
import { type Cell, cells } from "../../model/cell";
import type { Lane } from "../../model/lane";
import { type Kind, kindName, kindOfRun, promiseName, endOf, startOf } from "../../model/slot";
import { pipelinePath, runPath } from "../../route/route";
import { Link } from "../../ui/link";
import { Glyph, PromiseMark } from "../../ui/mark";
import { rowHeight } from "./board";

interface Props {
  lane: Lane;
  row: number;
  of: number;
  window: Window;
  width: number;
  point: (lane: Lane, cell: Cell, el: HTMLElement) => void;
  zoomTo: (from: number, to: number) => void;
}

/** Kinds of which there are many and that need no shape drawn: the style sheet gives them theirs. */
const drawnByStyle: Partial<Record<Kind, true>> = { upcoming: true, excluded: true };

/** One pipeline: its name, how it stands, and its periods. */
export const LaneRow = memo(function LaneRow({ lane, row, of, window: w, width, point, zoomTo }: Props) {
  const drawn = useMemo(() => (width ? cells(lane.slots, w, width) : []), [lane.slots, w, width]);
  const p = lane.pipeline;
  const entry = [...drawn].reverse().find((c) => c.kind !== "upcoming") ?? drawn[0];
  const last = p.lastRun && kindOfRun(p.lastRun);
  return (
    <div className="lane" role="listitem" aria-setsize={of} aria-posinset={row + 1} style={{ top: row * rowHeight, height: rowHeight }}>
      <div className="name">
        {last ? <span className={`k-${last} last`} title={`last run: ${kindName[last]}`}><Glyph kind={last} /></span> : <span className="last" />}
        <Link href={pipelinePath(p.id)} title={p.description || p.id}>{p.id}</Link>
        {p.state !== "ok" && <span className={`flag s-${p.state}`}>{p.state}</span>}
        {p.dryRun && <span className="flag">dry run</span>}
      </div>
      <div className="cells">
        {drawn.map((c) => <CellLink key={c.slots[0]!.schedule + c.slots[0]!.date} cell={c} lane={lane} entry={c === entry} point={point} zoomTo={zoomTo} />)}
        {lane.truncated && <span className="truncated" title="There are more periods than fit: zoom in to see all of them">more…</span>}
      </div>
    </div>
  );
});

function CellLink({ cell, lane, entry, point, zoomTo }: { cell: Cell; lane: Lane; entry: boolean } & Pick<Props, "point" | "zoomTo">) {
  const slot = cell.slots.find((s) => s.status) ?? cell.slots[0]!;
  const attempt = cell.slots.length === 1 ? (slot.attempt ?? 0) : 0;
  const again = cell.slots.some((s) => (s.attempt ?? 0) > 1);
  const several = cell.slots.length > 1 ? `, ${cell.slots.length} periods` : "";
  const label = `${lane.pipeline.id} ${slot.date}: ${kindName[cell.kind]}${several}${attempt > 1 ? `, attempt ${attempt}` : ""}${cell.promise ? `, ${promiseName[cell.promise]}` : ""}`;
  const show = (el: HTMLElement) => point(lane, cell, el);
  return (
    <Link
      href={runPath(lane.pipeline.id, slot.schedule, slot.date)}
      className={`cell k-${cell.kind}${cell.width < 13 ? " thin" : ""}${again ? " again" : ""}${cell.promise && cell.width < 13 ? ` t-${cell.promise}` : ""}`}
      style={{ left: cell.left, width: Math.max(2, cell.width - (cell.width > 4 ? 2 : 0.5)) }}
      tabIndex={entry ? 0 : -1}
      aria-label={label}
      onPointerEnter={(e) => show(e.currentTarget)}
      onFocus={(e) => show(e.currentTarget)}
      onClick={(e) => {
        if (cell.slots.length === 1 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
        e.preventDefault();
        zoomTo(startOf(cell.slots[0]!), endOf(cell.slots.at(-1)!));
      }}
    >
      {cell.width >= 13 && drawnByStyle[cell.kind] === undefined && <Glyph kind={cell.kind} />}
      {attempt > 1 && cell.width >= 34 && <span className="attempts">{attempt}</span>}
      {cell.promise && cell.width >= 13 && <PromiseMark promise={cell.promise} />}
    </Link>
  );
}
