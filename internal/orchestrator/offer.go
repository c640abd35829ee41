package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/presence"
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

// checkWorker fails an attempt whose worker stopped sending heartbeats. Silence while no replica could
// accept heartbeats does not count: after each such absence, the worker gets another heartbeat
// interval.
func (w *work) checkWorker(ctx context.Context) (lifecycle.Step, error) {
	p := w.run.Progress
	if !p.Lost(w.now) {
		return w.wait(ctx, lifecycle.Next(w.run, w.now))
	}
	lost, proven, err := w.lostAt(ctx)
	switch {
	case err != nil:
		return lifecycle.Step{}, err
	case lost.After(p.NextBy()):
		return w.record(ctx, "excused", func(now time.Time) (run.Run, error) { return w.run.Excuse(lost, now) })
	case !proven:
		return w.wait(ctx, lifecycle.Step{
			Kind: lifecycle.Wait, Due: w.now.Add(presence.Interval), Reason: "the record of the replicas' presence does not cover the worker's silence yet",
		})
	}
	output, err := w.output(ctx)
	if err != nil {
		return lifecycle.Step{}, err
	}
	return w.ended(ctx, p.Handle, job.Status{
		Done: true, Result: run.ResultFail, Category: run.Timeout, Message: fmt.Sprintf("worker %s stopped reporting", p.Offer.Worker), Output: output,
	})
}

// lostAt returns when the worker of the attempt counts as lost, and whether replicas were there to
// hear it until then.
func (w *work) lostAt(ctx context.Context) (lost time.Time, proven bool, err error) {
	p := w.run.Progress
	if w.o.AlwaysPresent {
		return p.NextBy(), true, nil
	}
	record, err := presence.Read(ctx, w.o.Store)
	if err != nil {
		return time.Time{}, false, err
	}
	lost, proven = record.SilentUntil(p.Offer.Heartbeat, p.NextBy(), p.Opening.Limits.Heartbeat, w.now)
	return lost, proven, nil
}

// leaveWorker returns the state of a job that a worker runs. The reply to the worker's next
// heartbeat tells it to stop; until it reports, or its heartbeat times out, the job counts as
// stopping.
func (w *work) leaveWorker(ctx context.Context) (run.Leftover, error) {
	p := w.run.Progress
	switch {
	case p.Offer.Worker == "":
		return run.NothingLeft, nil
	case p.NextBy().IsZero():
		return run.JobMayRun, fmt.Errorf("worker %s sends no heartbeats, so it cannot be asked to stop", p.Offer.Worker)
	}
	lost, proven, err := w.lostAt(ctx)
	if err != nil || !proven || w.now.Before(lost) {
		return run.JobStopping, err
	}
	return run.JobStopped, nil
}

// workerRuns reports whether the worker of an ended attempt may still be running its job.
func (w *work) workerRuns(ctx context.Context) (bool, error) {
	left, err := w.leaveWorker(ctx)
	if left == run.JobMayRun {
		return false, errors.Join(errors.New("it is unknown whether the job has ended; use --force to start another one anyway"), err)
	}
	return left == run.JobStopping, nil
}
