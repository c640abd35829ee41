import { useRef } from "react";
import { go } from "../route/route";
import { useSize } from "./size";

export interface Point {
  x: number;
  y: number;
  label: string;
  className?: string;
  href?: string;
}

export interface Series {
  kind: "line" | "dots" | "bars";
  points: readonly Point[];
  className: string;
}

interface Props {
  label: string; // what a screen reader says of it
  series: readonly Series[];
  ticks: readonly number[]; // of the y axis, lowest first
  tick: (y: number) => string;
  xs: readonly { x: number; label: string }[]; // of the x axis
  from: number;
  to: number;
  height?: number;
  wide?: number; // room for the ticks' words
}

/** A small chart. Each mark names what it stands for, and may lead there. */
export function Plot({ label, series, ticks, tick, xs, from, to, height = 150, wide = 78 }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useSize(box).width;
  const [low, high] = [ticks[0] ?? 0, ticks[ticks.length - 1] ?? 1];
  const inner = Math.max(1, width - wide - 10);
  const tall = height - 26;
  const x = (v: number) => wide + (to > from ? ((v - from) / (to - from)) * inner : inner / 2);
  const y = (v: number) => 6 + (high > low ? (1 - (v - low) / (high - low)) * tall : tall / 2);
  const room = Math.max(1, Math.floor(xs.length / Math.max(1, Math.floor(inner / 74))));
  return (
    <div className="plot" ref={box} style={{ height }}>
      {width > 0 && (
        <svg width={width} height={height} role="group" aria-label={label}>
          {ticks.map((t) => <g key={t}><line className="rule" x1={wide} x2={width - 10} y1={y(t)} y2={y(t)} /><text x={wide - 6} y={y(t) + 4} textAnchor="end">{tick(t)}</text></g>)}
          {xs.filter((_, i) => i % room === 0).map((t) => <text key={t.x} x={Math.min(x(t.x), width - 34)} y={height - 4} textAnchor="middle">{t.label}</text>)}
          {series.map((s, i) => <Drawn key={i} s={s} x={x} y={y} base={y(Math.max(low, 0))} gap={inner / Math.max(1, s.points.length)} />)}
        </svg>
      )}
    </div>
  );
}

/** One mark, which leads to what it stands for. */
function Dot({ p, className, cx, cy }: { p: Point; className: string; cx: number; cy: number }) {
  const dot = <circle className={className} cx={cx} cy={cy} r={3}><title>{p.label}</title></circle>;
  if (!p.href) return dot;
  const { href } = p;
  return (
    <a
      href={href} aria-label={p.label}
      onClick={(e) => {
        if (e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
        e.preventDefault();
        go(href);
      }}
    >
      {dot}
    </a>
  );
}

function Drawn({ s, x, y, base, gap }: { s: Series; x: (v: number) => number; y: (v: number) => number; base: number; gap: number }) {
  if (s.kind === "line") {
    return <polyline className={`line ${s.className}`} points={s.points.map((p) => `${x(p.x).toFixed(1)},${y(p.y).toFixed(1)}`).join(" ")} />;
  }
  if (s.kind === "dots") {
    return <>{s.points.map((p, i) => <Dot key={i} p={p} className={`dot ${p.className ?? s.className}`} cx={x(p.x)} cy={y(p.y)} />)}</>;
  }
  const width = Math.max(2, Math.min(26, gap - 3));
  return <>{s.points.map((p, i) => <rect key={i} className={`bar ${p.className ?? s.className}`} x={x(p.x) - width / 2} width={width} y={Math.min(y(p.y), base - 1)} height={Math.max(1, base - y(p.y))}><title>{p.label}</title></rect>)}</>;
}
