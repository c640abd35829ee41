package router

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// wake has the gate of a waiting attempt evaluated at once. It always moves the row on, also one that is due already: an
// evaluation that is under way may have read the sensors before this write, and then finds its version gone.
func (r *Router) wake(ctx context.Context, e *catalog.Entry, key run.Key, now time.Time) error {
	return again(func() error {
		old, err := r.row(ctx, e, key)
		if err != nil || old.Status != run.Pending {
			return err
		}
		next, err := old.Wake(now)
		if err != nil {
			return err
		}
		b := store.Batch{ID: nameOf("wake", e, key, old)}
		swap(&b, e, old, next)
		b.Schedule(advance(e.DryRun, key, next.Progress.NextEvaluation))
		return r.commit(ctx, b, now)
	})
}
