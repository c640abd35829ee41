package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/run"
)

// handSlots wakes the oldest runs that wait for one of the pipeline's slots, as many as are free. The slot itself is
// taken in the commit that starts the job, so that waking too many does no harm.
func (r *Router) handSlots(ctx context.Context, e *catalog.Entry, now time.Time) error {
	if e.MaxActive == 0 || e.DryRun {
		return nil
	}
	row, err := r.pipelineRow(ctx, e.ID)
	if err != nil {
		return err
	}
	if free := e.MaxActive - len(row.Slots); free > 0 {
		return r.wakeWaiting(ctx, e, free, now)
	}
	return nil
}

// wakeWaiting wakes up to limit runs that wait for a slot and are not awake yet, oldest period first.
func (r *Router) wakeWaiting(ctx context.Context, e *catalog.Entry, limit int, now time.Time) error {
	open, err := r.store.OpenRuns(ctx, e.ID)
	if err != nil {
		return fmt.Errorf("list open runs of %s: %w", e.ID, err)
	}
	var errs []error
	for _, one := range open {
		if limit == 0 {
			break
		}
		if one.Status != run.Pending || one.Progress.WaitingSince.IsZero() {
			continue
		}
		limit--
		if one.Progress.NextEvaluation.After(now) {
			errs = append(errs, r.wakePending(ctx, e, one.Key, now))
		}
	}
	return errors.Join(errs...)
}
