package router

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// jobHandler stops the jobs of cancelled runs, and receives results from clients.
type jobHandler struct {
	core
	jobs   jobs
	replay func(ctx context.Context, id pipeline.ID, since, now time.Time) error // handles the writes since an instant again
}

// Cancel ends an open run on an operator's request, and then stops its job if that is possible. In
// this order a job that ends because it is stopped cannot be taken for the run's result. Until the
// target reports the end of the job, the job keeps its slot and reruns are rejected. If the job
// cannot be stopped, the event says so. The change that follows cancels the run's deadlines.
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
		ended, err = h.cancel(ctx, old, by, why, now)
		return err
	})
	if err != nil || ended.Progress.Left != run.JobStopping {
		return ended, err
	}
	return h.stopCancelled(ctx, ended, now), nil
}

func (h *jobHandler) cancel(ctx context.Context, old run.Run, by, why string, now time.Time) (run.Run, error) {
	def, err := catalog.IfKnown(h.catalog.Of(ctx, old))
	if err != nil {
		return run.Run{}, err
	}
	left, trouble := job.Left(def, old)
	next, err := old.Cancel(by, why, left, now)
	if err != nil {
		return run.Run{}, err
	}
	b := store.Batch{ID: fmt.Sprintf("%s/%s/%q", name("cancel", old), by, why)}
	b.Swap(old, next)
	b.Finish(lifecycle.TaskID(old.Key))
	message := fmt.Sprintf("cancelled by %s: %s", by, why)
	switch left {
	case run.JobStopping:
		b.Append(store.JobEntry{
			Key: old.Key, Attempt: old.Attempt, At: period.Instant(now), Event: store.JobStopping, Try: old.Progress.StartTries,
			Handle: old.Progress.Handle, Message: why, By: by,
		})
		b.Schedule(store.LeftTask(next, now))
		message += "; its job is being stopped"
	case run.JobMayRun:
		message += fmt.Sprintf("; its job may still be running (%v)", trouble)
	case run.NothingLeft, run.JobStopped:
	}
	if err := h.freeSlot(ctx, &b, old, def, left == run.JobStopping); err != nil {
		return run.Run{}, err
	}
	b.Emit(event.New(event.RunCancelled, event.Of(old, now), message, event.Left{JobMayRun: left == run.JobMayRun, By: by, Reason: why}))
	return next, h.commit(ctx, b, now)
}

// stopCancelled stops the job of a cancelled run at once, and returns the run as it is then. If that
// fails, the stored task stops the job.
func (h *jobHandler) stopCancelled(ctx context.Context, ended run.Run, now time.Time) run.Run {
	if !h.jobs.Sees(ended) {
		return ended
	}
	left, trouble := h.jobs.Stop(ctx, ended, now)
	if ctx.Err() != nil || left == run.JobStopping {
		return ended
	}
	b := store.Batch{ID: name("cancelled", ended)}
	next, err := h.recordLeft(ctx, &b, ended, left, trouble, now)
	b.Finish(store.LeftTask(ended, now).ID)
	if err != nil || h.commit(ctx, b, now) != nil {
		return ended
	}
	return next
}

// freeSlot frees the slot of an attempt in the commit that ends it, unless its job keeps it. If other
// attempts yielded to this one, the row changes too, so that they are woken.
func (h *jobHandler) freeSlot(ctx context.Context, b *store.Batch, old run.Run, def *pipeline.Definition, keeps bool) error {
	row, err := h.pipelineRow(ctx, old.Pipeline)
	if err == nil {
		gate.ReleaseSlot(b, row, old, def, keeps)
	}
	return err
}

// stopPatience is how long a job may take to stop before this is reported.
const stopPatience = 15 * time.Minute

// CheckLeft handles CheckLeft tasks: it asks the target to stop a job that an ended attempt left
// behind, and whether it has ended. Until then the job keeps its slot. The task repeats after as
// long as the job has been stopping, at least a second and at most a poll interval. Once the job of a
// run whose gate did not open in time has ended, it handles the writes since then again: while the
// job might run, they could not reopen the run.
func (h *jobHandler) CheckLeft(ctx context.Context, claim store.Claim, now time.Time) error {
	return store.Again(func() error {
		key := claim.Task.Key
		old, err := store.IfFound(h.store.Run(ctx, key))
		if err != nil {
			return err
		}
		b := store.Batch{ID: fmt.Sprintf("%s/v%d/%d", claim.Task.ID, old.Version, claim.Lease.Token), Lease: &claim.Lease}
		if old.Progress.Left != run.JobStopping {
			if waitsForItsJob(old) {
				if err := h.replay(ctx, key.Pipeline, endOf(old), now); err != nil {
					return err
				}
			}
			b.Finish(claim.Task.ID)
			return h.commit(ctx, b, now)
		}
		if old.AskedInFuture(now) { // how long the start call may take counts from now
			next, err := old.AskedNow(now)
			if err != nil {
				return err
			}
			b.Swap(old, next)
			b.Schedule(store.LeftTask(next, now.Add(time.Second)))
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
		if _, err := h.recordLeft(ctx, &b, old, left, trouble, now); err != nil {
			return err
		}
		if waitsForItsJob(old) {
			b.Schedule(store.LeftTask(old, now))
		} else {
			b.Finish(claim.Task.ID)
		}
		return h.commit(ctx, b, now)
	})
}

// waitsForItsJob reports whether the end of a left job lets the run continue: data that comes
// meanwhile does not reopen it, or its failure is not retried.
func waitsForItsJob(r run.Run) bool {
	return r.Status == run.ValidationExhausted || r.Status == run.Failed
}

// endOf returns when the latest attempt ended.
func endOf(r run.Run) time.Time {
	if r.EndedAt.IsZero() {
		return r.UpdatedAt
	}
	return r.EndedAt
}

// stillStopping reschedules the task, and reports a job that takes long to stop, once.
func stillStopping(b *store.Batch, old run.Run, trouble error, now time.Time) {
	since := now.Sub(old.UpdatedAt)
	b.Schedule(store.LeftTask(old, nextStopCheck(old, now)))
	if since < stopPatience {
		return
	}
	text := ""
	if trouble != nil {
		text = trouble.Error()
	}
	reports := "its target"
	if worker := old.Progress.Offer.Worker; worker != "" {
		reports = fmt.Sprintf("worker %s, which may be silent until %s,", worker, period.Stamp(old.Progress.NextBy()))
	}
	reportLeft(b, old, "stopping", fmt.Sprintf(
		"the job has not ended %s after the stop request; it keeps its slot until %s or `interlock job complete %s fail` reports its end",
		since.Round(time.Second), reports, old.Key), text, now)
}

// nextStopCheck returns when to check again whether a left job has ended. A worker cannot be asked: it
// reports, or is silent until its next heartbeat is overdue.
func nextStopCheck(old run.Run, now time.Time) time.Time {
	p := old.Progress
	since, limits := now.Sub(old.UpdatedAt), p.Opening.Limits
	next := now.Add(min(max(since, time.Second), max(limits.PollInterval, limits.Heartbeat/10, time.Second)))
	if p.Offer.Worker == "" {
		return next
	}
	next = period.Later(next, p.NextBy())
	if patience := old.UpdatedAt.Add(stopPatience); patience.After(now) {
		next = period.Earlier(next, patience)
	}
	return next
}

// recordLeft records that a left job has ended, or that its state cannot be read, and frees its
// slot.
func (h *jobHandler) recordLeft(ctx context.Context, b *store.Batch, old run.Run, left run.Leftover, trouble error, now time.Time) (run.Run, error) {
	next, err := old.SettleLeft(left, now)
	if err != nil {
		return old, err
	}
	def, err := catalog.IfKnown(h.catalog.Of(ctx, old))
	if err != nil {
		return old, err
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
	return next, h.freeSlot(ctx, b, old, def, false)
}

// reportLeft reports trouble with a left job, once per attempt and kind.
func reportLeft(b *store.Batch, old run.Run, which, message, trouble string, now time.Time) {
	about := event.Of(old, now)
	about.Which, about.CausedBy = which, "left/"+old.Key.String()
	b.Emit(event.New(event.InfraFailure, about, message, event.Infra{Error: trouble}))
}
