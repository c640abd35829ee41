package router

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
)

// runHandler handles changes of runs: it retries failures or gives up, and wakes downstream
// pipelines.
type runHandler struct {
	opener
	deadlines deadlines
	late      lateHandler
	postRun   postRunHandler
}

// runMoved handles a run that was opened, or whose status or attempt changed: it retries or gives
// up a failed run, notifies downstream pipelines, and checks for inputs that changed while the job
// ran.
func (h *runHandler) runMoved(ctx context.Context, c store.Change, now time.Time) error {
	current, err := store.IfFound(h.store.Run(ctx, c.Run))
	if err != nil || current.Status == "" {
		return err
	}
	errs := []error{
		h.moveDeadlines(ctx, c, now),
		h.notifyDownstream(ctx, c, now),
	}
	switch current.Status {
	case run.Failed:
		errs = append(errs, h.retryOrGiveUp(ctx, c.Run, now))
	case run.Completed:
		errs = append(errs, h.completed(ctx, current, now))
	default:
	}
	return errors.Join(errs...)
}

// moveDeadlines updates the deadlines of a run that an operator opened or ended. It uses the
// change, not the run's current state: a cancelled run's deadline is void, whatever came after.
func (h *runHandler) moveDeadlines(ctx context.Context, c store.Change, now time.Time) error {
	switch {
	case c.Status == run.Cancelled:
		return h.deadlines.CancelFor(ctx, c.Run, slamonitor.Operator, now)
	case c.Status == run.Pending && c.Run.Schedule == pipeline.ByHand:
		return h.deadlines.ArmOpened(ctx, c.Run, now)
	}
	return nil
}

// completed checks for inputs that changed while the job ran, and schedules the post-run rules.
func (h *runHandler) completed(ctx context.Context, current run.Run, now time.Time) error {
	return h.unlessClosed(ctx, current.Pipeline, current.EndedAt, now, func(e *catalog.Entry, row store.Pipeline) error {
		if current.Schedule != e.Opens || e.DryRun {
			return nil
		}
		return errors.Join(
			h.late.judge(ctx, e, current.Key, whileRunning(e, current, row.Paused()), now),
			h.postRun.planPostRun(ctx, e, current, now),
		)
	})
}

// retryOrGiveUp handles a failed attempt: another one after a backoff, or the end of the run. A
// paused pipeline opens nothing: the failure waits for the end of the pause.
func (h *runHandler) retryOrGiveUp(ctx context.Context, key run.Key, now time.Time) error {
	return store.Again(func() error {
		old, err := store.IfFound(h.store.Run(ctx, key))
		if err != nil || old.Status != run.Failed {
			return err
		}
		e, row, err := h.catalog.Active(ctx, key.Pipeline)
		if err != nil {
			return err
		}
		o := order{
			asks: byRetry, cause: old.Progress.Report.Category.Cause(), causedBy: aboutFailed(old, now).CausedBy, entry: e, row: row, run: old,
		}
		v := o.decide(now)
		switch {
		case v.Rejection == notActive:
			return h.giveUp(ctx, old, rerun.Budget{}, "the pipeline is no longer active", now)
		case v.Rejection == whilePaused:
			return nil
		case !v.Open:
			return h.giveUp(ctx, old, o.budget(), v.Reason, now)
		case old.Progress.Left == run.JobStopping: // its start was answered late: the end of the job comes first
			return nil
		}
		return h.retry(ctx, o, now)
	})
}

// SettleFailed retries or gives up a failed run whose change was overlooked, and reports whether it
// did. While the pipeline is paused, it does not.
func (h *runHandler) SettleFailed(ctx context.Context, key run.Key, now time.Time) (bool, error) {
	if err := h.retryOrGiveUp(ctx, key, now); err != nil {
		return false, err
	}
	r, err := store.IfFound(h.store.Run(ctx, key))
	return err == nil && r.Status != run.Failed, err
}

// retryOrGiveUpAll handles every failed run of a pipeline.
func (h *runHandler) retryOrGiveUpAll(ctx context.Context, id pipeline.ID, now time.Time) error {
	return h.eachOpen(ctx, id, run.Failed, func(one run.Run) error { return h.retryOrGiveUp(ctx, one.Key, now) })
}

// retry opens the next attempt, whose window starts after the backoff.
func (h *runHandler) retry(ctx context.Context, o order, now time.Time) error {
	b := store.Batch{ID: name("retry", o.run)}
	next, v, err := h.open(&b, o, now)
	if err != nil {
		return err
	}
	budget := rerun.BudgetOf(o.entry.Job, next, o.cause)
	// The retry's event comes before those of the new attempt.
	b.Events = slices.Insert(b.Events, 0, event.New(event.RetryScheduled, aboutFailed(o.run, now), v.Reason,
		event.Budget{Cause: o.cause, Used: budget.Used, Max: budget.Max, NextAttemptAt: next.Progress.WindowStart}))
	return h.commit(ctx, b, now)
}

// giveUp ends a failed run that gets no other attempt.
func (h *runHandler) giveUp(ctx context.Context, old run.Run, budget rerun.Budget, why string, now time.Time) error {
	reason := rerun.Final(old, why)
	next, err := old.GiveUp(reason, now)
	if err != nil {
		return err
	}
	b := store.Batch{ID: name("give-up", old)}
	b.Swap(old, next)
	b.Finish(lifecycle.TaskID(old.Key))
	b.Emit(event.New(event.RetryExhausted, aboutFailed(old, now), reason,
		event.Budget{Cause: old.Progress.Report.Category.Cause(), Used: budget.Used, Max: budget.Max}))
	return h.commit(ctx, b, now)
}

// aboutFailed returns the subject of an event that a failed attempt causes.
func aboutFailed(old run.Run, now time.Time) event.About {
	about := event.Of(old, now)
	about.CausedBy = "run/" + string(old.ID())
	return about
}
