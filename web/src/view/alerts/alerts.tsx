import { act } from "../../api/act";
import { readAll } from "../../api/client";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { useQuery } from "../../route/route";
import { Ask, field, useAsk } from "../../ui/ask";
import { Time } from "../../ui/clock";
import { AddSilence } from "../action/silence";
import { useMay } from "../../ui/me";
import { Show } from "../../ui/state";
import { DeadLetters } from "./dead";
import { said } from "./said";

type Routes = components["schemas"]["ListAlertRoute"];
type Route = Routes["items"][number];
type Silences = components["schemas"]["ListSilence"];
type Silence = Silences["items"][number];
type Tested = components["schemas"]["ListTested"];

/** The routes of alerts, the silences, and the alerts that could not be delivered. */
export function Alerts() {
  return (
    <section className="detail" aria-label="Alerts">
      <header className="heading"><h1>Alerts</h1></header>
      <SilenceList />
      <DeadLetters />
      <RouteList />
    </section>
  );
}

/** Describes which events a route matches. */
export function takes(r: Pick<Route, "types" | "severity" | "pipelines" | "owners" | "tags">): string {
  const parts = [r.types.length ? r.types.join(", ") : r.severity ? `${r.severity} and above` : "every event"];
  if (r.types.length && r.severity) parts.push(`${r.severity} and above`);
  if (r.pipelines.length) parts.push(`of ${r.pipelines.join(", ")}`);
  if (r.owners.length) parts.push(`owned by ${r.owners.join(", ")}`);
  const tags = Object.entries(r.tags);
  if (tags.length) parts.push(`tagged ${tags.map(([k, v]) => `${k}=${v}`).join(", ")}`);
  return parts.join(" ");
}

function RouteList() {
  const routes = useResource<Routes>("/alerts/routes", { on: () => false, every: 60_000 });
  const may = useMay();
  const ask = useAsk();
  return (
    <section className="card" aria-label="Routes">
      <h2>Routes</h2>
      <p className="hint">An event goes to the sinks of the first route that matches it. Routes are set in the server's file, under <code>alerts</code>.</p>
      <Show resource={routes} what="routes">
        {({ items }) => items.length === 0 ? <p className="none">There are no routes: add a sink to the server's file.</p> : (
          <div className="scroll-x">
            <table className="periods">
              <thead><tr><th>Route</th><th>Events</th><th>Goes to</th><th>Bursts</th><th><span className="sr">Actions</span></th></tr></thead>
              <tbody>
                {items.map((r) => (
                  <tr key={r.name}>
                    <td>{r.name}</td><td className="wrap">{takes(r)}</td><td>{r.sinks.length ? r.sinks.join(", ") : "nowhere"}</td>
                    <td>{r.interval ? `one per ${r.groupBy.join(", ") || "route"} in ${r.interval}` : "individually"}</td>
                    <td className="r">{may("operator") && r.sinks.length > 0 && <button type="button" onClick={() => ask.open(<Try name={r.name} sinks={r.sinks} />)}>Send a sample…</button>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Show>
    </section>
  );
}

function Try({ name, sinks }: { name: string; sinks: readonly string[] }) {
  return (
    <Ask title={`Send a sample through ${name}`} submit="Send" act={async () => said((await act<Tested>("POST", "/alerts/test", { route: name })).items, "Sent to")}>
      <p>A sample alert, marked as such, goes to {sinks.join(", ")}.</p>
    </Ask>
  );
}

function SilenceList() {
  const [query, change] = useQuery();
  const all = query.get("silences") === "all";
  const silences = useResource<Silences>(`/silences?limit=500${all ? "&all=true" : ""}`, { by: readAll, every: 5000, keep: true });
  const may = useMay();
  const ask = useAsk();
  return (
    <section className="card" aria-label="Silences">
      <header>
        <h2>Silences</h2><span className="gap" />
        <button type="button" className="quiet" aria-pressed={all} onClick={() => change({ silences: all ? undefined : "all" })}>{all ? "Active only" : "Include ended"}</button>
        {may("operator") && <button type="button" onClick={() => ask.open(<AddSilence />)}>Add a silence…</button>}
      </header>
      <Show resource={silences} what="silences">
        {({ items }) => items.length === 0 ? <p className="none">No alert is silenced.</p> : (
          <div className="scroll-x">
            <table className="periods">
              <thead><tr><th>Pipelines</th><th>Events</th><th>Until</th><th>Why</th><th className="r">Held back</th><th><span className="sr">Actions</span></th></tr></thead>
              <tbody>{items.map((s) => <SilenceRow key={s.id} s={s} end={may("operator") ? () => ask.open(<EndSilence s={s} />) : undefined} />)}</tbody>
            </table>
          </div>
        )}
      </Show>
    </section>
  );
}

function SilenceRow({ s, end }: { s: Silence; end: (() => void) | undefined }) {
  return (
    <tr className={s.active ? undefined : "past"}>
      <td className="mono">{s.pipeline}</td><td>{s.type ?? "all"}</td>
      <td>{s.endedAt ? <>ended <Time at={s.endedAt} /></> : <Time at={s.until} />}</td>
      <td className="wrap">{s.reason} <small>– {s.requestedBy}{s.endedBy && <>; ended by {s.endedBy}{s.endedReason && <>: {s.endedReason}</>}</>}</small></td>
      <td className="r num">{s.suppressed}</td>
      <td className="r">{s.active && end && <button type="button" onClick={end}>End…</button>}</td>
    </tr>
  );
}

function EndSilence({ s }: { s: Silence }) {
  return (
    <Ask
      title={`End the silence of ${s.pipeline}`} submit="End silence" reason="required"
      act={async (form) => {
        await act("DELETE", `/silences/${encodeURIComponent(s.id)}?reason=${encodeURIComponent(field(form, "reason") ?? "")}`);
        return `Alerts about ${s.pipeline} are sent again.`;
      }}
    />
  );
}
