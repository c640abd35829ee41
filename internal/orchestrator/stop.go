package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Stop asks for the end of the job of an open attempt that is about to be left without its result, and says what is left of
// it. An error says why it may still run. Nothing stored changes.
func (o *Orchestrator) Stop(ctx context.Context, r run.Run) (run.Leftover, error) {
	w := &work{o: o, run: r}
	var err error
	if w.def, err = o.definition(ctx, r); err != nil {
		return run.JobMayRun, err
	}
	return w.leave(ctx)
}

// StopLeft stops the job that an ended attempt left behind because another controller ended it, where the job belongs to this one.
// One that cannot be stopped may still run, as was told.
func (o *Orchestrator) StopLeft(ctx context.Context, key run.Key, now time.Time) error {
	r, err := o.Store.Run(ctx, key)
	if err != nil {
		return fmt.Errorf("read run %s: %w", key, err)
	}
	w := &work{o: o, run: r, now: now}
	if !r.Status.Ended() || r.Progress.Left != run.JobMayRun || r.Progress.Replica == "" || w.elsewhere() {
		return nil
	}
	if w.def, err = o.definition(ctx, r); err != nil {
		return err
	}
	if left, err := w.stop(ctx, r.Progress.Handle); left != run.JobStopped {
		return err
	}
	next, err := r.StopLeft(now)
	if err != nil {
		return err
	}
	b := w.batch("stop left")
	b.Swap(r, next)
	b.Append(w.entry(store.JobStopped, r.Progress.Handle, "stopped by the controller that it belongs to: "+r.Reason))
	if err := w.send(ctx, b); !isConflict(err) {
		return err
	}
	return nil // another attempt has opened meanwhile
}

// StillRuns says whether the job that an ended attempt left behind (run.JobMayRun) runs. One whose end was reported before the
// attempt was ended does not, whatever its type can tell. An error says that nobody can tell.
func (o *Orchestrator) StillRuns(ctx context.Context, r run.Run) (bool, error) {
	if r.Progress.Left != run.JobMayRun || r.Progress.Report.Result != "" {
		return false, nil
	}
	w := &work{o: o, run: r}
	var err error
	if w.def, err = o.definition(ctx, r); err != nil {
		return false, err
	}
	switch {
	case w.def.Job == nil:
		return false, nil
	case w.elsewhere():
		return false, fmt.Errorf("look at the job of %s: it belongs to controller %s", r.ID(), r.Progress.Replica)
	case r.Progress.StartedAt.IsZero():
		return w.findLeft(ctx)
	}
	return w.runs(ctx)
}

// runs says whether the attempt's job has not ended.
func (w *work) runs(ctx context.Context) (bool, error) {
	status, trouble := w.status(ctx)
	if trouble != "" {
		return false, fmt.Errorf("look at the job of %s: %s", w.run.ID(), trouble)
	}
	return !status.Done, nil
}

// findLeft looks for a job of which only the start call is known.
func (w *work) findLeft(ctx context.Context) (bool, error) {
	kind, attempt, err := w.job()
	if err != nil {
		return false, err
	}
	h, saw, trouble := w.find(ctx, kind, attempt)
	switch saw {
	case notThere:
		return false, nil
	case there:
		w.run.Progress.Handle = h
		return w.runs(ctx)
	default:
		return false, fmt.Errorf("look for the job of %s: its target cannot be searched %s", w.run.ID(), trouble)
	}
}

// leave stops what the attempt may have started.
func (w *work) leave(ctx context.Context) (run.Leftover, error) {
	p := w.run.Progress
	switch {
	case w.run.Status != run.Running && (w.run.Status != run.Triggering || p.AskedAt.IsZero()) && !p.Unanswered:
		return run.NothingLeft, nil
	case w.def == nil:
		return run.JobMayRun, errors.New("its version of the file cannot be had")
	case w.def.Job == nil:
		return run.NothingLeft, nil
	case w.elsewhere():
		return run.JobMayRun, fmt.Errorf("its job belongs to controller %s", p.Replica)
	case w.run.Status == run.Running:
		return w.stop(ctx, p.Handle)
	}
	kind, attempt, err := w.job()
	if err != nil {
		return run.JobMayRun, err
	}
	if h, saw, _ := w.find(ctx, kind, attempt); saw == there {
		return w.stop(ctx, h)
	}
	return run.JobMayRun, errors.New("its start call has no known answer") // and may still be under way
}

// stop ends a job where its type can.
func (w *work) stop(ctx context.Context, h run.Handle) (run.Leftover, error) {
	kind, attempt, err := w.job()
	if err != nil {
		return run.JobMayRun, err
	}
	stopper, ok := kind.(job.Stopper)
	if !ok {
		return run.JobMayRun, fmt.Errorf("a job of type %q cannot be stopped", w.def.Job.Type)
	}
	call, cancel := w.o.ask(ctx)
	defer cancel()
	if err := stopper.Stop(call, attempt, h); err != nil {
		return run.JobMayRun, fmt.Errorf("stop the job of %s: %w", w.run.ID(), err)
	}
	return run.JobStopped, nil
}

// left is a batch that ends the attempt without its job's result.
func (w *work) left(ctx context.Context, what string, left run.Leftover) (store.Batch, error) {
	b := w.batch(what)
	if left == run.JobStopped {
		b.Append(w.entry(store.JobStopped, w.run.Progress.Handle, "stopped: nobody waits for its result any more"))
	}
	return b, w.vacate(ctx, &b)
}

// pollExhausted leaves a job that gave no result in time.
func (w *work) pollExhausted(ctx context.Context, step lifecycle.Step) (lifecycle.Step, error) {
	left, trouble := w.leave(ctx)
	w.now = w.clock()
	next, err := w.run.PollExhausted(left, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	b, err := w.left(ctx, "poll-exhausted", left)
	if err != nil {
		return lifecycle.Step{}, err
	}
	w.tellLeft(&b, event.JobPollExhausted, withUnread(step.Reason, w.run), left, trouble)
	return w.commit(ctx, b, next)
}

// withUnread adds to the reason of a job that gave no result that its status could not be read.
func withUnread(reason string, r run.Run) string {
	if unread := unreadText(r); unread != "" {
		return reason + "; " + unread
	}
	return reason
}

// timeOut ends an attempt that is past its overall time limit.
func (w *work) timeOut(ctx context.Context, step lifecycle.Step) (lifecycle.Step, error) {
	left, trouble := w.leave(ctx)
	w.now = w.clock()
	next, err := w.run.TimeOut(left, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	b, err := w.left(ctx, "time-limit", left)
	if err != nil {
		return lifecycle.Step{}, err
	}
	w.tellLeft(&b, event.SFNTimeout, fmt.Sprintf("%s while %s", step.Reason, w.run.Status), left, trouble)
	return w.commit(ctx, b, next)
}

// tellLeft announces the end of an attempt without its job's result, and what that leaves.
func (w *work) tellLeft(b *store.Batch, t event.Type, reason string, left run.Leftover, trouble error) {
	message := fmt.Sprintf("%s; %s", reason, leftText(left))
	if trouble != nil {
		message += " (" + brief(trouble.Error()) + ")"
	}
	b.Emit(event.New(t, w.about(), message, event.Left{JobMayRun: left == run.JobMayRun, Reason: reason}))
}
