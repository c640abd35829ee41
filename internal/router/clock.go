package router

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// rewindReach is how far back fires are planned again after the clock was ahead. The clock may have
// been corrected while no controller ran, and the fires since then are accounted for by nothing else.
const rewindReach = 24 * time.Hour

// Rewind takes back what a clock that was ahead left on a pipeline: the place up to which its fires
// are dealt with, its horizon and the acceptance of its file. All of them would keep its schedule
// silent until that instant. A fire that has a run, or was suppressed, stays as it is; a fire that
// was reported as missed may be reported again.
func (r *Router) Rewind(ctx context.Context, id pipeline.ID, now time.Time) error {
	return again(func() error {
		e, row, err := r.inForce(ctx, id)
		if err != nil || e == nil {
			return err
		}
		next := row
		next.Horizon, next.AcceptedAt = earlier(row.Horizon, now), earlier(row.AcceptedAt, now)
		if row.FiredThrough.After(now) {
			next.FiredThrough = instant(now.Add(-rewindReach))
			if next.AcceptedAt.After(next.FiredThrough) {
				next.FiredThrough = next.AcceptedAt
			}
		}
		if next.FiredThrough.Equal(row.FiredThrough) && next.Horizon.Equal(row.Horizon) && next.AcceptedAt.Equal(row.AcceptedAt) {
			return nil
		}
		b := store.Batch{ID: fmt.Sprintf("rewind/%s/v%d", id, row.Version)}
		b.SwapPipeline(row, next)
		if e.Opens == pipeline.ByCron {
			b.Schedule(pipelineTask(store.Fire, firePrefix, id, now))
		}
		b.Schedule(pipelineTask(store.Arm, armPrefix, id, now))
		if err := r.commit(ctx, b, now); err != nil {
			return err
		}
		return r.catalog.Refresh(ctx, id)
	})
}

func earlier(a, now time.Time) time.Time {
	if a.After(now) {
		return instant(now)
	}
	return a
}
