import { act } from "../../api/act";
import type { components } from "../../api/schema";
import { Ask, field, useAsk } from "../../ui/ask";
import { type Reason, ReasonText } from "../../ui/reason";
import type { Rule } from "../../model/rule";
import { useMay } from "../../ui/me";
import { AddSilence } from "./silence";

type Pipeline = components["schemas"]["Pipeline"];
type Run = components["schemas"]["Run"];
type Backfilled = components["schemas"]["ListBackfilled"];
type Pause = components["schemas"]["Pause"];
export type Possible = components["schemas"]["Possible"];
type Written = { version: number; date: string | null };

const at = (id: string) => `/pipelines/${encodeURIComponent(id)}`;

/** Opens the run of a period, by default of the current one. The effect is that on the period. */
export function Trigger({ id, date, current, effect }: { id: string; date?: string | undefined; current?: string | undefined; effect?: Reason | undefined }) {
  return (
    <Ask
      title={`Trigger ${id}`} submit="Trigger" reason="wanted"
      act={async (form, key) => {
        const body = { pipeline: id, date: field(form, "date"), reason: field(form, "reason"), force: form.has("force"), bypassGate: form.has("bypass") };
        const run = await act<Run>("POST", "/runs", body, key);
        return `The run of ${id} for ${run.date} is open.`;
      }}
    >
      <p>{effect ? <ReasonText reason={effect} /> : "Opens the run of a period. Its job can start when its gate opens."}</p>
      <label>Period<input name="date" defaultValue={date ?? ""} placeholder={`default: ${current ?? "the current period"}`} autoFocus /></label>
      <label className="check"><input type="checkbox" name="force" /> Force: open it even if the calendar excludes it or its budget is used up</label>
      <label className="check"><input type="checkbox" name="bypass" /> Bypass the gate</label>
    </Ask>
  );
}

/** Opens the runs of several periods. */
export function Backfill({ id, from, to }: { id: string; from: string; to: string }) {
  return (
    <Ask
      title={`Backfill ${id}`} submit="Backfill" reason="wanted"
      act={async (form, key) => {
        const body = { from: field(form, "from"), to: field(form, "to"), onlyMissing: true, reason: field(form, "reason") };
        const { items } = await act<Backfilled>("POST", `${at(id)}/backfill`, body, key);
        const opened = items.filter((i) => i.action === "open").length;
        const why = items.find((i) => i.action === "skip")?.reason;
        const skipped = opened < items.length ? ` ${items.length - opened} skipped${why ? `: ${why}` : ""}.` : "";
        return `${opened} ${opened === 1 ? "run" : "runs"} of ${id} ${opened === 1 ? "is" : "are"} open.${skipped}`;
      }}
    >
      <p>Opens a run for each period that has none. Each job starts when its gate opens; maxActive limits how many run at once.</p>
      <label>First period<input name="from" required defaultValue={from} autoFocus /></label>
      <label>Last period<input name="to" required defaultValue={to} /></label>
    </Ask>
  );
}

function PauseOne({ id }: { id: string }) {
  return (
    <Ask
      title={`Pause ${id}`} submit="Pause" reason="required"
      act={async (form) => {
        await act("POST", `${at(id)}/pause`, { reason: field(form, "reason"), until: field(form, "until"), holdSla: form.has("hold") });
        return `${id} is paused.`;
      }}
    >
      <p>Readings are stored, but nothing opens or starts. Running jobs continue to be polled.</p>
      <label>Until<input name="until" placeholder="2h, or 2026-03-03T10:00:00Z; default: until resumed" autoFocus /></label>
      <label className="check"><input type="checkbox" name="hold" /> Cancel its deadlines during the pause</label>
    </Ask>
  );
}

/** Ends the pause of a pipeline, or of all. */
export function Resume({ id }: { id: string | null }) {
  const name = id ?? "all pipelines";
  return (
    <Ask
      title={`Resume ${name}`} submit="Resume" reason="wanted"
      act={async (form) => {
        const left = await act<Pause | null>("POST", id ? `${at(id)}/resume` : "/resume", { reason: field(form, "reason") });
        if (id && left?.paused) return `The own pause of ${id} has ended. It stays paused: all pipelines are.`;
        return id ? `${id} is resumed.` : "The pause of all pipelines has ended.";
      }}
    />
  );
}

/** Pushes a reading, filled in as far as it is known. */
export function Push({ id, sensor, date, data, effect }: { id: string; sensor?: string; date?: string | undefined; data?: string; effect?: Reason }) {
  return (
    <Ask
      title={`Push a reading to ${id}`} submit="Push"
      act={async (form) => {
        const fields = parse(field(form, "data") ?? "");
        const period = field(form, "date");
        const key = field(form, "key")! + (period ? `#${period}` : "");
        const put = await act<Written>("PUT", `${at(id)}/sensors/${encodeURIComponent(key)}`, fields);
        return `Written as version ${put.version}${put.date ? `, for ${put.date}` : ", undated"}.`;
      }}
    >
      <p>{effect && <><ReasonText reason={effect} /> </>}Rules use this reading like any other, so it may start a job.</p>
      <label>Key<input name="key" required defaultValue={sensor ?? ""} autoFocus={!sensor} /></label>
      <label>Period<input name="date" defaultValue={date ?? ""} placeholder="default: undated" /></label>
      <label>Data<textarea name="data" className="mono" rows={4} required defaultValue={data ?? '{"status": "ready"}'} autoFocus={Boolean(sensor)} spellCheck={false} /></label>
    </Ask>
  );
}

function parse(text: string): unknown {
  try {
    const v = JSON.parse(text) as unknown;
    if (typeof v === "object" && v !== null && !Array.isArray(v)) return v;
  } catch {
    // said below
  }
  throw new Error('The data is not a JSON object; write it like {"status": "ready"}.');
}

/** For a rule, what opens the push dialog with the reading that satisfies it; nothing if the server names none, or the user may not push it. */
export function usePushRule(pipeline: string, actions: readonly Possible[] | undefined): (r: Pick<Rule, "key" | "from">) => (() => void) | undefined {
  const may = useMay();
  const { open } = useAsk();
  return (r) => {
    const owner = r.from ?? pipeline;
    const a = actions?.find((p) => p.kind === "push" && p.pipeline === owner && p.key === r.key);
    if (!a || !may("sensor", owner)) return undefined;
    return () => open(<Push id={owner} sensor={r.key} date={a.date ?? undefined} data={JSON.stringify(a.data)} effect={a.effect} />);
  };
}

/** The actions on a pipeline that the user may take. */
export function usePipelineActions(p: Pipeline | undefined): { name: string; run: () => void }[] {
  const may = useMay();
  const { open } = useAsk();
  if (!p) return [];
  const all = [];
  if (may("operator", p.id) && p.version) {
    const current = p.current && !p.current.openRun ? p.current.date : undefined;
    if (!p.pause.paused && !p.pauseAll.paused) all.push({ name: "Trigger…", run: () => open(<Trigger id={p.id} current={current} />) });
    if (p.pause.paused) all.push({ name: "Resume…", run: () => open(<Resume id={p.id} />) });
    else all.push({ name: "Pause…", run: () => open(<PauseOne id={p.id} />) });
  }
  if (may("operator") && p.version) all.push({ name: "Silence…", run: () => open(<AddSilence pipeline={p.id} />) });
  if (may("sensor", p.id) && p.version) all.push({ name: "Push a reading…", run: () => open(<Push id={p.id} />) });
  return all;
}
