import { useResource } from "../../api/resource";
import type { Event } from "../../api/live";
import type { components } from "../../api/schema";
import { lateness } from "../../model/lateness";
import { natural } from "../../model/natural";
import { duration } from "../../model/time";
import { pipelinePath, runPath, useQuery } from "../../route/route";
import { Age, Time, useNow } from "../../ui/clock";
import { Link } from "../../ui/link";
import { PromiseMark } from "../../ui/mark";
import { Empty, Show } from "../../ui/state";
import { Kept } from "./kept";

type List = components["schemas"]["ListDeadline"];
type Deadline = List["items"][number];

const onSLA = (e: Event) => e["detail-type"].includes("SLA") || e["detail-type"] === "JOB_COMPLETED";

const sooner = (a: Deadline, b: Deadline) => Date.parse(a.breachAt) - Date.parse(b.breachAt) || natural(a.pipeline, b.pipeline);

/** What is armed next, and how what was armed before was kept. */
export function Deadlines() {
  const [query, change] = useQuery();
  const kept = query.get("view") === "kept";
  return (
    <section className="detail" aria-label="Deadlines">
      <header className="heading with-tabs">
        <h1>Deadlines</h1>
        <div className="joined" role="group" aria-label="Show">
          <button type="button" aria-pressed={!kept} onClick={() => change({ view: undefined })}>Armed</button>
          <button type="button" aria-pressed={kept} onClick={() => change({ view: "kept" })}>Compliance</button>
        </div>
      </header>
      {kept ? <Kept /> : <Armed />}
    </section>
  );
}

/** The deadlines that are armed, soonest first. */
function Armed() {
  const [query, change] = useQuery();
  const pipeline = query.get("pipeline") ?? "";
  const path = `/deadlines?limit=500${pipeline ? `&pipeline=${encodeURIComponent(pipeline)}` : ""}`;
  const armed = useResource<List>(path, { on: onSLA, every: 10_000, keep: true });
  return (
    <>
      {pipeline && <div className="controls"><span>Only of {pipeline}</span><button type="button" className="quiet" onClick={() => change({ pipeline: undefined })}>Show all</button></div>}
      <Show resource={armed} what="deadlines">
        {({ items, nextCursor }) => items.length === 0
          ? <Empty><p>No deadline is armed. One is, for each period of a pipeline with <code>sla</code> in its file.</p></Empty>
          : <><Table items={items} />{nextCursor && <p className="hint">These are the next {items.length}; there are more.</p>}</>}
      </Show>
    </>
  );
}

function Table({ items }: { items: readonly Deadline[] }) {
  const now = useNow(1000);
  return (
    <div className="card scroll-x">
      <table className="periods">
        <thead><tr><th><span className="sr">State</span></th><th>Pipeline</th><th>Period</th><th>Warns</th><th>Deadline</th><th>Left</th><th>Kind</th></tr></thead>
        <tbody>{items.toSorted(sooner).map((d) => <Line key={`${d.pipeline}/${d.schedule}/${d.date}/${d.kind}`} d={d} now={now} />)}</tbody>
      </table>
    </div>
  );
}

function Line({ d, now }: { d: Deadline; now: number }) {
  const off = lateness(d, now);
  return (
    <tr>
      <td title={d.warned ? "it has warned" : "armed"}><PromiseMark promise={d.warned ? "warned" : "armed"} /><span className="sr">{d.warned ? "warned" : "armed"}</span></td>
      <td><Link href={pipelinePath(d.pipeline)}>{d.pipeline}</Link></td>
      <td><Link href={runPath(d.pipeline, d.schedule, d.date)}>{d.date}</Link></td>
      <td>{d.warned ? "warned" : <Age at={d.warnAt} now={now} />}</td>
      <td><Time at={d.breachAt} /></td>
      <td className="num">{duration(Math.max(0, off.by ?? 0))}</td>
      <td>{d.kind}{d.critical && <span className="flag s-degraded">critical</span>}</td>
    </tr>
  );
}
