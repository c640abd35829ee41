import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { createPortal } from "react-dom";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { room } from "../model/plot";
import { day, hour } from "../model/time";
import { Link } from "./link";
import { useSize } from "./size";
import { onThemeChange } from "./theme";

export interface Point {
  x: number;
  y: number;
  label: string;
  href?: string;
}

export interface Series {
  kind: "line" | "dots" | "bars";
  points: readonly Point[];
  color: string; // a variable of the style sheet
  dash?: number[];
}

interface Props {
  label: string; // what a screen reader says of it
  series: readonly Series[]; // each in the order of x
  steps: number[]; // round distances between ticks of the y axis, smallest first
  tick: (y: number) => string;
  from: number;
  to: number;
  near?: boolean; // the y axis may begin above nought, where all values are far from it
  height?: number;
}

const days = [hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 4 * day, 7 * day, 14 * day, 28 * day];

/** A chart over time. Each mark names what it stands for, and may lead there. Dragging zooms in, a double click zooms out. */
export function Plot({ label, height = 150, ...props }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const probe = useRef<HTMLElement>(null);
  const width = useSize(box).width;
  const [plot, setPlot] = useState<uPlot>();
  const [, setDraws] = useState(0);
  const { series, from, to } = props;
  const content = useMemo(() => JSON.stringify([series, from, to]), [series, from, to]);
  useEffect(() => {
    const color = (name: string) => {
      probe.current!.style.color = `var(${name})`;
      return getComputedStyle(probe.current!).color;
    };
    const { clientWidth } = box.current!;
    const u = new uPlot({ ...options(props, color, getComputedStyle(box.current!).fontFamily), width: clientWidth, height, hooks: { draw: [() => setDraws((n) => n + 1)] } }, table(series), box.current!);
    setPlot(u);
    const stop = onThemeChange(() => u.redraw(false));
    return () => {
      stop();
      u.destroy();
      setPlot(undefined);
    };
    // The functions among the props are made anew on each render, and never change what they do.
  }, [content, height]);
  useEffect(() => {
    if (width > 0) plot?.setSize({ width, height });
  }, [plot, width, height]);
  return (
    <div className="plot" ref={box} role="group" aria-label={label} style={{ height }}>
      <i ref={probe} hidden />
      {plot && createPortal(<Marks plot={plot} points={series.flatMap((s) => (s.kind === "line" ? [] : s.points))} />, plot.over)}
    </div>
  );
}

/** The places of the marks: to point at, and to follow. One of them is reached with Tab, the others with the arrow keys. */
function Marks({ plot, points }: { plot: uPlot; points: readonly Point[] }) {
  const { min, max } = plot.scales.x!;
  const seen = points.filter((p) => p.x >= min! && p.x <= max!);
  const move = (e: KeyboardEvent<HTMLElement>) => {
    const next = e.key === "ArrowLeft" ? e.currentTarget.previousElementSibling : e.key === "ArrowRight" ? e.currentTarget.nextElementSibling : null;
    if (next instanceof HTMLAnchorElement) next.focus();
  };
  return seen.map((p, i) => {
    const style = { left: plot.valToPos(p.x, "x"), top: plot.valToPos(p.y, "y") };
    if (!p.href) return <i key={i} className="mark" style={style} title={p.label} />;
    return <Link key={i} className="mark" style={style} href={p.href} title={p.label} aria-label={p.label} tabIndex={i === seen.length - 1 ? 0 : -1} onKeyDown={move} />;
  });
}

/** The series as columns over one list of x. Where two points of a series have the same x, the second moves by a millisecond. */
function table(series: readonly Series[]): uPlot.AlignedData {
  const [xs, ...columns] = uPlot.join(series.map(({ points }): uPlot.AlignedData => {
    const xs: number[] = [];
    for (const p of points) xs.push(Math.max(p.x, (xs.at(-1) ?? -Infinity) + 1));
    return [xs, points.map((p) => p.y)];
  }));
  // A bar is as wide as the distance between values, absent ones included, but not undefined ones.
  return [xs, ...columns.map((c, i) => (series[i]!.kind === "bars" ? Array.from(c, (v) => v ?? null) : c))];
}

function options({ series, steps, tick, from, to, near }: Omit<Props, "label">, color: (name: string) => string, family: string): Omit<uPlot.Options, "width" | "height"> {
  const axis = { stroke: () => color("--soft"), font: `11.5px ${family}`, ticks: { show: false } };
  return {
    scales: {
      x: { time: false, min: from, max: to },
      y: { range: (_, low, high) => room(low ?? 0, high ?? 1, near ?? false) },
    },
    axes: [
      { ...axis, grid: { show: false }, incrs: days, space: 74, size: 22, gap: 2, splits: noons, values: (_, all, _axis, _space, step) => all.map((t) => new Date(t).toISOString().slice(5, step < day ? 16 : 10).replace("T", " ")) },
      { ...axis, grid: { stroke: () => color("--line"), width: 1 }, incrs: steps, space: 30, size: 84, gap: 6, values: (_, all) => all.map(tick) },
    ],
    series: [{}, ...series.map((s) => drawn(s, color))],
    legend: { show: false },
    cursor: {
      x: false, y: false, points: { show: false }, drag: { x: true, y: false },
      bind: { dblclick: (u) => () => (u.setScale("x", { min: from, max: to }), null) },
    },
    padding: [8, 20, 0, 0],
  };
}

/** The ticks of days, in their middle, where their marks are; or of hours. */
function noons(_: uPlot, _axis: number, from: number, to: number, step: number): number[] {
  const out: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(step < day ? t : t + day / 2);
  return out.filter((t) => t <= to);
}

function drawn(s: Series, color: (name: string) => string): uPlot.Series {
  const stroke = () => color(s.color);
  switch (s.kind) {
    case "line": return { stroke, width: 1.8, spanGaps: true, points: { show: false }, ...(s.dash ? { dash: s.dash } : {}) };
    case "dots": return { paths: () => null, points: { show: true, size: 6, width: 0, fill: stroke, stroke }, stroke, alpha: 0.6 };
    case "bars": return { stroke, fill: stroke, width: 0, paths: uPlot.paths.bars!({ size: [0.8, 26] }), points: { show: false }, alpha: 0.8 };
  }
}
