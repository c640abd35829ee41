package api

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// start is the place after which a stream begins: the last event there is or, with since, the last before it. The store
// gives events after a place and not the last of them, so it is searched for, by doubling steps and then halving them.
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
	at, err := search(low, past)
	if err == nil && since.IsZero() {
		a.streams.mu.Lock()
		a.streams.end = max(a.streams.end, at)
		a.streams.mu.Unlock()
	}
	return at, err
}

// search is the first place from low on that is past, of places that stay so once they are.
func search(low store.Position, past func(store.Position) (bool, error)) (store.Position, error) {
	if done, err := past(low); done || err != nil {
		return low, err
	}
	high := low + 1
	for step := store.Position(1); high < maxPosition; step *= 2 {
		done, err := past(high)
		if err != nil {
			return 0, err
		}
		if done {
			break
		}
		low, high = high, min(high+step, maxPosition)
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		done, err := past(mid)
		if err != nil {
			return 0, err
		}
		if done {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}
