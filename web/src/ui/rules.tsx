import { useState } from "react";
import { asks, figure, historyOf, type Rule, type RuleHistory, value, writer } from "../model/rule";
import { Age, Time } from "./clock";
import { RuleMark } from "./mark";
import { Spark } from "./spark";

/** How time affects a gate: rules that are only preferred, and rules that pass later if their data does not change. */
export function GateTimes({ gate, starts }: { gate: { live?: boolean; outcome: string; preferUntil: string | null; degraded: readonly string[]; opensAt: string | null }; starts: boolean }) {
  const live = gate.live !== false;
  if (gate.degraded.length > 0) return <p className="notice">{live ? "Open" : "Started"} without the preferred {gate.degraded.length === 1 ? "rule" : "rules"} on {gate.degraded.join(", ")}.</p>;
  if (!live || gate.outcome === "pass") return null;
  if (gate.opensAt && gate.opensAt === gate.preferUntil) return <p className="hint">{starts ? "Opens" : "The rules pass"} automatically at <Time at={gate.opensAt} />, without the preferred rules.</p>;
  if (gate.opensAt) return <p className="hint">{starts ? "Opens" : "The rules pass"} automatically at <Time at={gate.opensAt} />, if the data does not change.</p>;
  return null;
}

interface Props {
  rules: readonly Rule[];
  now: number;
  when: "live" | "then";
  /** Returns what opens a dialog that pushes a reading which satisfies a rule; nothing if there is none, or the user may not push. */
  push?: ((r: Rule) => (() => void) | undefined) | undefined;
  /** With the history of what its rules read, each has a small chart and opens to its last writes. */
  lately?: { pipeline: string; histories: readonly RuleHistory[] | undefined };
}

/** The rules of a gate, each with its observed value. */
export function Rules({ rules, now, when, push, lately }: Props) {
  const [open, setOpen] = useState<number | null>(null);
  return (
    <div className="scroll-x">
      <table className="rules">
        <thead><tr><th><span className="sr">Outcome</span></th><th>Sensor</th><th>Check</th><th>Value</th><th>{when === "live" ? "Age" : "Written"}</th><th>By</th>{lately && <th>History</th>}{push && <th><span className="sr">Actions</span></th>}</tr></thead>
        <tbody>
          {rules.map((r, i) => {
            const h = lately && historyOf(lately.histories, lately.pipeline, r);
            const pushes = push?.(r);
            return [
              <tr key={i} className={`o-${r.effectiveOutcome}${r.level === "advisory" ? " advisory" : ""}`}>
                <td><RuleMark outcome={r.effectiveOutcome} /></td>
                <td>
                  {h
                    ? <button type="button" className="plain" aria-expanded={open === i} onClick={() => setOpen(open === i ? null : i)}>{r.key}</button>
                    : <span className="mono">{r.key}</span>}
                  {r.from && <small> of {r.from}</small>}{r.level !== "required" && <small> {r.level}</small>}{r.group && <small> {r.group}</small>}
                </td>
                <td className="mono">{asks(r)}</td>
                <td><span className="mono">{value(r.value)}</span>{r.effectiveOutcome !== "pass" && <small className="why">{r.reason}</small>}</td>
                <td className="num">{when === "live" ? <Age at={r.updatedAt} now={now} /> : <Time at={r.updatedAt} />}</td>
                <td>{writer(r, h) ?? <span className="none">–</span>}</td>
                {lately && <td>{h && <Lately rule={r} history={h} />}</td>}
                {push && <td className="r">{pushes && <button type="button" aria-label={`Push ${r.key}…`} onClick={pushes}>Push…</button>}</td>}
              </tr>,
              h && open === i && <tr key={`${i} history`} className="history"><td /><td colSpan={7}><Writes history={h} /></td></tr>,
            ];
          })}
        </tbody>
      </table>
    </div>
  );
}

/** The values of the rule's field, write by write. */
function Lately({ rule, history }: { rule: Rule; history: RuleHistory }) {
  const points = history.points.flatMap((p) => {
    const v = figure(p.value, rule);
    return v === undefined ? [] : [{ at: Date.parse(p.at), value: v }];
  });
  if (points.length < 2) return <span className="none">{history.points.length === 1 ? "1 write" : history.points.length ? `${history.points.length} writes` : "–"}</span>;
  return <Spark points={points} label={`${rule.field ?? rule.key} over the last ${points.length} writes`} />;
}

function Writes({ history }: { history: RuleHistory }) {
  if (history.points.length === 0) return <p className="none">There are no readings.</p>;
  return (
    <ol className="writes">
      {history.points.slice(0, 12).map((p) => (
        <li key={p.version}><Time at={p.at} />{p.date && <span>for {p.date}</span>}<code>{p.deleted ? "deleted" : <>{history.field && `${history.field}: `}{value(p.value)}</>}</code>{p.source && <span>by {p.source}</span>}</li>
      ))}
    </ol>
  );
}
