package engine

import (
	"context"
	"time"
)

// tick does something again and again, at its interval. One that fails is told of and goes on.
func (e *Engine) tick(ctx, work context.Context, t Tick) {
	if t.First && e.caughtUp(ctx) {
		e.tickOnce(work, t)
	}
	for pause(ctx, t.Every) {
		e.tickOnce(work, t)
	}
}

func (e *Engine) tickOnce(work context.Context, t Tick) {
	began := time.Now()
	err := t.Do(work, began)
	e.Observer.TickDone(t.Name, time.Since(began), err)
	if err != nil && !stopped(work, err) {
		e.health.failed(t.Name, err)
		e.Logger.Error("a periodic task failed; it will be tried again", "name", t.Name, "error", err)
		return
	}
	e.health.done(t.Name, began)
}

// caughtUp waits until the feed has nothing left from before the start.
func (e *Engine) caughtUp(ctx context.Context) bool {
	start := time.Now()
	for {
		n, oldest, err := e.Store.Backlog(ctx, Group)
		if err == nil && (n == 0 || oldest.After(start)) {
			return true
		}
		if !pause(ctx, minBackoff) {
			return false
		}
	}
}
