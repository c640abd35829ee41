package router

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// pauseHandler pauses and resumes one pipeline or all.
type pauseHandler struct{ core }

// Pause pauses a pipeline: readings are stored, nothing opens, no attempt starts, running jobs are polled. Pausing a
// paused pipeline replaces who, why and the end, but not the start.
func (h *pauseHandler) Pause(ctx context.Context, id pipeline.ID, p store.Pause, now time.Time) (store.Pause, error) {
	if err := checkPause(p, now); err != nil {
		return store.Pause{}, err
	}
	err := again(func() error {
		row, err := h.pipelineRow(ctx, id)
		if err != nil {
			return err
		}
		if row.Config == "" {
			return unknown(id)
		}
		b := placePause(row, &p, now)
		b.Emit(p.Paused(id, row.Version, now))
		return h.commit(ctx, b, now)
	})
	return p, err
}

func checkPause(p store.Pause, now time.Time) error {
	if p.By == "" || p.Why == "" {
		return refuse(Invalid, "a pause needs who and why")
	}
	if !p.Until.IsZero() && !p.Until.After(now) {
		return refuse(Invalid, "the pause would end at %s, which is past", period.Stamp(p.Until))
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
	b := store.Batch{ID: fmt.Sprintf("pause/%s/v%d/%s/%s/%t", row.ID, row.Version, p.By, period.Stamp(p.Until), p.HoldSLA)}
	b.SwapPipeline(row, next)
	if p.Until.IsZero() {
		b.Finish(resumePrefix + string(row.ID))
	} else {
		b.Schedule(pipelineTask(store.ResumePaused, resumePrefix, row.ID, p.Until))
	}
	return b
}

// Resume ends a pipeline's own pause. Unless all pipelines are paused, it opens the fires whose window is open and the
// start conditions that are met, and reports the others as SCHEDULE_MISSED.
func (h *pauseHandler) Resume(ctx context.Context, id pipeline.ID, by, why string, now time.Time) error {
	return again(func() error {
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
	b := store.Batch{ID: fmt.Sprintf("resume/%s/v%d/%s", row.ID, row.Version, by)}
	b.Finish(resumePrefix + string(row.ID))
	lift(&b, row, next, row.Pause, by, why, now)
	return b
}

// lift replaces a row by next, which lacks one of its pauses, and schedules the handling of what the pause held back.
func lift(b *store.Batch, row, next store.Pipeline, lifted store.Pause, by, why string, now time.Time) {
	next.HoldBack(lifted.Since)
	b.SwapPipeline(row, next)
	b.Schedule(pipelineTask(store.ReopenPeriods, reopenPrefix, row.ID, now))
	b.Schedule(pipelineTask(store.Arm, armPrefix, row.ID, now))
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

// ResumeDue handles ResumePaused tasks: it ends a pause at its set end. It does so even if the file was removed,
// because the file may return later.
func (h *pauseHandler) ResumeDue(ctx context.Context, claim store.Claim, now time.Time) error {
	return again(func() error {
		row, err := h.pipelineRow(ctx, claim.Task.Pipeline)
		if err != nil {
			return err
		}
		until := row.Pause.Until
		why := "the pause was until " + period.Stamp(until)
		b := store.Batch{ID: fmt.Sprintf("resume/%s/%d", claim.Task.Pipeline, claim.Lease.Token)}
		switch {
		case until.IsZero():
			b.Finish(claim.Task.ID)
		case until.After(now):
			b.Schedule(pipelineTask(store.ResumePaused, resumePrefix, row.ID, until))
		case row.ID == store.AllPipelines:
			b = resumeAll(row, "interlock", why)
		default:
			b = resumeOwn(row, "interlock", why, now)
		}
		b.Lease = &claim.Lease
		return h.commit(ctx, b, now)
	})
}
