package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// pipelineHandler handles changes of pipelines' rows, and opens what a pause held back.
type pipelineHandler struct {
	core
	deadlines deadlines
	reading   readingHandler
	run       runHandler
	pause     pauseHandler
}

// pipelineMoved handles a change of a pipeline's row: accepted, removed, paused, resumed, or a slot
// taken or freed; and of the pause of all pipelines.
func (h *pipelineHandler) pipelineMoved(ctx context.Context, id pipeline.ID, now time.Time) error {
	if id == store.AllPipelines {
		_, err := h.pause.SpreadPause(ctx, now)
		return err
	}
	if err := h.catalog.Refresh(ctx, id); err != nil {
		return err
	}
	row, err := h.pipelineRow(ctx, id)
	if err != nil {
		return err
	}
	if row.Config == "" {
		// The pipeline is removed: failures that waited for the end of a pause are handled now.
		// Open attempts continue.
		return errors.Join(h.deadlines.CancelAll(ctx, id, now), h.run.retryOrGiveUpAll(ctx, id, now), h.handSlots(ctx, row, now))
	}
	if row.HoldsSLA() {
		return h.deadlines.CancelAll(ctx, id, now)
	}
	return h.handSlots(ctx, row, now)
}

// handSlots wakes the oldest runs of a pipeline that wait for a slot. It counts free slots by the
// limit that each run opened with: the file may have another by now, or be removed. The commit that
// starts the job takes the slot, so waking too many is harmless.
func (h *pipelineHandler) handSlots(ctx context.Context, row store.Pipeline, now time.Time) error {
	taken := len(row.Slots)
	return h.eachOpen(ctx, row.ID, run.Pending, func(one run.Run) error {
		if one.Progress.WaitingSince.IsZero() {
			return nil
		}
		def, err := catalog.IfKnown(h.catalog.Of(ctx, one))
		if err != nil {
			return err
		}
		if def != nil && def.MaxActive > 0 && taken >= def.MaxActive {
			return nil
		}
		taken++
		if !one.Progress.NextEvaluation.After(now) {
			return nil
		}
		return h.resumePending(ctx, one.Key, now)
	})
}

// Reopen handles ReopenPeriods tasks: it catches up after a pause or a change of the file. It
// schedules the fires of the current schedule, handles writes made during the pause as if they came
// now, handles the failures that waited, and wakes waiting attempts.
func (h *pipelineHandler) Reopen(ctx context.Context, claim store.Claim, now time.Time) error {
	return store.Again(func() error {
		e, row, err := h.catalog.Active(ctx, claim.Task.Pipeline)
		if err != nil {
			return err
		}
		b := store.Batch{ID: fmt.Sprintf("reopen/%s/%d", claim.Task.Pipeline, claim.Lease.Token), Lease: &claim.Lease}
		b.Finish(claim.Task.ID)
		if e == nil || row.Paused() {
			return h.commit(ctx, b, now)
		}
		next := row
		if !row.PausedFrom.IsZero() {
			if err := h.replay(ctx, e, row.PausedFrom, now); err != nil {
				return err
			}
			next.PausedFrom = time.Time{}
		}
		if next.Older, err = h.olderVersions(ctx, row); err != nil {
			return err
		}
		if !next.PausedFrom.Equal(row.PausedFrom) || len(next.Older) != len(row.Older) {
			b.SwapPipeline(row, next)
		}
		if err := h.wakeAll(ctx, e, now); err != nil {
			return err
		}
		if e.Opens == pipeline.ByCron || len(row.Earlier) > 0 {
			b.Schedule(store.PipelineTask(store.Fire, e.ID, now))
		}
		return h.commit(ctx, b, now)
	})
}

// replaySince is replay for the pipeline with that id, if it is active. During a pause it makes the end
// of the pause do that.
func (h *pipelineHandler) replaySince(ctx context.Context, id pipeline.ID, since, now time.Time) error {
	e, row, err := h.catalog.Active(ctx, id)
	switch {
	case err != nil || e == nil:
		return err
	case row.Paused():
		return h.holdBack(ctx, row, since, now)
	}
	return h.replay(ctx, e, since, now)
}

// replay handles everything that a pause held back since an instant. It is safe to handle it twice.
func (h *pipelineHandler) replay(ctx context.Context, e *catalog.Entry, since, now time.Time) error {
	changes, err := h.writtenSince(ctx, e, since)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := h.reading.readBy(ctx, e.ID, c, now); err != nil {
			return err
		}
	}
	if err := h.completedSince(ctx, e, since, now); err != nil {
		return err
	}
	return h.run.retryOrGiveUpAll(ctx, e.ID, now)
}

// writtenSince lists the last write for each period of all sensors that e reads, as changes, oldest
// first.
func (h *pipelineHandler) writtenSince(ctx context.Context, e *catalog.Entry, since time.Time) ([]store.Change, error) {
	var changes []store.Change
	for _, ref := range sensorsOf(e) {
		writes, err := h.historySince(ctx, ref, since)
		if err != nil {
			return nil, err
		}
		changes = append(changes, lastChanges(e, ref.Pipeline, writes, since)...)
	}
	slices.SortFunc(changes, func(a, b store.Change) int { return int(a.Version - b.Version) })
	return changes, nil
}

// sensorsOf lists the sensors that e reads, each once.
func sensorsOf(e *catalog.Entry) []store.ReadingQuery {
	var all []store.ReadingQuery
	for id, key := range e.Reads() {
		if at := (store.ReadingQuery{Pipeline: id, Key: key}); !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}

// completedSince checks runs that completed during a pause for inputs that changed while their jobs
// ran.
func (h *pipelineHandler) completedSince(ctx context.Context, e *catalog.Entry, since, now time.Time) error {
	page, err := h.store.Runs(ctx, store.RunQuery{Pipeline: e.ID, Status: run.Completed, Limit: store.MaxPage})
	if err != nil {
		return fmt.Errorf("list completed runs of %s: %w", e.ID, err)
	}
	var errs []error
	for _, one := range page.Items {
		if !one.EndedAt.Before(since) {
			errs = append(errs, h.run.completed(ctx, one, now))
		}
	}
	return errors.Join(errs...)
}

// wakeAll makes every waiting attempt evaluate its gate: while the pipeline was paused or its file
// was missing, writes woke none.
func (h *pipelineHandler) wakeAll(ctx context.Context, e *catalog.Entry, now time.Time) error {
	return h.eachOpen(ctx, e.ID, run.Pending, func(one run.Run) error { return h.resumePending(ctx, one.Key, now) })
}
