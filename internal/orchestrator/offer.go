package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// The steps of an attempt that a worker outside runs. What the worker asks for (to claim the attempt, to be heard, to report) is
// handled by package router.

// external says that a worker outside runs the job.
func (w *work) external() bool {
	if w.def == nil {
		return false
	}
	_, is := job.Offers(w.def.Job)
	return is
}

// stillOffered records an evaluation that found the gate of an offer open.
func (w *work) stillOffered(ctx context.Context) (lifecycle.Step, error) {
	next, err := w.run.StillOffered(w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	return w.commit(ctx, w.batch("offered"), next)
}

// expire ends a run whose offer no worker claimed. During a pause none could.
func (w *work) expire(ctx context.Context, b store.Batch, reason string) (lifecycle.Step, error) {
	row, err := w.row(ctx)
	if err != nil {
		return lifecycle.Step{}, err
	}
	if row.Paused() {
		reason += "; the pipeline is " + row.PauseText()
	}
	giveBack(&b, row, w.run.ID())
	return w.exhaustIn(ctx, b, reason)
}

// awayAfter is how late a missed heartbeat may be noticed. Later means that the controller was away, and nobody could have
// heard of the worker.
const awayAfter = 10 * time.Second

// checkWorker fails an attempt whose worker stopped reporting. A worker that could not have been heard of gets as long again.
func (w *work) checkWorker(ctx context.Context) (lifecycle.Step, error) {
	p := w.run.Progress
	switch {
	case !p.Lost(w.now):
		return w.wait(ctx, lifecycle.Next(w.run, w.now))
	case w.now.Sub(p.HeartbeatEnd()) > awayAfter && w.now.Before(p.PollEnd):
		next, err := w.run.Excuse(w.now)
		if err != nil {
			return lifecycle.Step{}, err
		}
		return w.commit(ctx, w.batch("excused"), next)
	}
	output, err := w.output(ctx)
	if err != nil {
		return lifecycle.Step{}, err
	}
	return w.ended(ctx, p.Handle, job.Status{
		Done: true, Result: run.ResultFail, Category: run.Timeout, Message: fmt.Sprintf("worker %s stopped reporting", p.Offer.Worker), Output: output,
	})
}

// leaveWorker says what is left of a job that a worker runs. The answer to its next heartbeat tells the worker to stop; until
// it has reported, or has been silent for as long as a worker may be, the job counts as stopping.
func (w *work) leaveWorker() (run.Leftover, error) {
	p := w.run.Progress
	switch {
	case p.Offer.Worker == "":
		return run.NothingLeft, nil
	case p.HeartbeatEnd().IsZero():
		return run.JobMayRun, fmt.Errorf("worker %s sends no heartbeats, so it cannot be told to stop", p.Offer.Worker)
	case p.Lost(w.now):
		return run.JobStopped, nil
	default:
		return run.JobStopping, nil
	}
}

// workerRuns says whether the worker that an ended attempt left behind may still run its job.
func (w *work) workerRuns() (bool, error) {
	left, err := w.leaveWorker()
	if left == run.JobMayRun {
		return false, errors.Join(errors.New("it is not known whether the job has ended; --force starts another nevertheless"), err)
	}
	return left == run.JobStopping, nil
}
