package awslambda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// Busy means that another function holds a task. The state machine retries on this error name; a
// Relay schedules another try.
type Busy struct{ Task string }

func (b *Busy) Error() string {
	return fmt.Sprintf("another function is carrying out task %s; call again in a moment", b.Task)
}

// handlers returns the handler of each task kind. The orchestrator takes the steps of attempts, so
// they are not included.
func (h *Host) handlers() map[store.TaskKind]func(context.Context, store.Claim, time.Time) error {
	return map[store.TaskKind]func(context.Context, store.Claim, time.Time) error{
		store.AdvanceDry:    h.router.AdvanceDry,
		store.Fire:          h.router.Fire,
		store.ReopenPeriods: h.router.Reopen,
		store.ResumePaused:  h.router.ResumeDue,
		store.CheckPostRun:  h.router.CheckPostRun,
		store.CheckLeft:     h.router.CheckLeft,
		store.Arm:           h.monitor.Arm,
		store.FireDeadline:  h.monitor.Fire,
		store.RunProbe: func(ctx context.Context, c store.Claim, _ time.Time) error {
			return h.probes.Run(ctx, c, h.Now)
		},
	}
}

// perform carries out a task that is due. It returns nil if the task is already done. A task that
// fails is stored to be retried later, which the stream relays to Scheduler; the error is for the
// caller's log and alarm.
func (h *Host) perform(ctx context.Context, t store.Task) error {
	handle, ok := h.handlers()[t.Kind]
	if !ok { // it fails like any other task
		handle = func(context.Context, store.Claim, time.Time) error {
			return fmt.Errorf("this version does not know tasks of kind %q; a newer one may have stored it", t.Kind)
		}
	}
	if err := h.know(ctx, t.Pipeline); err != nil {
		return err
	}
	return h.claimed(ctx, t.ID, func(ctx context.Context, c store.Claim) error { return h.try(ctx, c, handle) })
}

// try carries out a task; one that fails is stored to be retried later.
func (h *Host) try(ctx context.Context, c store.Claim, handle func(context.Context, store.Claim, time.Time) error) error {
	err := handle(ctx, c, h.Now())
	if err == nil || ctx.Err() != nil {
		return err
	}
	now := h.Now()
	return errors.Join(err, h.Store.Commit(context.WithoutCancel(ctx), store.Postpone(c, err, now), now))
}

// claimed calls do under the lease of a task, which it renews meanwhile. If the lease is lost, the
// context is cancelled. It returns nil if the task does not exist, and *Busy if another function
// holds it.
func (h *Host) claimed(ctx context.Context, id string, do func(context.Context, store.Claim) error) error {
	claims, err := h.Store.Claim(ctx, store.ClaimQuery{Replica: replica, Task: id, Limit: 1, Lease: lease}, h.Now())
	if err != nil {
		return fmt.Errorf("claim task %s: %w", id, err)
	}
	if len(claims) == 0 {
		switch _, err := h.Store.Task(ctx, id); {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("read task %s: %w", id, err)
		default:
			return &Busy{Task: id}
		}
	}
	return h.held(ctx, claims[0], do)
}

// held calls do under a lease, and measures it.
func (h *Host) held(ctx context.Context, c store.Claim, do func(context.Context, store.Claim) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := h.Now()
	h.Meter.Gauge(metricTaskLag, max(began.Sub(c.Task.Ready()), 0).Seconds(), seconds, "kind", string(c.Task.Kind))
	stop := h.renew(ctx, cancel, c.Lease)
	traced, end := h.Tracing.Task(ctx, c.Task)
	err := end(do(traced, c))
	stop()
	h.Meter.since(metricTask, began, err, "kind", string(c.Task.Kind))
	if err != nil {
		// Releasing early only saves time: the lease expires by itself.
		_ = h.Store.Release(context.WithoutCancel(ctx), []store.Lease{c.Lease}, h.Now())
	}
	return err
}

// renew renews a lease until stop is called, and cancels the work if the lease is lost.
func (h *Host) renew(ctx context.Context, lost context.CancelFunc, held store.Lease) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ticks := time.NewTicker(lease / 3); ; {
			select {
			case <-ctx.Done():
				ticks.Stop()
				return
			case <-ticks.C:
			}
			kept, err := h.Store.Renew(ctx, []store.Lease{held}, lease, h.Now())
			if err == nil && len(kept) == 0 {
				lost()
			}
		}
	}()
	return func() {
		end()
		<-done
	}
}
