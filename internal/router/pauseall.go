package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// PauseAll pauses all pipelines, including those accepted later. It does not change the pipelines' own pauses. The
// pause is stored in the row of store.AllPipelines and copied to each pipeline's row; then PauseAll returns the
// pipelines in force. If it fails halfway, the handler of the stored row's change completes the copies.
func (h *pauseHandler) PauseAll(ctx context.Context, p store.Pause, now time.Time) ([]pipeline.ID, error) {
	if err := checkPause(p, now); err != nil {
		return nil, err
	}
	err := h.changeAll(ctx, now, func(all store.Pipeline) (store.Batch, error) {
		p.All = true
		return placePause(all, &p, now), nil
	})
	if err != nil {
		return nil, err
	}
	return h.spreadPause(ctx, now)
}

// ResumeAll ends the pause of all pipelines. It returns the pipelines that are no longer paused; a pipeline with its
// own pause stays paused. Like PauseAll, it is completed if it fails halfway.
func (h *pauseHandler) ResumeAll(ctx context.Context, by, why string, now time.Time) ([]pipeline.ID, error) {
	err := h.changeAll(ctx, now, func(all store.Pipeline) (store.Batch, error) {
		if !all.Paused() {
			return store.Batch{}, refuse(Conflict,
				"there is no pause of all pipelines; `interlock resume PIPELINE` ends the pause of one pipeline")
		}
		return resumeAll(all, by, why), nil
	})
	if err != nil {
		return nil, err
	}
	return h.spreadPause(ctx, now)
}

// changeAll commits a change to the row of store.AllPipelines.
func (h *pauseHandler) changeAll(ctx context.Context, now time.Time, change func(all store.Pipeline) (store.Batch, error)) error {
	return again(func() error {
		all, err := h.pipelineRow(ctx, store.AllPipelines)
		if err != nil {
			return err
		}
		all.ID = store.AllPipelines
		b, err := change(all)
		if err != nil {
			return err
		}
		return h.commit(ctx, b, now)
	})
}

// resumeAll returns the batch that ends the pause of all pipelines in its own row. The row then records who ended it.
func resumeAll(all store.Pipeline, by, why string) store.Batch {
	next := all
	next.Pause, next.PausedFrom = store.Pause{All: true, By: by, Why: why}, time.Time{}
	b := store.Batch{ID: fmt.Sprintf("resume/%s/v%d/%s", all.ID, all.Version, by)}
	b.SwapPipeline(all, next)
	b.Finish(resumePrefix + string(all.ID))
	return b
}

// spreadPause copies the pause of all pipelines, or its end, to every pipeline's row that differs. It returns the
// pipelines in force that are now paused or, at the end of the pause, no longer paused.
func (h *pauseHandler) spreadPause(ctx context.Context, now time.Time) ([]pipeline.ID, error) {
	rows, err := h.store.Pipelines(ctx)
	if err != nil {
		return nil, fmt.Errorf("list pipelines: %w", err)
	}
	all, err := h.pipelineRow(ctx, store.AllPipelines)
	if err != nil {
		return nil, err
	}
	var done []pipeline.ID
	var errs []error
	for _, row := range rows {
		if differs(row, all) {
			if row, err = h.copyPause(ctx, row.ID, now); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		if row.Config != "" && row.Paused() == all.Paused() {
			done = append(done, row.ID)
		}
	}
	return done, errors.Join(errs...)
}

// differs reports whether a row must change for the pause of all pipelines. A pipeline that is not in force is paused
// when it is accepted.
func differs(row, all store.Pipeline) bool {
	if all.Paused() {
		return row.Config != "" && row.PauseAll != all.Pause
	}
	return row.PauseAll.Active()
}

// copyPause copies the pause of all pipelines, or its end, to one pipeline's row, and returns the row. The commit
// expects the source row unchanged, so that the later of two operators' requests wins.
func (h *pauseHandler) copyPause(ctx context.Context, id pipeline.ID, now time.Time) (store.Pipeline, error) {
	var row store.Pipeline
	err := again(func() error {
		all, err := h.pipelineRow(ctx, store.AllPipelines)
		if err != nil {
			return err
		}
		if row, err = h.pipelineRow(ctx, id); err != nil || !differs(row, all) {
			return err
		}
		next := row
		next.PauseAll = all.Pause
		b := store.Batch{ID: fmt.Sprintf("pause-all/%s/v%d/v%d", id, row.Version, all.Version)}
		b.ExpectPipeline(store.AllPipelines, all)
		if all.Paused() {
			next.HoldBack(all.Pause.Since)
			b.SwapPipeline(row, next)
			b.Emit(all.Pause.Paused(id, row.Version, now))
		} else {
			lift(&b, row, next, row.PauseAll, all.Pause.By, all.Pause.Why, now)
		}
		if err := h.commit(ctx, b, now); err != nil {
			return err
		}
		row = next
		return nil
	})
	if err != nil {
		return row, fmt.Errorf("apply the pause of all pipelines to %s: %w", id, err)
	}
	return row, nil
}
