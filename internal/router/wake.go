package router

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// wake raises the version of an open attempt, and makes a waiting or offered one evaluate its gate at once. It raises
// the version even if an evaluation is due: one in progress may have read the sensors before this write. Its commit, or
// that of a completion, then conflicts, and is decided again on the new data. If the attempt has changed since old was
// read, wake returns store.ErrConflict: the attempt may have ended.
func (c *core) wake(ctx context.Context, dry bool, old run.Run, now time.Time) error {
	next, err := old.Wake(now)
	if err != nil {
		return err
	}
	b := store.Batch{ID: nameOf("wake", dry, old.Key, old)}
	swap(&b, dry, old, next)
	if old.Status == run.Pending || old.Offered() {
		b.Schedule(advance(dry, old.Key, next.Progress.NextEvaluation))
	}
	return c.commit(ctx, b, now)
}

// wakePending wakes the attempt of a run, not of a dry run, if it waits for its gate. Its pipeline need not be in
// force.
func (c *core) wakePending(ctx context.Context, key run.Key, now time.Time) error {
	return again(func() error {
		old, err := c.store.Run(ctx, key)
		if err != nil || old.Status != run.Pending {
			return ignoreMissing(err)
		}
		return c.wake(ctx, false, old, now)
	})
}
