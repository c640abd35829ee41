import type { Event } from "../../api/live";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { axisText, countSteps, durationSteps } from "../../model/plot";
import { kindName, kindOfStatus } from "../../model/slot";
import { day, duration } from "../../model/time";
import { pipelinePath, runPath } from "../../route/route";
import { Time } from "../../ui/clock";
import { Link } from "../../ui/link";
import { Plot, type Point } from "../../ui/plot";
import { Show } from "../../ui/state";

type Trends = components["schemas"]["Trends"];
type Arrivals = components["schemas"]["Arrivals"];

/** The trends of one pipeline, each as a chart over the same days. */
export function One({ id, days }: { id: string; days: number }) {
  const on = (e: Event) => e.detail.pipelineId === id;
  const trends = useResource<Trends>(`/pipelines/${encodeURIComponent(id)}/trends?days=${days}`, { on, every: 60_000, keep: true });
  return (
    <Show resource={trends} what="trends">
      {(t) => (
        <>
          <Tiles t={t} id={id} />
          <div className="columns even">
            <div><Durations t={t} /><Attempts t={t} /></div>
            <div>{t.sensors.map((s) => <Arrival key={`${s.pipeline}/${s.key}`} s={s} t={t} />)}<Drift t={t} id={id} /></div>
          </div>
          {t.truncated
            ? <p className="hint">Only the latest runs are shown.</p>
            : t.periods.length < runsOf(t) && <p className="hint">The dots are the latest {t.periods.length} runs; everything else counts all {runsOf(t)}.</p>}
        </>
      )}
    </Show>
  );
}

const runsOf = (t: Trends) => t.days.reduce((n, d) => n + d.runs, 0);

function Tiles({ t, id }: { t: Trends; id: string }) {
  const d = t.durations;
  const took = (s: number) => (d.count ? duration(s * 1000) : "–");
  const attempts = t.days.reduce((n, x) => n + x.attempts, 0);
  const runs = runsOf(t);
  return (
    <dl className="tiles">
      <div><dt>runs</dt><dd>{runs}</dd></div>
      <div><dt>p50</dt><dd>{took(d.p50Seconds)}</dd></div>
      <div><dt>p90</dt><dd>{took(d.p90Seconds)}</dd></div>
      <div><dt>p99</dt><dd>{took(d.p99Seconds)}</dd></div>
      <div><dt>attempts per period</dt><dd>{runs ? (attempts / runs).toFixed(2) : "–"}</dd></div>
      <div className="tile-link"><dt>gate and periods</dt><dd><Link href={pipelinePath(id)}>{id}</Link></dd></div>
    </dl>
  );
}

/** Where a period stands on the axis: its name is a date, and maybe a time of that. */
const at = (date: string) => Date.parse(date.length === 10 ? `${date}T12:00:00Z` : `${date.slice(0, 13)}:${date.length >= 16 && date[13] === ":" ? date.slice(14, 16) : "00"}:00Z`);

/** The days of the axis, whole ones. */
const axis = (t: Trends) => ({ from: Math.floor(Date.parse(t.from) / day) * day, to: Math.ceil(Date.parse(t.to) / day) * day });

function Durations({ t }: { t: Trends }) {
  const dots: Point[] = t.periods.flatMap((p) => {
    if (p.status !== "COMPLETED" || !p.startedAt || !p.endedAt) return [];
    const y = Date.parse(p.endedAt) - Date.parse(p.startedAt);
    return y < 0 ? [] : [{ x: at(p.date), y, href: runPath(t.pipeline, p.schedule, p.date), label: `${p.date}: ${duration(y)}${p.attempt > 1 ? `, attempt ${p.attempt}` : ""}` }];
  });
  const line = (of: (d: Trends["durations"]) => number) => t.days.filter((d) => d.durations.count > 0).map((d) => ({ x: at(d.date), y: of(d.durations) * 1000, label: d.date }));
  return (
    <section className="card" aria-label="Durations">
      <header><h2>Job durations</h2><span className="gap" /><small><i className="key s-p50" /> p50 per day <i className="key s-p90" /> p90 per day</small></header>
      {dots.length === 0 ? <p className="none">No run has completed.</p> : (
        <Plot
          label={`Durations of ${dots.length} runs`} steps={durationSteps} tick={axisText} {...axis(t)} height={190}
          series={[{ kind: "dots", points: dots, color: "--run" }, { kind: "line", points: line((d) => d.p90Seconds), color: "--now", dash: [5, 3] }, { kind: "line", points: line((d) => d.p50Seconds), color: "--accent" }]}
        />
      )}
    </section>
  );
}

function Attempts({ t }: { t: Trends }) {
  const bars = (many: boolean): Point[] => t.days.filter((d) => d.attempts >= 1.5 * d.runs === many).map((d) => ({ x: at(d.date), y: d.attempts / d.runs, label: `${d.date}: ${d.attempts} attempts for ${d.runs} periods` }));
  const most = Math.max(1, ...t.days.map((d) => d.attempts / d.runs));
  return (
    <section className="card" aria-label="Attempts">
      <h2>Attempts per period</h2>
      {t.days.length === 0 ? <p className="none">No period had a run.</p> : (
        <Plot
          label={`Attempts per period, at most ${most.toFixed(1)} a day`} steps={countSteps} tick={String} {...axis(t)}
          series={[{ kind: "bars", points: bars(false), color: "--run" }, { kind: "bars", points: bars(true), color: "--warn" }]}
        />
      )}
    </section>
  );
}

function Arrival({ s, t }: { s: Arrivals; t: Trends }) {
  const dots = s.items.map((a) => ({ x: at(a.date), y: a.afterSeconds * 1000, label: `${a.date}: ${axisText(a.afterSeconds * 1000)} after its start` }));
  const ys = dots.map((d) => d.y).toSorted((a, b) => a - b);
  return (
    <section className="card" aria-label={`Arrival of ${s.key}`}>
      <header><h2>Arrival of <span className="mono">{s.key}</span>{s.pipeline !== t.pipeline && <> of {s.pipeline}</>}</h2><span className="gap" />{ys.length > 0 && <small>p50 {axisText(ys[ys.length >> 1]!)} after the period starts</small>}</header>
      {dots.length === 0 ? <p className="none">It was not written in these days.</p> : (
        <Plot label={`Arrival of ${s.key} for ${dots.length} periods`} steps={durationSteps} tick={axisText} near {...axis(t)} series={[{ kind: "dots", points: dots, color: "--run" }]} />
      )}
      {s.truncated && <p className="hint">Only the latest writes are shown.</p>}
    </section>
  );
}

function Drift({ t, id }: { t: Trends; id: string }) {
  const bad = t.periods.filter((p) => kindOfStatus(p.status) === "final" || kindOfStatus(p.status) === "exhausted").toReversed();
  return (
    <>
      <section className="card" aria-label="Drift">
        <h2>Drift after completion</h2>
        {t.drift.length === 0 ? <p className="none">No drift.</p> : (
          <div className="scroll-x">
            <table className="periods">
              <thead><tr><th>When</th><th>Period</th><th>Value</th><th className="r">Before</th><th className="r">After</th><th className="r">Change</th></tr></thead>
              <tbody>
                {t.drift.slice(0, 50).map((d) => (
                  <tr key={`${d.at}/${d.date}/${d.sensor}`}>
                    <td><Time at={d.at} /></td><td><Link href={runPath(id, d.schedule, d.date)}>{d.date}</Link></td><td className="mono">{d.sensor}.{d.field}</td>
                    <td className="r num">{d.baseline ?? "–"}</td><td className="r num">{d.current ?? "–"}</td><td className="r num">{moved(d.baseline, d.current)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
      {bad.length > 0 && (
        <section className="card" aria-label="Not completed">
          <h2>Not completed</h2>
          <ul className="chips">{bad.slice(0, 40).map((p) => <li key={p.date}><Link href={runPath(id, p.schedule, p.date)}>{p.date}</Link> <small>{kindName[kindOfStatus(p.status)]}</small></li>)}</ul>
        </section>
      )}
    </>
  );
}

function moved(was: string | null, is: string | null): string {
  const by = Number(is) - Number(was);
  if (was === null || is === null || Number.isNaN(by)) return "–";
  const share = Number(was) ? ` (${((100 * by) / Math.abs(Number(was))).toFixed(1)} %)` : "";
  return `${by > 0 ? "+" : ""}${by}${share}`;
}
