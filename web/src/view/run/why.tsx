import type { components } from "../../api/schema";
import { closing } from "../../model/rule";
import { Time, useNow } from "../../ui/clock";
import { ReasonText } from "../../ui/reason";
import { GateTimes, Rules } from "../../ui/rules";
import { usePushRule } from "../action/pipeline";
import { type RunAction, useRunActions } from "../action/run";
import type { Key } from "./run";

type Explanation = components["schemas"]["Explanation"];

/** What the gate says. Only a gate that lets this very run start, or did, is green: rules that pass now start nothing else. */
export function verdict({ gate, run }: Pick<Explanation, "gate" | "run">): { word: string; className: string } | undefined {
  if (!gate) return undefined;
  if (gate.bypassed) return { word: "bypassed", className: "warned" };
  if (!run) return { word: gate.outcome === "pass" ? "rules pass" : "rules do not pass", className: "" };
  if (gate.open) return { word: "open", className: "open" };
  return gate.outcome === "pass" ? { word: "rules pass, no start now", className: "" } : { word: "closed", className: "closed" };
}

/** The actions that open a run, or let it start. */
const opening = new Set<RunAction["kind"]>(["resume", "start", "trigger", "rerun"]);

/** The rules and what they saw, with the actions that would open the gate. */
export function Why({ x, k }: { x: Explanation; k: Key }) {
  const now = useNow(1000);
  const push = usePushRule(k.pipeline, x.actions);
  const offered = useRunActions(k, x);
  const told = x.said.reasons;
  if (told.length + x.said.opens.length === 0 && !x.gate) return null;
  const live = !x.gate || x.gate.live;
  const is = verdict(x);
  const closed = live ? closing(x.gate) : [];
  const actions = x.said.opens.length > 0 ? offered.filter((a) => opening.has(a.kind)) : [];
  const pushes = closed.flatMap((r) => push(r) ?? []).length > 0;
  return (
    <section className="card" aria-label="Why">
      <header>
        <h2>{live ? "Why" : x.run?.phase === "offered" ? "Rules when it was offered" : "Rules at the start"}</h2>
        {is && <span className={`verdict ${is.className}`}>{is.word}</span>}
        <span className="gap" />
        {x.gate && !x.gate.live && <small>as of <Time at={x.gate.at} /></small>}
      </header>
      {told.length > 0 && <ul className="reasons">{told.map((r, i) => <li key={i}><ReasonText reason={r} /></li>)}</ul>}
      {x.gate && <GateTimes gate={x.gate} starts={x.next.by === "data" && x.run !== null} />}
      {x.gate && x.gate.rules.length > 0 && <Rules rules={x.gate.rules} now={now} when={live ? "live" : "then"} push={live ? push : undefined} />}
      {x.said.opens.length > 0 && <h3>What would open it</h3>}
      {(pushes || actions.length > 0) && (
        <div className="actions" role="group" aria-label="What would open it">
          {actions.filter((a) => a.kind === "resume").map((a) => <button key={a.name} type="button" onClick={a.run}>{a.name}</button>)}
          {closed.map((r, i) => push(r) && <button key={i} type="button" onClick={push(r)}>Push {r.key}…</button>)}
          {actions.filter((a) => a.kind !== "resume").map((a) => <button key={a.name} type="button" onClick={a.run}>{a.name}</button>)}
        </div>
      )}
      {x.said.opens.length > 0 && <ul className="reasons">{x.said.opens.map((o, i) => <li key={i}><ReasonText reason={o} /></li>)}</ul>}
    </section>
  );
}
