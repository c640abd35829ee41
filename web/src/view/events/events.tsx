import { useCallback, useEffect, useMemo, useState } from "react";
import { type Event, useEvents } from "../../api/live";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { merge, severities, type Severity } from "../../model/events";
import { useQuery } from "../../route/route";
import { EventRow } from "../../ui/eventrow";
import { Older, useOlder } from "../../ui/older";
import { Empty, Show } from "../../ui/state";

type Page = components["schemas"]["ListEvent"];

/** What was announced, newest first, as it happens. */
export function Events() {
  const [query, change] = useQuery();
  const [type, pipeline] = [query.get("type") ?? "", query.get("pipeline") ?? ""];
  const severity = (severities as readonly string[]).includes(query.get("severity") ?? "") ? (query.get("severity") as Severity) : "info";
  const q = new URLSearchParams({ limit: "200" });
  if (type) q.set("type", type);
  if (pipeline) q.set("pipeline", pipeline);
  const path = `/events?${q}`;
  const first = useResource<Page>(path, { on: () => false });
  return (
    <section className="detail" aria-label="Events">
      <header className="heading"><h1>Events</h1></header>
      <div className="controls">
        <select aria-label="At least this severe" value={severity} onChange={(e) => change({ severity: e.target.value === "info" ? undefined : e.target.value })}>
          <option value="info">Every severity</option><option value="warning">Warnings and critical</option><option value="critical">Critical only</option>
        </select>
        <Typed key={`t ${type}`} label="Only of this type, such as SLA_BREACH" placeholder="Type" value={type} change={(v) => change({ type: v.toUpperCase() })} />
        <Typed key={`p ${pipeline}`} label="Only of this pipeline" placeholder="Pipeline" value={pipeline} change={(v) => change({ pipeline: v })} />
        {(type || pipeline || severity !== "info") && <button type="button" className="quiet" onClick={() => change({ type: undefined, pipeline: undefined, severity: undefined })}>Show all</button>}
      </div>
      <Show resource={first} what="events">{(page) => <Feed key={path} path={path} page={page} type={type} pipeline={pipeline} severity={severity} />}</Show>
    </section>
  );
}

function Typed({ label, placeholder, value, change }: { label: string; placeholder: string; value: string; change: (v: string) => void }) {
  return <input type="search" aria-label={label} placeholder={placeholder} defaultValue={value} onKeyDown={(e) => e.key === "Enter" && change(e.currentTarget.value.trim())} onBlur={(e) => e.target.value.trim() !== value && change(e.target.value.trim())} />;
}

interface FeedProps {
  path: string;
  page: Page;
  type: string;
  pipeline: string;
  severity: Severity;
}

function Feed({ path, page, type, pipeline, severity }: FeedProps) {
  const [news, setNews] = useState<Event[]>([]);
  const older = useOlder<Event>(path, page.nextCursor);
  const [paused, setPaused] = useState(false);
  useEvents(useCallback((e: Event) => {
    if ((!type || e["detail-type"] === type) && (!pipeline || e.detail.pipelineId === pipeline)) setNews((old) => [e, ...old].slice(0, 1000));
  }, [type, pipeline]));
  const fresh = useMemo(() => merge(news, [...page.items, ...older.items], severity), [news, page.items, older.items, severity]);
  const [held, setHeld] = useState(fresh);
  useEffect(() => {
    if (!paused) setHeld(fresh);
  }, [paused, fresh]);
  const shown = paused ? held : fresh;
  return (
    <>
      <p className="hint">
        {shown.length} shown{paused && fresh.length > shown.length && <>, {fresh.length - shown.length} new since</>} ·{" "}
        <button type="button" className="quiet" aria-pressed={paused} onClick={() => setPaused(!paused)}>{paused ? "Resume" : "Pause"}</button>
      </p>
      {shown.length === 0 ? <Empty><p>Nothing like that has happened{older.more ? " lately" : ""}.</p></Empty> : <ol className="events card">{shown.map((e) => <EventRow key={e.id} event={e} />)}</ol>}
      <Older older={older} />
    </>
  );
}
