package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// check searches for a job whose start call had no answer, or polls a running one.
func (w *work) check(ctx context.Context) (lifecycle.Step, error) {
	if w.run.Claimed() {
		return w.checkWorker(ctx)
	}
	if w.elsewhere() {
		return w.checkElsewhere(ctx)
	}
	if w.run.Status == run.Triggering {
		if w.run.AskedInFuture(w.now) {
			return w.record(ctx, "asked", w.run.AskedNow)
		}
		if until := w.callEnds(); w.now.Before(until) {
			return w.wait(ctx, lifecycle.Step{Kind: lifecycle.Wait, Due: until, Reason: "the start call may still be in progress"})
		}
		return w.unanswered(ctx, "the start call was not answered")
	}
	status, trouble := w.status(ctx)
	w.now = w.clock()
	switch {
	case trouble != "":
		return w.pollFailed(ctx, trouble)
	case !status.Done:
		return w.polled(ctx)
	default:
		return w.ended(ctx, w.run.Progress.Handle, status)
	}
}

// Poll polls the job of a running attempt without the lease of its task. The caller has just read the
// attempt, and its poll is due. The store accepts one of several concurrent polls, and a poll starts
// and stops nothing. awaited has the same meaning as in store.Batch. Poll returns the next step and
// the run as stored, or store.ErrConflict if the run has changed since it was read.
func (o *Orchestrator) Poll(ctx context.Context, read run.Run, awaited bool, clock func() time.Time) (lifecycle.Step, run.Run, error) {
	unheld := store.Claim{Task: task(read, clock()), Awaited: awaited}
	w := &work{o: o, claim: &unheld, clock: clock, now: clock(), run: read}
	var err error
	if w.def, err = o.Catalog.Of(ctx, read); err != nil {
		return lifecycle.Step{}, run.Run{}, err
	}
	ctx, end := o.Span(ctx, "step "+string(lifecycle.CheckJob), read)
	next, err := w.perform(ctx, lifecycle.Step{Kind: lifecycle.CheckJob})
	end(err)
	if err != nil {
		return lifecycle.Step{}, run.Run{}, fmt.Errorf("poll the job of %s: %w", read.ID(), err)
	}
	return next, w.stored, nil
}

// callEnds returns when another controller's start call, whose lease was taken over too early, has
// ended at the latest: it starts within half a lease, and has a timeout. Zero if there is no need
// to wait.
func (w *work) callEnds() time.Time {
	kind, attempt, err := w.job()
	if err != nil || !w.o.Early || refusesRepeats(kind) {
		return time.Time{}
	}
	return w.callOver(kind, attempt)
}

// status returns the job's status, or why it could not be read. A job that its target does not (or
// no longer) know has failed: silence is never success.
func (w *work) status(ctx context.Context) (job.Status, string) {
	kind, attempt, err := w.job()
	if err != nil {
		return job.Status{}, brief(err.Error())
	}
	call, cancel := w.o.ask(ctx)
	defer cancel()
	s, err := kind.Status(call, attempt, w.run.Progress.Handle)
	if errors.Is(err, job.ErrUnknownHandle) {
		return job.Status{Done: true, Result: run.ResultFail, Message: "lost: " + err.Error()}, ""
	}
	if err != nil {
		return job.Status{}, brief(err.Error())
	}
	return s, ""
}

// polled records a poll that found the job running. The deadlines decide how many polls may be left
// out; they are read only if any may be.
func (w *work) polled(ctx context.Context) (lifecycle.Step, error) {
	next, err := w.run.Polled(w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	if lifecycle.PollsFrom(next.Progress).After(next.Progress.NextPoll) {
		ledger, err := w.o.Store.Deadlines(ctx, store.DeadlineQuery{Key: w.run.Key, Limit: store.MaxPage})
		if err != nil {
			return lifecycle.Step{}, fmt.Errorf("read its deadlines: %w", err)
		}
		var deadlines []sla.Deadline
		for _, d := range ledger.Items {
			deadlines = append(deadlines, d.Deadline)
		}
		next = lifecycle.AfterPoll(next, deadlines)
	}
	return w.commit(ctx, w.batch("polled"), next)
}

// pollFailed records a poll that could not read the job's status. Such a job looks healthy until
// its poll window ends, so it is reported long before that, once per attempt.
func (w *work) pollFailed(ctx context.Context, trouble string) (lifecycle.Step, error) {
	next, err := w.run.PollFailed(trouble, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	b := w.batch("polled")
	if next.Progress.Unread.Polls == run.UnreadPolls {
		b.Emit(w.infraFailure("status unread", unreadText(next), event.Infra{Error: trouble}).As(event.Warning))
	}
	return w.commit(ctx, b, next)
}

// unreadText says since when the job's status could not be read; "" if the last poll succeeded.
func unreadText(r run.Run) string {
	u := r.Progress.Unread
	if u.Polls == 0 {
		return ""
	}
	return fmt.Sprintf("the job's status has been unreadable since %s (%d polls failed): %s", period.Stamp(u.Since), u.Polls, u.Reason)
}

// elsewhere reports whether only another controller can see the job.
func (w *work) elsewhere() bool {
	owner := w.run.Progress.Replica
	return owner != "" && owner != w.o.Replica
}

// checkElsewhere passes the task to the controller that owns the job. If that controller has not
// claimed it in time, the attempt is held, or waits until its poll window ends, and this is
// reported.
func (w *work) checkElsewhere(ctx context.Context) (lifecycle.Step, error) {
	owner := w.run.Progress.Replica
	if w.claim.Task.Replica != owner {
		return w.wait(ctx, lifecycle.Step{Kind: lifecycle.Wait, Due: w.now, Reason: "its job belongs to controller " + owner})
	}
	reason := fmt.Sprintf("its job belongs to controller %s, which was last seen at %s", owner, period.Stamp(w.claim.Task.Due))
	if w.run.Status == run.Triggering && !w.run.Progress.AskedAt.IsZero() {
		return w.hold(ctx, reason)
	}
	if w.run.Status != run.Running { // only that controller may repeat the start
		b := w.batch("lost controller")
		b.Emit(w.infraFailure("lost controller", reason, event.Infra{Error: reason}))
		next := lifecycle.Step{Kind: lifecycle.Wait, Due: w.now.Add(w.interval()), Reason: reason}
		w.schedule(&b, w.run, next)
		return next, w.send(ctx, b)
	}
	next, err := w.run.PollFailed(reason, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	b := w.batch("polled")
	b.Emit(w.infraFailure("lost controller", reason, event.Infra{Error: reason}))
	return w.commit(ctx, b, next)
}

// Await waits for the job of a running attempt if its job type can observe the end of jobs, and
// completes the attempt as soon as it ends. For any other job it returns at once. Polling continues
// meanwhile: whichever sees the result first stores it.
func (o *Orchestrator) Await(ctx context.Context, key run.Key, attempt int, clock func() time.Time) error {
	w := &work{o: o, clock: clock, now: clock()}
	if running, err := w.read(ctx, key, attempt); err != nil || !running {
		return err
	}
	kind, a, err := w.job()
	if err != nil {
		return nil // the next poll fails in the same way, and records it
	}
	waiter, ok := kind.(job.Waiter)
	if !ok || w.elsewhere() {
		return nil
	}
	if err := waiter.Wait(ctx, a, w.run.Progress.Handle); err != nil {
		return fmt.Errorf("wait for the job of %s: %w", w.run.ID(), err)
	}
	for range maxTries {
		running, err := w.read(ctx, key, attempt)
		if err != nil || !running {
			return err
		}
		if _, err = w.checkEnded(ctx); !isConflict(err) {
			return err
		}
	}
	return nil // the run keeps changing: the next poll sees the result
}

// read rereads the run, and reports whether that attempt's job is still running.
func (w *work) read(ctx context.Context, key run.Key, attempt int) (bool, error) {
	var err error
	if w.run, err = w.o.Store.Run(ctx, key); err != nil {
		return false, fmt.Errorf("read run %s: %w", key, err)
	}
	if w.run.Status != run.Running || w.run.Attempt != attempt {
		return false, nil
	}
	w.def, err = w.o.Catalog.Of(ctx, w.run)
	return err == nil && w.def.Job != nil, err
}

// checkEnded reads and stores the result of a job that has apparently ended.
func (w *work) checkEnded(ctx context.Context) (lifecycle.Step, error) {
	status, trouble := w.status(ctx)
	w.now = w.clock()
	if trouble != "" || !status.Done {
		return lifecycle.Step{}, nil // the next poll checks again
	}
	return w.ended(ctx, w.run.Progress.Handle, status)
}
