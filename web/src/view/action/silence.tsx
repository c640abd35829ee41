import { act } from "../../api/act";
import type { components } from "../../api/schema";
import { Ask, field } from "../../ui/ask";

type Silence = components["schemas"]["Silence"];

/** Holds back the alerts of a pipeline for a while. */
export function AddSilence({ pipeline }: { pipeline?: string }) {
  return (
    <Ask
      title="Add a silence" submit="Silence" reason="required"
      act={async (form) => {
        const body = { pipeline: field(form, "pipeline"), type: field(form, "type")?.toUpperCase(), until: field(form, "until"), reason: field(form, "reason") };
        const s = await act<Silence>("POST", "/silences", body);
        return `Alerts about ${s.pipeline} are held back.`;
      }}
    >
      <p>Alerts are held back for a while; the events are still recorded.</p>
      <label>Pipelines<input name="pipeline" required placeholder="orders, or silver-*" defaultValue={pipeline ?? ""} autoFocus={!pipeline} /></label>
      <label>Only events of type<input name="type" placeholder="default: all; such as SLA_WARNING" /></label>
      <label>Until<input name="until" required defaultValue="2h" placeholder="2h, or 2026-03-03T10:00:00Z" /></label>
    </Ask>
  );
}
