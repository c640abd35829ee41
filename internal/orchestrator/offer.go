package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
)

// The steps of an attempt that an external worker runs. The worker's requests (claim, heartbeat,
// report) are handled by package router.

// external reports whether an external worker runs the job.
func (w *work) external() bool {
	if w.def == nil {
		return false
	}
	_, is := job.Offers(w.def.Job)
	return is
}

// awayAfter is how late a missed heartbeat may be noticed. If it is later, the controller itself
// was down, and could not have received heartbeats.
const awayAfter = 10 * time.Second

// checkWorker fails an attempt whose worker stopped sending heartbeats. If the controller was down,
// the worker gets another heartbeat interval.
func (w *work) checkWorker(ctx context.Context) (lifecycle.Step, error) {
	p := w.run.Progress
	switch {
	case !p.Lost(w.now):
		return w.wait(ctx, lifecycle.Next(w.run, w.now))
	case w.now.Sub(p.HeartbeatEnd()) > awayAfter && w.now.Before(p.PollEnd):
		return w.record(ctx, "excused", w.run.Excuse)
	}
	output, err := w.output(ctx)
	if err != nil {
		return lifecycle.Step{}, err
	}
	return w.ended(ctx, p.Handle, job.Status{
		Done: true, Result: run.ResultFail, Category: run.Timeout, Message: fmt.Sprintf("worker %s stopped reporting", p.Offer.Worker), Output: output,
	})
}

// leaveWorker returns the state of a job that a worker runs. The reply to the worker's next
// heartbeat tells it to stop; until it reports, or its heartbeat times out, the job counts as
// stopping.
func (w *work) leaveWorker() (run.Leftover, error) {
	p := w.run.Progress
	switch {
	case p.Offer.Worker == "":
		return run.NothingLeft, nil
	case p.HeartbeatEnd().IsZero():
		return run.JobMayRun, fmt.Errorf("worker %s sends no heartbeats, so it cannot be asked to stop", p.Offer.Worker)
	case p.Lost(w.now):
		return run.JobStopped, nil
	default:
		return run.JobStopping, nil
	}
}

// workerRuns reports whether the worker of an ended attempt may still be running its job.
func (w *work) workerRuns() (bool, error) {
	left, err := w.leaveWorker()
	if left == run.JobMayRun {
		return false, errors.Join(errors.New("it is unknown whether the job has ended; use --force to start another one anyway"), err)
	}
	return left == run.JobStopping, nil
}
