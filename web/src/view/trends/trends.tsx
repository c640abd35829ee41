import { lazy, Suspense } from "react";
import { readAll } from "../../api/client";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { change as changed } from "../../model/plot";
import { duration } from "../../model/time";
import { useQuery } from "../../route/route";
import { Link } from "../../ui/link";
import { Spark } from "../../ui/spark";
import { Empty, Loading, Show } from "../../ui/state";
import { type Column, Table } from "../../ui/table";

const One = lazy(async () => ({ default: (await import("./one")).One })); // with its charts

type List = components["schemas"]["ListTrendSummary"];
type Summary = List["items"][number];

const spans = [7, 30, 90];

/** How long jobs take, when sensors arrive, how many attempts periods need, and what drifts; of all pipelines, and of one. */
export function Trends() {
  const [query, change] = useQuery();
  const id = query.get("pipeline");
  const days = spans.includes(Number(query.get("days"))) ? Number(query.get("days")) : 30;
  return (
    <section className="detail" aria-label="Trends">
      <header className="heading with-tabs">
        <h1>Trends{id && <> of {id}</>}</h1>
        <div className="joined" role="group" aria-label="Over how many days">
          {spans.map((d) => <button key={d} type="button" aria-pressed={d === days} onClick={() => change({ days: d === 30 ? undefined : String(d) })}>{d} days</button>)}
        </div>
        {id && <button type="button" className="quiet" onClick={() => change({ pipeline: undefined })}>All pipelines</button>}
      </header>
      {id ? <Suspense fallback={<Loading what="trends" />}><One id={id} days={days} /></Suspense> : <All days={days} />}
    </section>
  );
}

const seconds = (s: number) => duration(s * 1000);

function All({ days }: { days: number }) {
  const [query, change] = useQuery();
  const search = query.get("q") ?? "";
  const list = useResource<List>(`/trends?limit=100&days=${days}`, { by: readAll, on: () => false, every: 60_000, keep: true });
  return (
    <>
      <div className="controls"><input type="search" className="search" placeholder="Filter" aria-label="Filter by name or owner" value={search} onChange={(e) => change({ q: e.target.value }, "typing")} /></div>
      <Show resource={list} what="trends">
        {({ items }) => {
          const shown = items.filter((s) => `${s.pipeline}\n${s.owner}`.toLowerCase().includes(search.toLowerCase()));
          if (shown.length === 0) return <Empty><p>{items.length ? "No pipeline matches." : "There are no pipelines yet."}</p></Empty>;
          return <div className="card"><Table label="Pipelines" rows={shown} columns={columns(days)} usual={{ name: "pipeline", down: false }} id={(s) => s.pipeline} /></div>;
        }}
      </Show>
    </>
  );
}

const drift = (s: Summary) => changed(s.durations.p50Seconds, s.before.p50Seconds);

function columns(days: number): Column<Summary>[] {
  const took = (name: string, label: string, of: (s: Summary) => number): Column<Summary> => ({
    name, label, right: true, by: of, show: (s) => (s.durations.count ? seconds(of(s)) : <span className="none">–</span>),
  });
  return [
    { name: "pipeline", label: "Pipeline", by: (s) => s.pipeline, show: (s) => <Link href={`/trends?pipeline=${encodeURIComponent(s.pipeline)}&days=${days}`}>{s.pipeline}</Link> },
    { name: "owner", label: "Owner", by: (s) => s.owner, show: (s) => s.owner },
    { name: "runs", label: "Runs", right: true, by: (s) => s.runs, show: (s) => <>{s.runs}{s.truncated && "+"}</> },
    { name: "completed", label: "Completed", right: true, hint: "of the runs that have ended", by: (s) => s.completedPercent ?? -1, show: (s) => (s.completedPercent === null ? <span className="none">–</span> : `${Math.floor(s.completedPercent)} %`) },
    { name: "attempts", label: "Attempts per period", right: true, by: (s) => (s.runs ? s.attempts / s.runs : 0), show: (s) => (s.runs ? (s.attempts / s.runs).toFixed(2) : "–") },
    took("p50", "p50", (s) => s.durations.p50Seconds),
    took("p90", "p90", (s) => s.durations.p90Seconds),
    took("p99", "p99", (s) => s.durations.p99Seconds),
    { name: "spark", label: `p50 over ${days} days`, show: (s) => <Daily s={s} /> },
    { name: "change", label: "Change of p50", hint: "compared with the same number of days before", right: true, by: (s) => drift(s) ?? 0, show: (s) => <Change by={drift(s)} /> },
  ];
}

/** The p50 of each day as a line. */
function Daily({ s }: { s: Summary }) {
  const points = s.p50ByDay.flatMap((value, at) => (value === null ? [] : [{ at, value }]));
  if (points.length < 2) return <span className="none">–</span>;
  return <Spark points={points} label={`p50 from ${seconds(points[0]!.value)} to ${seconds(points.at(-1)!.value)} over ${points.length} days`} />;
}

function Change({ by }: { by: number | undefined }) {
  if (by === undefined) return <span className="none">–</span>;
  const word = Math.abs(by) < 10 ? "" : by > 0 ? "bad-text" : "good-text";
  return <span className={word}>{by > 0 ? "+" : "−"}{Math.abs(by).toFixed(0)} %</span>;
}
