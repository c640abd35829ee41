import type { Cell } from "../../model/cell";
import { groupBy } from "../../model/group";
import type { Lane } from "../../model/lane";
import { kindName, kindOf, kinds, promiseName } from "../../model/slot";
import { duration, moment, utc } from "../../model/time";
import { useZone } from "../../ui/clock";
import { Badge, PromiseMark } from "../../ui/mark";

export interface Pointed {
  lane: Lane;
  cell: Cell;
  at: DOMRect;
}

/** What is known of the cell that is pointed at. */
export function Tip({ pointed: { lane, cell, at }, now }: { pointed: Pointed; now: number }) {
  const slot = cell.slots[0]!;
  const below = at.bottom + 190 < innerHeight;
  const style = {
    left: Math.max(8, Math.min(at.left, innerWidth - 308)),
    ...(below ? { top: at.bottom + 6 } : { bottom: innerHeight - at.top + 6 }),
  };
  return (
    <div className="tip" role="tooltip" style={style}>
      <p className="tip-title"><strong>{lane.pipeline.id}</strong> {cell.slots.length === 1 ? slot.date : `${slot.date} and ${cell.slots.length - 1} more`}</p>
      {cell.slots.length === 1 ? <One cell={cell} now={now} /> : <Many cell={cell} />}
    </div>
  );
}

function Many({ cell }: { cell: Cell }) {
  const by = groupBy(cell.slots, kindOf);
  return (
    <>
      {kinds.filter((k) => by.has(k)).map((k) => <p key={k}><Badge kind={k}>{by.get(k)!.length} {kindName[k]}</Badge></p>)}
      <p className="hint">Zoom in to see them one by one.</p>
    </>
  );
}

function One({ cell, now }: { cell: Cell; now: number }) {
  const zone = useZone();
  const slot = cell.slots[0]!;
  const at = (t: string) => moment(Date.parse(t), now, zone);
  return (
    <>
      <p><Badge kind={cell.kind}>{kindName[cell.kind]}</Badge>{(slot.attempt ?? 0) > 1 && <> · attempt {slot.attempt}</>}</p>
      {slot.excluded && <p>{slot.excluded}</p>}
      <dl>
        {slot.fireAt && <><dt>due</dt><dd>{at(slot.fireAt)}</dd></>}
        {slot.openedAt && <><dt>opened</dt><dd title={utc(Date.parse(slot.openedAt))}>{at(slot.openedAt)}</dd></>}
        {slot.startedAt && <><dt>started</dt><dd>{at(slot.startedAt)}</dd></>}
        {slot.endedAt && <><dt>ended</dt><dd>{at(slot.endedAt)}{slot.startedAt && Date.parse(slot.endedAt) >= Date.parse(slot.startedAt) && <>, took {duration(Date.parse(slot.endedAt) - Date.parse(slot.startedAt))}</>}</dd></>}
        {slot.breachAt && <><dt>deadline</dt><dd>{at(slot.breachAt)} {cell.promise && <><PromiseMark promise={cell.promise} /> {promiseName[cell.promise]}</>}</dd></>}
      </dl>
    </>
  );
}
