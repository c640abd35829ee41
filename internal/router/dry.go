package router

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// dryHandler advances dry runs, which start nothing, and reports what a real run would do.
type dryHandler struct{ core }

// AdvanceDry handles AdvanceDry tasks: it takes the next step of a dry run. The gate is evaluated
// as for a run, with the same window and interval. Where the job would start, it only reports what
// would happen.
func (h *dryHandler) AdvanceDry(ctx context.Context, claim store.Claim, now time.Time) error {
	return store.Again(func() error {
		key := claim.Task.Key
		e, _, err := h.catalog.Active(ctx, key.Pipeline)
		if err != nil {
			return err
		}
		old, err := store.IfFound(h.store.DryRun(ctx, key))
		if err != nil {
			return err
		}
		b := store.Batch{ID: name("dry", run.Run{Key: key, Version: old.Version}), Lease: &claim.Lease}
		if e == nil || !e.DryRun {
			if err := leaveDry(&b, old, now); err != nil {
				return err
			}
			b.Finish(claim.Task.ID)
			return h.commit(ctx, b, now)
		}
		switch step := lifecycle.Next(old, now); step.Kind {
		case lifecycle.Wait:
			b.ID += fmt.Sprintf("/%d", claim.Lease.Token)
			b.Schedule(advance(true, key, step.Due))
		case lifecycle.Evaluate:
			err = h.evaluateDry(ctx, &b, e, old, now)
		case lifecycle.None:
			b.Finish(claim.Task.ID)
		default: // the window is over, or the time limit has passed since the last step
			var view gate.View
			if view, err = h.evaluate(ctx, e, nil, old.Period, now); err == nil {
				err = exhaustDry(&b, old, step.Reason, view.Unmet(now), now)
			}
		}
		if err != nil {
			return err
		}
		return h.commit(ctx, b, now)
	})
}

// evaluateDry evaluates the gate. A dry run does not wait for the end of a pause, since it starts
// nothing.
func (h *dryHandler) evaluateDry(ctx context.Context, b *store.Batch, e *catalog.Entry, old run.Run, now time.Time) error {
	q := h.question(e, old.Period)
	q.PostRun, q.Opened = true, old.Progress.WindowStart
	view, err := gate.Evaluate(ctx, h.store, q, now)
	if err != nil {
		return err
	}
	next, err := old.Evaluated(view.Open() && !old.Progress.Opening.TooLate(now), now)
	if err != nil {
		return err
	}
	if !next.Progress.GateOpen {
		next = next.EvaluateBy(view.OpensAt)
	}
	if next.Progress.GateOpen {
		return h.wouldTrigger(ctx, b, e, old, next, view, now)
	}
	step := lifecycle.Next(next, now)
	if step.Kind == lifecycle.ValidationExhausted {
		return exhaustDry(b, old, step.Reason, view.Unmet(now), now)
	}
	b.SwapDryRun(old, next)
	b.Schedule(advance(true, old.Key, next.Progress.NextEvaluation))
	prober.Need(b, h.catalog.Current(), e.Definition, view, old.Key, now)
	return nil
}

// leaveDry silently ends a dry run whose pipeline was removed or is no longer a dry run. Left open,
// its row would stay forever and block the period's next dry run.
func leaveDry(b *store.Batch, old run.Run, now time.Time) error {
	if old.Status != run.Pending {
		return nil
	}
	next, err := old.Exhausted("the pipeline was no longer a dry run", run.NothingLeft, now)
	if err != nil {
		return err
	}
	b.SwapDryRun(old, next)
	return nil
}

// exhaustDry ends a dry run whose gate stayed closed; unmet names the rules.
func exhaustDry(b *store.Batch, old run.Run, reason, unmet string, now time.Time) error {
	next, err := old.Exhausted(reason, run.NothingLeft, now)
	if err != nil {
		return err
	}
	b.SwapDryRun(old, next)
	b.Finish(dryID(old.Key))
	b.Emit(event.New(event.DryRunCompleted, aboutDry(old, now), "nothing would have started: "+reason+unmet, nil))
	return nil
}

// dryLife identifies one life of a dry run's attempt: once its row is deleted, the same period may
// have another.
func dryLife(old run.Run) string {
	return fmt.Sprintf("%s@%s", old.ID(), old.OpenedAt.UTC().Format(time.RFC3339Nano))
}

// aboutDry returns the subject of an event about a dry run; a reopened or new one has other event
// ids than before.
func aboutDry(old run.Run, now time.Time) event.About {
	about := event.Of(old, now)
	about.Which = dryLife(old)
	return about
}

// wouldTrigger reports what a run would do now, and ends the dry run with the snapshot that late
// data and drift are compared with.
func (h *dryHandler) wouldTrigger(ctx context.Context, b *store.Batch, e *catalog.Entry, old, evaluated run.Run, view gate.View, now time.Time) error {
	id := run.SnapshotID("dry/" + dryLife(old))
	next, err := completeDry(evaluated, run.Start{Snapshot: id, Degraded: view.Lacking()}, now)
	if err != nil {
		return err
	}
	b.SwapDryRun(old, next)
	b.Finish(dryID(old.Key))
	snapshot := view.Snapshot(old, period.Instant(now))
	snapshot.ID, snapshot.Config, snapshot.Read = id, e.Version, view.Read
	b.Snapshots = append(b.Snapshots, snapshot)
	about := aboutDry(old, now)
	gateIs := "open"
	switch {
	case !view.Open():
		gateIs = "bypassed"
	case len(view.Degraded) > 0:
		gateIs = "open without " + strings.Join(view.Degraded, "; ")
	}
	b.Emit(event.New(event.DryRunWouldTrigger, about, fmt.Sprintf("the gate is %s: %s job would start now", gateIs, e.Job.Type), event.Gate{Rules: view.Rules(), Degraded: view.Degraded}))
	deadline, err := h.earliestDeadline(ctx, e, old.Period)
	if err != nil {
		return err
	}
	if p, ok := project(deadline, e.SLA.Expected, now); ok {
		message := fmt.Sprintf("estimated to end at %s, %s the deadline of %s", period.Stamp(p.EstimatedCompletion), relationText[p.Status], period.Stamp(p.Deadline))
		b.Emit(event.New(event.DryRunSLAProjection, about, message, p))
	}
	b.Emit(event.New(event.DryRunCompleted, about, "the dry run is over", nil))
	return h.captureDry(ctx, b, e, next, view.PostRun)
}

// completeDry moves a dry run to its end, as if its job had started and succeeded at once.
func completeDry(r run.Run, s run.Start, now time.Time) (run.Run, error) {
	next, err := r.Trigger(s, now)
	if err != nil {
		return r, err
	}
	o := run.Outcome{Key: r.Key, Attempt: r.Attempt, Report: run.Report{Result: run.ResultSuccess, Message: "dry run"}}
	if next, err = next.Reported(o, now); err != nil {
		return r, err
	}
	return next.Complete(now)
}

// captureDry stores the values of the post-run sensors, as the baseline for drift.
func (h *dryHandler) captureDry(ctx context.Context, b *store.Batch, e *catalog.Entry, next run.Run, sensors []store.SeenSensor) error {
	if e.PostRun == nil {
		return nil
	}
	read, err := store.IfFound(h.store.PostRun(ctx, next.Key))
	if err != nil {
		return err
	}
	baseline := map[string]sensor.Fields{}
	for _, s := range sensors {
		if s.Version != 0 {
			baseline[gate.RuleKey(e.ID, s.Pipeline, s.Key)] = s.Fields
		}
	}
	b.SwapPostRun(read, store.PostRun{Key: next.Key, Attempt: next.Attempt, CompletedAt: next.EndedAt, Baseline: baseline})
	return nil
}

// reportDryLate reports late data, and what would follow for a real run: for a rerun once per
// content, otherwise once per sensor.
func (h *dryHandler) reportDryLate(ctx context.Context, found lateData) error {
	v := h.dryRerun(found.run, found.rerunCause(), found.now)
	var b store.Batch
	for _, l := range found.all {
		about := aboutDry(found.run, found.now)
		about.CausedBy = found.cause
		why, follows := found.noRerun(l, v.Reason)
		if found.wantsRerun() && v.Open {
			why, follows = lateRerun, "a rerun would follow"
			about.Which += " " + l.Sensor() + " " + l.Content
		} else {
			follows = strings.Replace(follows, "no rerun follows", "no rerun would follow", 1)
			about.Which += " " + l.Sensor() + " " + why
		}
		b.ID = "dry-late/" + about.Which
		b.Events = append(b.Events[:0:0], event.New(event.DryRunLateData, about, found.message(l, "the dry run", follows), found.detail(l, why)))
		if err := h.commit(ctx, b, found.now); err != nil {
			return err
		}
	}
	return nil
}

// dryRerun decides whether the file of a dry run would allow a rerun for that cause.
func (h *dryHandler) dryRerun(old run.Run, cause run.Cause, now time.Time) rerun.Verdict {
	var job *pipeline.Job
	if def := h.catalog.Current().Definition(old.Pipeline); def != nil {
		job = def.Job
	}
	return rerun.Next(old, cause, rerun.BudgetOf(job, old, cause), now)
}

// reportDryDrift reports drift, and whether a real run would be rerun for it, and stores the
// baseline of a sensor that had none. As for a real run, nothing follows if the calendar excludes
// the period.
func (h *dryHandler) reportDryDrift(ctx context.Context, sw sensorWrite, old run.Run, post, next store.PostRun, seen store.SeenSensor, drifts []moved, now time.Time) error {
	barred, err := h.barred(ctx, sw.entry, old.Key)
	if err != nil || barred != "" {
		return err
	}
	follows := "; a rerun would follow"
	if v := h.dryRerun(old, run.CauseDrift, now); !v.Open {
		follows = "; no rerun would follow: " + v.Reason
	}
	b := store.Batch{ID: fmt.Sprintf("dry-drift/%s/v%d/%s/%s", dryLife(old), post.Version, sw.ruleKey(), seen.Content)}
	for _, m := range drifts {
		if m.Known && !m.Drifted {
			continue
		}
		about := aboutDry(old, now)
		about.Which += " " + m.sensor + " " + m.field + " " + plain(m.is)
		message := fmt.Sprintf("%s of sensor %s %s", m.field, m.sensor, m.Reason)
		if m.Drifted {
			message += follows
		}
		b.ID += "/" + about.Which
		b.Emit(event.New(event.DryRunDrift, about, message, m.detail()))
	}
	if len(next.Baseline) != len(post.Baseline) || post.Attempt != next.Attempt {
		b.SwapPostRun(post, next)
	}
	return h.commit(ctx, b, now)
}
