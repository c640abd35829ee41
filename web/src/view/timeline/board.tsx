import { type KeyboardEvent, type PointerEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ticks, type Window } from "../../model/axis";
import type { Cell } from "../../model/cell";
import type { Lane, Row } from "../../model/lane";
import { clock } from "../../model/time";
import { useZone } from "../../ui/clock";
import { LaneRow } from "./lanerow";
import { Tip, type Pointed } from "./tip";
import { useSize } from "../../ui/size";

export const rowHeight = 34;
const spare = 6; // rows drawn beyond what can be seen

/** The lanes and their axis. Only the rows that can be seen are drawn, whatever their number. */
export function Board({ rows, window: w, now }: { rows: Row[]; window: Window; now: number }) {
  const zone = useZone();
  const scroller = useRef<HTMLDivElement>(null);
  const track = useRef<HTMLDivElement>(null);
  const width = useSize(track).width;
  const height = useSize(scroller).height;
  const [top, setTop] = useState(0);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const marks = useMemo(() => (width ? ticks(w, width, zone) : []), [w, width, zone]);
  const first = Math.max(0, Math.floor(top / rowHeight) - spare);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + spare);
  const isNow = now >= w.from && now < w.to;
  const x = (t: number) => ((t - w.from) / (w.to - w.from)) * width;
  const point = useCallback((lane: Lane, cell: Cell, at: DOMRect) => setPointed({ lane, cell, at }), []);
  useEffect(() => setPointed(null), [w, rows.length]);

  return (
    <div className="board">
      <div
        className="scroller" ref={scroller}
        onScroll={(e) => {
          setTop(e.currentTarget.scrollTop);
          setPointed(null);
        }}
        onPointerLeave={() => setPointed(null)}
        onPointerOver={(e: PointerEvent) => !(e.target as HTMLElement).closest(".cell") && setPointed(null)}
        onKeyDown={steer}
      >
        <div className="axis">
          <div className="corner">{rows.filter((r) => "lane" in r).length} pipelines</div>
          <div className="track" ref={track}>
            {marks.filter((m) => !isNow || Math.abs(x(m.at) + 18 - x(now)) > 54).map((m) => <span key={m.at} className={m.major ? "tick major" : "tick"} style={{ left: x(m.at) }}>{m.label}</span>)}
            {isNow && <span className="now-label" style={{ left: x(now) }}>{clock(now, zone)}</span>}
          </div>
        </div>
        <div className="rows" role="list" aria-label="Pipelines" style={{ height: rows.length * rowHeight }}>
          <div className="grid" aria-hidden="true">
            {marks.map((m) => <i key={m.at} className={m.major ? "major" : undefined} style={{ left: x(m.at) }} />)}
            {isNow && <i className="now" style={{ left: x(now) }} />}
          </div>
          {rows.slice(first, last).map((row, i) => {
            const at = first + i;
            if ("head" in row) return <div key={`head ${row.head}`} role="listitem" className="head" style={{ top: at * rowHeight }}>{row.head}<small>{row.count}</small></div>;
            return <LaneRow key={row.lane.pipeline.id} lane={row.lane} row={at} of={rows.length} window={w} width={width} point={point} />;
          })}
        </div>
      </div>
      {pointed && <Tip pointed={pointed} now={now} />}
    </div>
  );
}

/** Arrow keys go from cell to cell; up and down to the cell of the next lane that is nearest in time. */
function steer(e: KeyboardEvent) {
  const cell = (e.target as HTMLElement).closest<HTMLElement>("a.cell");
  if (!cell) return;
  const along = e.key === "ArrowRight" ? cell.nextElementSibling : e.key === "ArrowLeft" ? cell.previousElementSibling : null;
  let to = along?.matches("a.cell") ? (along as HTMLElement) : null;
  if (e.key === "ArrowDown" || e.key === "ArrowUp") to = nearest(cell, e.key === "ArrowDown" ? 1 : -1);
  else if (e.key !== "ArrowRight" && e.key !== "ArrowLeft") return;
  e.preventDefault();
  to?.focus();
}

function nearest(cell: HTMLElement, by: 1 | -1): HTMLElement | null {
  const here = cell.getBoundingClientRect().left;
  let lane = cell.closest(".lane");
  do {
    lane = (by > 0 ? lane?.nextElementSibling : lane?.previousElementSibling) ?? null;
    const cells = [...(lane?.querySelectorAll<HTMLElement>("a.cell") ?? [])];
    const off = (c: HTMLElement) => Math.abs(c.getBoundingClientRect().left - here);
    if (cells.length) return cells.reduce((a, b) => (off(b) < off(a) ? b : a));
  } while (lane);
  return null;
}
