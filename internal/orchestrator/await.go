package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
)

// Await waits for the job of a running attempt if its job type can observe the end of jobs, and completes the attempt
// as soon as it ends. For any other job it returns at once. Polling continues meanwhile: whichever sees the result
// first stores it.
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
	w.def, err = w.o.definition(ctx, w.run)
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
