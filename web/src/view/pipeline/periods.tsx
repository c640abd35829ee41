import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { lateness } from "../../model/lateness";
import { kindName, kindOfRun } from "../../model/slot";
import { duration } from "../../model/time";
import { runPath } from "../../route/route";
import { Time, Took, useNow } from "../../ui/clock";
import { Link } from "../../ui/link";
import { Badge } from "../../ui/mark";
import { Show } from "../../ui/state";

type Runs = components["schemas"]["ListRun"];
type Deadlines = components["schemas"]["ListDeadline"];

/** The last periods: how each ended, how long it took, and how it stood to its deadline. */
export function Periods({ id }: { id: string }) {
  const on = (e: { detail: { pipelineId: string } }) => e.detail.pipelineId === id;
  const q = `pipeline=${encodeURIComponent(id)}`;
  const runs = useResource<Runs>(`/runs?${q}&limit=30`, { on, every: 5000 });
  const first = runs.data?.items.at(-1);
  const deadlines = useResource<Deadlines>(first?.openedAt ? `/deadlines?${q}&state=all&limit=500&from=${first.openedAt}` : null, { on, keep: true });
  const now = useNow(1000);
  const due = new Map(deadlines.data?.items.map((d) => [`${d.schedule}/${d.date}`, d]));
  return (
    <section className="card" aria-label="Recent periods">
      <h2>Recent periods</h2>
      <Show resource={runs} what="runs">
        {({ items }) => {
          if (items.length === 0) return <p className="none">No run yet. <code>interlock explain {id}</code> says why.</p>;
          const took = items.map((r) => (r.startedAt && r.endedAt ? Date.parse(r.endedAt) - Date.parse(r.startedAt) : 0));
          const longest = Math.max(1, ...took);
          return (
            <div className="scroll-x">
              <table className="periods">
                <thead><tr><th>Period</th><th>Status</th><th className="r">Attempts</th><th>Opened</th><th>Job took</th><th>Deadline</th></tr></thead>
                <tbody>
                  {items.map((r, i) => {
                    const d = due.get(`${r.schedule}/${r.date}`);
                    const off = d && lateness(d, now);
                    return (
                      <tr key={`${r.schedule}/${r.date}`}>
                        <td><Link href={runPath(id, r.schedule, r.date)}>{r.date}</Link></td>
                        <td><Badge kind={kindOfRun(r)}>{kindName[kindOfRun(r)]}</Badge></td>
                        <td className="r num">{r.attempt}</td>
                        <td><Time at={r.openedAt} /></td>
                        <td className="bar"><i style={{ width: `${(took[i]! / longest) * 100}%` }} /><Took from={r.startedAt} to={r.endedAt} now={now} /></td>
                        <td>{off ? <span className={off.late ? "bad-text" : ""}>{off.word} {off.by === undefined ? "" : duration(off.by)}</span> : <span className="none">–</span>}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </div>
          );
        }}
      </Show>
    </section>
  );
}
