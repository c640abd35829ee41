import { lazy, Suspense } from "react";
import type { Cell } from "../../model/cell";
import type { Lane } from "../../model/lane";
import { kindName, kinds, promiseName, type Slot } from "../../model/slot";
import { duration } from "../../model/time";
import { runPath } from "../../route/route";
import { Actions } from "../../ui/actions";
import { Age, Time } from "../../ui/clock";
import { Link } from "../../ui/link";
import { Badge, PromiseMark } from "../../ui/mark";
import { ReasonText } from "../../ui/reason";
import { GateTimes } from "../../ui/rules";
import { useExplanation, useRunActions } from "../action/run";
import type { TipState } from "./board";

const Pinned = lazy(async () => ({ default: (await import("./pinned")).Pinned }));

export interface Pointed {
  lane: Lane;
  cell: Cell;
  el: HTMLElement;
}

/** The reason of a cell and what can be done about it. Moving into it keeps it open; pinned, it stays until it is closed. */
export function Tip({ pointed, now, tip }: { pointed: Pointed; now: number; tip: TipState }) {
  const inner = <Content pointed={pointed} now={now} tip={tip} />;
  if (tip.pinned) {
    return <Suspense><Pinned at={pointed.el} label={`${pointed.lane.pipeline.id} ${pointed.cell.first.date}`} close={tip.close}>{inner}</Pinned></Suspense>;
  }
  const at = pointed.el.getBoundingClientRect();
  const below = at.bottom + 240 < innerHeight;
  const style = {
    left: Math.max(8, Math.min(at.left, innerWidth - 368)),
    ...(below ? { top: at.bottom + 3 } : { bottom: innerHeight - at.top + 3 }),
  };
  return <div className="tip floating" role="tooltip" style={style} onPointerEnter={tip.stay} onPointerLeave={() => tip.hide("soon")}>{inner}</div>;
}

function Content({ pointed: { lane, cell }, now, tip }: { pointed: Pointed; now: number; tip: TipState }) {
  return (
    <>
      <p className="tip-title">
        <strong>{lane.pipeline.id}</strong> {cell.first.date}{cell.total > 1 && ` and ${cell.total - 1} more`}
        <span className="gap" />
        {tip.pinned ? <button type="button" className="quiet" onClick={tip.close} aria-label="Close">×</button> : cell.slot && <button type="button" className="quiet" tabIndex={-1} onClick={tip.pin} title="Pin this (Space)">Pin</button>}
      </p>
      {cell.slot ? <One slot={cell.slot} cell={cell} lane={lane} now={now} /> : <Many cell={cell} />}
    </>
  );
}

function Many({ cell }: { cell: Cell }) {
  return (
    <>
      {kinds.filter((k) => cell.counts.has(k)).map((k) => <p key={k}><Badge kind={k}>{cell.counts.get(k)} {kindName[k]}</Badge></p>)}
      <p className="hint">Click to zoom in.</p>
    </>
  );
}

function One({ slot, cell, lane, now }: { slot: Slot; cell: Cell; lane: Lane; now: number }) {
  const key = { pipeline: lane.pipeline.id, schedule: slot.schedule, date: slot.date };
  const quiet = (slot.state === "upcoming" && slot.phase === "upcoming") || slot.state === "excluded";
  const x = useExplanation(quiet ? null : key);
  const actions = useRunActions(key, x);
  const bad = cell.kind === "final" || cell.kind === "held" || cell.kind === "exhausted" || cell.kind === "missing";
  return (
    <>
      <p><Badge kind={cell.kind}>{kindName[cell.kind]}</Badge>{(slot.attempt ?? 0) > 1 && <> · attempt {slot.attempt}</>}{slot.gateBypassed && <> · <span className="warn-text">gate bypassed</span></>}</p>
      {slot.cause && <p className={bad ? "bad-text" : cell.kind === "failed" || cell.kind === "waiting" ? "warn-text" : undefined}><ReasonText reason={slot.cause} /></p>}
      {slot.retryAt && Date.parse(slot.retryAt) > now && <p>Next attempt at <Time at={slot.retryAt} /> (<Age at={slot.retryAt} now={now} />)</p>}
      {!x?.gate && slot.degraded.length > 0 && <p className="warn-text">Started without {slot.degraded.join(", ")}, which did not pass.</p>}
      {x?.gate && <GateTimes gate={x.gate} starts={x.next.by === "data" && x.run !== null} />}
      {x?.next.outlook && <p><ReasonText reason={x.next.outlook} /></p>}
      {slot.excluded && <p>{slot.excluded}</p>}
      <Facts slot={slot} cell={cell} />
      {x && <div className="tip-actions"><Actions actions={actions} /><Link href={runPath(key.pipeline, key.schedule, key.date)}>Open the run</Link></div>}
    </>
  );
}

function Facts({ slot, cell }: { slot: Slot; cell: Cell }) {
  const took = slot.startedAt && slot.endedAt ? Date.parse(slot.endedAt) - Date.parse(slot.startedAt) : -1;
  return (
    <dl>
      {slot.fireAt && <><dt>due</dt><dd><Time at={slot.fireAt} /></dd></>}
      {slot.openedAt && <><dt>opened</dt><dd><Time at={slot.openedAt} /></dd></>}
      {slot.startedAt && <><dt>started</dt><dd><Time at={slot.startedAt} /></dd></>}
      {slot.endedAt && <><dt>ended</dt><dd><Time at={slot.endedAt} />{took >= 0 && <>, took {duration(took)}</>}</dd></>}
      {slot.breachAt && <><dt>deadline</dt><dd><Time at={slot.breachAt} /> {cell.promise && <><PromiseMark promise={cell.promise} /> {promiseName[cell.promise]}</>}</dd></>}
    </dl>
  );
}
