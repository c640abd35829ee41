package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Stop asks the target to stop the job that an ended attempt left behind, and returns what is left of
// the job. While the job is run.JobStopping it is called again, until the target says that the job
// has ended. The error says why the job may still be running. Stop stores nothing.
func (o *Orchestrator) Stop(ctx context.Context, r run.Run, now time.Time) (run.Leftover, error) {
	w, err := o.workOn(ctx, r, now)
	if err != nil {
		return run.JobStopping, err
	}
	if err := w.enter(ctx, false); err != nil && !errors.Is(err, errWaited) {
		return run.JobStopping, err
	}
	return w.stopLeft(ctx)
}

// workOn returns the work on a run without its task. It has no definition if that is not available any
// more.
func (o *Orchestrator) workOn(ctx context.Context, r run.Run, now time.Time) (*work, error) {
	def, err := catalog.IfKnown(o.Catalog.Of(ctx, r))
	return &work{o: o, run: r, def: def, now: now}, err
}

// Sees reports whether this controller can query the job of the run's latest attempt.
func (o *Orchestrator) Sees(r run.Run) bool { return !(&work{o: o, run: r}).elsewhere() }

// StillRuns reports whether the job that an ended attempt left behind is running. If its end was
// reported before the attempt ended, it is not, whatever its type says. An error means that it is
// unknown.
func (o *Orchestrator) StillRuns(ctx context.Context, r run.Run, now time.Time) (bool, error) {
	if !r.Progress.Left.MayRun() || resultKnown(r) {
		return false, nil
	}
	w, err := o.workOn(ctx, r, now)
	if err != nil {
		return false, err
	}
	switch {
	case w.def == nil:
		return false, fmt.Errorf("get the status of the job of %s: its version of the file is not available", r.ID())
	case w.def.Job == nil:
		return false, nil
	case w.external():
		return w.workerRuns(ctx)
	case w.elsewhere():
		return false, fmt.Errorf("get the status of the job of %s: it belongs to controller %s", r.ID(), r.Progress.Replica)
	case r.Progress.StartedAt.IsZero():
		return w.findLeft(ctx)
	}
	return w.runs(ctx)
}

// runs reports whether the attempt's job has not ended.
func (w *work) runs(ctx context.Context) (bool, error) {
	status, trouble := w.status(ctx)
	if trouble != "" {
		return false, fmt.Errorf("get the status of the job of %s: %s", w.run.ID(), trouble)
	}
	return !status.Done, nil
}

// findLeft searches for a job of which only the start call is known.
func (w *work) findLeft(ctx context.Context) (bool, error) {
	kind, attempt, err := w.job()
	if err != nil {
		return false, err
	}
	h, saw, trouble := w.find(ctx, kind, attempt)
	switch {
	case saw == jobFound:
		w.run.Progress.Handle = h
		return w.runs(ctx)
	case w.now.Before(w.callOver(kind, attempt)):
		return true, nil
	case saw == notFound:
		return false, nil
	default:
		return false, fmt.Errorf("search for the job of %s: its target cannot be searched %s", w.run.ID(), trouble)
	}
}

// callOver returns when the last start call has ended at the latest: it is made within half a lease
// after it was stored, and has a timeout.
func (w *work) callOver(kind job.Type, a job.Attempt) time.Time {
	asked := cmp.Or(w.run.Progress.AskedAt, w.run.Progress.CalledAt)
	if asked.IsZero() {
		return asked
	}
	return asked.Add(w.o.Lease/2 + w.o.startLimit(kind, a))
}

// stopLeft asks the target to stop the job that an ended attempt left behind, and returns what is
// left of it.
func (w *work) stopLeft(ctx context.Context) (run.Leftover, error) {
	p := w.run.Progress
	switch {
	case p.Left != run.JobStopping:
		return p.Left, nil
	case w.def == nil:
		return run.JobMayRun, errors.New("its version of the file is not available")
	case w.def.Job == nil:
		return run.NothingLeft, nil
	case w.external():
		return w.leaveWorker(ctx)
	case w.elsewhere():
		return run.JobStopping, fmt.Errorf("it belongs to controller %s", p.Replica)
	}
	kind, attempt, err := w.job()
	if refusal := refusalIn(err); err != nil && (refusal == nil || refusal.Category != run.Permanent) {
		return run.JobStopping, err
	}
	if err != nil {
		return run.JobMayRun, err
	}
	if !p.StartedAt.IsZero() {
		return w.stop(ctx, kind, attempt, p.Handle)
	}
	return w.leaveUnanswered(ctx, kind, attempt)
}

// leaveUnanswered is stopLeft for an attempt whose start call has no known answer. While the call may
// be in progress, its job may still appear.
func (w *work) leaveUnanswered(ctx context.Context, kind job.Type, a job.Attempt) (run.Leftover, error) {
	h, saw, trouble := w.find(ctx, kind, a)
	switch {
	case saw == jobFound:
		return w.stop(ctx, kind, a, h)
	case w.now.Before(w.callOver(kind, a)):
		return run.JobStopping, errors.New("its start call may still be in progress")
	case saw == notFound:
		return run.JobStopped, nil
	case saw == searchFailed:
		return run.JobStopping, errors.New(trouble)
	default:
		return run.JobMayRun, errors.New("its start call was not answered, and its target cannot be searched")
	}
}

// stop asks the target to stop a job, if its type can, and reads its status: only the target knows
// when it has ended.
func (w *work) stop(ctx context.Context, kind job.Type, a job.Attempt, h run.Handle) (run.Leftover, error) {
	stopper, ok := kind.(job.Stopper)
	if !ok {
		return run.JobMayRun, fmt.Errorf("a job of type %q cannot be stopped", w.def.Job.Type)
	}
	call, cancel := w.o.ask(ctx)
	defer cancel()
	refused := stopper.Stop(call, a, h)
	status, err := kind.Status(call, a, h)
	switch {
	case errors.Is(err, job.ErrUnknownHandle), err == nil && status.Done:
		return run.JobStopped, nil
	case refused != nil:
		return run.JobStopping, fmt.Errorf("stop the job of %s: %w", w.run.ID(), refused)
	default:
		return run.JobStopping, nil
	}
}

// leave makes b end the attempt without its job's result. A job that is to be stopped keeps its slot
// until it has ended; the task that stops it is due at once.
func (w *work) leave(b *store.Batch, row store.Pipeline, left run.Leftover) {
	gate.ReleaseSlot(b, row, w.run, w.def, left == run.JobStopping)
	if left == run.JobStopping {
		b.Append(w.entry(store.JobStopping, w.run.Progress.Handle, "its result is no longer needed"))
		b.Schedule(store.LeftTask(w.run, w.now))
	}
}

// pollExhausted ends an attempt whose job had no result in time.
func (w *work) pollExhausted(ctx context.Context, step lifecycle.Step) (lifecycle.Step, error) {
	return w.abort(ctx, "poll-exhausted", w.run.PollExhausted, event.JobPollExhausted, withUnread(step.Reason, w.run))
}

// withUnread adds to the reason that the job's status could not be read, if so.
func withUnread(reason string, r run.Run) string {
	if unread := unreadText(r); unread != "" {
		return reason + "; " + unread
	}
	return reason
}

// timeOut ends an attempt that is past its overall time limit.
func (w *work) timeOut(ctx context.Context, step lifecycle.Step) (lifecycle.Step, error) {
	return w.abort(ctx, "time-limit", w.run.TimeOut, event.SFNTimeout, fmt.Sprintf("%s while %s", step.Reason, w.run.Status))
}

// leftText says what becomes of the job when the attempt ends.
func (w *work) leftText(left run.Leftover) string {
	if left == run.JobStopping && w.run.MayHaveStarted() {
		return "its start call was not answered, so its job, if there is one, is being stopped"
	}
	return leftText(left)
}

// abort ends the attempt without its job's result, and reports what is left of the job. The job is
// stopped after that: if it were stopped before, its end could be taken for its result.
func (w *work) abort(
	ctx context.Context, what string, end func(run.Leftover, time.Time) (run.Run, error), t event.Type, reason string,
) (lifecycle.Step, error) {
	left, trouble := job.Left(w.def, w.run)
	next, err := end(left, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	row, err := w.row(ctx)
	if err != nil {
		return lifecycle.Step{}, err
	}
	b := w.batch(what)
	w.leave(&b, row, left)
	message := fmt.Sprintf("%s; %s", reason, w.leftText(left))
	if trouble != nil {
		message += " (" + brief(trouble.Error()) + ")"
	}
	b.Emit(event.New(t, w.about(), message, event.Left{JobMayRun: left == run.JobMayRun || w.run.Progress.Held.Reason != "", Reason: reason}))
	return w.commit(ctx, b, next)
}
