import { useState } from "react";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import type { Kind } from "../../model/slot";
import { pipelinePath, runPath } from "../../route/route";
import { useAsk } from "../../ui/ask";
import { Age, Time, useNow } from "../../ui/clock";
import { Link } from "../../ui/link";
import { Badge } from "../../ui/mark";
import { useMay } from "../../ui/me";
import { ReasonText } from "../../ui/reason";
import { Failed } from "../../ui/state";
import { Backfill, Resume, Trigger } from "../action/pipeline";
import { ReportOne, RerunOne } from "../action/run";

type List = components["schemas"]["AttentionList"];
type Item = components["schemas"]["Attention"];

const looks: Record<Item["code"], { kind: Kind; word: string }> = {
  held: { kind: "held", word: "held" }, "status-unread": { kind: "held", word: "status unknown" }, failed: { kind: "final", word: "failed" },
  exhausted: { kind: "exhausted", word: "window ended" }, overdue: { kind: "exhausted", word: "overdue" }, missing: { kind: "missing", word: "missing" },
  rejected: { kind: "final", word: "file rejected" }, degraded: { kind: "failed", word: "file not active" }, undelivered: { kind: "final", word: "not delivered" },
  paused: { kind: "paused", word: "paused" },
};

const few = 6;

/** Everything that needs a person, whatever part of time the lanes show. */
export function NeedsAttention() {
  const list = useResource<List>("/attention?limit=200", { every: 10_000 });
  const [all, setAll] = useState(false);
  const now = useNow(1000);
  if (!list.data) return list.failure ? <Failed what="what needs attention" message={list.failure.message} /> : <section className="attention" aria-label="Needs attention"><p className="none">Reading…</p></section>;
  const { items, total, at } = list.data;
  const old = list.failure && <p className="old" role="status">What needs attention could not be read since <Time at={at} />: {list.failure.message}</p>;
  if (total === 0) return <section className="attention" aria-label="Needs attention">{old ?? <p className="calm"><Badge kind="completed">Nothing needs attention</Badge></p>}</section>;
  const shown = all ? items : items.slice(0, few);
  return (
    <section className="attention" aria-label="Needs attention">
      {old}
      <header><h2>Needs attention</h2><span className="count">{total}</span></header>
      <ul>{shown.map((i) => <Row key={`${i.code} ${i.pipeline} ${i.schedule} ${i.date}`} i={i} now={now} />)}</ul>
      {(items.length > few || total > items.length) && (
        <button type="button" className="quiet" aria-expanded={all} onClick={() => setAll(!all)}>{all ? "Show fewer" : `Show all ${items.length}`}</button>
      )}
      {all && total > items.length && <p className="hint">{total - items.length} more: <code>interlock attention</code></p>}
    </section>
  );
}

function Row({ i, now }: { i: Item; now: number }) {
  const { kind, word } = looks[i.code];
  return (
    <li>
      <Badge kind={kind}>{word}</Badge>
      <span className="what">{i.pipeline ? <Link href={pipelinePath(i.pipeline)}>{i.pipeline}</Link> : i.code === "undelivered" ? "alerts" : i.code === "paused" ? "all pipelines" : "the server"}{i.pipeline && i.schedule && i.date && <> · <Link href={runPath(i.pipeline, i.schedule, i.date)}>{i.date}</Link></>}</span>
      <span className="why-line"><ReasonText reason={i.why} /></span>
      <span className="num age">{i.since && <Age at={i.since} now={now} />}</span>
      <Act i={i} />
    </li>
  );
}

/** The action that the server suggests, as a button or a link, if the user may take it. */
function Act({ i }: { i: Item }) {
  const may = useMay();
  const { open } = useAsk();
  const { pipeline, schedule, date } = i;
  const operator = may("operator", pipeline ?? undefined);
  const key = pipeline && schedule && date ? { pipeline, schedule, date } : undefined;
  switch (i.action.code) {
    case "job-complete": return key && operator ? <button type="button" onClick={() => open(<ReportOne k={key} />)}>Report result…</button> : null;
    case "rerun": return key && operator ? <button type="button" onClick={() => open(<RerunOne k={key} />)}>Rerun…</button> : null;
    case "trigger": return pipeline && operator ? <button type="button" onClick={() => open(<Trigger id={pipeline} {...(date ? { date } : {})} />)}>Trigger…</button> : null;
    case "backfill": return pipeline && date && operator ? <button type="button" onClick={() => open(<Backfill id={pipeline} from={i.why.parts.find((p) => p.name === "first")?.text ?? date} to={date} />)}>Backfill…</button> : null;
    case "resume": return operator ? <button type="button" onClick={() => open(<Resume id={pipeline} />)}>Resume…</button> : null;
    case "fix-file": return <Link className="button" href="/config?show=problems">Problems</Link>;
    case "retry-alerts": return <Link className="button" href="/alerts">Alerts</Link>;
    case "explain": return key ? <Link className="button" href={runPath(key.pipeline, key.schedule, key.date)}>Open</Link> : null;
    default: return null;
  }
}
