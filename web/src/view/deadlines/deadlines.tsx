import { readAll } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Event } from "../../api/live";
import type { components } from "../../api/schema";
import { type Card, cardOf, type Column, columnName, inColumn } from "../../model/board";
import { kindName, kindOfRun } from "../../model/slot";
import { duration } from "../../model/time";
import { pipelinePath, runPath, useQuery } from "../../route/route";
import { Age, Time, useNow } from "../../ui/clock";
import { Link } from "../../ui/link";
import { Badge } from "../../ui/mark";
import { Empty, Show } from "../../ui/state";
import { Kept } from "./kept";

type List = components["schemas"]["ListDeadline"];
type Pipelines = components["schemas"]["ListPipeline"];
type Summaries = components["schemas"]["ListTrendSummary"];

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

const columns: Column[] = ["overdue", "risk", "track"];
const days = 2; // how long an overdue deadline stays on the board

/** Every deadline that is armed, or was breached by a run that has not completed since. */
function Board() {
  const [query, change] = useQuery();
  const pipeline = query.get("pipeline") ?? "";
  const now = useNow(1000);
  const only = pipeline ? `&pipeline=${encodeURIComponent(pipeline)}` : "";
  const armed = useResource<List>(`/deadlines?limit=500${only}`, { on: onSLA, every: 10_000, keep: true });
  const breached = useResource<List>(`/deadlines?limit=500&state=BREACHED&from=${days}d${only}`, { on: onSLA, every: 10_000, keep: true });
  const pipelines = useResource<Pipelines>("/pipelines?limit=500", { by: readAll, every: 15_000 });
  const trends = useResource<Summaries>("/trends?limit=100&days=30", { by: readAll, on: () => false, every: 60_000 });
  const byID = new Map(pipelines.data?.items.map((p) => [p.id, p]));
  const durations = new Map(trends.data?.items.map((s) => [s.pipeline, s]));
  return (
    <>
      {pipeline && <div className="controls"><span>Only {pipeline}</span><button type="button" className="quiet" onClick={() => change({ pipeline: undefined })}>Show all</button></div>}
      <Show resource={armed} what="deadlines">
        {({ items, nextCursor }) => {
          const late = breached.data?.items.filter((d) => d.doneAt === null) ?? [];
          const cards = [...late, ...items].map((d) => cardOf(d, byID.get(d.pipeline), durations.get(d.pipeline), now));
          if (cards.length === 0) return <Empty><p>No deadline is armed. A pipeline with <code>sla</code> in its file has one for each period.</p></Empty>;
          return (
            <>
              <div className="board-columns">{columns.map((c) => <ColumnOf key={c} column={c} cards={inColumn(cards, c)} now={now} />)}</div>
              {nextCursor && <p className="hint">These are the next {items.length} deadlines; there are more.</p>}
            </>
          );
        }}
      </Show>
    </>
  );
}

function ColumnOf({ column, cards, now }: { column: Column; cards: readonly Card[]; now: number }) {
  return (
    <section className={`board-column c-${column}`} aria-label={columnName[column]}>
      <h2>{columnName[column]} <small>{cards.length}</small></h2>
      {cards.length === 0 && <p className="none">None.</p>}
      <ul>{cards.map((c) => <CardView key={`${c.deadline.pipeline}/${c.deadline.schedule}/${c.deadline.date}/${c.deadline.kind}`} c={c} now={now} />)}</ul>
    </section>
  );
}

function CardView({ c, now }: { c: Card; now: number }) {
  const d = c.deadline;
  const breach = Date.parse(d.breachAt);
  return (
    <li className="card deadline">
      <p className="deadline-title"><Link href={pipelinePath(d.pipeline)}>{d.pipeline}</Link> · <Link href={runPath(d.pipeline, d.schedule, d.date)}>{d.date}</Link><span className="gap" />{d.critical && <span className="flag s-degraded">critical</span>}</p>
      <p>
        {c.run ? <Badge kind={kindOfRun(c.run)}>{kindName[kindOfRun(c.run)]}</Badge> : <Badge kind="upcoming">not open yet</Badge>}
        {c.owner && <small> {c.owner}</small>}
      </p>
      <p>
        {c.column === "overdue" ? <strong className="bad-text">overdue by {duration(now - breach)}</strong> : <>due <Age at={d.breachAt} now={now} /></>} <small>(<Time at={d.breachAt} />{d.kind === "relative" && ", relative"})</small>
      </p>
      {c.column !== "overdue" && c.expectedEnd !== undefined && (
        <p className={c.expectedEnd > breach ? "warn-text" : "none"}>p90 finish {c.expectedEnd > breach ? `${duration(c.expectedEnd - breach)} after` : `${duration(breach - c.expectedEnd)} before`} the deadline</p>
      )}
    </li>
  );
}
