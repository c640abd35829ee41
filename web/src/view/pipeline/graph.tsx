import { useEffect, useRef } from "react";
import { useResource } from "../../api/resource";
import { box, type Graph as Answer, layout, type Placed } from "../../model/graph";
import { kindName, kindOfPhase } from "../../model/slot";
import { pipelinePath, runPath } from "../../route/route";
import { Age, useNow } from "../../ui/clock";
import { Link } from "../../ui/link";
import { Glyph } from "../../ui/mark";
import { Show } from "../../ui/state";

/** The upstreams and downstreams of this pipeline, and which block which. */
export function Graph({ id }: { id: string }) {
  const graph = useResource<Answer>(`/pipelines/${encodeURIComponent(id)}/graph`, { every: 10_000 });
  return (
    <section className="card" aria-label="Upstream and downstream">
      <h2>Upstream and downstream</h2>
      <Show resource={graph} what="graph">
        {(g) => {
          if (g.nodes.length === 1) return <p className="none">It has no upstream and no downstream pipelines.</p>;
          return (
            <>
              <Drawing g={g} />
              <Blocks g={g} />
              {g.truncated && <p className="hint">Some pipelines are not shown.</p>}
            </>
          );
        }}
      </Show>
    </section>
  );
}

const margin = 6;

function Drawing({ g }: { g: Answer }) {
  const l = layout(g);
  const scroller = useRef<HTMLDivElement>(null);
  const self = l.nodes.find((n) => n.pipeline === g.pipeline)!.x;
  useEffect(() => {
    const s = scroller.current!;
    s.scrollLeft = self + box.width / 2 - s.clientWidth / 2;
  }, [self]);
  return (
    <div className="scroll-x" ref={scroller} tabIndex={0} role="group" aria-label="Graph">
      <div className="graph" style={{ width: l.width + 2 * margin, height: l.height + 2 * margin }}>
        <svg width={l.width + 2 * margin} height={l.height + 2 * margin} aria-hidden="true">
          <g transform={`translate(${margin} ${margin})`}>
            {l.edges.map((e) => (
              <g key={`${e.from} ${e.to}`} className={`edge${e.blocks ? " blocks" : ""}${e.kind === "sensor" ? " reads" : ""}`}>
                <path d={e.path} />
                <path className="tip-of" d={arrow(e.path)} />
              </g>
            ))}
          </g>
        </svg>
        {l.nodes.map((n) => <Box key={n.pipeline} n={n} self={n.pipeline === g.pipeline} />)}
      </div>
    </div>
  );
}

/** The head of an arrow at the end of a path. */
function arrow(path: string): string {
  const [x, y] = path.split(" ").slice(-2).map(Number);
  return `M${x! - 6} ${y! - 4} L${x!} ${y!} L${x! - 6} ${y! + 4}`;
}

function Box({ n, self }: { n: Placed; self: boolean }) {
  const kind = n.phase ? kindOfPhase(n.phase) : "upcoming";
  const word = n.state === "unknown" ? "there is no such pipeline" : n.phase ? `${n.date}: ${kindName[kind]}` : "no run yet";
  const style = { left: n.x + margin, top: n.y + margin, width: box.width, height: box.height };
  const inner = <><span className={`k-${kind} last`}><Glyph kind={kind} /></span><span className="cut">{n.pipeline}</span>{n.state !== "ok" && <span className={`flag s-${n.state}`}>{n.state}</span>}</>;
  const label = `${n.pipeline}, ${word}`;
  if (self || n.state === "unknown") return <span className={`node${self ? " self" : ""}`} style={style} title={label}>{inner}</span>;
  return <Link href={pipelinePath(n.pipeline)} className="node" style={style} title={label} aria-label={label}>{inner}</Link>;
}

function Blocks({ g }: { g: Answer }) {
  const now = useNow(1000);
  if (g.blocks.length === 0) return <p className="hint">No open run waits for another pipeline.</p>;
  return (
    <ul className="reasons blocked">
      {g.blocks.slice(0, 12).map((b) => (
        <li key={`${b.pipeline}/${b.date}/${b.by}/${b.reason}`}>
          <Link href={runPath(b.pipeline, b.schedule, b.date)}>{b.pipeline} {b.date}</Link> waits for <Link href={pipelinePath(b.by)}>{b.by}</Link>: {b.reason} <small>(open <Age at={b.since} now={now} />)</small>
        </li>
      ))}
      {g.blocks.length > 12 && <li>and {g.blocks.length - 12} more</li>}
    </ul>
  );
}
