package memory

import (
	"context"
	"slices"
	"sort"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Events pages by position.
func (s *Store) Events(_ context.Context, q store.EventQuery) (store.Page[event.Event], error) {
	var none store.Page[event.Event]
	from, err := store.AfterNumber(q.Cursor)
	if err != nil {
		return none, err
	}
	if err := s.open(); err != nil {
		return none, err
	}
	defer s.mu.Unlock()
	var found []store.StoredEvent
	for _, e := range s.events {
		beyond := q.Cursor == "" || q.Ascending == (e.Position > store.Position(from)) && e.Position != store.Position(from)
		if beyond && wanted(e.Event, q) {
			found = append(found, e)
		}
	}
	if !q.Ascending {
		slices.Reverse(found)
	}
	page := paged(found, q.Limit, func(e store.StoredEvent) string {
		return store.NumberCursor(e.Position)
	})
	out := store.Page[event.Event]{Next: page.Next}
	for _, e := range page.Items {
		out.Items = append(out.Items, e.Event)
	}
	return out, nil
}

func wanted(e event.Event, q store.EventQuery) bool {
	d := e.Detail
	about := run.Key{Pipeline: d.Pipeline, Schedule: d.Schedule, Period: d.Date}
	return (q.Pipeline == "" || d.Pipeline == q.Pipeline) &&
		(q.Key == run.Key{} || about == q.Key) &&
		(q.Type == "" || e.Type == q.Type) &&
		(q.Since.IsZero() || !e.Time.Before(q.Since))
}

// EventsAfter cuts a piece out of the list.
func (s *Store) EventsAfter(_ context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	rest := s.events[sort.Search(len(s.events), func(i int) bool { return s.events[i].Position > after }):]
	return slices.Clone(rest[:min(len(rest), store.PageSize(limit))]), nil
}

// LoseEvents forgets the latest n events and returns them, as a failover to a server does that had not received them. Their
// positions are not used again.
func (s *Store) LoseEvents(n int) []store.StoredEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := max(len(s.events)-n, 0)
	lost := s.events[kept:]
	for _, e := range lost {
		delete(s.announced, e.Event.ID)
	}
	s.events = slices.Clip(s.events[:kept])
	s.lastEvent += 1 << 20
	return lost
}

// EventsChanged is the same channel for all who wait for the next event.
func (s *Store) EventsChanged() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.eventsChanged.Next()
}

// Cursor gives a place.
func (s *Store) Cursor(_ context.Context, name string) (store.Position, error) {
	if err := s.open(); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.cursors[name], nil
}

// SetCursor moves a place.
func (s *Store) SetCursor(_ context.Context, name string, at store.Position) error {
	if err := s.open(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.cursors[name] = at
	return nil
}

// DropCursor forgets a place.
func (s *Store) DropCursor(_ context.Context, name string) error {
	if err := s.open(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.cursors, name)
	return nil
}
