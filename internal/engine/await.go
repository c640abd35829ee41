package engine

import (
	"context"
	"log/slog"
	"sync"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// awaits are the jobs that somebody waits for because their end can be seen at once. Polls go on beside them, so one that
// is missed costs time and nothing else.
type awaits struct {
	engine *Engine
	mu     sync.Mutex
	work   context.Context // nil before the engine runs
	known  map[run.AttemptID]bool
	all    sync.WaitGroup
}

// Began says that this process has stored that a job runs. Where there are several, another one may be given the change.
func (e *Engine) Began(key run.Key, attempt int) { e.awaits.begin(key, attempt) }

// resume waits for the jobs that were running when the process started, and from then on for others.
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
			a.begin(r.Key, r.Attempt)
		}
	}
}

// saw reacts to a change: a job that began to run is waited for.
func (a *awaits) saw(c store.Change) {
	if c.Kind == store.RunMoved && c.Status == run.Running {
		a.begin(c.Run, c.Attempt)
	}
}

func (a *awaits) begin(key run.Key, attempt int) {
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
