package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// opener opens attempts: the first of a run, or a further one.
type opener struct {
	core
	limits Limits
}

// order describes why and how to open an attempt.
type order struct {
	cause    run.Cause
	by       string // who requested it, if anyone
	reason   string // the reason they gave
	forced   bool
	bypass   bool
	from     time.Time // when its window starts, if later than now
	until    time.Time // when it must not start any more; zero: no limit
	causedBy string    // the change or request that caused it
	message  string    // what happened, as text

	requested bool // see run.Opening
	recovered bool // it was overlooked before; an event reports that too
}

// begin adds the first attempt of a run to b: the run, its event, and its first task. The caller
// has checked what would prevent it (pause, calendar, an existing run).
func (op *opener) begin(b *store.Batch, e *catalog.Entry, key run.Key, o order, now time.Time) (run.Run, error) {
	if o.cause != run.CauseManual && e.Schedule.HasTime() {
		o.from = period.Later(o.from, e.Schedule.EarliestStart(key.Period))
	}
	if o.requested = o.cause == run.CauseManual; !o.requested {
		o.until = e.StartCloses(key.Period)
	}
	next, err := run.New(key, op.opening(e, o, now))
	if err != nil {
		return run.Run{}, err
	}
	announce(b, e, run.Run{}, next, o, now)
	return next, nil
}

// further adds attempt+1 of old to b. Package rerun has decided, on the same version, that the
// budget allows it.
func (op *opener) further(b *store.Batch, e *catalog.Entry, old run.Run, o order, now time.Time) (run.Run, error) {
	o.requested = o.cause.Requested(old.Progress.Opening)
	if !o.requested {
		o.until = e.StartCloses(old.Period)
	}
	next, err := old.NextAttempt(op.opening(e, o, now))
	if err != nil {
		return run.Run{}, err
	}
	announce(b, e, old, next, o, now)
	return next, nil
}

// announce stores an opened attempt, emits its event, and schedules its first step. A dry run emits
// no such event.
func announce(b *store.Batch, e *catalog.Entry, old, next run.Run, o order, now time.Time) {
	swap(b, e.DryRun, old, next)
	b.Schedule(advance(e.DryRun, next.Key, next.Progress.NextEvaluation))
	if e.DryRun {
		return
	}
	about := event.Of(next, now)
	about.CausedBy = o.causedBy
	b.Emit(event.New(event.TriggerStarted, about, fmt.Sprintf("attempt %d opened: %s", next.Attempt, o.message), o.detail()))
	if o.recovered {
		b.Emit(event.New(event.TriggerRecovered, about, "opened late: "+o.message, o.detail()))
	}
}

// detail returns an order as the detail of an event.
func (o order) detail() event.Opening {
	return event.Opening{Cause: o.cause, RequestedBy: o.by, Reason: o.reason, Forced: o.forced, GateBypassed: o.bypass}
}

func (op *opener) opening(e *catalog.Entry, o order, now time.Time) run.Opening {
	limits := op.limitsOf(e)
	if !o.until.IsZero() {
		limits.Window = min(limits.Window, max(o.until.Sub(period.Later(now, o.from)), time.Second))
		limits.Interval = min(limits.Interval, limits.Window)
	}
	return run.Opening{
		Cause: o.cause, By: o.by, Reason: o.reason, Forced: o.forced, GateBypassed: o.bypass,
		ConfigVersion: e.Version, Limits: limits, At: now, From: o.from, Until: period.Instant(o.until), Requested: o.requested,
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

// openable returns the row of a pipeline that may open attempts of that version automatically;
// otherwise errClosed.
func (op *opener) openable(ctx context.Context, e *catalog.Entry) (store.Pipeline, error) {
	row, err := op.pipelineRow(ctx, e.ID)
	if err == nil && (row.Config != e.Version || row.Paused()) {
		err = errClosed
	}
	return row, err
}

// openRun opens the run of a period automatically, unless it exists, the pipeline was paused, edited
// or removed, or the calendar excludes the period, which it records. The commit expects the pipeline's
// row unchanged, so that nothing opens once a pause is acknowledged; commits of further attempts do
// the same.
func (op *opener) openRun(ctx context.Context, e *catalog.Entry, key run.Key, o order, now time.Time) error {
	return store.Again(func() error {
		row, err := op.openable(ctx, e)
		if err != nil {
			return err
		}
		old, err := op.row(ctx, e, key)
		if err != nil || old.Status != "" {
			return err
		}
		barred, err := op.barred(ctx, e, key)
		if err != nil {
			return err
		}
		if barred != "" {
			return op.exclude(ctx, key, barred, now)
		}
		b := store.Batch{ID: nameOf("open", e.DryRun, key, old)}
		b.ExpectPipeline(e.ID, row)
		if _, err := op.begin(&b, e, key, o, now); err != nil {
			return err
		}
		return op.commit(ctx, b, now)
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
