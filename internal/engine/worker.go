package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// longestNap bounds how long the workers rely on being woken: a clock that was set, or a task of another replica, is
// noticed after that at the latest.
const longestNap = time.Second

// workOff claims due tasks and has each carried out by its handler, as many at once as there are workers.
func (e *Engine) workOff(ctx, work context.Context) {
	w := &workers{engine: e, free: make(chan struct{}, e.Workers), apart: map[store.TaskKind]chan struct{}{}, crew: newCrew()}
	for kind, n := range e.Apart {
		w.apart[kind] = make(chan struct{}, n)
	}
	for failures := 0; ctx.Err() == nil; {
		woken := e.Store.TasksChanged()
		claimed, err := w.claim(ctx, work)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			failures++
			e.health.failed("tasks", err)
			e.Logger.Error("cannot claim tasks", "error", err)
			pause(ctx, backoff(failures))
			continue
		}
		if failures > 0 {
			e.health.mended("tasks")
		}
		failures = 0
		if claimed == 0 {
			w.nap(ctx, woken)
		}
	}
	w.crew.end()
}

// workers are the tasks that are being carried out.
type workers struct {
	engine *Engine
	free   chan struct{} // one element per busy worker
	apart  map[store.TaskKind]chan struct{}
	crew   *crew
}

// claim takes as many due tasks as there are free workers, and waits for one to be free.
func (w *workers) claim(ctx, work context.Context) (int, error) {
	e := w.engine
	n := w.reserve(ctx)
	if n == 0 {
		return 0, ctx.Err()
	}
	q := e.query()
	q.Limit = n
	claims, err := e.Store.Claim(ctx, q, time.Now())
	for range n - len(claims) {
		<-w.free
	}
	if err != nil {
		return 0, err
	}
	for _, c := range claims {
		w.begin(ctx, work, c)
	}
	return len(claims), nil
}

// query is what this replica may claim.
func (e *Engine) query() store.ClaimQuery {
	return store.ClaimQuery{Replica: e.Replica, Lease: e.Lease, LostAfter: e.LostAfter}
}

// begin has a task carried out by the worker that was reserved for it, or by one of those for its kind alone. What waits
// for one of these is held meanwhile, so that nobody else takes it up.
func (w *workers) begin(ctx, work context.Context, c store.Claim) {
	apart, is := w.apart[c.Task.Kind]
	if !is {
		w.crew.begin(func() {
			defer func() { <-w.free }()
			w.engine.hold(work, c, func(held context.Context) { w.engine.perform(work, held, c, w.engine.dispatch) })
		})
		return
	}
	<-w.free
	w.crew.begin(func() {
		w.engine.hold(ctx, c, func(held context.Context) {
			select {
			case apart <- struct{}{}:
				defer func() { <-apart }()
				w.engine.perform(ctx, held, c, w.engine.dispatch)
			case <-held.Done():
				w.engine.giveBack(ctx, c.Lease)
			}
		})
	})
}

// hold does something while the task's lease is renewed. The context ends when it is lost.
func (e *Engine) hold(work context.Context, c store.Claim, do func(held context.Context)) {
	ctx, cancel := context.WithCancel(work)
	defer cancel()
	e.leases.hold(c.Lease, cancel)
	defer e.leases.drop(c.Lease)
	do(ctx)
}

// reserve takes every free worker, at least one.
func (w *workers) reserve(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return 0
	case w.free <- struct{}{}:
	}
	n := 1
	for {
		select {
		case w.free <- struct{}{}:
			n++
		default:
			return n
		}
	}
}

// nap waits until a task may be due.
func (w *workers) nap(ctx context.Context, woken <-chan struct{}) {
	wait := longestNap
	if due, err := w.engine.Store.NextDue(ctx, w.engine.query()); err == nil && !due.IsZero() {
		wait = min(max(time.Until(due), time.Millisecond), longestNap)
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-woken:
	case <-t.C:
	}
}

// perform has one task carried out, and gives it back if that fails.
func (e *Engine) perform(work, ctx context.Context, c store.Claim, handler func(context.Context, store.Claim) error) {
	began := time.Now()
	err := handler(ctx, c)
	e.Observer.TaskDone(c.Task.Kind, began.Sub(c.Task.Due), time.Since(began), err)
	switch {
	case err == nil:
		e.health.taskDone(c.Task.ID)
	case stopped(work, err):
		e.giveBack(work, c.Lease)
	case ctx.Err() != nil:
		e.Logger.Warn("lost the lease on a task while it was carried out", slog.String("task", c.Task.ID), slog.Any("error", err))
	default:
		e.postpone(work, c, err)
	}
}

// postpone gives a task that failed back, to be tried again later.
func (e *Engine) postpone(work context.Context, c store.Claim, cause error) {
	b := store.Postpone(c, cause, time.Now())
	next := b.Tasks[0]
	e.health.taskFailed(next, cause)
	e.Logger.Error("cannot carry out a task; it will be tried again",
		slog.String("task", next.ID), slog.Int("failures", next.Failures), slog.Time("retryAt", next.RetryAt), slog.Any("error", cause))
	e.untilLapsed(work, func(ctx context.Context) error {
		err := e.Store.Commit(ctx, b, time.Now())
		if errors.Is(err, store.ErrConflict) {
			return nil // another replica has the task by now
		}
		return err
	})
}

// giveBack gives a task back early, so that it can be claimed before its lease lapses.
func (e *Engine) giveBack(work context.Context, l store.Lease) {
	e.untilLapsed(work, func(ctx context.Context) error {
		return e.Store.Release(ctx, []store.Lease{l}, time.Now())
	})
}

// untilLapsed repeats a call to the store that gives a task back until it succeeds: a store that is away may return soon.
// Once the lease has lapsed by itself there is nothing left to give back.
func (e *Engine) untilLapsed(work context.Context, give func(context.Context) error) {
	lapsed := time.Now().Add(e.Lease)
	for failures := 1; ; failures++ {
		err := give(context.WithoutCancel(work))
		if err == nil || time.Now().After(lapsed) || !pause(work, backoff(failures)) {
			return
		}
	}
}

// dispatch calls the handler of a task. A task of an unknown kind fails like any other, so it is reported and stays out of
// the way: a newer version that shares the store may know it.
func (e *Engine) dispatch(ctx context.Context, c store.Claim) error {
	if c.Task.Kind == store.Deliver && e.Notifier != nil {
		return e.abandon(ctx, c)
	}
	handler, ok := e.Handlers.Tasks[c.Task.Kind]
	if !ok {
		return fmt.Errorf("this version does not know tasks of kind %q; a newer one may have stored it", c.Task.Kind)
	}
	return handler(ctx, c)
}
