import { useCallback, useEffect, useMemo, useState } from "react";
import { type Event, useEvents } from "../../api/live";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { filterQuery, type Filter, merge, severities, wants } from "../../model/events";
import { date, fromWall } from "../../model/time";
import { useQuery } from "../../route/route";
import { useZone } from "../../ui/clock";
import { DateJump } from "../../ui/datejump";
import { EventRow } from "../../ui/eventrow";
import { Older, useOlder } from "../../ui/older";
import { Empty, Show } from "../../ui/state";
import { Suggest } from "../../ui/suggest";

type Page = components["schemas"]["EventList"];
type Types = components["schemas"]["ListEventType"];
type Pipelines = components["schemas"]["ListPipeline"];

const ranges: [string, string][] = [["", "Any time"], ["1h", "Last hour"], ["24h", "Last 24 hours"], ["7d", "Last 7 days"], ["30d", "Last 30 days"]];

/** Events, newest first, as they happen; all filters are in the address and on the server. */
export function Events() {
  const [query, change] = useQuery();
  const get = (name: string) => query.get(name) ?? "";
  const severity = get("severity") !== "info" && (severities as readonly string[]).includes(get("severity")) ? get("severity") : "";
  const filter: Filter = { type: get("type"), pipeline: get("pipeline"), q: get("q"), severity, from: get("from"), to: get("to") };
  const path = `/events?${filterQuery(filter)}`;
  const first = useResource<Page>(path, { on: () => false });
  const narrowed = Object.values(filter).some(Boolean);
  return (
    <section className="detail" aria-label="Events">
      <header className="heading"><h1>Events</h1></header>
      <div className="controls">
        <Search value={filter.q} change={(q) => change({ q }, "typing")} />
        <TypeChoice value={filter.type} change={(type) => change({ type })} />
        <PipelineChoice value={filter.pipeline} change={(pipeline) => change({ pipeline })} />
        <select aria-label="Minimum severity" value={severity} onChange={(e) => change({ severity: e.target.value })}>
          <option value="">Every severity</option><option value="warning">Warnings and critical</option><option value="critical">Critical only</option>
        </select>
        <Range from={filter.from} to={filter.to} change={change} />
        {narrowed && <button type="button" className="quiet" onClick={() => change({ type: undefined, pipeline: undefined, severity: undefined, q: undefined, from: undefined, to: undefined })}>Show all</button>}
      </div>
      <Show resource={first} what="events">{(page) => <Feed key={path} path={path} page={page} filter={filter} />}</Show>
    </section>
  );
}

/** A text that is searched for once typing has stopped for a moment. */
function Search({ value, change }: { value: string; change: (v: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text.trim() === value) return;
    const timer = setTimeout(() => change(text.trim()), 300);
    return () => clearTimeout(timer);
  }, [text, value, change]);
  return <input type="search" className="search" aria-label="Search the events" placeholder="Search" value={text} onChange={(e) => setText(e.target.value)} />;
}

function TypeChoice({ value, change }: { value: string; change: (v: string) => void }) {
  const types = useResource<Types>("/events/types", { on: () => false });
  return <Suggest label="Filter by type" placeholder="Type" value={value} change={change} items={types.data?.items.map((t) => ({ id: t.type, hint: t.about })) ?? []} />;
}

function PipelineChoice({ value, change }: { value: string; change: (v: string) => void }) {
  const pipelines = useResource<Pipelines>("/pipelines?limit=500", { on: () => false });
  return <Suggest label="Filter by pipeline" placeholder="Pipeline" value={value} change={change} items={pipelines.data?.items.map((p) => ({ id: p.id, hint: p.owner })) ?? []} />;
}

/** The time range: a preset that ends now, or two days. */
function Range({ from, to, change }: { from: string; to: string; change: ReturnType<typeof useQuery>[1] }) {
  const zone = useZone();
  const preset = ranges.some(([v]) => v === from) && !to;
  const day = (t: string) => date(Number.isNaN(Date.parse(t)) ? Date.now() : Date.parse(t), zone);
  const start = (d: string) => new Date(fromWall(Date.parse(`${d}T00:00:00Z`), zone)).toISOString();
  return (
    <>
      <select
        aria-label="Time range" value={preset ? from : "days"}
        onChange={(e) => change(e.target.value === "days" ? { from: start(day("")), to: start(date(Date.now() + 86_400_000, zone)) } : { from: e.target.value, to: undefined })}
      >
        {ranges.map(([v, name]) => <option key={v} value={v}>{name}</option>)}<option value="days">Between two days</option>
      </select>
      {!preset && (
        <>
          <DateJump label="From" value={day(from)} jump={(d) => change({ from: start(d) })} />
          <DateJump label="Before" value={day(to)} jump={(d) => change({ to: start(d) })} />
        </>
      )}
    </>
  );
}

interface FeedProps {
  path: string;
  page: Page;
  filter: Filter;
}

function Feed({ path, page, filter }: FeedProps) {
  const [news, setNews] = useState<Event[]>([]);
  const older = useOlder<Event>(path, page.nextCursor);
  const [paused, setPaused] = useState(false);
  const key = JSON.stringify(filter);
  useEvents(useCallback((e: Event) => {
    if (wants(JSON.parse(key) as Filter, e)) setNews((old) => [e, ...old].slice(0, 1000));
  }, [key]));
  const fresh = useMemo(() => merge(news, [...page.items, ...older.items]), [news, page.items, older.items]);
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
      {shown.length === 0 ? <Empty><p>No event matches{older.more ? " in the events searched so far" : ""}.</p></Empty> : <ol className="events card">{shown.map((e) => <EventRow key={e.id} event={e} />)}</ol>}
      <Older older={older} />
    </>
  );
}
