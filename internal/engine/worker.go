package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// longestNap bounds how long the workers rely on notifications: it is the longest delay before they
// notice a clock change or a task of another replica.
const longestNap = time.Second

// A full class is claimed for again when one of its workers becomes free. Meanwhile the other
// classes are claimed for every shortestRest, or less often if a claim takes long, because it scans
// the full class's tasks too.
const (
	shortestRest = 50 * time.Millisecond
	restPerClaim = 10
)

// workOff claims due tasks and runs their handlers, as many at once as their classes have workers.
func (e *Engine) workOff(ctx, work context.Context) {
	w := newWorkers(e)
	for tried := (trials{engine: e, part: "tasks"}); ctx.Err() == nil; {
		woken, began := e.Store.TasksChanged(), time.Now()
		claims, full, err := w.claim(ctx)
		for _, c := range claims {
			w.startTask(ctx, work, c)
		}
		if err != nil {
			if ctx.Err() == nil {
				tried.failed(ctx, err, "cannot claim tasks")
			}
			continue
		}
		tried.succeeded()
		switch {
		case len(claims) > 0:
		case full:
			w.rest(ctx, time.Since(began), w.allFull())
		default:
			w.nap(ctx, woken)
		}
	}
	w.crew.end()
}

// class is a group of task kinds with their own workers, so that tasks of other classes never wait
// for them.
type class struct {
	*pool
	kinds   []store.TaskKind
	stopped bool // its tasks are cancelled when the engine stops
}

// workers runs the claimed tasks, by class.
type workers struct {
	engine  *Engine
	classes []class
	queues  []queue
	busy    bool // the last claim filled all free workers: more may be due
	freed   chan struct{}
	crew    *crew
}

// newWorkers gives each class of tasks its workers. Urgent tasks have those of the timers.
func newWorkers(e *Engine) *workers {
	w := &workers{engine: e, freed: make(chan struct{}, 1), crew: newCrew()}
	timers := class{pool: newPool(e.Workers), kinds: controller.Of(controller.Urgent, controller.Timers)}
	probes := class{pool: newPool(e.ProbeWorkers), kinds: controller.Of(controller.Probes), stopped: true}
	if e.ProbeWorkers == 0 {
		timers.kinds = append(timers.kinds, probes.kinds...)
	}
	w.classes = []class{
		timers,
		{pool: newPool(e.Workers), kinds: controller.Of(controller.Steps)},
		{pool: newPool(1), kinds: controller.Of(controller.Changes)},
	}
	if e.ProbeWorkers > 0 {
		w.classes = append(w.classes, probes)
	}
	for _, c := range w.classes {
		c.freed = w.freed
		w.queues = append(w.queues, queue{pool: c.pool, kinds: c.kinds})
	}
	w.queues = slices.Insert(w.queues, 0, queue{pool: timers.pool, kinds: controller.Of(controller.Urgent)})
	return w
}

// of returns the class of a kind; unknown kinds belong to the first class, timers.
func (w *workers) of(kind store.TaskKind) class {
	for _, c := range w.classes {
		if slices.Contains(c.kinds, kind) {
			return c
		}
	}
	return w.classes[0]
}

// claim claims tasks, and reports whether a class has no free worker. Usually it makes one call for
// tasks of every kind, longest overdue first. While more tasks may be due than there are workers,
// it claims for each queue separately.
func (w *workers) claim(ctx context.Context) (claims []store.Claim, full bool, err error) {
	room := 0
	for _, c := range w.classes {
		full = full || c.room() == 0
		room = max(room, c.room())
	}
	if !full && !w.busy {
		q := w.engine.query()
		q.Limit = room
		claims, err = w.engine.Store.Claim(ctx, q, time.Now())
		w.busy = len(claims) == room
		return claims, false, err
	}
	w.busy = full // full classes were not claimed for
	for i := range w.queues {
		q := &w.queues[i]
		room := q.pool.room() - waiting(claims, q.kinds)
		if room <= 0 {
			continue
		}
		got, err := q.claim(ctx, w.engine, room)
		claims = append(claims, got...)
		if err != nil {
			return claims, full, err
		}
		w.busy = w.busy || len(got) == room
	}
	return claims, full, ctx.Err()
}

// waiting counts the claims of these kinds, which are about to take workers.
func waiting(claims []store.Claim, kinds []store.TaskKind) (n int) {
	for _, c := range claims {
		if slices.Contains(kinds, c.Task.Kind) {
			n++
		}
	}
	return n
}

// allFull reports whether no class has a free worker.
func (w *workers) allFull() bool {
	return !slices.ContainsFunc(w.classes, func(c class) bool { return c.room() > 0 })
}

// queue is a set of task kinds within which pipelines take turns. The first queue is for deadlines
// and cron fires: they are claimed before all other tasks.
type queue struct {
	pool   *pool
	kinds  []store.TaskKind
	served []pipeline.ID // pipelines that had a task claimed in this round
}

// maxServed bounds how many pipelines a claim excludes. If more than that have thousands of tasks,
// the longest overdue come first again.
const maxServed = 32

// claim claims up to limit tasks: first of pipelines that had none in this round, then of any.
func (q *queue) claim(ctx context.Context, e *Engine, limit int) ([]store.Claim, error) {
	ask := e.query()
	ask.Kinds, ask.Limit, ask.Except = q.kinds, limit, q.served
	claims, err := e.Store.Claim(ctx, ask, time.Now())
	if err == nil && len(claims) < limit && len(q.served) > 0 {
		q.served = nil
		var more []store.Claim
		ask.Limit, ask.Except = limit-len(claims), nil
		more, err = e.Store.Claim(ctx, ask, time.Now())
		claims = append(claims, more...)
	}
	for _, c := range claims {
		if id := c.Task.Pipeline; id != "" && !slices.Contains(q.served, id) {
			q.served = append(q.served, id)
		}
	}
	q.served = slices.Clone(q.served[max(0, len(q.served)-maxServed):])
	return claims, err
}

// query returns the claim query of this replica.
func (e *Engine) query() store.ClaimQuery {
	return store.ClaimQuery{Replica: e.Replica, Lease: e.Lease, LostAfter: e.LostAfter}
}

// startTask runs a task on a worker of its class. Its lease is renewed while it waits for a worker.
func (w *workers) startTask(ctx, work context.Context, c store.Claim) {
	e, of := w.engine, w.of(c.Task.Kind)
	if of.stopped {
		work = ctx
	}
	s := &slot{pipeline: c.Task.Pipeline}
	if of.try() {
		s.pool = of.pool
	}
	w.crew.start(func() {
		defer s.leave()
		e.hold(work, c.Lease, func(held context.Context) {
			if s.pool == nil {
				if !of.take(held, ctx, s.pipeline) {
					e.giveBack(work, c.Lease)
					return
				}
				s.pool = of.pool
			}
			e.perform(work, context.WithValue(held, slotKey{}, s), c)
		})
	})
}

// rest waits until a worker of a full class is free; unless all classes are full, only briefly.
func (w *workers) rest(ctx context.Context, took time.Duration, all bool) {
	wait := longestNap
	if !all {
		wait = min(max(restPerClaim*took, shortestRest), longestNap)
	}
	pauseUntil(ctx, w.freed, wait)
}

// nap waits until a task may be due.
func (w *workers) nap(ctx context.Context, woken <-chan struct{}) {
	wait := longestNap
	if due, err := w.engine.Store.NextDue(ctx, w.engine.query()); err == nil && !due.IsZero() {
		wait = min(max(time.Until(due), time.Millisecond), longestNap)
	}
	pauseUntil(ctx, woken, wait)
}

// perform runs one task, and releases or postpones it if that fails.
func (e *Engine) perform(work, ctx context.Context, c store.Claim) {
	began := time.Now()
	err := e.safely(func() error { return e.dispatch(ctx, c) })
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

// postpone stores a failed task with a later retry time.
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

// giveBack releases a task early, so that it can be claimed before its lease expires.
func (e *Engine) giveBack(work context.Context, l store.Lease) {
	e.untilLapsed(work, func(ctx context.Context) error {
		return e.Store.Release(ctx, []store.Lease{l}, time.Now())
	})
}

// untilLapsed retries a release until it succeeds: a store that is down may be back soon. Once the
// lease has expired there is nothing left to release.
func (e *Engine) untilLapsed(work context.Context, give func(context.Context) error) {
	lapsed := time.Now().Add(e.Lease)
	for failures := 1; ; failures++ {
		err := give(context.WithoutCancel(work))
		if err == nil || time.Now().After(lapsed) || !pause(work, retries.After(failures)) {
			return
		}
	}
}

// dispatch calls the handler of a task.
func (e *Engine) dispatch(ctx context.Context, c store.Claim) error {
	switch {
	case c.Task.Kind == store.Deliver && e.Notifier != nil:
		return e.abandon(ctx, c)
	case c.Task.Kind == store.HandleChange:
		return e.changeAgain(ctx, c)
	}
	return e.Handlers.Task(ctx, c)
}
