import { act } from "../../api/act";
import { Failure } from "../../api/client";
import type { components } from "../../api/schema";
import { asks } from "../../model/rule";
import { Ask, field, useAsk } from "../../ui/ask";
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

function answered(r: Rerun): string {
  if (!r.accepted) throw new Failure(`Rejected: ${r.why}.`, 409);
  return `Attempt ${r.attempt ?? ""} is open.`;
}

function RerunOne({ k }: { k: Key }) {
  return (
    <Ask
      title={`Rerun ${named(k)}`} submit="Rerun" reason="required"
      act={async (form, key) => answered(await act<Rerun>("POST", `${at(k)}/reruns`, { reason: field(form, "reason") }, key))}
    >
      <p>Opens another attempt, if its inputs have changed since the last one and its budget allows. The gate is evaluated again.</p>
    </Ask>
  );
}

/** What a forced rerun passes over, in words. */
export function skipped(x: Pick<Explanation, "run" | "gate">): string[] {
  const spent = x.run?.counters.manualReruns ?? 0;
  const all = [
    "the circuit breaker: its inputs need not have changed since the last attempt",
    `the budget for manual reruns: ${spent} ${spent === 1 ? "was" : "were"} opened so far`,
    "the calendar: excluded periods are allowed",
  ];
  all.push(x.run?.jobMayRun ? "the job of the last attempt, which may still be running: there would be two" : "a job of the last attempt that may still be running");
  return all;
}

function Force({ k, x }: { k: Key; x: Explanation }) {
  const closed = x.gate?.rules.filter((r) => r.effectiveOutcome !== "pass" && r.level === "required") ?? [];
  return (
    <Ask
      title={`Force a rerun of ${named(k)}`} submit="Force rerun" danger reason="required"
      act={async (form, key) => answered(await act<Rerun>("POST", `${at(k)}/reruns`, { reason: field(form, "reason"), force: true, bypassGate: form.has("bypass") }, key))}
    >
      <p>This skips</p>
      <ul className="reasons">{skipped(x).map((s) => <li key={s}>{s}</li>)}</ul>
      <label className="check"><input type="checkbox" required autoFocus /> I know that these are skipped</label>
      <label className="check"><input type="checkbox" name="bypass" /> Skip the gate as well{closed.length > 0 && `: ${closed.map((r) => `${r.key} ${asks(r)}`).join(", ")} ${closed.length === 1 ? "does" : "do"} not hold`}</label>
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

const open = new Set(["PENDING", "TRIGGERING", "RUNNING", "FAILED"]);

/** What may be done to a run, as far as whoever looks may and it stands so that it makes sense. */
export function useRunActions(k: Key, x: Explanation | undefined): { name: string; run: () => void }[] {
  const may = useMay();
  const ask = useAsk();
  if (!x || x.dryRun || !may("operator", k.pipeline)) return [];
  const run = x.run;
  if (!run) return [{ name: "Trigger…", run: () => ask.open(<Trigger id={k.pipeline} date={k.date} />) }];
  if (open.has(run.status)) {
    const started = run.status === "RUNNING" || run.status === "TRIGGERING";
    const report = started ? [{ name: "Report result…", run: () => ask.open(<Report k={k} attempt={run.attempt} />) }] : [];
    return [...report, { name: "Cancel…", run: () => ask.open(<Cancel k={k} running={started} />) }];
  }
  return [
    { name: "Rerun…", run: () => ask.open(<RerunOne k={k} />) },
    { name: "Force…", run: () => ask.open(<Force k={k} x={x} />) },
  ];
}
