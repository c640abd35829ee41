package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// opener opens attempts: the first of a run, or a further one.
type opener struct {
	core
	limits Limits
}

// open adds the attempt that o asks for to b, if the verdict allows it: the run, its event, and its
// first task. b then depends on the pipeline's row as it was read, so that nothing opens once a
// pause or an edit is acknowledged. Whatever opens, opens here.
func (op *opener) open(b *store.Batch, o order, now time.Time) (run.Run, rerun.Verdict, error) {
	v := o.decide(now)
	if !v.Open {
		return run.Run{}, v, nil
	}
	opening := op.opening(o, v, now)
	old, next := o.run, run.Run{}
	var err error
	switch old.Status {
	case "":
		next, err = run.New(old.Key, opening)
		next.DryRun = old.DryRun
	case run.Pending:
		// The waiting attempt ends in the same commit, so that the run is never without one: its
		// deadlines stay armed, and if the commit fails the attempt keeps waiting.
		if next, err = old.Cancel(o.by, o.reason, run.NothingLeft, now); err == nil {
			next, err = next.NextAttempt(opening)
		}
	default:
		next, err = old.NextAttempt(opening)
	}
	if err != nil {
		return run.Run{}, v, err
	}
	if o.asks != byFire { // the batch of a fire swaps the row
		b.ExpectPipeline(o.entry.ID, o.row)
	}
	b.Swap(old, next)
	b.Schedule(store.AdvanceTask(next, next.Progress.NextEvaluation))
	if next.DryRun {
		return next, v, nil
	}
	about, message := event.Of(next, now), cmp.Or(o.message, v.Reason)
	about.CausedBy = o.causedBy
	b.Emit(event.New(event.TriggerStarted, about, fmt.Sprintf("attempt %d opened: %s", next.Attempt, message), o.detail()))
	if o.recovered {
		b.Emit(event.New(event.TriggerRecovered, about, "opened late: "+message, o.detail()))
	}
	return next, v, nil
}

// detail returns an order as the detail of an event.
func (o order) detail() event.Opening {
	return event.Opening{Cause: o.cause, RequestedBy: o.by, Reason: o.reason, Forced: o.forced, GateBypassed: o.bypass}
}

func (op *opener) opening(o order, v rerun.Verdict, now time.Time) run.Opening {
	first, requested, p := o.run.Status == "", o.asks.person(), o.run.Period
	from, until := v.At, time.Time{}
	if !first {
		requested = requested || o.cause.Requested(o.run.Progress.Opening)
	} else if !requested && o.entry.Schedule.HasTime() {
		from = period.Later(from, o.entry.Schedule.EarliestStart(p))
	}
	limits := op.limitsOf(o.entry)
	if !requested {
		until = o.entry.StartCloses(p)
	}
	if !until.IsZero() {
		limits.Window = min(limits.Window, max(until.Sub(period.Later(now, from)), time.Second))
		limits.Interval = min(limits.Interval, limits.Window)
	}
	return run.Opening{
		Cause: o.cause, By: o.by, Reason: o.reason, Forced: o.forced, GateBypassed: o.bypass,
		ConfigVersion: o.entry.Version, Limits: limits, At: now, From: from, Until: period.Instant(until), Requested: requested,
	}
}

// limitsOf returns the limits of an attempt, from the file and the server. Without a job the result
// is only reported.
func (op *opener) limitsOf(e *catalog.Entry) run.Limits {
	l := run.Limits{
		Window: e.Window, Interval: e.Interval,
		RunTimeout: op.limits.RunTimeout, StartTries: op.limits.StartTries, StartBackoff: op.limits.StartBackoff,
	}
	if e.Job != nil {
		l.PollInterval, l.PollWindow, l.LearnPolls = e.Job.PollInterval, e.Job.PollWindow, op.limits.LearnPolls
		if e.Job.LearnPolls != nil {
			l.LearnPolls = *e.Job.LearnPolls
		}
	}
	if external, ok := job.Offers(e.Job); ok {
		l.PollInterval, l.LearnPolls, l.Heartbeat, l.StopOnSilence = 0, false, external.HeartbeatLimit(), external.StopsOnSilence()
	}
	l.Interval = max(l.Interval, op.leastInterval(l.Window))
	if l.PollInterval > 0 {
		l.PollInterval = max(l.PollInterval, op.leastInterval(l.PollWindow))
	}
	return l
}

// leastInterval returns the shortest interval, in whole seconds, that stays within MaxTurns for a
// window.
func (op *opener) leastInterval(window time.Duration) time.Duration {
	if op.limits.MaxTurns == 0 {
		return 0
	}
	least := window / time.Duration(op.limits.MaxTurns)
	return (least + time.Second - 1).Truncate(time.Second)
}

// errClosed means that nothing may open automatically: the pipeline was paused, edited or removed
// since the change was received.
var errClosed = errors.New("the pipeline was paused, edited or removed meanwhile")

// permit decides on an order that the controller itself made by a version of the file. It reads the
// pipeline's row, and returns errClosed if nothing may open by that version.
func (op *opener) permit(ctx context.Context, o *order, now time.Time) (rerun.Verdict, error) {
	var err error
	if o.row, err = op.pipelineRow(ctx, o.entry.ID); err != nil {
		return rerun.Verdict{}, err
	}
	v := o.decide(now)
	if v.Rejection == whilePaused || o.row.Config != o.entry.Version {
		err = errClosed
	}
	return v, err
}

// carryOut commits b with the attempt that o asks for.
func (op *opener) carryOut(ctx context.Context, b store.Batch, o order, now time.Time) error {
	if _, _, err := op.open(&b, o, now); err != nil {
		return err
	}
	return op.commit(ctx, b, now)
}

// openRun opens the run of a period, unless it exists, the pipeline was paused, edited or removed, or
// the calendar excludes the period, which it records.
func (op *opener) openRun(ctx context.Context, o order, now time.Time) error {
	return store.Again(func() error {
		var err error
		if o.run, err = op.row(ctx, o.entry, o.run.Key); err != nil {
			return err
		}
		if o.barred, err = op.barred(ctx, o.entry, o.run.Key); err != nil {
			return err
		}
		v, err := op.permit(ctx, &o, now)
		if err == nil && v.Rejection == rerun.Excluded {
			err = op.exclude(ctx, o.run.Key, v.Reason, now)
		}
		if err != nil || !v.Open {
			return err
		}
		return op.carryOut(ctx, store.Batch{ID: name("open", o.run)}, o, now)
	})
}

// barred returns why nothing opens a period by itself: the calendar excludes it now, or a mark keeps
// it closed; "" if neither.
func (c *core) barred(ctx context.Context, e *catalog.Entry, key run.Key) (string, error) {
	why := e.Schedule.Excluded(key.Period)
	if why != "" {
		return why, nil
	}
	recorded, err := store.IsMarked(ctx, c.store, store.ExcludedMark(key))
	if recorded {
		why = store.WhyExcluded
	}
	return why, err
}

// exclude records once that the calendar suppressed a period.
func (c *core) exclude(ctx context.Context, key run.Key, why string, now time.Time) error {
	_, err := store.EmitOnce(ctx, c.store, store.ExcludedMark(key), now.Add(store.ExcludedLife), excluded(key, why, now), now)
	return err
}

func suppress(b *store.Batch, key run.Key, why string, now time.Time) {
	b.SetMark(store.ExcludedMark(key), now.Add(store.ExcludedLife))
	b.Emit(excluded(key, why, now))
}

func excluded(key run.Key, why string, now time.Time) event.Event {
	about := event.About{Pipeline: key.Pipeline, Schedule: key.Schedule, Date: key.Period, At: now}
	return event.New(event.PipelineExcluded, about, "the calendar excludes this period: "+why, event.Exclusion{Rule: why})
}
