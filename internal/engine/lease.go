package engine

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// leases are those that this process holds. They are renewed until they are dropped; whoever works under one that is lost
// has his work ended.
type leases struct {
	engine *Engine
	mu     sync.Mutex
	held   map[store.Lease]context.CancelFunc
}

func newLeases(e *Engine) *leases {
	return &leases{engine: e, held: map[store.Lease]context.CancelFunc{}}
}

func (ls *leases) hold(l store.Lease, cancel context.CancelFunc) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.held[l] = cancel
}

func (ls *leases) drop(l store.Lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.held, l)
}

// standBy is how often a process asks whether another has let go of what only one of them does.
const standBy = time.Second

// under does something for as long as a lease is held, and gives it back. That another process has taken over is no error.
func (e *Engine) under(work context.Context, l store.Lease, do func(held context.Context) error) error {
	held, lost := context.WithCancel(work)
	defer lost()
	e.leases.hold(l, lost)
	defer e.leases.drop(l)
	err := do(held)
	if held.Err() != nil && work.Err() == nil {
		err = nil // it goes on where this one was
	}
	// Handing it back early only saves time: the lease lapses by itself.
	_ = e.Store.Release(context.WithoutCancel(work), []store.Lease{l}, time.Now())
	return err
}

// renew keeps the leases alive, and ends the work on those that were lost.
func (ls *leases) renew(ctx context.Context) {
	for pause(ctx, ls.engine.Lease/3) {
		all := ls.all()
		if len(all) == 0 {
			continue
		}
		kept, err := ls.engine.Store.Renew(ctx, all, ls.engine.Lease, time.Now())
		if err != nil {
			if ctx.Err() == nil {
				ls.engine.Logger.Error("cannot renew leases", "error", err)
			}
			continue
		}
		ls.cancelLost(all, kept)
	}
}

func (ls *leases) all() []store.Lease {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	all := make([]store.Lease, 0, len(ls.held))
	for l := range ls.held {
		all = append(all, l)
	}
	return all
}

// cancelLost ends the work on leases that are gone. One whose task was finished meanwhile is gone, too, and no loss.
func (ls *leases) cancelLost(asked, kept []store.Lease) {
	still := map[store.Lease]bool{}
	for _, l := range kept {
		still[l] = true
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range asked {
		if cancel, working := ls.held[l]; working && !still[l] {
			cancel()
		}
	}
}
