import { act } from "../../api/act";
import { Failure } from "../../api/client";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { asks, closing, ruleText } from "../../model/rule";
import { Ask, field, useAsk } from "../../ui/ask";
import { Dialog } from "../../ui/dialog";
import { useMay } from "../../ui/me";
import { type Reason, ReasonText } from "../../ui/reason";
import { type Possible, Resume, Trigger } from "./pipeline";

type Explanation = components["schemas"]["Explanation"];
type Rerun = components["schemas"]["Rerun"];
type Reported = components["schemas"]["JobReported"];

export interface Key {
  pipeline: string;
  schedule: string;
  date: string;
}

const at = (k: Key) => `/runs/${[k.pipeline, k.schedule, k.date].map(encodeURIComponent).join("/")}`;
const named = (k: Key) => `${k.pipeline} ${k.date}`;

/** Why a run is as it is; undefined until it is read. */
export function useExplanation(k: Key | null): Explanation | undefined {
  const path = k && `/pipelines/${encodeURIComponent(k.pipeline)}/explain?date=${encodeURIComponent(k.date)}&schedule=${encodeURIComponent(k.schedule)}`;
  return useResource<Explanation>(path, { on: (e) => e.detail.pipelineId === k?.pipeline, every: 5000 }).data;
}

function answered(r: Rerun): string {
  if (!r.accepted) throw new Failure(`Rejected: ${r.why}.`, 409);
  return `Attempt ${r.attempt ?? ""} is open.`;
}

/** The action of that kind, if it is possible now. */
const possible = (x: Explanation, kind: Possible["kind"]) => x.actions.find((a) => a.kind === kind);

/** Opens another attempt. Where only a forced one is possible, it asks for that. */
export function RerunOne({ k }: { k: Key }) {
  const { open } = useAsk();
  const x = useExplanation(k);
  if (!x) return null;
  const rerun = possible(x, "rerun");
  if (!rerun) return possible(x, "force") ? <Force k={k} /> : <NotNow k={k} x={x} />;
  return (
    <Ask
      title={`Rerun ${named(k)}`} submit="Rerun" reason="required"
      act={async (form, key) => {
        const reason = field(form, "reason") ?? "";
        try {
          return answered(await act<Rerun>("POST", `${at(k)}/reruns`, { reason }, key));
        } catch (cause) {
          if (!(cause instanceof Failure) || cause.status !== 409) throw cause;
          open(<Refused k={k} why={cause.message} reason={reason} force={possible(x, "force") !== undefined} />);
          return null;
        }
      }}
    >
      <p><ReasonText reason={rerun.effect} /></p>
    </Ask>
  );
}

/** Why a run is not rerun now. */
function NotNow({ k, x }: { k: Key; x: Explanation }) {
  const { close } = useAsk();
  return (
    <Dialog label={`Rerun ${named(k)}`} className="ask" close={close}>
      <form onSubmit={(e) => e.preventDefault()}>
        <h2>No rerun is possible now</h2>
        <p className="notice"><ReasonText reason={x.said.summary} />{x.next.outlook && <> <ReasonText reason={x.next.outlook} /></>}</p>
        <div className="buttons"><button type="button" autoFocus onClick={close}>Close</button></div>
      </form>
    </Dialog>
  );
}

/** Starts a run that waits for its gate, without the gate. */
export function StartAnyway({ k, x, effect }: { k: Key; x: Explanation; effect: Reason }) {
  const closed = closing(x.gate);
  return (
    <Ask
      title={`Start ${named(k)} anyway`} submit="Start anyway" danger reason="required"
      act={async (form, key) => answered(await act<Rerun>("POST", `${at(k)}/reruns`, { reason: field(form, "reason"), force: true, bypassGate: true }, key))}
    >
      <p><ReasonText reason={effect} /></p>
      {closed.length > 0 && <ul className="reasons">{closed.map((r, i) => <li key={i}>{ruleText(r)}</li>)}</ul>}
    </Ask>
  );
}

/** A refused rerun, with the option to force it, if that is possible. */
function Refused({ k, why, reason, force }: { k: Key; why: string; reason: string; force: boolean }) {
  const { open, close } = useAsk();
  return (
    <Dialog label={`Rerun ${named(k)}`} className="ask" close={close}>
      <form onSubmit={(e) => e.preventDefault()}>
        <h2>The rerun was rejected</h2>
        <p className="notice bad" role="alert">{why}</p>
        <div className="buttons">
          <button type="button" onClick={close}>Cancel</button>
          {force && <button type="button" className="danger" autoFocus onClick={() => open(<Force k={k} reason={reason} />)}>Force…</button>}
        </div>
      </form>
    </Dialog>
  );
}

function Force({ k, reason }: { k: Key; reason?: string }) {
  const x = useExplanation(k);
  if (!x) return null;
  const force = possible(x, "force");
  if (!force) return <NotNow k={k} x={x} />;
  const closed = x.gate?.live ? closing(x.gate) : [];
  return (
    <Ask
      title={`Force a rerun of ${named(k)}`} submit="Force rerun" danger reason="required" because={reason}
      act={async (form, key) => answered(await act<Rerun>("POST", `${at(k)}/reruns`, { reason: field(form, "reason"), force: true, bypassGate: form.has("bypass") }, key))}
    >
      <p><ReasonText reason={force.effect} /></p>
      {force.skips.length > 0 && (
        <>
          <p>This skips</p>
          <ul className="reasons">{force.skips.map((s) => <li key={s}>{s}</li>)}</ul>
          <label className="check"><input type="checkbox" required autoFocus /> I understand that these checks are skipped</label>
        </>
      )}
      <label className="check"><input type="checkbox" name="bypass" /> Skip the gate as well{closed.length > 0 && `: ${closed.map((r) => `${r.key} ${asks(r)}`).join(", ")} ${closed.length === 1 ? "does" : "do"} not hold`}</label>
    </Ask>
  );
}

function Cancel({ k, effect }: { k: Key; effect: Reason }) {
  return (
    <Ask
      title={`Cancel ${named(k)}`} submit="Cancel the run" danger reason="required"
      act={async (form) => {
        await act("POST", `${at(k)}/cancel`, { reason: field(form, "reason") });
        return `The run of ${named(k)} is cancelled.`;
      }}
    >
      <p><ReasonText reason={effect} /></p>
    </Ask>
  );
}

function Report({ k, attempt, effect }: { k: Key; attempt: number; effect: Reason }) {
  return (
    <Ask
      title={`Report the result of ${named(k)}`} submit="Report"
      act={async (form) => {
        const body = { result: field(form, "result"), attempt, message: field(form, "message"), category: field(form, "category") };
        const done = await act<Reported>("POST", `${at(k)}/job`, body);
        return done.late ? "The attempt had already ended: the result is logged and changes nothing." : "The result is recorded.";
      }}
    >
      <p><ReasonText reason={effect} /></p>
      <label>Result<select name="result" defaultValue="success" autoFocus><option value="success">success</option><option value="fail">fail</option><option value="timeout">timeout</option></select></label>
      <label>Message<input name="message" maxLength={4000} /></label>
      <label>Failure category<select name="category" defaultValue=""><option value="">unknown</option><option>TRANSIENT</option><option>PERMANENT</option><option>TIMEOUT</option></select></label>
    </Ask>
  );
}

/** Reports the result of a run's latest attempt. */
export function ReportOne({ k }: { k: Key }) {
  const x = useExplanation(k);
  const complete = x && possible(x, "complete");
  if (!x?.run) return null;
  return complete ? <Report k={k} attempt={x.run.attempt} effect={complete.effect} /> : <NotNow k={k} x={x} />;
}

export interface RunAction {
  kind: Possible["kind"];
  name: string;
  run: () => void;
}

const names: Record<Exclude<Possible["kind"], "push">, string> = {
  resume: "Resume…", start: "Start anyway…", trigger: "Trigger…", rerun: "Rerun…", force: "Force…", complete: "Report result…", cancel: "Cancel…",
};

/** The possible actions on a run, as the server lists them, that the user may take. Readings are pushed beside their rules. */
export function useRunActions(k: Key, x: Explanation | undefined): RunAction[] {
  const may = useMay();
  const ask = useAsk();
  if (!x || !may("operator", k.pipeline)) return [];
  const dialog = (a: Possible) => {
    switch (a.kind) {
      case "push": return null;
      case "resume": return <Resume id={a.pipeline} />;
      case "start": return <StartAnyway k={k} x={x} effect={a.effect} />;
      case "trigger": return <Trigger id={k.pipeline} date={k.date} effect={a.effect} />;
      case "rerun": return <RerunOne k={k} />;
      case "force": return <Force k={k} />;
      case "complete": return x.run && <Report k={k} attempt={x.run.attempt} effect={a.effect} />;
      case "cancel": return <Cancel k={k} effect={a.effect} />;
    }
  };
  return x.actions.flatMap((a): RunAction[] => {
    if (a.kind === "push" || (a.pipeline === null && !may("operator"))) return [];
    return [{ kind: a.kind, name: a.pipeline === null ? "Resume all…" : names[a.kind], run: () => ask.open(dialog(a)) }];
  });
}
