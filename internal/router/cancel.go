package router

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Cancel ends an open run for a person. Its job is asked to stop where that is possible; until its target says that it has ended,
// the job keeps its slot, and a rerun is rejected. Otherwise the event says that the job may still run. The run's deadlines
// are cancelled by the change that follows.
func (r *Router) Cancel(ctx context.Context, key run.Key, by, why string, now time.Time) (run.Run, error) {
	if by == "" || why == "" {
		return run.Run{}, refuse(Invalid, "cancelling a run needs who and why")
	}
	var ended run.Run
	err := again(func() error {
		old, err := r.found(ctx, key)
		if err != nil {
			return err
		}
		if !old.Status.Open() {
			return refuse(Conflict, "run %s has ended: %s", key, old.Status)
		}
		// A job that could not be stopped is left behind, which the event says: a person's cancel counts anyway.
		left, trouble := r.jobs.Stop(ctx, old, now)
		if ctx.Err() != nil {
			return fmt.Errorf("stop the job of %s: %w", old.ID(), ctx.Err())
		}
		ended, err = r.cancel(ctx, old, by, why, left, trouble, now)
		return err
	})
	return ended, err
}

func (r *Router) cancel(ctx context.Context, old run.Run, by, why string, left run.Leftover, trouble error, now time.Time) (run.Run, error) {
	next, err := old.Cancel(by, why, left, now)
	if err != nil {
		return run.Run{}, err
	}
	b := store.Batch{ID: name("cancel", old) + "/" + by}
	b.Swap(old, next)
	b.Finish(advanceID(old.Key))
	log := store.JobEntry{Key: old.Key, Attempt: old.Attempt, At: instant(now), Try: old.Progress.StartTries, Handle: old.Progress.Handle, Message: why, By: by}
	message := fmt.Sprintf("cancelled by %s: %s", by, why)
	switch left {
	case run.JobStopping:
		log.Event = store.JobStopping
		b.Append(log)
		b.Schedule(store.LeftTask(next, now))
		message += "; its job is being stopped"
	case run.JobStopped:
		log.Event = store.JobStopped
		b.Append(log)
	case run.JobMayRun:
		message += "; its job could not be stopped and may still run"
	case run.NothingLeft:
	}
	if trouble != nil {
		message += " (" + trouble.Error() + ")"
	}
	if left != run.JobStopping {
		if err := r.freeSlot(ctx, &b, old); err != nil {
			return run.Run{}, err
		}
	}
	b.Emit(event.New(event.RunCancelled, event.Of(old, now), message, event.Left{JobMayRun: trouble != nil, By: by, Reason: why}))
	return next, r.commit(ctx, b, now)
}

// freeSlot gives back the slot that an attempt's job held, in the commit that ends it. If others yielded to the attempt, the row
// moves as well, so that they are woken.
func (r *Router) freeSlot(ctx context.Context, b *store.Batch, old run.Run) error {
	row, err := r.pipelineRow(ctx, old.Pipeline)
	if err != nil || row.Version == 0 {
		return err
	}
	e := r.catalog.Current().Get(old.Pipeline)
	first := old.Progress.LastEvaluation.IsZero() && e != nil && e.MaxActive > 0
	queued := old.Status == run.Pending && (first || !old.Progress.WaitingSince.IsZero())
	if !queued && !slices.Contains(row.Slots, old.ID()) {
		return nil
	}
	next := row
	next.Slots = slices.DeleteFunc(slices.Clone(row.Slots), func(id run.AttemptID) bool { return id == old.ID() })
	b.SwapPipeline(row, next)
	return nil
}
