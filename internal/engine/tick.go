package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/store"
)

// tick runs periodic work at its interval. A failure is reported, and the next run takes place as
// usual.
func (e *Engine) tick(ctx, work context.Context, t Tick) {
	if t.One && !e.Alone {
		e.tickInTurn(ctx, work, t)
		return
	}
	e.tickOn(ctx, work, t)
}

func (e *Engine) tickOn(ctx, work context.Context, t Tick) {
	if t.Now || t.First && e.caughtUp(ctx) {
		e.tickOnce(work, t)
	}
	for pause(ctx, t.Every) {
		e.tickOnce(work, t)
	}
}

// tickInTurn runs it while this process holds the turn's lease, and stands by otherwise.
func (e *Engine) tickInTurn(ctx, work context.Context, t Tick) {
	for tried := (trials{engine: e, part: t.Name}); ctx.Err() == nil; {
		lease, turn, err := e.turn(ctx, t.Name, time.Now())
		if err != nil && !stopped(ctx, err) {
			tried.failed(ctx, err, "cannot claim a periodic task; retrying", "name", t.Name)
			continue
		}
		tried.succeeded()
		if !turn {
			e.health.mended(t.Name) // the process that has the turn reports its health
			pause(ctx, standBy)
			continue
		}
		_ = e.under(work, lease, func(held context.Context) error {
			waiting, stop := context.WithCancel(ctx)
			defer stop()
			defer context.AfterFunc(held, stop)()
			e.tickOn(waiting, held, t)
			return nil
		}) // tickOnce reports failures
	}
}

// never is the due time of a turn's task, which is only ever claimed by id.
var never = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// turn tries to claim periodic work for this process.
func (e *Engine) turn(ctx context.Context, name string, now time.Time) (store.Lease, bool, error) {
	id := "turn/" + name
	if _, err := e.Store.Task(ctx, id); errors.Is(err, store.ErrNotFound) {
		b := store.Batch{ID: fmt.Sprintf("%s/%s/%d", id, e.Replica, now.UnixNano())}
		b.Schedule(store.Task{ID: id, Kind: store.Turn, Due: never})
		if err := e.Store.Commit(ctx, b, now); err != nil {
			return store.Lease{}, false, err
		}
	} else if err != nil {
		return store.Lease{}, false, err
	}
	claims, err := e.Store.Claim(ctx, store.ClaimQuery{Replica: e.Replica, Task: id, Limit: 1, Lease: e.Lease}, now)
	if err != nil || len(claims) == 0 {
		return store.Lease{}, false, err
	}
	return claims[0].Lease, true, nil
}

func (e *Engine) tickOnce(work context.Context, t Tick) {
	began := time.Now()
	err := e.safely(func() error { return t.Do(work, began) })
	e.Observer.TickDone(t.Name, time.Since(began), err)
	if err != nil && !stopped(work, err) {
		e.health.failed(t.Name, err)
		e.Logger.Error("a periodic task failed; it will be tried again", "name", t.Name, "error", err)
		return
	}
	e.health.done(t.Name, began)
}

// caughtUp waits until every change from before the start has been handled.
func (e *Engine) caughtUp(ctx context.Context) bool {
	start := time.Now()
	for {
		n, oldest, err := e.Store.Backlog(ctx, controller.Group)
		if err == nil && (n == 0 || oldest.After(start)) {
			return true
		}
		if !pause(ctx, retries.First) {
			return false
		}
	}
}
