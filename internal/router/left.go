package router

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// stopPatience is how long a job may take to stop before that is reported.
const stopPatience = 15 * time.Minute

// CheckLeft asks the target of a job that an ended attempt left behind to stop it, and whether it has ended: it is the handler of
// CheckLeft tasks. Until the target says so the job keeps its slot. The task comes back after as long as the job has been
// stopping, at least a second and at most a poll interval.
func (r *Router) CheckLeft(ctx context.Context, claim store.Claim, now time.Time) error {
	return again(func() error {
		key := claim.Task.Key
		old, err := r.store.Run(ctx, key)
		if ignoreMissing(err) != nil {
			return fmt.Errorf("read run %s: %w", key, err)
		}
		b := store.Batch{ID: fmt.Sprintf("%s/v%d/%d", claim.Task.ID, old.Version, claim.Lease.Token), Lease: &claim.Lease}
		if old.Progress.Left != run.JobStopping {
			b.Finish(claim.Task.ID)
			return r.commit(ctx, b, now)
		}
		left, trouble := run.JobMayRun, fmt.Errorf("controller %s, which it belongs to, has not been heard of", old.Progress.Replica)
		if r.jobs.Sees(old) {
			left, trouble = r.jobs.Stop(ctx, old, now)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("stop the job of %s: %w", old.ID(), ctx.Err())
		}
		if left == run.JobStopping {
			stillStopping(&b, old, trouble, now)
			return r.commit(ctx, b, now)
		}
		if err := r.settleLeft(ctx, &b, old, left, trouble, now); err != nil {
			return err
		}
		b.Finish(claim.Task.ID)
		return r.commit(ctx, b, now)
	})
}

// stillStopping has the task come back, and reports a job that takes long to stop, once.
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
	tellLeft(b, old, "stopping", fmt.Sprintf(
		"the job has not ended %s after it was asked to stop; it keeps its slot until its target says that it has ended, or `interlock job complete %s fail` does",
		since.Round(time.Second), old.Key), text, now)
}

// settleLeft records that the job which an attempt left behind has ended, or that nobody can say when it will, and frees its slot.
func (r *Router) settleLeft(ctx context.Context, b *store.Batch, old run.Run, left run.Leftover, trouble error, now time.Time) error {
	next, err := old.SettleLeft(left, now)
	if err != nil {
		return err
	}
	b.Swap(old, next)
	if left == run.JobMayRun {
		tellLeft(b, old, "left", fmt.Sprintf("the job may still run: %v", trouble), trouble.Error(), now)
	} else {
		b.Append(store.JobEntry{
			Key: old.Key, Attempt: old.Attempt, At: instant(now), Event: store.JobStopped, Try: old.Progress.StartTries,
			Handle: old.Progress.Handle, Message: "its target says that it has ended",
		})
	}
	return r.freeSlot(ctx, b, old)
}

// tellLeft reports trouble with a job that an attempt left behind, once per attempt and kind.
func tellLeft(b *store.Batch, old run.Run, which, message, trouble string, now time.Time) {
	about := event.Of(old, now)
	about.Which, about.CausedBy = which, "left/"+old.Key.String()
	b.Emit(event.New(event.InfraFailure, about, message, event.Infra{Error: trouble}))
}
