package router

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
)

// pipelineMoved reacts to a pipeline's own row: accepted, removed, paused, resumed, or a slot taken or freed; and to the pause of
// all pipelines.
func (r *Router) pipelineMoved(ctx context.Context, id pipeline.ID, now time.Time) error {
	if id == store.AllPipelines {
		_, err := r.spreadPause(ctx, now)
		return err
	}
	if err := r.catalog.Refresh(ctx, id); err != nil {
		return err
	}
	row, err := r.pipelineRow(ctx, id)
	if err != nil {
		return err
	}
	if row.Config == "" {
		// A failure that waited for the end of a pause waits for nothing any more. Open attempts go on.
		return errors.Join(r.deadlines.CancelAll(ctx, id, slamonitor.Removed, now), r.settleAll(ctx, id, now), r.handSlots(ctx, id, now))
	}
	if row.HoldsSLA() {
		return r.deadlines.CancelAll(ctx, id, slamonitor.Paused, now)
	}
	return r.handSlots(ctx, id, now)
}
