import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { type Event, useConnection } from "../../api/live";
import { merge } from "../../model/events";
import { lateness } from "../../model/lateness";
import { kindName, kindOfStatus } from "../../model/slot";
import { duration } from "../../model/time";
import { pipelinePath } from "../../route/route";
import { Actions } from "../../ui/actions";
import { Time, useNow } from "../../ui/clock";
import { EventRow } from "../../ui/eventrow";
import { Link } from "../../ui/link";
import { Older, useOlder } from "../../ui/older";
import { Badge } from "../../ui/mark";
import { Prose } from "../../ui/prose";
import { Rules } from "../../ui/rules";
import { Copy, Show } from "../../ui/state";
import { useRunActions } from "../action/run";
import { Attempts } from "./attempts";
import { Lifecycle } from "./lifecycle";

type Explanation = components["schemas"]["Explanation"];
type Events = components["schemas"]["ListEvent"];

interface Key {
  pipeline: string;
  schedule: string;
  date: string;
}

/** One period of a pipeline: how it stands and why, told as `interlock explain` tells it, also where there is no run. */
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
                <Why x={x} />
                {x.run && <Attempts attempts={x.attempts} log={x.jobLog} counters={x.run.counters} budgets={x.budgets} />}
                <History pipeline={pipeline} schedule={schedule} date={date} />
              </div>
              <div>
                <Lifecycle x={x} />
                <Deadlines x={x} />
                <Requests x={x} />
                <Told text={x.text} command={`interlock explain ${pipeline} --date ${date}`} />
              </div>
            </div>
          </>
        )}
      </Show>
    </div>
  );
}

function Heading({ x, pipeline, schedule, date }: { x: Explanation } & Key) {
  const kind = x.run ? kindOfStatus(x.run.status) : "upcoming";
  const actions = useRunActions({ pipeline, schedule, date }, x);
  return (
    <header className="heading">
      <p className="crumbs"><Link href="/">Timeline</Link> / <Link href={pipelinePath(pipeline)}>{pipeline}</Link> / {schedule}</p>
      <h1>{date} <Badge kind={kind}>{x.run ? kindName[kind] : x.state}</Badge>{x.run && x.run.attempt > 1 && <span className="flag">attempt {x.run.attempt}</span>}<span className="gap" /><Actions actions={actions} /></h1>
      <p className="summary"><Prose>{x.summary}</Prose></p>
    </header>
  );
}

function Why({ x }: { x: Explanation }) {
  const now = useNow(1000);
  if (x.reasons.length + x.opens.length === 0 && !x.gate) return null;
  return (
    <section className="card" aria-label="Why">
      <header>
        <h2>{x.gate && !x.gate.live ? "Facts at the start" : "Why"}</h2>
        {x.gate && <span className={`verdict ${x.gate.open ? "open" : "closed"}`}>{x.gate.bypassed ? "bypassed" : x.gate.open ? "open" : "closed"}</span>}
        <span className="gap" />
        {x.gate && !x.gate.live && <small>as it stood at <Time at={x.gate.at} /></small>}
      </header>
      {x.reasons.length > 0 && <ul className="reasons">{x.reasons.map((r) => <li key={r}><Prose>{r}</Prose></li>)}</ul>}
      {x.gate && x.gate.rules.length > 0 && <Rules rules={x.gate.rules} now={now} when={x.gate.live ? "live" : "then"} />}
      {x.opens.length > 0 && <><h3>What would open it</h3><ul className="reasons">{x.opens.map((o) => <li key={o}><Prose>{o}</Prose></li>)}</ul></>}
    </section>
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

function Told({ text, command }: { text: string; command: string }) {
  return (
    <section className="card" aria-label="In words">
      <h2>In words</h2>
      <Copy>{command}</Copy>
      <pre className="file">{text}</pre>
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
          const all = merge(items, older.items, "info");
          if (all.length === 0) return <p className="none">None about this period. <Link href={`/events?pipeline=${encodeURIComponent(pipeline)}`}>All of its events</Link></p>;
          return <ol className="events">{all.map((e) => <EventRow key={e.id} event={e} brief />)}</ol>;
        }}
      </Show>
      <Older older={older} />
    </section>
  );
}
