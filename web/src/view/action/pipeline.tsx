import { act } from "../../api/act";
import type { components } from "../../api/schema";
import { Ask, field, useAsk } from "../../ui/ask";
import { useMay } from "../../ui/me";

type Pipeline = components["schemas"]["Pipeline"];
type Run = components["schemas"]["Run"];
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
      <label>Period<input name="date" defaultValue={date ?? ""} placeholder="default: that of a fire now" autoFocus /></label>
      <label className="check"><input type="checkbox" name="force" /> Also where the calendar excludes it, or its budget is spent</label>
      <label className="check"><input type="checkbox" name="bypass" /> Start whatever the gate says: no rule is asked</label>
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
      <label className="check"><input type="checkbox" name="hold" /> Cancel its deadlines meanwhile</label>
    </Ask>
  );
}

function Resume({ id }: { id: string }) {
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

/** Pushes a reading, to try what it does. */
export function Push({ id, sensor, date }: { id: string; sensor?: string; date?: string }) {
  return (
    <Ask
      title={`Push a reading to ${id}`} submit="Push"
      act={async (form) => {
        const data = parse(field(form, "data") ?? "");
        const period = field(form, "date");
        const key = field(form, "key")! + (period ? `#${period}` : "");
        const put = await act<Written>("PUT", `${at(id)}/sensors/${encodeURIComponent(key)}`, data);
        return `Written as version ${put.version}${put.date ? `, for ${put.date}` : ", undated"}.`;
      }}
    >
      <p>It counts like any other reading, and a job may start because of it.</p>
      <label>Key<input name="key" required defaultValue={sensor ?? ""} autoFocus={!sensor} /></label>
      <label>Period<input name="date" defaultValue={date ?? ""} placeholder="default: undated" /></label>
      <label>Data<textarea name="data" className="mono" rows={4} required defaultValue={'{"status": "ready"}'} autoFocus={Boolean(sensor)} spellCheck={false} /></label>
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

/** What may be done to a pipeline, as far as whoever looks may. */
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
  if (may("sensor", p.id) && p.version) all.push({ name: "Push a reading…", run: () => open(<Push id={p.id} />) });
  return all;
}
