import type { Event } from "../api/live";
import { pipelinePath, runPath } from "../route/route";
import { Time } from "./clock";
import { Link } from "./link";

const shapes = { info: "·", warning: "▲", critical: "◆" } as const;

/** One event. A brief one omits what the page shows anyway. */
export function EventRow({ event: e, brief = false }: { event: Event; brief?: boolean }) {
  const d = e.detail;
  return (
    <li className={`event sev-${d.severity}`}>
      <Time at={e.time} />
      <span className="sev" role="img" aria-label={d.severity} title={d.severity}>{shapes[d.severity]}</span>
      <span className="type">{e["detail-type"]}</span>
      {!brief && d.pipelineId && (
        <span className="where">
          <Link href={pipelinePath(d.pipelineId)}>{d.pipelineId}</Link>
          {d.scheduleId && d.date && <> <Link href={runPath(d.pipelineId, d.scheduleId, d.date)}>{d.date}</Link></>}
        </span>
      )}
      <span className="message">{d.message}{e.silencedBy && <small> silenced</small>}</span>
    </li>
  );
}
