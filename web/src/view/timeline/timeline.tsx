import { useEffect, useMemo } from "react";
import { readAll } from "../../api/client";
import type { Event } from "../../api/live";
import { type Resource, useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { windowOf } from "../../model/axis";
import { count, type Lane, lanesOf, overdueKey, rows } from "../../model/lane";
import { day } from "../../model/time";
import { useNow } from "../../ui/clock";
import { Empty, Show } from "../../ui/state";
import { Board } from "./board";
import { FirstVisit } from "./first";
import { Toolbar } from "./toolbar";
import { useView } from "./view";

type Pipelines = components["schemas"]["ListPipeline"];
type Events = components["schemas"]["ListEvent"];
type Answer = components["schemas"]["Timeline"];

/** What ran, what waits, what is late and what never came: one lane per pipeline, one cell per period. */
export function Timeline() {
  const pipelines = useResource<Pipelines>("/pipelines?limit=500", { by: readAll, every: 15_000 });
  return (
    <Show resource={pipelines} what="pipelines">
      {(list) => (list.items.length === 0 ? <FirstVisit /> : <Lanes pipelines={list.items} />)}
    </Show>
  );
}

const isBreach = (e: Event) => e["detail-type"] === "RELATIVE_SLA_BREACH";

function Lanes({ pipelines }: { pipelines: Pipelines["items"] }) {
  const view = useView(pipelines);
  const now = useNow(1000);
  const { from, to } = windowOf(view.span, view.at, now);
  const w = useMemo(() => ({ from, to }), [from, to]);
  const iso = (t: number) => new Date(t).toISOString();
  const answer: Resource<Answer> = useResource<Answer>(`/timeline?limit=500&from=${iso(from)}&to=${iso(to)}`, { by: readAll, every: 5000, keep: true });
  const breaches = useResource<Events>(`/events?type=RELATIVE_SLA_BREACH&limit=500&since=${iso(from - day)}`, { on: isBreach, keep: true });
  const lanes = useMemo<Lane[]>(() => {
    const overdue = new Set(breaches.data?.items.map((e) => overdueKey(e.detail.pipelineId, e.detail.date)));
    return lanesOf(pipelines, answer.data?.items ?? [], overdue);
  }, [pipelines, answer.data, breaches.data]);
  // What is late changes with the minute, not with the second: nothing is drawn anew for less.
  const coarse = Math.floor(now / 5000) * 5000;
  const counts = useMemo(() => count(lanes, coarse), [lanes, coarse]);
  const shown = useMemo(() => rows(lanes, view.choice, coarse), [lanes, view.choice, coarse]);
  useTimelineKeys(view);
  return (
    <section className="timeline" aria-label="Timeline">
      <h1 className="sr">Timeline</h1>
      <Toolbar view={view} window={w} pipelines={pipelines} counts={counts} />
      <Show resource={answer} what="timeline">
        {() => shown.length > 0
          ? <Board rows={shown} window={w} now={now} coarse={coarse} />
          : <Empty><p>No pipeline is like that in this stretch of time.</p><button type="button" onClick={view.clear}>Show all {pipelines.length}</button></Empty>}
      </Show>
    </section>
  );
}

function useTimelineKeys(view: ReturnType<typeof useView>) {
  useEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      const t = e.target as HTMLElement;
      if (e.metaKey || e.ctrlKey || e.altKey || t.closest("input, select, textarea, dialog")) return;
      if (e.key === "+" || e.key === "=") view.zoomBy(-1);
      else if (e.key === "-") view.zoomBy(1);
      else if (e.key === "[") view.move(-1);
      else if (e.key === "]") view.move(1);
      else if (e.key === "n") view.live();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [view]);
}
