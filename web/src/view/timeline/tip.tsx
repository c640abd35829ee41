import { Dialog } from "react-aria-components/Dialog";
import { Popover } from "react-aria-components/Popover";
import { useRef } from "react";
import { useResource } from "../../api/resource";
import type { components } from "../../api/schema";
import type { Cell } from "../../model/cell";
import { groupBy } from "../../model/group";
import type { Lane } from "../../model/lane";
import { kindName, kindOf, kinds, promiseName, type Slot } from "../../model/slot";
import { duration } from "../../model/time";
import { causeOf, firstClosed, ruleText } from "../../model/why";
import { runPath } from "../../route/route";
import { Actions } from "../../ui/actions";
import { Age, Time } from "../../ui/clock";
import { Link } from "../../ui/link";
import { Badge, PromiseMark } from "../../ui/mark";
import { useRunActions } from "../action/run";
import type { TipState } from "./board";

type Explanation = components["schemas"]["Explanation"];

export interface Pointed {
  lane: Lane;
  cell: Cell;
  el: HTMLElement;
}

/** What is known of a cell, and what can be done about it. Moving into it keeps it open; pinned, it stays until it is closed. */
export function Tip({ pointed, now, tip }: { pointed: Pointed; now: number; tip: TipState }) {
  const trigger = useRef(pointed.el);
  const inner = <Content pointed={pointed} now={now} tip={tip} />;
  if (tip.pinned) {
    return (
      <Popover isOpen triggerRef={trigger} placement="bottom start" className="popover tip" onOpenChange={(open) => !open && tip.close()}>
        <Dialog aria-label={`${pointed.lane.pipeline.id} ${pointed.cell.slots[0]!.date}`}>{inner}</Dialog>
      </Popover>
    );
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
  const slot = cell.slots[0]!;
  const one = cell.slots.length === 1;
  return (
    <>
      <p className="tip-title">
        <strong>{lane.pipeline.id}</strong> {one ? slot.date : `${slot.date} and ${cell.slots.length - 1} more`}
        <span className="gap" />
        {tip.pinned ? <button type="button" className="quiet" onClick={tip.close} aria-label="Close">×</button> : one && <button type="button" className="quiet" tabIndex={-1} onClick={tip.pin} title="Keep this open (Space)">Pin</button>}
      </p>
      {one ? <One cell={cell} lane={lane} now={now} /> : <Many cell={cell} />}
    </>
  );
}

function Many({ cell }: { cell: Cell }) {
  const by = groupBy(cell.slots, kindOf);
  return (
    <>
      {kinds.filter((k) => by.has(k)).map((k) => <p key={k}><Badge kind={k}>{by.get(k)!.length} {kindName[k]}</Badge></p>)}
      <p className="hint">Click to zoom in.</p>
    </>
  );
}

function One({ cell, lane, now }: { cell: Cell; lane: Lane; now: number }) {
  const slot = cell.slots[0]!;
  const key = { pipeline: lane.pipeline.id, schedule: slot.schedule, date: slot.date };
  const path = `/pipelines/${encodeURIComponent(key.pipeline)}/explain?date=${encodeURIComponent(key.date)}&schedule=${encodeURIComponent(key.schedule)}`;
  const quiet = slot.state === "upcoming" || slot.state === "excluded";
  const told = useResource<Explanation>(quiet ? null : path, { on: (e) => e.detail.pipelineId === key.pipeline });
  const actions = useRunActions(key, told.data);
  return (
    <>
      <p><Badge kind={cell.kind}>{kindName[cell.kind]}</Badge>{(slot.attempt ?? 0) > 1 && <> · attempt {slot.attempt}</>}</p>
      {told.data && <Reason x={told.data} now={now} />}
      {slot.excluded && <p>{slot.excluded}</p>}
      <Facts slot={slot} cell={cell} />
      {told.data && <div className="tip-actions"><Actions actions={actions} /><Link href={runPath(key.pipeline, key.schedule, key.date)}>Open the run</Link></div>}
    </>
  );
}

/** The one line that says why, and when the next try is. */
function Reason({ x, now }: { x: Explanation; now: number }) {
  const cause = causeOf(x);
  const closed = x.run?.status === "PENDING" && x.run.phase !== "backoff" ? firstClosed(x.gate?.rules) : undefined;
  const next = x.run?.nextEvaluation;
  return (
    <>
      {cause && <p className="bad-text">{cause}</p>}
      {closed && <p className="warn-text">{ruleText(closed)}</p>}
      {!cause && !closed && !x.run && x.reasons[0] && <p>{x.reasons[0]}</p>}
      {next && Date.parse(next) > now && <p>{cause ? "Retries" : "Evaluated again"} at <Time at={next} /> (<Age at={next} now={now} />)</p>}
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
