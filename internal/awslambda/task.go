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

// perform carries out a task that is due. It returns nil if the task is already done. A task that
// fails is stored to be retried later, which the stream relays to Scheduler; the error is for the
// caller's log and alarm.
func (h *Host) perform(ctx context.Context, t store.Task) error {
	if err := h.know(ctx, t.Pipeline); err != nil {
		return err
	}
	return h.claimed(ctx, t.ID, h.try)
}

// try carries out a task; one that fails is stored to be retried later.
func (h *Host) try(ctx context.Context, c store.Claim) error {
	err := h.controller.Perform(ctx, c)
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
