import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type PointerEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ticks, type Window } from "../../model/axis";
import type { Axis, Cell } from "../../model/cell";
import type { Lane, Row } from "../../model/lane";
import { clock } from "../../model/time";
import { useZone } from "../../ui/clock";
import { LaneRow } from "./lanerow";
import { Tip, type Pointed } from "./tip";
import { useSize } from "../../ui/size";

export const rowHeight = 34;

/** The lanes and their axis. Only the rows in view are drawn, whatever their number. */
export function Board({ rows, window: w, now, axis, zoomTo }: { rows: Row[]; window: Window; now: number; axis: Axis; zoomTo: (from: number, to: number) => void }) {
  const zone = useZone();
  const scroller = useRef<HTMLDivElement>(null);
  const track = useRef<HTMLDivElement>(null);
  const width = useSize(track).width;
  const tip = useTip();
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => rowHeight, overscan: 6, scrollMargin: 30 });
  const marks = useMemo(() => (width ? ticks(w, width, zone) : []), [w, width, zone]);
  const isNow = now >= w.from && now < w.to;
  const edge = axis === "execution" ? Math.floor(now / 5000) * 5000 : 0; // of what runs; it grows in steps
  const x = (t: number) => ((t - w.from) / (w.to - w.from)) * width;
  const { hide } = tip;
  useEffect(() => hide("now"), [w, rows.length, hide]);

  return (
    <div className="board">
      <div
        className="scroller" ref={scroller}
        onScroll={() => hide("now")}
        onPointerLeave={() => hide("soon")}
        onPointerOver={(e: PointerEvent) => !(e.target as HTMLElement).closest(".cell") && hide("soon")}
        onKeyDown={(e) => {
          if (e.key === " " && (e.target as HTMLElement).closest("a.cell")) {
            e.preventDefault();
            tip.pin();
          } else if (e.key === "Escape") hide("now");
          else steer(e);
        }}
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
          {virtual.getVirtualItems().map(({ index }) => {
            const row = rows[index];
            if (!row) return null;
            if ("head" in row) return <div key={`head ${row.head}`} role="listitem" className="head" style={{ top: index * rowHeight }}>{row.head}<small>{row.count}</small></div>;
            return <LaneRow key={row.lane.pipeline.id} lane={row.lane} row={index} of={rows.length} window={w} width={width} axis={axis} now={edge} point={tip.point} zoomTo={zoomTo} />;
          })}
        </div>
      </div>
      {tip.pointed && <Tip key={tip.pointed.id} pointed={tip.pointed} now={now} tip={tip} />}
    </div>
  );
}

/** The panel beside a cell: it follows the pointer and the focus until it is pinned. */
function useTip() {
  const [pointed, setPointed] = useState<(Pointed & { id: number }) | null>(null);
  const [pinned, setPinned] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const held = useRef(false);
  held.current = pinned;
  const point = useCallback((lane: Lane, cell: Cell, el: HTMLElement) => {
    clearTimeout(timer.current);
    if (!held.current) setPointed((old) => (old?.el === el && old.cell === cell ? old : { lane, cell, el, id: (old?.id ?? 0) + 1 }));
  }, []);
  const hide = useCallback((when: "now" | "soon") => {
    clearTimeout(timer.current);
    if (held.current) return;
    if (when === "now") setPointed(null);
    else timer.current = setTimeout(() => setPointed(null), 250); // long enough to move into the panel
  }, []);
  const stay = useCallback(() => clearTimeout(timer.current), []);
  const pin = useCallback(() => setPinned(true), []);
  const close = useCallback(() => {
    setPinned(false);
    setPointed(null);
  }, []);
  return useMemo(() => ({ pointed, pinned, point, hide, stay, pin, close }), [pointed, pinned, point, hide, stay, pin, close]);
}

export type TipState = ReturnType<typeof useTip>;

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
