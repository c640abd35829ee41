import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { type Event, useConnection } from "../../api/live";
import { merge } from "../../model/events";
import { lateness } from "../../model/lateness";
import { type Kind, kindName, kindOfRun } from "../../model/slot";
import { duration } from "../../model/time";
import { pipelinePath } from "../../route/route";
import { Actions } from "../../ui/actions";
import { Age, Time, useNow } from "../../ui/clock";
import { EventRow } from "../../ui/eventrow";
import { Link } from "../../ui/link";
import { Older, useOlder } from "../../ui/older";
import { Badge } from "../../ui/mark";
import { ReasonText } from "../../ui/reason";
import { Copy, Show } from "../../ui/state";
import { useRunActions } from "../action/run";
import { Attempts } from "./attempts";
import { Lifecycle } from "./lifecycle";
import { useLiveOutput } from "./live";
import { Output, outputs } from "./output";
import { Why } from "./why";

type Explanation = components["schemas"]["Explanation"];
type Events = components["schemas"]["EventList"];

export interface Key {
  pipeline: string;
  schedule: string;
  date: string;
}

/** One period of a pipeline: its state, the cause, what its job printed, and what can be done. */
export function RunView({ pipeline, schedule, date }: Key) {
  const on = (e: Event) => e.detail.pipelineId === pipeline;
  const { state } = useConnection();
  const path = `/pipelines/${encodeURIComponent(pipeline)}/explain?date=${encodeURIComponent(date)}&schedule=${encodeURIComponent(schedule)}`;
  const told = useResource<Explanation>(path, { on, every: state === "live" ? 2000 : 5000 });
  return (
    <div className="detail">
      <Show resource={told} what="run">
        {(x) => (
          <>
            <Heading x={x} pipeline={pipeline} schedule={schedule} date={date} />
            <div className="columns">
              <div>
                {x.attempts.some((a) => a.startedAt) && <RunOutput x={x} k={{ pipeline, schedule, date }} />}
                <Why x={x} k={{ pipeline, schedule, date }} />
                {x.run && <Attempts attempts={x.attempts} log={x.jobLog} counters={x.run.counters} budgets={x.budgets} />}
              </div>
              <div>
                <Lifecycle x={x} />
                <Deadlines x={x} />
                <Requests x={x} />
                <History pipeline={pipeline} schedule={schedule} date={date} />
                <Copy>{`interlock explain ${pipeline} --date ${date}`}</Copy>
              </div>
            </div>
          </>
        )}
      </Show>
    </div>
  );
}

/** The output of the attempts, live for a running job. */
function RunOutput({ x, k }: { x: Explanation; k: Key }) {
  const running = x.run?.status === "RUNNING";
  const text = useLiveOutput(k, x.run?.attempt, running);
  const kept = outputs(x.attempts, x.jobLog);
  const all = text !== undefined && x.run ? [...kept.filter((a) => a.attempt !== x.run!.attempt), { attempt: x.run.attempt, text }] : kept;
  return <Output attempts={all} running={running} />;
}

/** The badge of the heading. A dry run never completed anything, and a period without a run is not "open". */
function standing(x: Explanation): { kind: Kind; word: string } {
  if (x.dryRun && (x.state === "would start" || x.run?.status === "COMPLETED")) return { kind: "dryrun", word: "dry run: would have started" };
  if (x.run) return { kind: kindOfRun(x.run), word: kindName[kindOfRun(x.run)] };
  return { kind: "upcoming", word: x.state };
}

function Heading({ x, pipeline, schedule, date }: { x: Explanation } & Key) {
  const now = useNow(1000);
  const { kind, word } = standing(x);
  const actions = useRunActions({ pipeline, schedule, date }, x);
  const bad = kind === "final" || kind === "held" || kind === "exhausted" || kind === "failed";
  const next = x.run?.nextEvaluation;
  const retrying = x.run?.phase === "backoff" || x.run?.phase === "start-refused";
  return (
    <header className="heading">
      <p className="crumbs"><Link href="/">Timeline</Link> / <Link href={pipelinePath(pipeline)}>{pipeline}</Link> / {schedule}</p>
      <h1><Link href={pipelinePath(pipeline)}>{pipeline}</Link> · {date} <Badge kind={kind}>{word}</Badge>{x.run && x.run.attempt > 1 && <span className="flag">attempt {x.run.attempt}</span>}<span className="gap" /><Actions actions={actions} /></h1>
      {x.why
        ? <p className={bad ? "cause-line bad-text" : "summary"} role="status"><ReasonText reason={x.why} />{retrying && next && <>; next attempt <Age at={next} now={now} /></>}</p>
        : <p className="summary"><ReasonText reason={x.said.summary} /></p>}
      {x.next.outlook && <p className="summary"><ReasonText reason={x.next.outlook} /></p>}
    </header>
  );
}

function Deadlines({ x }: { x: Explanation }) {
  const now = useNow(1000);
  if (x.deadlines.length === 0) return null;
  return (
    <section className="card" aria-label="Deadlines">
      <h2>Deadlines</h2>
      <dl className="facts">
        {x.deadlines.map((d) => {
          const off = lateness(d, now);
          return [
            <dt key={d.kind}>{d.kind}</dt>,
            <dd key={`${d.kind} is`}><Time at={d.breachAt} /> · <span className={off.late ? "bad-text" : ""}>{d.state.toLowerCase()}, {off.word} {off.by === undefined ? "" : duration(off.by)}</span></dd>,
          ];
        })}
      </dl>
    </section>
  );
}

function Requests({ x }: { x: Explanation }) {
  if (x.reruns.length === 0) return null;
  return (
    <section className="card" aria-label="Rerun requests">
      <h2>Rerun requests</h2>
      <ul className="reasons">
        {x.reruns.map((r) => <li key={r.id}><Time at={r.at} /> {r.requestedBy}: {r.reason} – {r.accepted ? `accepted${r.attempt ? `, attempt ${r.attempt}` : ""}` : `refused: ${r.why}`}</li>)}
      </ul>
    </section>
  );
}

function History({ pipeline, schedule, date }: Key) {
  const on = (e: Event) => e.detail.pipelineId === pipeline;
  const q = new URLSearchParams({ pipeline, schedule, date, limit: "100" });
  const path = `/events?${q}`;
  const events = useResource<Events>(path, { on });
  const older = useOlder<Event>(path, events.data?.nextCursor ?? null);
  return (
    <section className="card" aria-label="Events of this run">
      <h2>Events</h2>
      <Show resource={events} what="events">
        {({ items }) => {
          const all = merge(items, older.items);
          if (all.length === 0) return <p className="none">There are no events about this period. <Link href={`/events?pipeline=${encodeURIComponent(pipeline)}`}>All events of {pipeline}</Link></p>;
          return <ol className="events narrow">{all.map((e) => <EventRow key={e.id} event={e} brief />)}</ol>;
        }}
      </Show>
      <Older older={older} />
    </section>
  );
}
