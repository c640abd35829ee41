package router

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// wake raises the version of an open attempt, and makes a waiting or offered one evaluate its gate
// at once. It raises the version even if an evaluation is due: one in progress may have read the
// sensors before this write. Its commit, or that of a completion, then conflicts, and is decided
// again on the new data. If the attempt has changed since old was read, wake returns
// store.ErrConflict: the attempt may have ended.
func (c *core) wake(ctx context.Context, old run.Run, now time.Time) error {
	next, err := old.Wake(now)
	if err != nil {
		return err
	}
	b := store.Batch{ID: name("wake", old)}
	b.Swap(old, next)
	if old.Status == run.Pending || old.Offered() {
		b.Schedule(store.AdvanceTask(next, next.Progress.NextEvaluation))
	}
	return c.commit(ctx, b, now)
}

// wakePending wakes the attempt of a run, not of a dry run, if it waits for its gate. Its pipeline
// need not be active.
func (c *core) wakePending(ctx context.Context, key run.Key, now time.Time) error {
	return store.Again(func() error {
		old, err := store.IfFound(c.store.Run(ctx, key))
		if err != nil || old.Status != run.Pending {
			return err
		}
		return c.wake(ctx, old, now)
	})
}

// resumePending wakes an attempt as wakePending does, after a pause, an edit or a wait for a slot.
// It stays in the trace of the write that opened or woke it: otherwise a file that is accepted
// while a write is handled would hide the write.
func (c *core) resumePending(ctx context.Context, key run.Key, now time.Time) error {
	ctx, err := c.inTraceOf(ctx, key)
	if err != nil {
		return err
	}
	return c.wakePending(ctx, key, now)
}

// inTraceOf makes everything stored with ctx part of the trace of a run's open attempt, if it has
// one.
func (c *core) inTraceOf(ctx context.Context, key run.Key) (context.Context, error) {
	trace, err := c.traceOf(ctx, key)
	if err != nil || trace == "" {
		return ctx, err
	}
	return store.WithTrace(ctx, trace), nil
}

// traceOf returns the trace of a run's open attempt, as a traceparent (W3C Trace Context); ""
// without tracing.
func (c *core) traceOf(ctx context.Context, key run.Key) (string, error) {
	task, err := store.IfFound(c.store.Task(ctx, lifecycle.TaskID(key)))
	return task.Trace, err
}

// name returns the batch id of a decision about a run; it includes the version that the decision is
// based on. A dry run may have the same key and version as a run.
func name(what string, r run.Run) string {
	if r.DryRun {
		what += "-dry"
	}
	return fmt.Sprintf("%s/%s/v%d", what, r.Key, r.Version)
}
