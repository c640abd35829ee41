import { useState } from "react";
import { useResource } from "../api/resource";
import type { components } from "../api/schema";
import { asks, figure, type Rule, spark, value } from "../model/rule";
import { Age, Time } from "./clock";
import { RuleMark } from "./mark";
import { Show } from "./state";

/** The rules of a gate, each with what it saw. With a pipeline, a rule opens to the history of its sensor. */
export function Rules({ rules, now, pipeline, when }: { rules: readonly Rule[]; now: number; pipeline?: string; when: "live" | "then" }) {
  const [open, setOpen] = useState<number | null>(null);
  return (
    <div className="scroll-x">
      <table className="rules">
        <thead><tr><th><span className="sr">Outcome</span></th><th>Sensor</th><th>Asks</th><th>Saw</th><th>{when === "live" ? "Age" : "Written"}</th><th>By</th></tr></thead>
        <tbody>
          {rules.map((r, i) => [
            <tr key={i} className={`o-${r.outcome}${r.level === "advisory" ? " advisory" : ""}`}>
              <td><RuleMark outcome={r.outcome} /></td>
              <td>
                {pipeline
                  ? <button type="button" className="plain" aria-expanded={open === i} onClick={() => setOpen(open === i ? null : i)}>{r.key}</button>
                  : <span className="mono">{r.key}</span>}
                {r.from && <small> of {r.from}</small>}{r.level === "advisory" && <small> advisory</small>}{r.group && <small> {r.group}</small>}
              </td>
              <td className="mono">{asks(r)}</td>
              <td><span className="mono">{value(r.value)}</span>{r.outcome !== "pass" && <small className="why">{r.reason}</small>}</td>
              <td className="num">{when === "live" ? <Age at={r.updatedAt} now={now} /> : <Time at={r.updatedAt} />}</td>
              <td>{r.source ?? <span className="none">–</span>}</td>
            </tr>,
            pipeline && open === i && <tr key={`${i} history`} className="history"><td /><td colSpan={5}><History pipeline={r.from ?? pipeline} rule={r} /></td></tr>,
          ])}
        </tbody>
      </table>
    </div>
  );
}

type Readings = components["schemas"]["ListReading"];

/** The last writes of a rule's sensor, drawn where they are figures. */
function History({ pipeline, rule }: { pipeline: string; rule: Rule }) {
  const path = `/pipelines/${encodeURIComponent(pipeline)}/sensors/${encodeURIComponent(rule.key)}/history?limit=50`;
  const history = useResource<Readings>(path, { every: 2000 });
  return (
    <Show resource={history} what="history">
      {({ items }) => {
        if (items.length === 0) return <p className="none">Nothing was ever written.</p>;
        const points = items.flatMap((r) => {
          const v = figure(r.data as Record<string, unknown>, rule.field);
          return v === undefined ? [] : [{ at: Date.parse(r.updatedAt), value: v }];
        });
        const line = spark(points, 260, 34);
        return (
          <div className="sensor">
            {line && (
              <svg className="spark" viewBox="-3 -3 266 40" role="img" aria-label={`${rule.field} over the last ${points.length} writes`}>
                <polyline points={line} fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinejoin="round" />
              </svg>
            )}
            <ol className="writes">
              {items.slice(0, 8).map((r) => <li key={`${r.version}`}><Time at={r.updatedAt} />{r.date && <span>for {r.date}</span>}<code>{JSON.stringify(r.data)}</code></li>)}
            </ol>
          </div>
        );
      }}
    </Show>
  );
}
