import { readAll } from "../../api/client";
import type { Event } from "../../api/live";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { binName, grade, isLate, offenders, percentText, type Window } from "../../model/kept";
import { duration } from "../../model/time";
import { pipelinePath, useQuery } from "../../route/route";
import { Link } from "../../ui/link";
import { Empty, Show } from "../../ui/state";
import { type Column, Table } from "../../ui/table";

type Compliance = components["schemas"]["Compliance"];

interface Row {
  name: string;
  owner: string;
  pipelines: number | undefined; // of an owner
  windows: Window[];
}

const ended = (e: Event) => e["detail-type"].startsWith("SLA_") || e["detail-type"].startsWith("RELATIVE_SLA_");

const spans = [7, 30, 90];

/** How deadlines were met: rates by pipeline and owner, the lowest of them, and how early or late runs were. */
export function Kept() {
  const [query, change] = useQuery();
  const days = Number(query.get("days")) || 30;
  const at = Math.max(0, spans.indexOf(days));
  const byOwner = query.get("by") === "owner";
  const search = query.get("q") ?? "";
  const compliance = useResource<Compliance>("/compliance?limit=500", { by: readAll, on: ended, every: 60_000 });
  return (
    <>
      <div className="controls">
        <div className="joined" role="group" aria-label="Over how many days">
          {spans.map((d, i) => <button key={d} type="button" aria-pressed={i === at} onClick={() => change({ days: d === 30 ? undefined : String(d) })}>{d} days</button>)}
        </div>
        <div className="joined" role="group" aria-label="Count by">
          <button type="button" aria-pressed={!byOwner} onClick={() => change({ by: undefined })}>By pipeline</button>
          <button type="button" aria-pressed={byOwner} onClick={() => change({ by: "owner" })}>By owner</button>
        </div>
        <input type="search" className="search" placeholder="Filter" aria-label="Filter by name or owner" value={search} onChange={(e) => change({ q: e.target.value }, "typing")} />
      </div>
      <Show resource={compliance} what="compliance">
        {(c) => {
          const rows: Row[] = byOwner
            ? c.owners.map((o) => ({ name: o.owner || "no longer active", owner: o.owner, pipelines: o.pipelines, windows: o.windows }))
            : c.items.map((k) => ({ name: k.pipeline, owner: k.owner, pipelines: undefined, windows: k.windows }));
          const shown = rows.filter((r) => `${r.name}\n${r.owner}`.toLowerCase().includes(search.toLowerCase()));
          if (rows.length === 0) return <Empty><p>No deadline has ended in the last 90 days. Pipelines with <code>sla</code> in their file have one for each period.</p></Empty>;
          return (
            <>
              <Tiles w={c.total[at]!} />
              <div className="columns even">
                <Lateness bins={c.lateness} at={at} />
                <Worst rows={shown} at={at} />
              </div>
              <section className="card" aria-label="Rates"><Rates rows={shown} at={at} byOwner={byOwner} /></section>
            </>
          );
        }}
      </Show>
    </>
  );
}

function Tiles({ w }: { w: Window }) {
  return (
    <dl className="tiles">
      <div className={`g-${grade(w.metPercent)}`}><dt>met</dt><dd>{percentText(w.metPercent)}</dd></div>
      <div><dt>in time</dt><dd>{w.met}</dd></div>
      <div><dt>of those, after a warning</dt><dd>{w.warned}</dd></div>
      <div className={w.breached ? "g-poor" : ""}><dt>breached</dt><dd>{w.breached}</dd></div>
      <div><dt>longest delay</dt><dd>{w.longestLateSeconds ? duration(w.longestLateSeconds * 1000) : "–"}</dd></div>
    </dl>
  );
}

function Lateness({ bins, at }: { bins: Compliance["lateness"]; at: number }) {
  const most = Math.max(1, ...bins.map((b) => b.counts[at]!));
  return (
    <section className="card" aria-label="How early or late">
      <h2>How early or late</h2>
      <table className="bins">
        <tbody>
          {bins.map((b) => (
            <tr key={binName(b)} className={isLate(b) ? "late" : undefined}>
              <th scope="row">{binName(b)}</th>
              <td className="bin"><i style={{ width: b.counts[at] ? `max(2px, ${(b.counts[at]! / most) * 100}%)` : 0 }} /></td>
              <td className="r num">{b.counts[at]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Name({ r }: { r: Row }) {
  return r.pipelines === undefined ? <Link href={pipelinePath(r.name)}>{r.name}</Link> : <>{r.name}</>;
}

function Worst({ rows, at }: { rows: Row[]; at: number }) {
  const worst = offenders(rows, at, 6);
  return (
    <section className="card" aria-label="Lowest rates">
      <h2>Lowest rates</h2>
      {worst.length === 0
        ? <p className="none">No deadline was breached.</p>
        : (
          <ol className="worst">
            {worst.map((r) => {
              const w = r.windows[at]!;
              return <li key={r.name}><span className="who"><Name r={r} /></span><Share w={w} /><span className="num" title={`${w.breached} of ${w.met + w.breached} breached`}>{percentText(w.metPercent)}</span></li>;
            })}
          </ol>
        )}
    </section>
  );
}

/** Met, met after a warning, and breached, as parts of one line. */
function Share({ w }: { w: Window }) {
  const all = w.met + w.breached;
  if (all === 0) return <span className="share" />;
  const part = (n: number) => ({ flexGrow: n });
  const words = `${w.met - w.warned} met, ${w.warned} after a warning, ${w.breached} breached`;
  return <span className="share" role="img" aria-label={words} title={words}><i className="met" style={part(w.met - w.warned)} /><i className="near" style={part(w.warned)} /><i className="missed" style={part(w.breached)} /></span>;
}

function Rates({ rows, at, byOwner }: { rows: Row[]; at: number; byOwner: boolean }) {
  const w = (r: Row) => r.windows[at]!;
  const rate = (i: number): Column<Row> => ({
    name: `p${spans[i]}`, label: `${spans[i]} days`, right: true, by: (r) => r.windows[i]!.metPercent ?? 101,
    show: (r) => <span className={`g-${grade(r.windows[i]!.metPercent)}`}>{percentText(r.windows[i]!.metPercent)}</span>,
  });
  const columns: Column<Row>[] = [
    { name: "name", label: byOwner ? "Owner" : "Pipeline", by: (r) => r.name, show: (r) => <Name r={r} /> },
    byOwner ? { name: "pipelines", label: "Pipelines", right: true, by: (r) => r.pipelines ?? 0, show: (r) => r.pipelines } : { name: "owner", label: "Owner", by: (r) => r.owner, show: (r) => r.owner },
    rate(0), rate(1), rate(2),
    { name: "share", label: "Met, warned, breached", show: (r) => <Share w={w(r)} /> },
    { name: "met", label: "Met", right: true, by: (r) => w(r).met, show: (r) => w(r).met },
    { name: "warned", label: "Warned", right: true, by: (r) => w(r).warned, show: (r) => w(r).warned },
    { name: "breached", label: "Breached", right: true, by: (r) => w(r).breached, show: (r) => w(r).breached },
    { name: "late", label: "Longest delay", right: true, by: (r) => w(r).longestLateSeconds, show: (r) => (w(r).longestLateSeconds ? duration(w(r).longestLateSeconds * 1000) : "–") },
  ];
  return <Table label="Rates" rows={rows} columns={columns} usual={{ name: "name", down: false }} id={(r) => r.name} />;
}
