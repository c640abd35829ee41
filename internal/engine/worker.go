package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// longestNap bounds how long the workers rely on being woken: a clock that was set, or a task of another replica, is
// noticed after that at the latest.
const longestNap = time.Second

// A class of tasks that is full is looked for again when one of its workers is free. Meanwhile the others are claimed every
// shortestRest, or less often if a claim takes long: it goes through the tasks of the full class, too.
const (
	shortestRest = 50 * time.Millisecond
	restPerClaim = 10
)

// workOff claims due tasks and has each carried out by its handler, as many at once as their classes have workers.
func (e *Engine) workOff(ctx, work context.Context) {
	w := newWorkers(e)
	for failures := 0; ctx.Err() == nil; {
		woken, began := e.Store.TasksChanged(), time.Now()
		q, full := w.query()
		claims, err := w.claim(ctx, q)
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
		for _, c := range claims {
			w.begin(ctx, work, c)
		}
		switch {
		case len(claims) > 0:
		case full:
			w.rest(ctx, time.Since(began), q.Limit == 0)
		default:
			w.nap(ctx, woken)
		}
	}
	w.crew.end()
}

// class is a group of task kinds that have workers of their own, so that tasks of other classes never wait for them.
type class struct {
	*pool
	kinds   []store.TaskKind
	stopped bool // its tasks are cut off when the engine stops
}

// workers are the tasks that are being carried out, by class.
type workers struct {
	engine  *Engine
	classes []class
	freed   chan struct{}
	crew    *crew
}

// newWorkers sorts the kinds of tasks into classes: the steps of attempts, changes that were set aside, those of Options.Apart,
// and all others, which are mostly timers: deadlines, fires and arming.
func newWorkers(e *Engine) *workers {
	w := &workers{engine: e, freed: make(chan struct{}, 1), crew: newCrew()}
	steps := class{pool: newPool(e.Workers), kinds: []store.TaskKind{store.Advance, store.AdvanceDry, store.CheckLeft}}
	timers := class{pool: newPool(e.Workers), kinds: []store.TaskKind{store.Deliver}}
	for kind := range e.Handlers.Tasks {
		if _, apart := e.Apart[kind]; !apart && !slices.Contains(steps.kinds, kind) {
			timers.kinds = append(timers.kinds, kind)
		}
	}
	aside := class{pool: newPool(1), kinds: []store.TaskKind{store.HandleChange}}
	w.classes = []class{timers, steps, aside}
	for kind, n := range e.Apart {
		w.classes = append(w.classes, class{pool: newPool(n), kinds: []store.TaskKind{kind}, stopped: true})
	}
	for _, c := range w.classes {
		c.freed = w.freed
	}
	return w
}

// of returns the class of a kind: the first, of timers, for one that is not known.
func (w *workers) of(kind store.TaskKind) class {
	for _, c := range w.classes {
		if slices.Contains(c.kinds, kind) {
			return c
		}
	}
	return w.classes[0]
}

// query asks for as many tasks as the class with the most free workers can take, of the classes that have some, and says
// whether a class has none. Of the other classes it may give too many: those wait for their workers.
func (w *workers) query() (q store.ClaimQuery, full bool) {
	q = w.engine.query()
	for _, c := range w.classes {
		room := c.room()
		if room == 0 {
			full = true
			continue
		}
		q.Limit = max(q.Limit, room)
		q.Kinds = append(q.Kinds, c.kinds...)
	}
	if !full {
		q.Kinds = nil // also those that this version does not know
	}
	return q, full
}

// query is what this replica may claim.
func (e *Engine) query() store.ClaimQuery {
	return store.ClaimQuery{Replica: e.Replica, Lease: e.Lease, LostAfter: e.LostAfter}
}

func (w *workers) claim(ctx context.Context, q store.ClaimQuery) ([]store.Claim, error) {
	if q.Limit == 0 {
		return nil, ctx.Err()
	}
	return w.engine.Store.Claim(ctx, q, time.Now())
}

// begin has a task carried out by a worker of its class. While it waits for one, it is held.
func (w *workers) begin(ctx, work context.Context, c store.Claim) {
	e, of := w.engine, w.of(c.Task.Kind)
	if of.stopped {
		work = ctx
	}
	s := &slot{}
	if of.try() {
		s.pool = of.pool
	}
	w.crew.begin(func() {
		defer s.leave()
		e.hold(work, c, func(held context.Context) {
			if s.pool == nil {
				if !of.take(held, ctx) {
					e.giveBack(work, c.Lease)
					return
				}
				s.pool = of.pool
			}
			e.perform(work, context.WithValue(held, slotKey{}, s), c, e.dispatch)
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

// rest waits until a worker of a full class is free, and unless all classes are full only for a moment.
func (w *workers) rest(ctx context.Context, took time.Duration, all bool) {
	wait := longestNap
	if !all {
		wait = min(max(restPerClaim*took, shortestRest), longestNap)
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-w.freed:
	case <-t.C:
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
	err := e.safely(func() error { return handler(ctx, c) })
	e.Observer.TaskDone(c.Task.Kind, began.Sub(c.Task.Due), time.Since(began), err)
	switch {
	case err == nil:
		e.health.taskDone(c.Task.ID)
	case stopped(work, err), errors.Is(err, errStopping):
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
	switch {
	case c.Task.Kind == store.Deliver && e.Notifier != nil:
		return e.abandon(ctx, c)
	case c.Task.Kind == store.HandleChange:
		return e.changeAgain(ctx, c)
	}
	handler, ok := e.Handlers.Tasks[c.Task.Kind]
	if !ok {
		return fmt.Errorf("this version does not know tasks of kind %q; a newer one may have stored it", c.Task.Kind)
	}
	return handler(ctx, c)
}
