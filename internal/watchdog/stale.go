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
// that is due at once. If such a run is past its time limit, that task ends it (SFN_TIMEOUT). A
// failed run needs no task: its change advances it. One whose change was overlooked is retried or
// given up here.
func (w *Watchdog) staleRuns(ctx context.Context, p pass) (int, error) {
	open, err := w.Store.OpenRuns(ctx, "")
	if err != nil {
		return 0, fmt.Errorf("list open runs: %w", err)
	}
	owner := func(r run.Run) pipeline.ID { return r.Pipeline }
	return each(ctx, w.Workers, open, owner, func(r run.Run) (int, error) {
		if r.UpdatedAt.After(p.settled) {
			return 0, nil
		}
		if r.Status == run.Failed {
			settled, err := w.Router.SettleFailed(ctx, r.Key, p.now)
			if err != nil || !settled {
				return 0, err
			}
			return 1, nil
		}
		if task, err := store.IfFound(w.Store.Task(ctx, lifecycle.TaskID(r.Key))); err != nil || task.ID != "" {
			return 0, err
		}
		return handled(w.storeTask(ctx, r, p.now))
	})
}

// storeTask stores the run's task, due now.
func (w *Watchdog) storeTask(ctx context.Context, r run.Run, now time.Time) error {
	b := store.Batch{ID: fmt.Sprintf("watchdog/%s/v%d/%d", lifecycle.TaskID(r.Key), r.Version, now.UnixNano())}
	t := store.AdvanceTask(r, now)
	t.Replica = r.Progress.Replica
	b.Schedule(t)
	return w.Store.Commit(ctx, b, now)
}
