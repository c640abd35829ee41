import type { components } from "../../api/schema";
import { Time, Took, useNow } from "../../ui/clock";
import { Badge } from "../../ui/mark";
import type { Kind } from "../../model/slot";

type Attempt = components["schemas"]["Attempt"];
type JobEntry = components["schemas"]["JobEntry"];
type Counters = components["schemas"]["Counters"];
type Budgets = components["schemas"]["Budgets"];

const counted: [keyof Counters, string][] = [
  ["retries", "retries"], ["codeRetries", "code retries"], ["driftReruns", "drift reruns"], ["manualReruns", "manual reruns"],
  ["reopenings", "reopened"], ["forced", "forced"],
];

/** The attempts of a run, newest first: why each was opened, its times and its log. */
export function Attempts({ attempts, log, counters, budgets }: { attempts: readonly Attempt[]; log: readonly JobEntry[]; counters: Counters; budgets: Budgets }) {
  const most = (k: keyof Counters) => (k in budgets ? budgets[k as keyof Budgets] : undefined);
  const spent = counted.filter(([k]) => counters[k] > 0 || (most(k) ?? 0) > 0);
  return (
    <section className="card" aria-label="Attempts">
      <header><h2>Attempts</h2><span className="gap" />{spent.length > 0 && <small>{spent.map(([k, name]) => `${name}: ${counters[k]}${most(k) === undefined ? "" : ` of ${most(k)}`}`).join(" · ")}</small>}</header>
      {attempts.length === 0 && <p className="none">There are no attempts.</p>}
      {attempts.toReversed().map((a, i) => <One key={a.attempt} a={a} log={log.filter((l) => l.attempt === a.attempt)} open={i === 0} />)}
    </section>
  );
}

function resultKind(a: Attempt): Kind {
  if (a.result === "success") return "completed";
  if (a.result) return "final";
  return a.endedAt ? "cancelled" : a.startedAt ? "running" : "waiting";
}

function One({ a, log, open }: { a: Attempt; log: JobEntry[]; open: boolean }) {
  const now = useNow(1000);
  return (
    <details className="attempt" open={open}>
      <summary>
        <strong>{a.attempt}</strong> <Badge kind={resultKind(a)}>{a.result ?? (a.endedAt ? "ended" : "open")}</Badge>
        <span className="cause">{a.cause}{a.requestedBy && <> by {a.requestedBy}</>}{a.reason && <>: {a.reason}</>}</span>
        {a.forced && <span className="flag">forced</span>}{a.gateBypassed && <span className="flag">gate bypassed</span>}
        <span className="gap" /><Took from={a.startedAt} to={a.endedAt} now={now} />
      </summary>
      <ol className="steps">
        <li><Time at={a.openedAt} /> opened</li>
        {log.map((l, i) => (
          <li key={i} className={l.event === "success" ? "good-text" : l.event === "fail" || l.event === "timeout" || l.event === "refused" ? "bad-text" : undefined}>
            <Time at={l.at} /> {l.event}{l.try > 1 && <> (try {l.try})</>}{l.category && <> {l.category.toLowerCase()}</>}{l.message && <>: {l.message}</>}{l.by && <> – {l.by}</>}
          </li>
        ))}
      </ol>
    </details>
  );
}
