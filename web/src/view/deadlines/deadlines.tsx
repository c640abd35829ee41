import { useResource } from "../../api/resource";
import type { Event } from "../../api/live";
import type { components } from "../../api/schema";
import { kindName, kindOfPhase } from "../../model/slot";
import { duration } from "../../model/time";
import { pipelinePath, runPath, useQuery } from "../../route/route";
import { Age, Time, useNow } from "../../ui/clock";
import { Link } from "../../ui/link";
import { Badge } from "../../ui/mark";
import { Empty, Show } from "../../ui/state";
import { Kept } from "./kept";

type Answer = components["schemas"]["Board"];
type Item = Answer["items"][number];

const onSLA = (e: Event) => e["detail-type"].includes("SLA") || e["detail-type"] === "JOB_COMPLETED";

/** The deadlines that are open now, and how those before were met. */
export function Deadlines() {
  const [query, change] = useQuery();
  const kept = query.get("view") === "kept";
  return (
    <section className="detail" aria-label="Deadlines">
      <header className="heading with-tabs">
        <h1>Deadlines</h1>
        <div className="joined" role="group" aria-label="Show">
          <button type="button" aria-pressed={!kept} onClick={() => change({ view: undefined })}>Now</button>
          <button type="button" aria-pressed={kept} onClick={() => change({ view: "kept" })}>Compliance</button>
        </div>
      </header>
      {kept ? <Kept /> : <Board />}
    </section>
  );
}

const columns: [Item["state"], string, string][] = [["overdue", "Overdue", "overdue"], ["at-risk", "At risk", "risk"], ["on-track", "On track", "track"]];

/** Every deadline of the next two days, and those that have passed while their run has not completed. */
function Board() {
  const [query, change] = useQuery();
  const pipeline = query.get("pipeline") ?? "";
  const now = useNow(1000);
  const board = useResource<Answer>(`/deadlines/board${pipeline && `?pipeline=${encodeURIComponent(pipeline)}`}`, { on: onSLA, every: 10_000, keep: true });
  return (
    <>
      {pipeline && <div className="controls"><span>Only {pipeline}</span><button type="button" className="quiet" onClick={() => change({ pipeline: undefined })}>Show all</button></div>}
      <Show resource={board} what="deadlines">
        {({ items, more }) => {
          if (items.length === 0) return <Empty><p>No deadline is due in the next two days. <code>sla</code> in a pipeline's file sets them.</p></Empty>;
          return (
            <>
              <div className="board-columns">{columns.map(([state, name, look]) => <ColumnOf key={state} name={name} look={look} cards={items.filter((d) => d.state === state)} now={now} />)}</div>
              {more && <p className="hint">Only the next deadlines are shown.</p>}
            </>
          );
        }}
      </Show>
    </>
  );
}

function ColumnOf({ name, look, cards, now }: { name: string; look: string; cards: readonly Item[]; now: number }) {
  return (
    <section className={`board-column c-${look}`} aria-label={name}>
      <h2>{name} <small>{cards.length}</small></h2>
      {cards.length === 0 && <p className="none">None.</p>}
      <ul>{cards.map((d) => <CardView key={`${d.pipeline}/${d.schedule}/${d.date}/${d.kind}`} d={d} now={now} />)}</ul>
    </section>
  );
}

function CardView({ d, now }: { d: Item; now: number }) {
  const breach = Date.parse(d.breachAt);
  const late = d.state === "overdue" || breach <= now;
  return (
    <li className="card deadline">
      <p className="deadline-title"><Link href={pipelinePath(d.pipeline)}>{d.pipeline}</Link> · <Link href={runPath(d.pipeline, d.schedule, d.date)}>{d.date}</Link><span className="gap" />{d.critical && <span className="flag s-degraded">critical</span>}</p>
      <p>
        {d.phase ? <Badge kind={kindOfPhase(d.phase)}>{kindName[kindOfPhase(d.phase)]}</Badge> : <Badge kind={late ? "missing" : "upcoming"}>{late ? "no run has opened" : "not open yet"}</Badge>}
        {d.owner && <small> {d.owner}</small>}
      </p>
      <p>
        {late ? <strong className="bad-text">overdue by {duration(now - breach)}</strong> : <>due <Age at={d.breachAt} now={now} /></>} <small>(<Time at={d.breachAt} />{d.kind === "relative" && ", relative"})</small>
      </p>
      {!late && <Expected d={d} breach={breach} />}
    </li>
  );
}

/** Why a deadline is at risk, or how early its run is expected to end. */
function Expected({ d, breach }: { d: Item; breach: number }) {
  if (!d.expectedAt) return d.warned ? <p className="warn-text">the warning was sent</p> : null;
  const end = Date.parse(d.expectedAt);
  return <p className={end > breach ? "warn-text" : "none"}>p90 finish {end > breach ? `${duration(end - breach)} after` : `${duration(breach - end)} before`} the deadline{d.warned && "; the warning was sent"}</p>;
}
