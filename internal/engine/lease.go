package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// leases holds the leases of this process. They are renewed until dropped; when one is lost, the
// work under it is cancelled.
type leases struct {
	engine *Engine
	mu     sync.Mutex
	held   map[store.Lease]context.CancelFunc
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

// standBy is how often a process checks whether it can take over work that only one process does.
const standBy = time.Second

// under runs do while holding a lease, then releases it. It is not an error if another process has
// taken over.
func (e *Engine) under(work context.Context, l store.Lease, do func(held context.Context) error) error {
	var err error
	e.hold(work, l, func(held context.Context) {
		if err = do(held); held.Err() != nil && work.Err() == nil {
			err = nil // the other process continues where this one stopped
		}
	})
	// Releasing only saves time: the lease expires by itself.
	_ = e.Store.Release(context.WithoutCancel(work), []store.Lease{l}, time.Now())
	return err
}

// hold calls do while a lease is renewed. The context is cancelled when the lease is lost.
func (e *Engine) hold(work context.Context, l store.Lease, do func(held context.Context)) {
	held, lost := context.WithCancel(work)
	defer lost()
	e.leases.hold(l, lost)
	defer e.leases.drop(l)
	do(held)
}

// renew renews the leases, and cancels the work under those that were lost.
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
	return slices.Collect(maps.Keys(ls.held))
}

// cancelLost cancels the work under leases that were not renewed. A finished task's lease is gone
// too, which does no harm.
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
