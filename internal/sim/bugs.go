package sim

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// bugs are wrappers that tests put around a part of a world to let it misbehave in one way, so that an invariant is seen to
// break. A world without them is as the product is.
type bugs struct {
	store   func(w *World, host string, below store.Store) store.Store // what a controller sees of the store
	below   func(store.Store) store.Store                              // the store itself, below the watch
	change  func(changeHandler) changeHandler
	pools   func(*pools)                    // the workers of a controller
	insists bool                            // a change that fails is retried without end, and never set aside
	report  func(o run.Outcome) run.Outcome // a result on its way to the router
}

// changeHandler reacts to a change, as router.Router does.
type changeHandler func(ctx context.Context, c store.Change, now time.Time) error
