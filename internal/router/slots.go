package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// handSlots wakes the oldest runs of a pipeline that wait for a slot, as many as are free by the limit that each opened with:
// the file may have another by now, or be gone. The slot itself is taken in the commit that starts the job, so that waking too
// many does no harm.
func (r *Router) handSlots(ctx context.Context, id pipeline.ID, now time.Time) error {
	row, err := r.pipelineRow(ctx, id)
	if err != nil {
		return err
	}
	open, err := r.store.OpenRuns(ctx, id)
	if err != nil {
		return fmt.Errorf("list open runs of %s: %w", id, err)
	}
	var errs []error
	taken := len(row.Slots)
	for _, one := range open {
		if one.Status != run.Pending || one.Progress.WaitingSince.IsZero() {
			continue
		}
		def, err := r.catalog.Definition(ctx, id, one.Progress.Opening.ConfigVersion)
		if err == nil && def.MaxActive > 0 && taken >= def.MaxActive {
			continue
		}
		taken++
		if one.Progress.NextEvaluation.After(now) {
			errs = append(errs, r.wakePending(ctx, one.Key, now))
		}
	}
	return errors.Join(errs...)
}
