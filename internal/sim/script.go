package sim

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// The controls of a scripted world without faults: see internal/scenario.

// Stop ends every controller, until Start.
func (w *World) Stop() {
	for _, h := range w.hosts {
		w.crash(h, 100*365*24*time.Hour)
	}
}

// Start starts the controllers that were stopped.
func (w *World) Start() {
	for _, h := range w.hosts {
		h.starts = w.now
	}
}

// LoseChange drops the next change before it reaches the running controllers, which no store may
// do.
func (w *World) LoseChange() {
	lost := false
	for _, h := range w.hosts {
		h.line.Store = &losing{Store: h.line.Store, below: w.data, lost: &lost}
	}
}

// losing is a store that loses one change.
type losing struct {
	store.Store
	below store.Store // beneath the invariants, which would notice
	lost  *bool
}

func (l *losing) Receive(ctx context.Context, group, consumer string, limit int) ([]store.Change, error) {
	changes, err := l.Store.Receive(ctx, group, consumer, limit)
	if err != nil || *l.lost || len(changes) == 0 {
		return changes, err
	}
	*l.lost = true
	return changes[1:], l.below.Done(ctx, group, changes[:1])
}
