package router

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// pauseHandler pauses and resumes one pipeline or all.
type pauseHandler struct{ core }

// Pause pauses a pipeline: readings are stored, nothing opens, no attempt starts, running jobs are
// polled. Pausing a paused pipeline replaces who, why, the end and whether deadlines are held, but
// not the start.
func (h *pauseHandler) Pause(ctx context.Context, id pipeline.ID, p store.Pause, now time.Time) (store.Pause, error) {
	if err := checkPause(p, now); err != nil {
		return store.Pause{}, err
	}
	err := store.Again(func() error {
		row, err := h.pipelineRow(ctx, id)
		if err != nil {
			return err
		}
		if row.Config == "" {
			return unknown(id)
		}
		b := placePause(row, &p, now)
		armAgain(&b, row, row.PauseAll.HoldSLA || p.HoldSLA, now)
		b.Emit(p.Paused(id, row.Version, now))
		return h.commit(ctx, b, now)
	})
	return p, err
}

func checkPause(p store.Pause, now time.Time) error {
	if p.By == "" || p.Why == "" {
		return refuse(Invalid, "a pause needs a requester and a reason")
	}
	if !p.Until.IsZero() && !p.Until.After(now) {
		return refuse(Invalid, "the pause would end at %s, which is in the past", period.Stamp(p.Until))
	}
	return nil
}

// placePause returns the batch that stores p in the row, and schedules its end. It sets p.Since.
func placePause(row store.Pipeline, p *store.Pause, now time.Time) store.Batch {
	p.Since, p.Until = period.Instant(now), period.Instant(p.Until)
	if row.Pause.Active() {
		p.Since = row.Pause.Since
	}
	next := row
	next.Pause = *p
	next.HoldBack(p.Since)
	b := store.Batch{ID: fmt.Sprintf("pause/%s/v%d/%q/%q/%s/%t", row.ID, row.Version, p.By, p.Why, p.Until.Format(time.RFC3339Nano), p.HoldSLA)}
	b.SwapPipeline(row, next)
	if p.Until.IsZero() {
		b.Finish(store.PipelineTaskID(store.ResumePaused, row.ID))
	} else {
		b.Schedule(store.PipelineTask(store.ResumePaused, row.ID, p.Until))
	}
	return b
}

// armAgain schedules the arming of deadlines that the pauses in row hold, unless they go on to hold
// them after a change.
func armAgain(b *store.Batch, row store.Pipeline, holds bool, now time.Time) {
	if row.HoldsSLA() && !holds {
		b.Schedule(store.PipelineTask(store.Arm, row.ID, now))
	}
}

// Resume ends a pipeline's own pause. Unless all pipelines are paused, it opens the fires whose
// window is open and the start conditions that are met, and reports the others as SCHEDULE_MISSED.
func (h *pauseHandler) Resume(ctx context.Context, id pipeline.ID, by, why string, now time.Time) error {
	return store.Again(func() error {
		row, err := h.pipelineRow(ctx, id)
		if err != nil {
			return err
		}
		switch {
		case row.Config == "":
			return unknown(id)
		case row.Paused() && !row.Pause.Active():
			return refuse(Conflict, "pipeline %s is not paused individually; %s", id, pauseRemedy(row))
		case !row.Paused():
			return refuse(Conflict, "pipeline %s is not paused", id)
		}
		return h.commit(ctx, resumeOwn(row, by, why, now), now)
	})
}

// resumeOwn returns the batch that ends a pipeline's own pause.
func resumeOwn(row store.Pipeline, by, why string, now time.Time) store.Batch {
	next := row
	next.Pause = store.Pause{}
	b := store.Batch{ID: fmt.Sprintf("resume/%s/v%d/%q/%q", row.ID, row.Version, by, why)}
	b.Finish(store.PipelineTaskID(store.ResumePaused, row.ID))
	lift(&b, row, next, row.Pause, by, why, now)
	return b
}

// lift replaces a row by next, which lacks one of its pauses, and schedules the handling of what
// the pause held back.
func lift(b *store.Batch, row, next store.Pipeline, lifted store.Pause, by, why string, now time.Time) {
	next.HoldBack(lifted.Since)
	b.SwapPipeline(row, next)
	b.Schedule(store.PipelineTask(store.ReopenPeriods, row.ID, now))
	b.Schedule(store.PipelineTask(store.Arm, row.ID, now))
	b.Emit(lifted.Resumed(next, row.Version, by, why, now))
}

// pauseRemedy returns the commands that resume a pipeline, and who paused it.
func pauseRemedy(row store.Pipeline) string {
	var texts []string
	for _, p := range row.Pauses() {
		what, name := "the pause", string(row.ID)
		if p.All {
			what, name = "the pause of all pipelines", "--all"
		}
		texts = append(texts, fmt.Sprintf("`interlock resume %s` ends %s by %s", name, what, p.By))
	}
	return strings.Join(texts, "; ")
}

// ResumeDue handles ResumePaused tasks: it ends a pause at its set end. It does so even if the file
// was removed, because the file may return later.
func (h *pauseHandler) ResumeDue(ctx context.Context, claim store.Claim, now time.Time) error {
	return store.Again(func() error {
		row, err := h.pipelineRow(ctx, claim.Task.Pipeline)
		if err != nil {
			return err
		}
		until := row.Pause.Until
		why := "the pause ended as planned at " + period.Stamp(until)
		b := store.Batch{ID: fmt.Sprintf("resume/%s/%d", claim.Task.Pipeline, claim.Lease.Token)}
		switch {
		case until.IsZero():
			b.Finish(claim.Task.ID)
		case until.After(now):
			b.Schedule(store.PipelineTask(store.ResumePaused, row.ID, until))
		case row.ID == store.AllPipelines:
			b = resumeAll(row, "interlock", why)
		default:
			b = resumeOwn(row, "interlock", why, now)
		}
		b.Lease = &claim.Lease
		return h.commit(ctx, b, now)
	})
}

// PauseAll pauses all pipelines, including those accepted later. It does not change the pipelines'
// own pauses. The pause is stored in the row of store.AllPipelines and copied to each pipeline's
// row; then PauseAll returns the active pipelines. If it fails halfway, the handler of the stored
// row's change completes the copies.
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
	return h.SpreadPause(ctx, now)
}

// ResumeAll ends the pause of all pipelines. It returns the pipelines that are no longer paused; a
// pipeline with its own pause stays paused. Like PauseAll, it is completed if it fails halfway.
func (h *pauseHandler) ResumeAll(ctx context.Context, by, why string, now time.Time) ([]pipeline.ID, error) {
	err := h.changeAll(ctx, now, func(all store.Pipeline) (store.Batch, error) {
		if !all.Paused() {
			return store.Batch{}, refuse(Conflict,
				"no pause of all pipelines is active; `interlock resume PIPELINE` ends the pause of one pipeline")
		}
		return resumeAll(all, by, why), nil
	})
	if err != nil {
		return nil, err
	}
	return h.SpreadPause(ctx, now)
}

// changeAll commits a change to the row of store.AllPipelines.
func (h *pauseHandler) changeAll(ctx context.Context, now time.Time, change func(all store.Pipeline) (store.Batch, error)) error {
	return store.Again(func() error {
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

// resumeAll returns the batch that ends the pause of all pipelines in its own row. The row then
// records who ended it.
func resumeAll(all store.Pipeline, by, why string) store.Batch {
	next := all
	next.Pause, next.PausedFrom = store.Pause{All: true, By: by, Why: why}, time.Time{}
	b := store.Batch{ID: fmt.Sprintf("resume/%s/v%d/%q/%q", all.ID, all.Version, by, why)}
	b.SwapPipeline(all, next)
	b.Finish(store.PipelineTaskID(store.ResumePaused, all.ID))
	return b
}

// SpreadPause copies the pause of all pipelines, or its end, to every pipeline's row that differs.
// It returns the active pipelines that are now paused or, at the end of the pause, no longer
// paused. It is safe to repeat. A server calls it before it starts any work, because the process
// before may have died between the pause and its copies.
func (h *pauseHandler) SpreadPause(ctx context.Context, now time.Time) ([]pipeline.ID, error) {
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

// differs reports whether a row must change for the pause of all pipelines. A pipeline that is not
// active is paused when it is accepted.
func differs(row, all store.Pipeline) bool {
	if all.Paused() {
		return row.Config != "" && row.PauseAll != all.Pause
	}
	return row.PauseAll.Active()
}

// copyPause copies the pause of all pipelines, or its end, to one pipeline's row, and returns the
// row. The commit expects the source row unchanged, so that the later of two operators' requests
// wins.
func (h *pauseHandler) copyPause(ctx context.Context, id pipeline.ID, now time.Time) (store.Pipeline, error) {
	var row store.Pipeline
	err := store.Again(func() error {
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
			armAgain(&b, row, next.HoldsSLA(), now)
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
