import { readAll } from "../../api/client";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { neighbours } from "../../model/graph";
import type { Pipeline } from "../../model/lane";
import { kindName, kindOfStatus } from "../../model/slot";
import { pipelinePath } from "../../route/route";
import { Link } from "../../ui/link";
import { Glyph } from "../../ui/mark";
import { Show } from "../../ui/state";

type Pipelines = components["schemas"]["ListPipeline"];

/** What this pipeline waits for, and what waits for it. */
export function Graph({ id }: { id: string }) {
  const all = useResource<Pipelines>("/pipelines?limit=500", { by: readAll, every: 15_000 });
  return (
    <section className="card" aria-label="Upstream and downstream">
      <h2>Upstream and downstream</h2>
      <Show resource={all} what="pipelines">
        {({ items }) => {
          const { up, down } = neighbours(items, id);
          if (up.length + down.length === 0) return <p className="none">It waits for no other pipeline, and none waits for it.</p>;
          return (
            <div className="graph">
              <Side title="waits for" list={up} />
              <div className="self">{id}</div>
              <Side title="waited for by" list={down} />
            </div>
          );
        }}
      </Show>
    </section>
  );
}

function Side({ title, list }: { title: string; list: Pipeline[] }) {
  if (list.length === 0) return null;
  return (
    <ul aria-label={title}>
      {list.map((p) => {
        const kind = p.lastRun ? kindOfStatus(p.lastRun.status) : "upcoming";
        return <li key={p.id}><Link href={pipelinePath(p.id)} title={`${title}: ${p.lastRun ? `${p.lastRun.date} ${kindName[kind]}` : "no run yet"}`}><span className={`k-${kind} last`}><Glyph kind={kind} /></span>{p.id}</Link></li>;
      })}
    </ul>
  );
}
