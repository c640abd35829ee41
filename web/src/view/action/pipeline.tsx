import { act } from "../../api/act";
import type { components } from "../../api/schema";
import { Ask, field, useAsk } from "../../ui/ask";
import { neededBy, type Rule } from "../../model/rule";
import { useMay } from "../../ui/me";
import { AddSilence } from "./silence";

type Pipeline = components["schemas"]["Pipeline"];
type Run = components["schemas"]["Run"];
type Backfilled = components["schemas"]["ListBackfilled"];
type Written = { version: number; date: string | null };

const at = (id: string) => `/pipelines/${encodeURIComponent(id)}`;

/** Opens the run of a period. */
export function Trigger({ id, date }: { id: string; date?: string }) {
  return (
    <Ask
      title={`Trigger ${id}`} submit="Trigger" reason="wanted"
      act={async (form, key) => {
        const body = { pipeline: id, date: field(form, "date"), reason: field(form, "reason"), force: form.has("force"), bypassGate: form.has("bypass") };
        const run = await act<Run>("POST", "/runs", body, key);
        return `The run of ${id} for ${run.date} is open.`;
      }}
    >
      <p>Opens the run of a period. Its job starts when its gate opens.</p>
      <label>Period<input name="date" defaultValue={date ?? ""} placeholder="default: the current period" autoFocus /></label>
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
        return `${opened} ${opened === 1 ? "run" : "runs"} of ${id} ${opened === 1 ? "is" : "are"} open.`;
      }}
    >
      <p>Opens a run for each period that has none. Each job starts when its gate opens; maxActive limits how many run at once.</p>
      <label>First period<input name="from" required defaultValue={from} autoFocus /></label>
      <label>Last period<input name="to" required defaultValue={to} /></label>
    </Ask>
  );
}

function Pause({ id }: { id: string }) {
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

export function Resume({ id }: { id: string }) {
  return (
    <Ask
      title={`Resume ${id}`} submit="Resume" reason="wanted"
      act={async (form) => {
        await act("POST", `${at(id)}/resume`, { reason: field(form, "reason") });
        return `${id} is resumed.`;
      }}
    />
  );
}

/** Pushes a reading, filled in as far as it is known. */
export function Push({ id, sensor, date, data }: { id: string; sensor?: string; date?: string; data?: string }) {
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
      <p>Rules use this reading like any other, so it may start a job.</p>
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

/** Opens the push dialog with the key, the period and the value that a closed rule needs; undefined if the user may not push. */
export function usePushRule(pipeline: string, date: string | null): ((r: Rule) => void) | undefined {
  const may = useMay();
  const { open } = useAsk();
  if (!may("sensor", pipeline)) return undefined;
  return (r) => open(<Push id={r.from ?? pipeline} sensor={r.key} {...(date ? { date } : {})} data={JSON.stringify(neededBy(r))} />);
}

/** The actions on a pipeline that the user may take. */
export function usePipelineActions(p: Pipeline | undefined): { name: string; run: () => void }[] {
  const may = useMay();
  const { open } = useAsk();
  if (!p) return [];
  const all = [];
  if (may("operator", p.id) && p.version) {
    all.push({ name: "Trigger…", run: () => open(<Trigger id={p.id} />) });
    if (p.pause.paused) all.push({ name: "Resume…", run: () => open(<Resume id={p.id} />) });
    else all.push({ name: "Pause…", run: () => open(<Pause id={p.id} />) });
  }
  if (may("operator") && p.version) all.push({ name: "Silence…", run: () => open(<AddSilence pipeline={p.id} />) });
  if (may("sensor", p.id) && p.version) all.push({ name: "Push a reading…", run: () => open(<Push id={p.id} />) });
  return all;
}
