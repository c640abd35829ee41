import { act } from "../../api/act";
import { Failure } from "../../api/client";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import { asks, closing, ruleText } from "../../model/rule";
import { Ask, field, useAsk } from "../../ui/ask";
import { Dialog } from "../../ui/dialog";
import { useMay } from "../../ui/me";
import { Trigger } from "./pipeline";

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
  return useResource<Explanation>(path, { on: (e) => e.detail.pipelineId === k?.pipeline }).data;
}

/** The text for a run that needs a person to continue. */
export const stuck = "Nothing more happens automatically.";

function answered(r: Rerun): string {
  if (!r.accepted) throw new Failure(`Rejected: ${r.why}.`, 409);
  return `Attempt ${r.attempt ?? ""} is open.`;
}

export function RerunOne({ k }: { k: Key }) {
  const { open } = useAsk();
  return (
    <Ask
      title={`Rerun ${named(k)}`} submit="Rerun" reason="required"
      act={async (form, key) => {
        const reason = field(form, "reason") ?? "";
        try {
          return answered(await act<Rerun>("POST", `${at(k)}/reruns`, { reason }, key));
        } catch (cause) {
          if (!(cause instanceof Failure) || cause.status !== 409) throw cause;
          open(<Refused k={k} why={cause.message} reason={reason} />);
          return null;
        }
      }}
    >
      <p>Opens another attempt if an input has changed since the last one and the budget allows it. The gate is evaluated again.</p>
    </Ask>
  );
}

/** What a forced rerun skips, in words. */
export function skipped(x: Pick<Explanation, "run" | "gate">): string[] {
  const spent = x.run?.counters.manualReruns ?? 0;
  const all = [
    "the circuit breaker, which requires that an input has changed since the last attempt",
    `the budget of manual reruns, of which ${spent} ${spent === 1 ? "is" : "are"} used`,
    "the calendar, which may exclude the period",
  ];
  all.push(x.run?.jobMayRun ? "the check for a running job: the job of the last attempt may still be running, so two may run at once" : "the check for a running job of the last attempt");
  return all;
}

/** Whether a run waits for something that a start without the gate does not wait for: not for a slot, nor for the end of a pause. */
export function canStartAnyway(x: Pick<Explanation, "run" | "dryRun" | "said">): boolean {
  return x.run?.status === "PENDING" && !x.dryRun && x.run.phase !== "max-active" && x.said.summary.code !== "paused";
}

/** Starts a run that waits for its gate, without the gate. */
export function StartAnyway({ k, x }: { k: Key; x: Explanation }) {
  const closed = closing(x.gate);
  return (
    <Ask
      title={`Start ${named(k)} anyway`} submit="Start anyway" danger reason="required"
      act={async (form, key) => answered(await act<Rerun>("POST", `${at(k)}/reruns`, { reason: field(form, "reason"), force: true, bypassGate: true }, key))}
    >
      <p>Replaces the waiting attempt with one that bypasses the gate. The deadlines stay armed.</p>
      {closed.length > 0 && <ul className="reasons">{closed.map((r, i) => <li key={i}>{ruleText(r)}</li>)}</ul>}
    </Ask>
  );
}

/** A refused rerun, with the option to force it. */
function Refused({ k, why, reason }: { k: Key; why: string; reason: string }) {
  const { open, close } = useAsk();
  return (
    <Dialog label={`Rerun ${named(k)}`} className="ask" close={close}>
      <form onSubmit={(e) => e.preventDefault()}>
        <h2>The rerun was rejected</h2>
        <p className="notice bad" role="alert">{why}</p>
        <div className="buttons">
          <button type="button" onClick={close}>Cancel</button>
          <button type="button" className="danger" autoFocus onClick={() => open(<Force k={k} reason={reason} />)}>Force…</button>
        </div>
      </form>
    </Dialog>
  );
}

function Force({ k, reason }: { k: Key; reason?: string }) {
  const x = useExplanation(k);
  if (!x) return null;
  const closed = closing(x.gate);
  return (
    <Ask
      title={`Force a rerun of ${named(k)}`} submit="Force rerun" danger reason="required" because={reason}
      act={async (form, key) => answered(await act<Rerun>("POST", `${at(k)}/reruns`, { reason: field(form, "reason"), force: true, bypassGate: form.has("bypass") }, key))}
    >
      <p>This skips</p>
      <ul className="reasons">{skipped(x).map((s) => <li key={s}>{s}</li>)}</ul>
      <label className="check"><input type="checkbox" required autoFocus /> I understand that these checks are skipped</label>
      <label className="check"><input type="checkbox" name="bypass" /> Skip the gate as well{closed.length > 0 && `: ${closed.map((r) => `${r.key} ${asks(r)}`).join(", ")} ${closed.length === 1 ? "does" : "do"} not pass`}</label>
    </Ask>
  );
}

function Cancel({ k, running }: { k: Key; running: boolean }) {
  return (
    <Ask
      title={`Cancel ${named(k)}`} submit="Cancel the run" danger reason="required"
      act={async (form) => {
        await act("POST", `${at(k)}/cancel`, { reason: field(form, "reason") });
        return `The run of ${named(k)} is cancelled.`;
      }}
    >
      <p>Ends the run and its deadlines.{running && " Its job is asked to stop, if its type supports that."}</p>
    </Ask>
  );
}

function Report({ k, attempt }: { k: Key; attempt: number }) {
  return (
    <Ask
      title={`Report the result of ${named(k)}`} submit="Report"
      act={async (form) => {
        const body = { result: field(form, "result"), attempt, message: field(form, "message"), category: field(form, "category") };
        const done = await act<Reported>("POST", `${at(k)}/job`, body);
        return done.late ? "The attempt had already ended: the result is logged and changes nothing." : "The result is recorded.";
      }}
    >
      <p>For jobs whose end Interlock cannot see by itself. It counts for attempt {attempt}.</p>
      <label>Result<select name="result" defaultValue="success" autoFocus><option value="success">success</option><option value="fail">fail</option><option value="timeout">timeout</option></select></label>
      <label>Message<input name="message" maxLength={4000} /></label>
      <label>Failure category<select name="category" defaultValue=""><option value="">unknown</option><option>TRANSIENT</option><option>PERMANENT</option><option>TIMEOUT</option></select></label>
    </Ask>
  );
}

/** Reports the result of a run's latest attempt. */
export function ReportOne({ k }: { k: Key }) {
  const x = useExplanation(k);
  return x?.run ? <Report k={k} attempt={x.run.attempt} /> : null;
}

const open = new Set(["PENDING", "TRIGGERING", "RUNNING", "FAILED"]);

/** The actions on a run that the user may take and that make sense in its state. */
export function useRunActions(k: Key, x: Explanation | undefined): { name: string; run: () => void }[] {
  const may = useMay();
  const ask = useAsk();
  if (!x || x.dryRun || !may("operator", k.pipeline)) return [];
  const run = x.run;
  if (!run) return [{ name: "Trigger…", run: () => ask.open(<Trigger id={k.pipeline} date={k.date} />) }];
  if (open.has(run.status)) {
    const started = run.status === "RUNNING" || run.status === "TRIGGERING";
    const report = started ? [{ name: "Report result…", run: () => ask.open(<Report k={k} attempt={run.attempt} />) }] : [];
    const anyway = canStartAnyway(x) ? [{ name: "Start anyway…", run: () => ask.open(<StartAnyway k={k} x={x} />) }] : [];
    return [...anyway, ...report, { name: "Cancel…", run: () => ask.open(<Cancel k={k} running={started} />) }];
  }
  return [
    { name: "Rerun…", run: () => ask.open(<RerunOne k={k} />) },
    { name: "Force…", run: () => ask.open(<Force k={k} />) },
  ];
}
