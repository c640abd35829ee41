package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

// remembered is how long it is known that something was told: as long as events are kept, which have ids of their own.
const remembered = 90 * 24 * time.Hour

// tellOnce announces an event unless its mark is set, and sets it. Many writes may lead to it, and most find it told.
func (r *Router) tellOnce(ctx context.Context, mark string, e event.Event, now time.Time) error {
	told, err := r.store.Marked(ctx, []string{mark})
	if err != nil {
		return fmt.Errorf("read mark %s: %w", mark, err)
	}
	if told[mark] {
		return nil
	}
	b := store.Batch{ID: mark}
	b.SetMark(mark, now.Add(remembered))
	b.Emit(e)
	if err := r.commit(ctx, b, now); err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil // a conflict means that it is told already
}
