import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { kindName, kindOfRun } from "../../model/slot";
import { runPath, useQuery } from "../../route/route";
import { Actions } from "../../ui/actions";
import { Age, Time, useNow } from "../../ui/clock";
import { Link } from "../../ui/link";
import { Badge } from "../../ui/mark";
import { ReasonText } from "../../ui/reason";
import { GateTimes, Rules } from "../../ui/rules";
import { Empty, Show } from "../../ui/state";
import { usePipelineActions, usePushRule } from "../action/pipeline";
import { useExplanation } from "../action/run";
import { Graph } from "./graph";
import { Periods } from "./periods";
import { Versions } from "./versions";

type Pipeline = components["schemas"]["Pipeline"];
type Gate = components["schemas"]["Gate"];
type Timeline = components["schemas"]["Timeline"];
type Histories = components["schemas"]["ListRuleHistory"];

/** The current gate of one pipeline, and the results of its last periods. */
export function PipelineView({ id }: { id: string }) {
  const mine = (e: { detail: { pipelineId: string } }) => e.detail.pipelineId === id;
  const pipeline = useResource<Pipeline>(`/pipelines/${encodeURIComponent(id)}`, { on: mine, every: 5000 });
  if (pipeline.failure?.status === 404 && !pipeline.data) {
    return <Empty><h1>There is no pipeline {id}</h1><p>It may have been renamed. <Link href="/">The timeline</Link> lists all pipelines.</p></Empty>;
  }
  return (
    <div className="detail">
      <Show resource={pipeline} what="pipeline">
        {(p) => (
          <>
            <Heading p={p} />
            <div className="columns">
              <div>
                <GateCard p={p} />
                <Graph id={id} />
                <Periods id={id} />
              </div>
              <div>
                <Next p={p} />
                <Facts p={p} />
                <Versions id={id} />
              </div>
            </div>
          </>
        )}
      </Show>
    </div>
  );
}

function PauseNotice({ what, pause }: { what: string; pause: Pipeline["pause"] }) {
  if (!pause.paused) return null;
  return <p className="notice">{what}{pause.by && <> by {pause.by}</>} since <Time at={pause.since} />{pause.why && <>: {pause.why}</>}{pause.until && <>, until <Time at={pause.until} /></>}.</p>;
}

function Heading({ p }: { p: Pipeline }) {
  const actions = usePipelineActions(p);
  return (
    <header className="heading">
      <p className="crumbs"><Link href="/">Timeline</Link> · <Link href={`/trends?pipeline=${encodeURIComponent(p.id)}`}>Trends</Link> · <Link href={`/events?pipeline=${encodeURIComponent(p.id)}`}>Events</Link> · <Link href={`/deadlines?pipeline=${encodeURIComponent(p.id)}`}>Deadlines</Link></p>
      <h1>{p.id}{p.state !== "ok" && <span className={`flag s-${p.state}`}>{p.state}</span>}{p.dryRun && <span className="flag">dry run</span>}<span className="gap" /><Actions actions={actions} /></h1>
      {p.description && <p>{p.description}</p>}
      <PauseNotice what="Paused" pause={p.pause} />
      <PauseNotice what="All pipelines are paused" pause={p.pauseAll} />
      {p.problems.length > 0 && (
        <div className="notice bad">
          Its newest file is not active: <ul className="reasons">{p.problems.map((text) => <li key={text}>{text}</li>)}</ul>
          <Link href="/config?show=problems">All problems</Link>
        </div>
      )}
    </header>
  );
}

function GateCard({ p }: { p: Pipeline }) {
  const id = p.id;
  const [query, change] = useQuery();
  const asked = query.get("date");
  const date = asked ?? p.current?.date ?? null; // that of the open run, if there is one
  const x = useExplanation(date && p.schedule ? { pipeline: id, schedule: p.schedule, date } : null);
  const push = usePushRule(id, x?.actions);
  const histories = useResource<Histories>(`/pipelines/${encodeURIComponent(id)}/gate/history`, { every: 2000 });
  const gate = useResource<Gate>(`/pipelines/${encodeURIComponent(id)}/gate${date ? `?date=${encodeURIComponent(date)}` : ""}`, { every: 1000 });
  const now = useNow(1000);
  return (
    <section className="card" aria-label="Gate">
      <Show resource={gate} what="gate">
        {(g) => (
          <>
            <header>
              <h2>Gate</h2>
              <Verdict gate={g} />
              <span className="gap" />
              <label className="period">for <input key={g.date} defaultValue={g.date} aria-label="Period" size={16} onKeyDown={(e) => e.key === "Enter" && change({ date: e.currentTarget.value })} onBlur={(e) => e.target.value !== g.date && change({ date: e.target.value })} /></label>
              {asked && <button type="button" className="quiet" onClick={() => change({ date: undefined })}>current</button>}
            </header>
            {g.blockedBy.filter((b) => b.code !== "rules").map((b) => <Block key={b.code} b={b} gate={g} />)}
            <GateTimes gate={g} starts={g.run?.status === "PENDING" && g.blockedBy.every((b) => b.code === "rules")} />
            {g.rules.length === 0 ? <p className="none">This gate has no rules.</p> : <Rules rules={g.rules} now={now} when="live" push={push} lately={{ pipeline: id, histories: histories.data?.items }} />}
          </>
        )}
      </Show>
    </section>
  );
}

/** Why no start is allowed. A run that has started says so itself, and only one that needs a person stands out. */
function Block({ b, gate }: { b: Gate["blockedBy"][number]; gate: Gate }) {
  const run = gate.run;
  if (!run || !["completed", "ended", "running", "held"].includes(b.code)) return <p className={b.code === "start-condition" ? "hint" : "notice"}><ReasonText reason={b.said} /></p>;
  const kind = kindOfRun(run);
  return (
    <p className={b.code === "ended" || b.code === "held" ? "notice bad" : "hint"}>
      <Link href={runPath(gate.pipeline, run.schedule, run.date)}>The run of {run.date}</Link> <Badge kind={kind}>{kindName[kind]}</Badge> {b.code === "ended" && run.reason ? run.reason : `attempt ${run.attempt}`}
    </p>
  );
}

/** Rules that pass while something else prevents a start make the gate neither open nor closed. */
function Verdict({ gate }: { gate: Gate }) {
  if (gate.open) return <span className="verdict open">open</span>;
  if (!gate.due && gate.outcome !== "pass") return <span className="verdict">not due yet</span>;
  return gate.outcome === "pass" ? <span className="verdict">rules pass, no start now</span> : <span className="verdict closed">closed</span>;
}

function Next({ p }: { p: Pipeline }) {
  const now = useNow(1000);
  const last = p.lastRun;
  return (
    <section className="card" aria-label="Next">
      <h2>Now and next</h2>
      <dl className="facts">
        <dt>last run</dt>
        <dd>{last ? <Link href={runPath(p.id, last.schedule, last.date)}><Badge kind={kindOfRun(last)}>{kindName[kindOfRun(last)]}</Badge> {last.date}</Link> : "none yet"}</dd>
        <dt>open runs</dt><dd className="num">{p.openRuns}{p.maxActive > 0 && <small> (at most {p.maxActive} {p.maxActive === 1 ? "job" : "jobs"} at once)</small>}</dd>
        <dt>opens next</dt><dd><Opens p={p} now={now} /></dd>
        {p.next.date && !p.pause.paused && !p.pauseAll.paused && <><dt>for</dt><dd>{p.next.date}</dd></>}
        {p.next.breachAt && <><dt>deadline</dt><dd><Time at={p.next.breachAt} /></dd></>}
      </dl>
      {p.next.fireAt && !p.pause.paused && !p.pauseAll.paused && <Then id={p.id} after={p.next.fireAt} />}
    </section>
  );
}

/** When the next run opens. While the pipeline is paused, nothing opens. */
function Opens({ p, now }: { p: Pipeline; now: number }) {
  if (!p.version) return "never: no version of its file is active";
  const pause = p.pause.paused ? p.pause : p.pauseAll.paused ? p.pauseAll : undefined;
  if (pause) return <span className="warn-text">{pause.until ? <>not before <Time at={pause.until} />: paused</> : "not until it is resumed: paused"}</span>;
  if (p.next.fireAt) return <><Time at={p.next.fireAt} /> (<Age at={p.next.fireAt} now={now} />)</>;
  return p.schedule === "stream" ? "when its start condition is met, or its upstreams have completed" : "by hand";
}

/** The fires after the next one, and the deadline of each. */
function Then({ id, after }: { id: string; after: string }) {
  const from = new Date(Date.parse(after) + 1000).toISOString();
  const to = new Date(Date.parse(after) + 30 * 86_400_000).toISOString();
  const ahead = useResource<Timeline>(`/timeline?pipeline=${encodeURIComponent(id)}&from=${from}&to=${to}`, { on: (e) => e["detail-type"].startsWith("CONFIG_"), keep: true });
  const slots = ahead.data?.items[0]?.slots.filter((s) => s.fireAt && s.fireAt > after).slice(0, 5) ?? [];
  if (slots.length === 0) return null;
  return (
    <>
      <h3>After that</h3>
      <ol className="then">
        {slots.map((s) => <li key={s.date} className={s.excluded ? "none" : undefined}><Time at={s.fireAt} /> for {s.date}{s.excluded ? `: excluded, ${s.excluded}` : s.breachAt && <>, until <Time at={s.breachAt} /></>}</li>)}
      </ol>
    </>
  );
}

function Facts({ p }: { p: Pipeline }) {
  return (
    <section className="card" aria-label="Facts">
      <h2>About</h2>
      <dl className="facts">
        <dt>owner</dt><dd><Link href={`/?q=${encodeURIComponent(p.owner)}`}>{p.owner}</Link></dd>
        {Object.entries(p.tags).map(([k, v]) => [<dt key={k}>{k}</dt>, <dd key={`${k}=`}><Link href={`/?q=${encodeURIComponent(`${k}=${v}`)}`}>{v}</Link></dd>])}
        <dt>opened by</dt><dd>{p.schedule}, per {p.period}, {p.timezone}</dd>
        <dt>job</dt><dd>{p.jobType ?? "none"}</dd>
        <dt>file</dt><dd className="mono">{p.file ?? "–"}</dd>
        <dt>first accepted</dt><dd><Time at={p.horizon} /></dd>
      </dl>
    </section>
  );
}
