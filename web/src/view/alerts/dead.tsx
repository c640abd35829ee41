import { act } from "../../api/act";
import { readAll } from "../../api/client";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { Ask, useAsk } from "../../ui/ask";
import { Time } from "../../ui/clock";
import { EventRow } from "../../ui/eventrow";
import { useMay } from "../../ui/me";
import { Show } from "../../ui/state";
import { said } from "./said";

type Groups = components["schemas"]["DeadGroups"];
type Group = Groups["items"][number];
type Retried = components["schemas"]["ListRetried"];

/** The alerts that no sink accepted: those of one sink, type and answer are one row. */
export function DeadLetters() {
  const dead = useResource<Groups>("/alerts/dead/groups?limit=500", { by: readAll, every: 10_000 });
  const may = useMay();
  const ask = useAsk();
  return (
    <Show resource={dead} what="alerts that were not delivered">
      {({ items, letters }) => (
        <section className="card" aria-label="Dead letters">
          <header>
            <h2>Not delivered</h2>{letters > 0 && <span className="count">{letters}</span>}<span className="gap" />
            {may("operator") && items.length > 1 && <button type="button" onClick={() => ask.open(<Retry all={letters} />)}>Send all {letters} again…</button>}
          </header>
          {items.length === 0 ? <p className="none">No sink has rejected an alert.</p> : (
            <ul className="letters">
              {items.map((g) => (
                <li key={`${g.sink}/${g.type}/${g.reason}`}>
                  <p><strong>{g.letters > 1 ? `${g.letters} × ` : ""}{g.type}</strong> to {g.sink}{g.pipelines.length > 0 && <> about {g.pipelines.slice(0, 5).join(", ")}{g.pipelines.length > 5 && ` and ${g.pipelines.length - 5} more`}</>}</p>
                  <p className="bad-text">{g.sink} answered: {g.reason}</p>
                  <p className="hint">{g.letters > 1 ? <>rejected between <Time at={g.first} /> and <Time at={g.last} />; the latest:</> : <>rejected at <Time at={g.last} /></>}</p>
                  <ol className="events"><EventRow event={g.latest} /></ol>
                  {may("operator") && <button type="button" onClick={() => ask.open(<Retry group={g} />)}>Send again…</button>}
                </li>
              ))}
            </ul>
          )}
        </section>
      )}
    </Show>
  );
}

function Retry({ group, all }: { group?: Group; all?: number }) {
  const n = group ? group.ids.length : all!;
  return (
    <Ask
      title={group ? `Send ${n === 1 ? "it" : `${n} alerts`} to ${group.sink} again` : `Send ${n} alerts again`} submit="Send"
      act={async () => {
        const body = group ? { sink: group.sink, ids: group.ids } : { all: true };
        return said((await act<Retried>("POST", "/alerts/dead/retry", body)).items, "Accepted by");
      }}
    >
      <p>Accepted alerts are no longer listed here.</p>
    </Ask>
  );
}
