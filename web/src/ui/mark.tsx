import type { ReactElement } from "react";
import type { Kind, Promise } from "../model/slot";

// The shapes that tell kinds apart without colour. All are drawn in a box of 12 by 12.

const line = { fill: "none", stroke: "currentColor", strokeWidth: 1.8, strokeLinecap: "round", strokeLinejoin: "round" } as const;

const shapes: Record<Kind, ReactElement> = {
  completed: <path d="M2.5 6.5 5 9l4.5-6" {...line} />,
  dryrun: <path d="M2.5 6.5 5 9l4.5-6" {...line} strokeDasharray="1.5 2.4" />,
  held: <g {...line} strokeWidth={2}><path d="M6 2v4.6M6 9.8v.01" /></g>,
  paused: <g {...line} strokeWidth={1.8}><path d="M4 3v6M8 3v6" /></g>,
  offered: <g {...line} strokeWidth={1.5}><path d="M2.5 4h7v5h-7zM4.5 4V2.5h3V4" /></g>,
  running: <path d="M3.5 2.2v7.6L10 6z" fill="currentColor" />,
  starting: <path d="M3.5 2.5v7L9.5 6z" {...line} strokeWidth={1.5} />,
  waiting: <g {...line} strokeWidth={1.5}><circle cx="6" cy="6" r="4" /><path d="M6 3.8V6l1.5 1" /></g>,
  failed: <path d="M9.5 6a3.5 3.5 0 1 1-1.2-2.6M9.7 1.6v2.2H7.5" {...line} strokeWidth={1.5} />,
  final: <path d="m3 3 6 6M9 3 3 9" {...line} strokeWidth={2.1} />,
  exhausted: <g {...line} strokeWidth={1.6}><path d="M3 1.8h6M3 10.2h6M3.6 2c0 3 4.8 5 4.8 8M8.4 2c0 3-4.8 5-4.8 8" /></g>,
  cancelled: <path d="M2.5 6h7" {...line} />,
  excluded: <path d="M2.5 9.5l7-7" {...line} strokeWidth={1.3} />,
  missing: <g {...line} strokeWidth={1.7}><path d="M4 4.3a2 2 0 1 1 2.9 1.8c-.7.4-.9.7-.9 1.3" /><path d="M6 9.8v.01" /></g>,
  due: <circle cx="6" cy="6" r="1.3" fill="currentColor" />,
  upcoming: <circle cx="6" cy="6" r="1.3" fill="currentColor" />,
};

export function Glyph({ kind }: { kind: Kind }) {
  return <svg className="glyph" viewBox="0 0 12 12" aria-hidden="true">{shapes[kind]}</svg>;
}

/** A mark with its word beside it. */
export function Badge({ kind, children }: { kind: Kind; children: React.ReactNode }) {
  return <span className={`badge k-${kind}`}><Glyph kind={kind} />{children}</span>;
}

const promises: Record<Promise, ReactElement> = {
  armed: <circle cx="4" cy="4" r="2.4" fill="none" stroke="currentColor" strokeWidth="1.3" />,
  warned: <path d="M4 .8 7.4 7H.6z" fill="none" stroke="currentColor" strokeWidth="1.3" strokeLinejoin="round" />,
  met: <circle cx="4" cy="4" r="2" fill="currentColor" />,
  breached: <path d="M4 .4 7.8 7.4H.2z" fill="currentColor" />,
};

export function PromiseMark({ promise }: { promise: Promise }) {
  return <svg className={`promise p-${promise}`} viewBox="0 0 8 8" aria-hidden="true">{promises[promise]}</svg>;
}

export function RuleMark({ outcome }: { outcome: string }) {
  const kind: Kind = outcome === "pass" ? "completed" : outcome === "fail" ? "final" : "missing";
  const word = outcome === "pass" ? "passes" : outcome === "fail" ? "does not pass" : "unknown";
  return <span className={`rulemark k-${kind}`} role="img" aria-label={word} title={word}><Glyph kind={kind} /></span>;
}
