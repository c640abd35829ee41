import { lazy, Suspense } from "react";
import { spanName, title, type Window } from "../../model/axis";
import { type Filter, groups, type Pipeline } from "../../model/lane";
import { kindName, type Kind } from "../../model/slot";
import { date, fromWall } from "../../model/time";
import { useZone } from "../../ui/clock";
import { Glyph, PromiseMark } from "../../ui/mark";
import type { View } from "./view";

const DateJump = lazy(async () => ({ default: (await import("../../ui/datejump")).DateJump }));

const chips: Filter[] = ["final", "exhausted", "missing", "held", "late", "failed", "running", "waiting", "completed"];

export function Toolbar({ view, window: w, pipelines, counts }: { view: View; window: Window; pipelines: readonly Pipeline[]; counts: Map<Filter, number> }) {
  const zone = useZone();
  const shown = title(w, zone);
  return (
    <div className="toolbar">
      <div className="chips" role="group" aria-label="Show only pipelines with periods that are">
        {chips.map((f) => <Chip key={f} filter={f} n={counts.get(f) ?? 0} on={view.choice.filters.has(f)} toggle={view.toggle} />)}
      </div>
      <div className="controls">
        <input
          type="search" className="search" placeholder="Filter pipelines" aria-label="Filter pipelines by name, owner or tag"
          value={view.choice.search} onChange={(e) => view.change({ q: e.target.value }, "typing")}
        />
        <select aria-label="Group by" value={view.choice.group} onChange={(e) => view.change({ group: e.target.value })}>
          <option value="">No groups</option>
          {groups(pipelines).map((g) => <option key={g} value={g}>By {g}</option>)}
        </select>
        <select aria-label="Sort by" value={view.choice.sort} onChange={(e) => view.change({ sort: e.target.value === "trouble" ? "trouble" : undefined })}>
          <option value="name">By name</option>
          <option value="trouble">Trouble first</option>
        </select>
        <span className="gap" />
        {shown.includes(" ") && <span className="range">{shown}</span>}
        <div className="joined" role="group" aria-label="Time axis">
          <button type="button" aria-pressed={view.axis === "period"} title="Each cell is drawn at the time of its data" onClick={() => view.change({ axis: undefined })}>Period</button>
          <button type="button" aria-pressed={view.axis === "execution"} title="Each cell is drawn at the time in which it ran" onClick={() => view.change({ axis: "execution" })}>Execution</button>
        </div>
        <div className="joined" role="group" aria-label="Move in time">
          <button type="button" onClick={() => view.move(-1)} aria-label="Earlier" title="Earlier ([)">‹</button>
          <button type="button" onClick={view.live} aria-pressed={view.at === undefined} title="Follow now (n)">Now</button>
          <button type="button" onClick={() => view.move(1)} aria-label="Later" title="Later (])">›</button>
        </div>
        <Suspense fallback={<span className="datefield">{date(w.from, zone)}</span>}>
          <DateJump label="Jump to a date" value={date(w.from, zone)} jump={(d) => view.jump(fromWall(Date.parse(`${d}T00:00:00Z`), zone))} />
        </Suspense>
        <div className="joined" role="group" aria-label="Zoom">
          <button type="button" onClick={() => view.zoomBy(1)} aria-label="Zoom out" title="Zoom out (−)">−</button>
          <span className="span">{spanName(view.span)}</span>
          <button type="button" onClick={() => view.zoomBy(-1)} aria-label="Zoom in" title="Zoom in (+)">+</button>
        </div>
      </div>
    </div>
  );
}

function Chip({ filter, n, on, toggle }: { filter: Filter; n: number; on: boolean; toggle: (f: Filter) => void }) {
  const name = filter === "late" ? "late" : kindName[filter];
  return (
    <button type="button" className={`chip k-${filter}${n === 0 ? " zero" : ""}`} aria-pressed={on} onClick={() => toggle(filter)}>
      {filter === "late" ? <PromiseMark promise="breached" /> : <Glyph kind={filter as Kind} />}
      <b>{n}</b> {name}
    </button>
  );
}
