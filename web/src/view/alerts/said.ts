import { Failure } from "../../api/client";
import { groupBy } from "../../model/group";

/** The sinks' answers in one sentence, each sink once with how many alerts it took; a rejected alert is an error. */
export function said(items: readonly { sink: string; sent: boolean; error: string | null }[], done: string): string {
  const failed = items.filter((t) => !t.sent);
  const times = (n: number) => (n > 1 ? ` (${n})` : "");
  if (failed.length > 0) {
    const reasons = groupBy(failed, (t) => `${t.sink}: ${t.error ?? "not accepted"}`);
    throw new Failure([...reasons].map(([reason, of]) => reason + times(of.length)).join("; "), 502);
  }
  return `${done} ${[...groupBy(items, (t) => t.sink)].map(([sink, of]) => sink + times(of.length)).join(", ")}.`;
}
