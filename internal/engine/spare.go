package engine

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// spares are workers for tasks that are claimed in the commit that stores them. They are apart from those that claim what is
// due, of which all are taken for a moment whenever somebody looks.
type spares struct {
	engine    *Engine
	ctx, work context.Context
	pool      *pool
	crew      *crew
}

func newSpares(e *Engine, ctx, work context.Context) *spares {
	return &spares{engine: e, ctx: ctx, work: work, pool: newPool(e.Workers), crew: newCrew()}
}

// end waits for all of them, and lets nobody have one any more.
func (s *spares) end() {
	for _, p := range []*pool{s.pool, s.engine.calls.blocking} {
		for range p.size {
			p.take(context.Background(), context.Background(), "")
		}
	}
	s.crew.end()
}

// Spare is a worker that waits for its task: Carry or Dismiss is called on it, once.
type Spare struct {
	of   *spares
	slot *slot
}

// Spare returns a worker that is free, for a start call that is the job itself if blocking is set; nil if there is none, or
// the engine takes no work.
func (e *Engine) Spare(blocking bool) *Spare {
	s := e.spares.Load()
	if s == nil || s.ctx.Err() != nil {
		return nil
	}
	p := s.pool
	if blocking {
		p = e.calls.blocking
	}
	if !p.try() {
		return nil
	}
	return &Spare{s, &slot{pool: p}}
}

// Dismiss sets the worker free.
func (w *Spare) Dismiss() { w.slot.leave() }

// Carry has a step taken on a claimed task, which is what the handler of its kind would do next.
func (w *Spare) Carry(ask func(ctx context.Context) (store.Claim, error), step func(ctx context.Context, c store.Claim, clock func() time.Time) error) {
	s := w.of
	s.crew.begin(func() {
		defer w.Dismiss()
		c, err := s.insist(ask)
		if err != nil {
			if !errors.Is(err, store.ErrConflict) {
				s.engine.Logger.Error("told to stop before it was known whether a start is stored; if it is, its job is looked for", "error", err)
			}
			return
		}
		w.slot.pipeline = c.Task.Pipeline
		s.engine.hold(s.work, c, func(held context.Context) {
			ctx := context.WithValue(held, slotKey{}, w.slot)
			s.engine.perform(s.work, ctx, c, func(ctx context.Context, c store.Claim) error { return step(ctx, c, time.Now) })
		})
	})
}

// insist asks until it knows whether there is a claim. A store that is away may be back soon, and nobody else has what is asked
// for; whoever is told to stop asks one last time.
func (s *spares) insist(ask func(ctx context.Context) (store.Claim, error)) (store.Claim, error) {
	for failures := 1; ; failures++ {
		c, err := ask(context.WithoutCancel(s.work))
		if err == nil || errors.Is(err, store.ErrConflict) || !pause(s.work, backoff(failures)) {
			return c, err
		}
	}
}
