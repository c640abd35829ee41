package watchdog

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// staleRuns finds open runs without a stored task, which nothing would advance, and stores a task
// that is due at once. If such a run is past its time limit, that task ends it (SFN_TIMEOUT).
func (w *Watchdog) staleRuns(ctx context.Context, p pass) (int, error) {
	open, err := w.Store.OpenRuns(ctx, "")
	if err != nil {
		return 0, fmt.Errorf("list open runs: %w", err)
	}
	owner := func(r run.Run) pipeline.ID { return r.Pipeline }
	return each(ctx, w.Workers, open, owner, func(r run.Run) (int, error) {
		if stale, err := w.stale(ctx, r, p); err != nil || !stale {
			return 0, err
		}
		return handled(w.storeTask(ctx, r, p.now))
	})
}

// stale reports whether an open run has no task to advance it. A failed run needs a task only
// after its time limit; until then its change advances it.
func (w *Watchdog) stale(ctx context.Context, r run.Run, p pass) (bool, error) {
	if r.UpdatedAt.After(p.settled) || r.Status == run.Failed && p.now.Before(r.Progress.LimitAt) {
		return false, nil
	}
	task, err := store.IfFound(w.Store.Task(ctx, lifecycle.TaskID(r.Key)))
	return task.ID == "", err
}

// storeTask stores the run's task, due now.
func (w *Watchdog) storeTask(ctx context.Context, r run.Run, now time.Time) error {
	b := store.Batch{ID: fmt.Sprintf("watchdog/%s/v%d", lifecycle.TaskID(r.Key), r.Version)}
	b.Schedule(store.Task{ID: lifecycle.TaskID(r.Key), Kind: store.Advance, Pipeline: r.Pipeline, Key: r.Key, Due: now, Replica: r.Progress.Replica})
	return w.Store.Commit(ctx, b, now)
}
