package router

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// wake moves the version of an open attempt, and has a waiting one evaluate its gate at once. It moves the version also where
// an evaluation is due already: one that is under way may have read the sensors before this write. Its commit, or that of a
// completion, then conflicts, and is decided again on what was written. If the attempt has moved since old was read, wake is
// store.ErrConflict: it may have ended by now.
func (r *Router) wake(ctx context.Context, e *catalog.Entry, old run.Run, now time.Time) error {
	next, err := old.Wake(now)
	if err != nil {
		return err
	}
	b := store.Batch{ID: nameOf("wake", e, old.Key, old)}
	swap(&b, e, old, next)
	if old.Status == run.Pending {
		b.Schedule(advance(e.DryRun, old.Key, next.Progress.NextEvaluation))
	}
	return r.commit(ctx, b, now)
}

// wakePending wakes the attempt of a run, not of a dry run, if it waits for its gate. Its pipeline need not be in force.
func (r *Router) wakePending(ctx context.Context, key run.Key, now time.Time) error {
	return again(func() error {
		old, err := r.store.Run(ctx, key)
		if err != nil || old.Status != run.Pending {
			return ignoreMissing(err)
		}
		next, err := old.Wake(now)
		if err != nil {
			return err
		}
		b := store.Batch{ID: name("wake", old)}
		b.Swap(old, next)
		b.Schedule(advance(false, key, next.Progress.NextEvaluation))
		return r.commit(ctx, b, now)
	})
}
