package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Pause stops a pipeline: readings are kept, nothing opens, no attempt starts, running jobs are watched. Pausing one that
// is paused replaces who, why and until when, not since when.
func (r *Router) Pause(ctx context.Context, id pipeline.ID, p store.Pause, now time.Time) (store.Pause, error) {
	if p.By == "" || p.Why == "" {
		return store.Pause{}, refuse(Invalid, "a pause needs who and why")
	}
	if !p.Until.IsZero() && !p.Until.After(now) {
		return store.Pause{}, refuse(Invalid, "the pause would end at %s, which is past", clock(p.Until))
	}
	err := again(func() error {
		row, err := r.pipelineRow(ctx, id)
		if err != nil {
			return err
		}
		if row.Config == "" {
			return unknown(id)
		}
		p.Since, p.Until = instant(now), instant(p.Until)
		if row.Paused() {
			p.Since, p.From = row.Pause.Since, row.Pause.From
		}
		return r.pause(ctx, row, p, now)
	})
	return p, err
}

func (r *Router) pause(ctx context.Context, row store.Pipeline, p store.Pause, now time.Time) error {
	next := row
	next.Pause = p
	b := store.Batch{ID: fmt.Sprintf("pause/%s/v%d/%s/%s/%t", row.ID, row.Version, p.By, clock(p.Until), p.HoldSLA)}
	b.SwapPipeline(row, next)
	message := fmt.Sprintf("paused by %s: %s", p.By, p.Why)
	if p.Until.IsZero() {
		b.Finish(resumePrefix + string(row.ID))
	} else {
		b.Schedule(pipelineTask(store.ResumePaused, resumePrefix, row.ID, p.Until))
		message += "; until " + clock(p.Until)
	}
	b.Emit(event.New(event.PipelinePaused, aboutPause(row, now), message,
		event.Pause{By: p.By, Reason: p.Why, Until: p.Until, HoldSLA: p.HoldSLA}))
	return r.commit(ctx, b, now)
}

// aboutPause tells the pauses of a pipeline apart by the row that each changed.
func aboutPause(row store.Pipeline, now time.Time) event.About {
	return event.About{Pipeline: row.ID, Which: fmt.Sprintf("v%d", row.Version), At: now}
}

// Resume ends a pause. Fires whose window is open and start conditions that hold are opened, the rest is told as missed.
func (r *Router) Resume(ctx context.Context, id pipeline.ID, by, why string, now time.Time) error {
	return again(func() error {
		row, err := r.pipelineRow(ctx, id)
		if err != nil {
			return err
		}
		switch {
		case row.Config == "":
			return unknown(id)
		case !row.Paused():
			return refuse(Conflict, "pipeline %s is not paused", id)
		}
		b := r.resume(row, by, why, now)
		return r.commit(ctx, b, now)
	})
}

// resume lifts the pause and asks for all that it held back.
func (r *Router) resume(row store.Pipeline, by, why string, now time.Time) store.Batch {
	next := row
	next.Pause = store.Pause{}
	if row.PausedFrom.IsZero() { // else an earlier pause has not been looked at yet
		next.PausedFrom = row.Pause.HeldFrom()
	}
	b := store.Batch{ID: fmt.Sprintf("resume/%s/v%d/%s", row.ID, row.Version, by)}
	b.SwapPipeline(row, next)
	b.Finish(resumePrefix + string(row.ID))
	b.Schedule(pipelineTask(store.ReopenPeriods, reopenPrefix, row.ID, now))
	b.Schedule(pipelineTask(store.Arm, armPrefix, row.ID, now))
	message := "resumed by " + by
	if why != "" {
		message += ": " + why
	}
	b.Emit(event.New(event.PipelineResumed, aboutPause(row, now), message,
		event.Pause{By: by, Reason: why, HoldSLA: row.Pause.HoldSLA}))
	return b
}

// holdBack has the end of a pause react to what happened before it began, and is handled only during it.
func (r *Router) holdBack(ctx context.Context, row store.Pipeline, at, now time.Time) error {
	if !row.Paused() || !at.Before(row.Pause.HeldFrom()) {
		return nil
	}
	next := row
	next.Pause.From = instant(at)
	b := store.Batch{ID: fmt.Sprintf("hold-back/%s/v%d/%d", row.ID, row.Version, at.UnixNano())}
	b.SwapPipeline(row, next)
	return r.commit(ctx, b, now)
}

// PauseAll pauses every pipeline in force, and ResumeAll resumes those that are paused. Each is a Batch of its own; they
// give back the pipelines that they changed, also where they could not finish.
func (r *Router) PauseAll(ctx context.Context, p store.Pause, now time.Time) ([]pipeline.ID, error) {
	return r.forAll(func(id pipeline.ID) error {
		_, err := r.Pause(ctx, id, p, now)
		return err
	})
}

// ResumeAll ends every pause; see PauseAll.
func (r *Router) ResumeAll(ctx context.Context, by, why string, now time.Time) ([]pipeline.ID, error) {
	return r.forAll(func(id pipeline.ID) error { return r.Resume(ctx, id, by, why, now) })
}

func (r *Router) forAll(f func(pipeline.ID) error) ([]pipeline.ID, error) {
	var done []pipeline.ID
	for _, e := range r.catalog.Current().All() {
		err := f(e.ID)
		if refusal := (*Refusal)(nil); errors.As(err, &refusal) && refusal.Kind != Invalid {
			continue // gone, or not paused
		}
		if err != nil {
			return done, err
		}
		done = append(done, e.ID)
	}
	return done, nil
}

// ResumeDue ends a pause at the instant it was given: it is the handler of ResumePaused tasks. It does so also where the file
// is gone, for it may come back when nobody asks any more.
func (r *Router) ResumeDue(ctx context.Context, claim store.Claim, now time.Time) error {
	return again(func() error {
		row, err := r.pipelineRow(ctx, claim.Task.Pipeline)
		if err != nil {
			return err
		}
		until := row.Pause.Until
		b := store.Batch{ID: fmt.Sprintf("resume/%s/%d", claim.Task.Pipeline, claim.Lease.Token)}
		switch {
		case until.IsZero():
			b.Finish(claim.Task.ID)
		case until.After(now):
			b.Schedule(pipelineTask(store.ResumePaused, resumePrefix, row.ID, until))
		default:
			b = r.resume(row, "interlock", "the pause was until "+clock(until), now)
		}
		b.Lease = &claim.Lease
		return r.commit(ctx, b, now)
	})
}
