import { useEffect, useMemo } from "react";
import { readAll } from "../../api/client";
import { type Resource, useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { windowOf } from "../../model/axis";
import { count, type Lane, lanesOf, rows } from "../../model/lane";
import { useNow } from "../../ui/clock";
import { Empty, Show } from "../../ui/state";
import { Board } from "./board";
import { NeedsAttention } from "./attention";
import { FirstVisit } from "./first";
import { Toolbar } from "./toolbar";
import { useView } from "./view";

type Pipelines = components["schemas"]["ListPipeline"];
type Answer = components["schemas"]["Timeline"];

/** What needs attention, and one lane per pipeline with one cell per period. */
export function Timeline() {
  const pipelines = useResource<Pipelines>("/pipelines?limit=500", { by: readAll, every: 15_000 });
  return (
    <Show resource={pipelines} what="pipelines">
      {(list) => (list.items.length === 0 ? <FirstVisit /> : <Lanes pipelines={list.items} />)}
    </Show>
  );
}

function Lanes({ pipelines }: { pipelines: Pipelines["items"] }) {
  const view = useView(pipelines);
  const now = useNow(1000);
  const { from, to } = windowOf(view.span, view.at, now);
  const w = useMemo(() => ({ from, to }), [from, to]);
  const iso = (t: number) => new Date(t).toISOString();
  const answer: Resource<Answer> = useResource<Answer>(`/timeline?limit=500&from=${iso(from)}&to=${iso(to)}&axis=${view.axis}`, { by: readAll, every: 5000, keep: true });
  const lanes = useMemo<Lane[]>(() => lanesOf(pipelines, answer.data?.items ?? [], w, view.axis), [pipelines, answer.data, w, view.axis]);
  const counts = useMemo(() => count(lanes, view.choice.search), [lanes, view.choice.search]);
  const shown = useMemo(() => rows(lanes, view.choice), [lanes, view.choice]);
  useTimelineKeys(view);
  return (
    <section className="timeline" aria-label="Timeline">
      <h1 className="sr">Timeline</h1>
      <NeedsAttention />
      <Toolbar view={view} window={w} pipelines={pipelines} counts={counts} />
      <Show resource={answer} what="timeline">
        {() => shown.length > 0
          ? <Board rows={shown} window={w} now={now} axis={view.axis} zoomTo={view.zoomTo} />
          : <Empty><p>No pipeline matches in this time range.</p><button type="button" onClick={view.clear}>Show all {pipelines.length}</button></Empty>}
      </Show>
    </section>
  );
}

function useTimelineKeys(view: ReturnType<typeof useView>) {
  useEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      const t = e.target as HTMLElement;
      if (e.metaKey || e.ctrlKey || e.altKey || t.closest("input, select, textarea, [role=dialog], [role=spinbutton], [role=listbox]")) return;
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
