import { memo, useMemo } from "react";
import type { Window } from "../../model/axis";
import { type Axis, type Cell, cells } from "../../model/cell";
import type { Lane } from "../../model/lane";
import { type Kind, kindName, kindOfRun, promiseName } from "../../model/slot";
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
  axis: Axis;
  now: number; // 0 where nothing grows
  point: (lane: Lane, cell: Cell, el: HTMLElement) => void;
  zoomTo: (from: number, to: number) => void;
}

/** Kinds of which there are many and that need no shape drawn: the style sheet gives them theirs. */
const drawnByStyle: Partial<Record<Kind, true>> = { due: true, upcoming: true, excluded: true };

/** One pipeline: its name, its state, and its periods. */
export const LaneRow = memo(function LaneRow({ lane, row, of, window: w, width, axis, now, point, zoomTo }: Props) {
  const drawn = useMemo(() => (width ? cells(lane, w, width, axis, now) : []), [lane, w, width, axis, now]);
  const p = lane.pipeline;
  const entry = drawn.findLast((c) => c.kind !== "upcoming" && c.kind !== "due") ?? drawn[0];
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
        {drawn.map((c) => <CellLink key={`${c.first.schedule} ${c.first.date}`} cell={c} lane={lane} entry={c === entry} point={point} zoomTo={zoomTo} />)}
      </div>
    </div>
  );
});

function CellLink({ cell, lane, entry, point, zoomTo }: { cell: Cell; lane: Lane; entry: boolean } & Pick<Props, "point" | "zoomTo">) {
  const { slot, first } = cell;
  const attempt = slot?.attempt ?? 0;
  const words = [
    kindName[cell.kind], cell.total > 1 ? `${cell.total} periods` : "", attempt > 1 ? `attempt ${attempt}` : "", slot?.gateBypassed ? "gate bypassed" : "",
    cell.promise ? promiseName[cell.promise] : "", cell.outside ? "outside the time shown" : "",
  ].filter(Boolean);
  const thin = cell.width < 13;
  const classes = [
    "cell", `k-${cell.kind}`, thin && "thin", cell.again && "again", cell.growing && "growing", cell.outside && "outside", cell.outside && cell.left > 0 && "late-edge",
    cell.promise && thin && `t-${cell.promise}`, slot?.gateBypassed && "bypassed",
  ];
  const show = (el: HTMLElement) => point(lane, cell, el);
  return (
    <Link
      href={runPath(lane.pipeline.id, first.schedule, first.date)}
      className={classes.filter(Boolean).join(" ")}
      style={{ left: cell.left, width: Math.max(2, cell.width - (cell.width > 4 ? 2 : 0.5)) }}
      tabIndex={entry ? 0 : -1}
      aria-label={`${lane.pipeline.id} ${first.date}: ${words.join(", ")}`}
      onPointerEnter={(e) => show(e.currentTarget)}
      onFocus={(e) => show(e.currentTarget)}
      onClick={(e) => {
        if (slot || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
        e.preventDefault();
        zoomTo(cell.from, cell.to);
      }}
    >
      {!thin && !drawnByStyle[cell.kind] && <Glyph kind={cell.kind} />}
      {attempt > 1 && cell.width >= 34 && <span className="attempts">{attempt}</span>}
      {!slot && cell.width >= 34 && <span className="attempts">{cell.counts.get(cell.kind) ?? cell.total}</span>}
      {cell.promise && !thin && <PromiseMark promise={cell.promise} />}
    </Link>
  );
}
