package api

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// start is the place after which a stream begins: the last event there is or, with since, the last before it.
func (a *API) start(ctx context.Context, since time.Time) (store.Position, error) {
	past := func(at store.Position) (bool, error) {
		events, err := a.store.EventsAfter(ctx, at, 1)
		if err != nil {
			return false, fmt.Errorf("read events after %d: %w", at, err)
		}
		return len(events) == 0 || !since.IsZero() && !events[0].Event.Time.Before(since), nil
	}
	low := store.Position(0)
	if since.IsZero() {
		a.streams.mu.Lock()
		low = a.streams.end
		a.streams.mu.Unlock()
	}
	at, err := store.Seek(low, past)
	if err == nil && since.IsZero() {
		a.streams.mu.Lock()
		a.streams.end = max(a.streams.end, at)
		a.streams.mu.Unlock()
	}
	return at, err
}
