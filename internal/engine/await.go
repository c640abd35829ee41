package engine

import (
	"context"
	"log/slog"
	"sync"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// awaits tracks the jobs whose end this process can observe directly, with one goroutine per job.
// Polling continues regardless, so missing a job costs time and nothing else.
type awaits struct {
	engine *Engine
	mu     sync.Mutex
	work   context.Context // nil before the engine runs
	known  map[run.AttemptID]bool
	all    sync.WaitGroup
}

// Began reports that this process has stored a job as running. With several replicas, another one
// may receive the change.
func (e *Engine) Began(key run.Key, attempt int) { e.awaits.await(key, attempt) }

// resume starts waiting for the jobs that were already running when the process started, and allows
// later ones to be awaited.
func (a *awaits) resume(ctx context.Context) {
	a.mu.Lock()
	a.work = ctx
	a.mu.Unlock()
	open, err := a.engine.Store.OpenRuns(ctx, "")
	if err != nil {
		a.engine.Logger.Error("cannot list the open runs; their jobs are polled", "error", err)
		return
	}
	for _, r := range open {
		if r.Status == run.Running {
			a.await(r.Key, r.Attempt)
		}
	}
}

// saw starts waiting for a job when a change says that it is running.
func (a *awaits) saw(c store.Change) {
	if c.Kind == store.RunMoved && c.Status == run.Running {
		a.await(c.Run, c.Attempt)
	}
}

func (a *awaits) await(key run.Key, attempt int) {
	if a.engine.Handlers.Await == nil {
		return
	}
	id := key.Attempt(attempt)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[id] || a.work == nil || a.work.Err() != nil {
		return
	}
	a.known[id] = true
	work := a.work
	a.all.Go(func() {
		defer a.forget(id)
		err := a.engine.safely(func() error { return a.engine.Handlers.Await(work, key, attempt) })
		if err != nil && !stopped(work, err) {
			a.engine.Logger.Warn("cannot wait for a job; it is polled", slog.String("attempt", string(id)), slog.Any("error", err))
		}
	})
}

func (a *awaits) forget(id run.AttemptID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, id)
}
