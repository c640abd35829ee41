package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

// Events pages by position.
func (s *Store) Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error) {
	after, err := streamCursor(q.Cursor)
	if err != nil {
		return store.Page[event.Event]{}, err
	}
	about := q.Pipeline
	if about == "" {
		about = q.Key.Pipeline
	}
	page, err := store.PageOf(q.Limit, after, func(after string, limit int) ([]store.StoredEvent, string, error) {
		items, err := s.eventPiece(ctx, string(about), after, q.Ascending, limit)
		if n := len(items); n > 0 {
			after = positionID(items[n-1].Position)
		}
		return items, after, err
	}, func(e store.StoredEvent) bool { return q.Wants(e.Event) }, func(e store.StoredEvent) string {
		return store.NumberCursor(e.Position)
	})
	if err != nil {
		return store.Page[event.Event]{}, fmt.Errorf("list events: %w", err)
	}
	out := store.Page[event.Event]{Next: page.Next}
	for _, e := range page.Items {
		out.Items = append(out.Items, e.Event)
	}
	return out, nil
}

func positionID(p store.Position) string { return strconv.FormatInt(int64(p), 10) + "-0" }

// eventPiece gives events of a pipeline, or of all, after one of them.
func (s *Store) eventPiece(ctx context.Context, pipeline, after string, ascending bool, limit int) ([]store.StoredEvent, error) {
	command, from, to := "XREVRANGE", "+", "-"
	if ascending {
		command, from, to = "XRANGE", "-", "+"
	}
	if after != "" {
		from = "(" + after
	}
	var a arguments
	a.add(pipeline, command, from, to)
	a.number(limit)
	said, err := s.texts(ctx, eventsScript, a)
	if err != nil {
		return nil, err
	}
	var out []store.StoredEvent
	for i := 0; i < len(said); i += 2 {
		at, err := strconv.ParseInt(idNumber(said[i]), 10, 64)
		if err != nil {
			return nil, err
		}
		e, err := decode[event.Event](said[i+1])
		if err != nil {
			return nil, err
		}
		out = append(out, store.StoredEvent{Position: store.Position(at), Event: e})
	}
	return out, nil
}

// EventsAfter cuts a piece out of the list.
func (s *Store) EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	some, err := s.eventPiece(ctx, "", positionID(max(after, 0)), true, store.PageSize(limit))
	if err != nil {
		return nil, fmt.Errorf("read events after %d: %w", after, err)
	}
	return some, nil
}

// EventsChanged is the same channel for all who wait for the next event.
func (s *Store) EventsChanged() <-chan struct{} { return s.signals['e'].Next() }

// Cursor gives a place.
func (s *Store) Cursor(ctx context.Context, name string) (store.Position, error) {
	if err := s.open(); err != nil {
		return 0, err
	}
	at, err := s.client.HGet(ctx, s.key("cursors"), name).Int64()
	if isNothing(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read cursor %s: %w", name, s.fault(err))
	}
	return store.Position(at), nil
}

// SetCursor moves a place.
func (s *Store) SetCursor(ctx context.Context, name string, at store.Position) error {
	if _, err := s.run(ctx, cursorScript, arguments{name, strconv.FormatInt(int64(at), 10)}); err != nil {
		return fmt.Errorf("set cursor %s: %w", name, err)
	}
	return nil
}

// DropCursor forgets a place.
func (s *Store) DropCursor(ctx context.Context, name string) error {
	if _, err := s.run(ctx, cursorScript, arguments{name, ""}); err != nil {
		return fmt.Errorf("drop cursor %s: %w", name, err)
	}
	return nil
}
