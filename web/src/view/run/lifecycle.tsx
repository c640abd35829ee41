import type { components } from "../../api/schema";
import { Time } from "../../ui/clock";
import { type Kind, kindOfRun, kindOfStatus } from "../../model/slot";
import { Glyph } from "../../ui/mark";

type Explanation = components["schemas"]["Explanation"];
type Status = NonNullable<Explanation["run"]>["status"];

const path: { status: Status; name: string }[] = [
  { status: "PENDING", name: "Waiting for the gate" },
  { status: "TRIGGERING", name: "Starting the job" },
  { status: "RUNNING", name: "Running" },
  { status: "COMPLETED", name: "Completed" },
];

const ends: Partial<Record<Status, string>> = {
  FAILED: "Failed; whether another attempt follows is being decided", FAILED_FINAL: "Failed", JOB_POLL_EXHAUSTED: "No result in time",
  VALIDATION_EXHAUSTED: "Window ended without a start", CANCELLED: "Cancelled",
};

/** The last step that a run reached before it ended without success. */
function lastStep(run: Pick<NonNullable<Explanation["run"]>, "status" | "startedAt">): Status {
  if (run.startedAt) return "RUNNING";
  return run.status === "VALIDATION_EXHAUSTED" || run.status === "CANCELLED" ? "PENDING" : "TRIGGERING";
}

/** What a step is called in the run's current phase. */
const phases: Partial<Record<string, string>> = {
  backoff: "Failed, waiting to retry", "not-due": "Waiting until it is due", "max-active": "Waiting for another run to end",
  "start-refused": "Start refused, retrying", held: "Held: it is unknown whether the job started", "status-unread": "Running, status unknown", settling: "Failed, deciding whether to retry", offered: "Offered, waiting for a worker",
};

/** The steps of a run from opened to completed, with the current one lit. */
export function Lifecycle({ x }: { x: Explanation }) {
  const run = x.run;
  const status = run?.status;
  const end = status && ends[status];
  const last = end ? lastStep(run) : status;
  const reached = path.findIndex((s) => s.status === last);
  const at = run && { PENDING: run.openedAt, TRIGGERING: run.lastEvaluation, RUNNING: run.startedAt, COMPLETED: run.endedAt };
  return (
    <section className="card" aria-label="Lifecycle">
      <h2>Lifecycle</h2>
      <ol className="lifecycle">
        {path.map((s, i) => {
          const lit = s.status === status;
          const been = run && i <= reached;
          return [
            <Step key={s.status} kind={lit && run ? kindOfRun(run) : kindOfStatus(s.status)} lit={lit} been={Boolean(been)} name={(lit && run && phases[run.phase]) || (x.dryRun && s.status === "COMPLETED" ? "Would have started" : s.name)} at={been ? at?.[s.status as keyof typeof at] ?? null : null} />,
            end && last === s.status && <Step key={status} kind={kindOfStatus(status)} lit been name={end} at={run!.endedAt} branch />,
          ];
        })}
      </ol>
      {run?.reason && <p className="hint">{run.reason}</p>}
      {run?.held && <p className="notice bad">Held since <Time at={run.heldSince} />: {run.held}</p>}
      {run?.unread && <p className="notice bad">Its status has been unreadable since <Time at={run.unreadSince} />: {run.unread}</p>}
      {run?.phase === "offered" && <p className="hint">The job is offered. It starts when a worker claims it.</p>}
      {run?.worker && <p className="hint">Worker {run.worker}, claimed at <Time at={run.claimedAt} />{run.lastHeartbeat && <>, last heartbeat at <Time at={run.lastHeartbeat} /></>}.</p>}
      {run?.jobStopping && <p className="notice">Its job has been stopping since <Time at={run.endedAt} />. It keeps its slot, and a rerun is rejected, until it has ended.</p>}
      {run?.jobMayRun && <p className="notice bad">Its job could not be stopped and may still be running.</p>}
    </section>
  );
}

function Step({ kind, lit, been, name, at, branch }: { kind: Kind; lit: boolean; been: boolean; name: string; at: string | null; branch?: boolean }) {
  const state = lit ? "lit" : been ? "been" : "ahead";
  return (
    <li className={`${state} k-${kind}${branch ? " branch" : ""}`} aria-current={lit ? "step" : undefined}>
      <span className="dot"><Glyph kind={kind} /></span><span>{name}</span>{at && <Time at={at} />}
    </li>
  );
}
