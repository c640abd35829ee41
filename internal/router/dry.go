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
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// AdvanceDry takes the next step of a dry run: it is the handler of AdvanceDry tasks. The gate is looked at as in a run,
// with the same window and interval; where the job would start, what would happen is told instead, and that is all.
func (r *Router) AdvanceDry(ctx context.Context, claim store.Claim, now time.Time) error {
	return again(func() error {
		key := claim.Task.Key
		e, _, err := r.inForce(ctx, key.Pipeline)
		if err != nil {
			return err
		}
		old, err := r.store.DryRun(ctx, key)
		if ignoreMissing(err) != nil {
			return fmt.Errorf("read dry run %s: %w", key, err)
		}
		b := store.Batch{ID: name("dry", run.Run{Key: key, Version: old.Version}), Lease: &claim.Lease}
		if e == nil || !e.DryRun {
			b.Finish(claim.Task.ID) // the pipeline is gone, or in earnest by now
			return r.commit(ctx, b, now)
		}
		switch step := lifecycle.Next(old, now); step.Kind {
		case lifecycle.Wait:
			b.ID += fmt.Sprintf("/%d", claim.Lease.Token)
			b.Schedule(advance(true, key, step.Due))
		case lifecycle.Evaluate:
			err = r.evaluateDry(ctx, &b, e, old, now)
		case lifecycle.None:
			b.Finish(claim.Task.ID)
		default: // the window is over, or nobody looked for so long that the time limit is
			err = exhaustDry(&b, old, step.Reason, now)
		}
		if err != nil {
			return err
		}
		return r.commit(ctx, b, now)
	})
}

// evaluateDry looks at the gate. A dry run does not wait for a pause to end, since it starts nothing.
func (r *Router) evaluateDry(ctx context.Context, b *store.Batch, e *catalog.Entry, old run.Run, now time.Time) error {
	view, err := r.look(ctx, e, old.Period, now)
	if err != nil {
		return err
	}
	next, err := old.Evaluated(view.Open(), now)
	if err != nil {
		return err
	}
	if next.Progress.GateOpen {
		return r.wouldTrigger(ctx, b, e, old, next, view, now)
	}
	step := lifecycle.Next(next, now)
	if step.Kind == lifecycle.ValidationExhausted {
		return exhaustDry(b, old, step.Reason, now)
	}
	b.SwapDryRun(old, next)
	b.Schedule(advance(true, old.Key, next.Progress.NextEvaluation))
	prober.Need(b, r.catalog.Current(), e.Definition, view, old.Key, now)
	return nil
}

// exhaustDry ends a dry run whose gate stayed closed.
func exhaustDry(b *store.Batch, old run.Run, reason string, now time.Time) error {
	next, err := old.Exhausted(reason, now)
	if err != nil {
		return err
	}
	b.SwapDryRun(old, next)
	b.Finish(dryID(old.Key))
	b.Emit(event.New(event.DryRunCompleted, aboutDry(old, now), "nothing would have started: "+reason, nil))
	return nil
}

// aboutDry is about a dry run; a reopened one is told apart from what went before.
func aboutDry(old run.Run, now time.Time) event.About {
	about := event.Of(old, now)
	if old.Attempt > 1 {
		about.Which = fmt.Sprintf("attempt %d", old.Attempt)
	}
	return about
}

// wouldTrigger tells what a run would do now, and ends the dry run with the facts that late data and drift are compared
// with.
func (r *Router) wouldTrigger(ctx context.Context, b *store.Batch, e *catalog.Entry, old, evaluated run.Run, view gate.View, now time.Time) error {
	id := run.SnapshotID("dry/" + string(old.ID()))
	next, err := completeDry(evaluated, id, now)
	if err != nil {
		return err
	}
	b.SwapDryRun(old, next)
	b.Finish(dryID(old.Key))
	b.Snapshots = append(b.Snapshots, store.Snapshot{
		ID: id, Key: old.Key, Attempt: old.Attempt, At: instant(now), Config: e.Version,
		Outcome: view.Verdict.Outcome, Bypassed: old.Progress.Opening.GateBypassed, Leaves: view.Leaves(), Sensors: view.Sensors,
	})
	about := aboutDry(old, now)
	b.Emit(event.New(event.DryRunWouldTrigger, about, fmt.Sprintf("the gate is open: %s job would start now", e.Job.Type), event.Gate{Rules: view.Rules()}))
	if p, ok := project(e, old, view, now); ok {
		message := fmt.Sprintf("estimated to end at %s, %s the deadline of %s", clock(p.EstimatedCompletion), standing[p.Status], clock(p.Deadline))
		b.Emit(event.New(event.DryRunSLAProjection, about, message, p))
	}
	b.Emit(event.New(event.DryRunCompleted, about, "the dry run is over", nil))
	return r.captureDry(ctx, b, e, next, now)
}

// standing is how an estimate stands to a deadline, in words.
var standing = map[string]string{"met": "before", "breach": "after", "past": "when it is already past"}

// completeDry brings a dry run through to its end, as if its job had started and succeeded at once.
func completeDry(r run.Run, id run.SnapshotID, now time.Time) (run.Run, error) {
	next, err := r.Trigger(run.Start{Snapshot: id}, now)
	if err != nil {
		return r, err
	}
	o := run.Outcome{Key: r.Key, Attempt: r.Attempt, Report: run.Report{Result: run.ResultSuccess, Message: "dry run"}}
	if next, err = next.Reported(o, now); err != nil {
		return r, err
	}
	return next.Complete(now)
}

// project says how a run that started now would stand to the sooner of its deadlines.
func project(e *catalog.Entry, old run.Run, view gate.View, now time.Time) (event.Projection, bool) {
	deadline := e.SLA.For(old.Period, e.Schedule.FireFor(old.Period), e.Schedule).Breach
	for _, s := range view.Sensors {
		if !s.Start || s.Version == 0 {
			continue
		}
		arrived := s.UpdatedAt
		if old.OpenedAt.Before(arrived) && old.Progress.Opening.Cause == run.CauseCondition {
			arrived = old.OpenedAt // it has been written again since
		}
		if at := e.SLA.Relative(arrived).Breach; !at.IsZero() && (deadline.IsZero() || at.Before(deadline)) {
			deadline = at
		}
	}
	if deadline.IsZero() {
		return event.Projection{}, false
	}
	p := event.Projection{EstimatedCompletion: instant(now.Add(e.SLA.Expected)), Deadline: instant(deadline)}
	p.MarginSeconds = int64(p.Deadline.Sub(p.EstimatedCompletion) / time.Second)
	switch {
	case deadline.Before(now):
		p.Status = "past"
	case p.EstimatedCompletion.After(p.Deadline):
		p.Status = "breach"
	default:
		p.Status = "met"
	}
	return p, true
}

// captureDry keeps what the post-run sensors show, so that drift can be told.
func (r *Router) captureDry(ctx context.Context, b *store.Batch, e *catalog.Entry, next run.Run, now time.Time) error {
	if e.PostRun == nil {
		return nil
	}
	q := r.question(e, next.Period)
	q.Gate = e.PostRun.Gate
	view, err := gate.Look(ctx, r.store, q, now)
	if err != nil {
		return err
	}
	read, err := r.postRunRow(ctx, next.Key)
	if err != nil {
		return err
	}
	baseline := map[string]sensor.Fields{}
	for _, s := range view.Sensors {
		if s.Version != 0 {
			baseline[gate.RuleKey(e.ID, s.Pipeline, s.Key)] = s.Fields
		}
	}
	b.SwapPostRun(read, store.PostRun{Key: next.Key, Attempt: next.Attempt, CompletedAt: next.EndedAt, Baseline: baseline})
	return nil
}

// tellDryLate tells of late data for which a run would be run again, once for each content.
func (r *Router) tellDryLate(ctx context.Context, old run.Run, changed []rerun.Seen, causedBy string, now time.Time) error {
	about := aboutDry(old, now)
	about.CausedBy = causedBy
	for _, s := range changed {
		about.Which += " " + s.Sensor + " " + s.Content
	}
	sensors := names(changed)
	message := fmt.Sprintf("%s changed after the dry run; a rerun would follow", strings.Join(sensors, ", "))
	b := store.Batch{ID: fmt.Sprintf("dry-late/%s/%s", old.ID(), about.Which)}
	b.Emit(event.New(event.DryRunLateData, about, message, event.Late{Sensors: sensors, Reason: "rerun"}))
	return r.commit(ctx, b, now)
}

// tellDryDrift tells of drift for which a run would be run again, and keeps the baseline of a sensor that had none.
func (r *Router) tellDryDrift(ctx context.Context, n news, old run.Run, post, next store.PostRun, drifts []moved, now time.Time) error {
	b := store.Batch{ID: fmt.Sprintf("dry-drift/%s/v%d/%s/%s", old.ID(), post.Version, n.Pipeline, n.Sensor)}
	for _, m := range drifts {
		if m.Known && !m.Drifted {
			continue
		}
		about := aboutDry(old, now)
		about.Which += m.sensor + " " + m.field + " " + plain(m.is)
		message := fmt.Sprintf("%s of sensor %s %s", m.field, m.sensor, m.Reason)
		if m.Drifted {
			message += "; a rerun would follow"
		}
		b.ID += "/" + about.Which
		b.Emit(event.New(event.DryRunDrift, about, message, m.told()))
	}
	if len(next.Baseline) != len(post.Baseline) || post.Attempt != next.Attempt {
		b.SwapPostRun(post, next)
	}
	return r.commit(ctx, b, now)
}
