package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// nextAttempt is about when a failure heals by itself: when another attempt will be opened, by what is known now; zero if
// none will. The router decides it, a moment later, by the same rules; this is for whoever is told of the failure.
func (w *work) nextAttempt(ctx context.Context, failed run.Run) (time.Time, error) {
	e := w.o.Catalog.Current().Get(failed.Pipeline)
	if e == nil || failed.Status != run.Failed {
		return time.Time{}, nil
	}
	row, err := w.o.Store.Pipeline(ctx, failed.Pipeline)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return time.Time{}, fmt.Errorf("read its pipeline: %w", err)
	}
	if row.Paused() || row.Config == "" {
		return time.Time{}, nil
	}
	cause := failed.Progress.Report.Category.Cause()
	v := rerun.Next(failed, cause, rerun.BudgetsOf(e.Job).For(failed, cause), w.now)
	return v.At.Round(0).UTC(), nil
}
