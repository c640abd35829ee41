package engine

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// configEvents is how many events are read per page.
const configEvents = 500

// keepUp follows the event log to reload definitions that other processes have stored. The change
// feed would not do: each change is delivered to only one process.
func (e *Engine) keepUp(ctx context.Context) {
	var at store.Position
	begun := false
	for tried := (trials{engine: e, part: "definitions"}); ctx.Err() == nil; {
		more := e.Store.EventsChanged()
		var err error
		if !begun {
			if at, err = e.configsFromNow(ctx); err == nil {
				begun = true
			}
		} else {
			at, err = e.configsAfter(ctx, at)
		}
		if err != nil {
			if stopped(ctx, err) {
				return
			}
			tried.failed(ctx, err, "cannot keep up with the definitions that others store; it will be tried again")
			continue
		}
		tried.succeeded()
		select {
		case <-more:
		case <-time.After(maxBackoff): // in case a notification was lost
		case <-ctx.Done():
		}
	}
}

func (e *Engine) config(ctx context.Context, id pipeline.ID) error {
	return e.safely(func() error { return e.Handlers.Config(ctx, id) })
}

// configsFromNow finds the end of the event log, then reloads all definitions: earlier changes are
// not replayed.
func (e *Engine) configsFromNow(ctx context.Context) (store.Position, error) {
	at, err := e.Store.LastPosition(ctx)
	if err != nil {
		return 0, err
	}
	return at, e.config(ctx, "")
}

// configsAfter handles the events after a position, and returns the position of the last one
// handled.
func (e *Engine) configsAfter(ctx context.Context, at store.Position) (store.Position, error) {
	for {
		events, err := e.Store.EventsAfter(ctx, at, configEvents)
		if err != nil || len(events) == 0 {
			return at, err
		}
		for _, stored := range events {
			switch stored.Event.Type {
			case event.ConfigAccepted, event.ConfigRemoved:
				id := stored.Event.Detail.Pipeline
				if id == "" {
					break // a calendar, an archetype or a source: pipelines that it changes have events of their own
				}
				if err := e.config(ctx, id); err != nil {
					return at, err
				}
			}
			at = stored.Position
		}
	}
}
