package router

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// jobHandler stops the jobs of cancelled runs, and receives results from clients.
type jobHandler struct {
	core
	jobs jobs
}

// Cancel ends an open run on an operator's request. It stops the job if possible; until the target
// reports the end of the job, the job keeps its slot and reruns are rejected. Otherwise the event
// says that the job may still run. The change that follows cancels the run's deadlines.
func (h *jobHandler) Cancel(ctx context.Context, key run.Key, by, why string, now time.Time) (run.Run, error) {
	if by == "" || why == "" {
		return run.Run{}, refuse(Invalid, "cancelling a run needs a requester and a reason")
	}
	var ended run.Run
	err := store.Again(func() error {
		old, err := h.found(ctx, key)
		if err != nil {
			return err
		}
		if !old.Status.Open() {
			return refuse(Conflict, "run %s has ended: %s", key, old.Status)
		}
		// If the job cannot be stopped, the event says so; the operator's cancel counts anyway.
		left, trouble := h.jobs.Stop(ctx, old, now)
		if ctx.Err() != nil {
			return fmt.Errorf("stop the job of %s: %w", old.ID(), ctx.Err())
		}
		ended, err = h.cancel(ctx, old, by, why, left, trouble, now)
		return err
	})
	return ended, err
}

func (h *jobHandler) cancel(ctx context.Context, old run.Run, by, why string, left run.Leftover, trouble error, now time.Time) (run.Run, error) {
	next, err := old.Cancel(by, why, left, now)
	if err != nil {
		return run.Run{}, err
	}
	b := store.Batch{ID: name("cancel", old) + "/" + by}
	b.Swap(old, next)
	b.Finish(lifecycle.TaskID(old.Key))
	log := store.JobEntry{Key: old.Key, Attempt: old.Attempt, At: period.Instant(now), Try: old.Progress.StartTries, Handle: old.Progress.Handle, Message: why, By: by}
	message := fmt.Sprintf("cancelled by %s: %s", by, why)
	switch left {
	case run.JobStopping:
		log.Event = store.JobStopping
		b.Append(log)
		b.Schedule(store.LeftTask(next, now))
		message += "; its job is being stopped"
	case run.JobStopped:
		log.Event = store.JobStopped
		b.Append(log)
	case run.JobMayRun:
		message += "; its job could not be stopped and may still be running"
	case run.NothingLeft:
	}
	if trouble != nil {
		message += " (" + trouble.Error() + ")"
	}
	if left != run.JobStopping {
		if err := h.freeSlot(ctx, &b, old); err != nil {
			return run.Run{}, err
		}
	}
	b.Emit(event.New(event.RunCancelled, event.Of(old, now), message, event.Left{JobMayRun: trouble != nil, By: by, Reason: why}))
	return next, h.commit(ctx, b, now)
}

// freeSlot frees the slot of an attempt's job, in the commit that ends it. If other attempts
// yielded to this one, the row changes too, so that they are woken.
func (h *jobHandler) freeSlot(ctx context.Context, b *store.Batch, old run.Run) error {
	row, err := h.pipelineRow(ctx, old.Pipeline)
	if err != nil || row.Version == 0 {
		return err
	}
	e := h.catalog.Current().Get(old.Pipeline)
	first := old.Progress.LastEvaluation.IsZero() && e != nil && e.MaxActive > 0
	queued := old.Status == run.Pending && (first || !old.Progress.WaitingSince.IsZero())
	if !queued && !slices.Contains(row.Slots, old.ID()) {
		return nil
	}
	next := row
	next.Slots = slices.DeleteFunc(slices.Clone(row.Slots), func(id run.AttemptID) bool { return id == old.ID() })
	b.SwapPipeline(row, next)
	return nil
}

// stopPatience is how long a job may take to stop before this is reported.
const stopPatience = 15 * time.Minute

// CheckLeft handles CheckLeft tasks: it asks the target to stop a job that an ended attempt left
// behind, and whether it has ended. Until then the job keeps its slot. The task repeats after as
// long as the job has been stopping, at least a second and at most a poll interval.
func (h *jobHandler) CheckLeft(ctx context.Context, claim store.Claim, now time.Time) error {
	return store.Again(func() error {
		key := claim.Task.Key
		old, err := store.IfFound(h.store.Run(ctx, key))
		if err != nil {
			return err
		}
		b := store.Batch{ID: fmt.Sprintf("%s/v%d/%d", claim.Task.ID, old.Version, claim.Lease.Token), Lease: &claim.Lease}
		if old.Progress.Left != run.JobStopping {
			b.Finish(claim.Task.ID)
			return h.commit(ctx, b, now)
		}
		left, trouble := run.JobMayRun, fmt.Errorf("controller %s, which it belongs to, is missing", old.Progress.Replica)
		if h.jobs.Sees(old) {
			left, trouble = h.jobs.Stop(ctx, old, now)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("stop the job of %s: %w", old.ID(), ctx.Err())
		}
		if left == run.JobStopping {
			stillStopping(&b, old, trouble, now)
			return h.commit(ctx, b, now)
		}
		if err := h.recordLeft(ctx, &b, old, left, trouble, now); err != nil {
			return err
		}
		b.Finish(claim.Task.ID)
		return h.commit(ctx, b, now)
	})
}

// stillStopping reschedules the task, and reports a job that takes long to stop, once.
func stillStopping(b *store.Batch, old run.Run, trouble error, now time.Time) {
	since := now.Sub(old.UpdatedAt)
	wait := min(max(since, time.Second), max(old.Progress.Opening.Limits.PollInterval, time.Second))
	b.Schedule(store.LeftTask(old, now.Add(wait)))
	if since < stopPatience {
		return
	}
	text := ""
	if trouble != nil {
		text = trouble.Error()
	}
	reportLeft(b, old, "stopping", fmt.Sprintf(
		"the job has not ended %s after the stop request; it keeps its slot until its target or `interlock job complete %s fail` reports its end",
		since.Round(time.Second), old.Key), text, now)
}

// recordLeft records that a left job has ended, or that its state cannot be read, and frees its
// slot.
func (h *jobHandler) recordLeft(ctx context.Context, b *store.Batch, old run.Run, left run.Leftover, trouble error, now time.Time) error {
	next, err := old.SettleLeft(left, now)
	if err != nil {
		return err
	}
	b.Swap(old, next)
	if left == run.JobMayRun {
		reportLeft(b, old, "left", fmt.Sprintf("the job may still be running: %v", trouble), trouble.Error(), now)
	} else {
		message := "its target reports that it has ended"
		if worker := old.Progress.Offer.Worker; worker != "" {
			message = fmt.Sprintf("worker %s has stopped reporting", worker)
		}
		b.Append(store.JobEntry{
			Key: old.Key, Attempt: old.Attempt, At: period.Instant(now), Event: store.JobStopped, Try: old.Progress.StartTries,
			Handle: old.Progress.Handle, Message: message,
		})
	}
	return h.freeSlot(ctx, b, old)
}

// reportLeft reports trouble with a left job, once per attempt and kind.
func reportLeft(b *store.Batch, old run.Run, which, message, trouble string, now time.Time) {
	about := event.Of(old, now)
	about.Which, about.CausedBy = which, "left/"+old.Key.String()
	b.Emit(event.New(event.InfraFailure, about, message, event.Infra{Error: trouble}))
}
