package sqlite

import (
	"context"
	"fmt"
	"sort"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Events pages by position.
func (s *Store) Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error) {
	w, order, err := wanted(q)
	if err != nil {
		return store.Page[event.Event]{}, err
	}
	var found []store.StoredEvent
	err = s.read(ctx, func(c *conn) error {
		if !q.Since.IsZero() {
			first, err := firstSince(c, nanos(q.Since))
			if err != nil {
				return err
			}
			w.and("at >= ? AND pos >= ?", nanos(q.Since), first)
		}
		found, err = readEvents(c, "SELECT pos, body FROM events"+w.text+" ORDER BY pos "+order+upTo,
			append(w.args, store.PageSize(q.Limit)+1)...)
		return err
	})
	if err != nil {
		return store.Page[event.Event]{}, fmt.Errorf("list events: %w", err)
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

func wanted(q store.EventQuery) (w where, order string, err error) {
	if q.Key != (run.Key{}) {
		w.and("run = ?", q.Key.String())
	}
	if q.Pipeline != "" {
		w.and("pipeline = ?", string(q.Pipeline))
	}
	if q.Type != "" {
		w.and("type = ?", string(q.Type))
	}
	order, beyond := "DESC", "pos < ?"
	if q.Ascending {
		order, beyond = "ASC", "pos > ?"
	}
	if q.Cursor != "" {
		at, err := store.AfterNumber(q.Cursor)
		if err != nil {
			return w, "", err
		}
		w.and(beyond, at)
	}
	return w, order, nil
}

// firstSince is the first position before which nothing is as late as an instant. The column "high" never falls from one
// position to the next, so it is found in the manner of a dictionary, without an index to keep.
func firstSince(c *conn, since int64) (int64, error) {
	first, err := c.number("SELECT min(pos) FROM events")
	if err != nil {
		return 0, err
	}
	last, err := c.number("SELECT max(pos) FROM events")
	if err != nil {
		return 0, err
	}
	n := sort.Search(int(last-first)+1, func(i int) bool {
		var high int64
		if err == nil {
			high, err = c.number("SELECT high FROM events WHERE pos >= ? ORDER BY pos LIMIT 1", first+int64(i))
		}
		return high >= since
	})
	return first + int64(n), err
}

// EventsAfter cuts a piece out of the list.
func (s *Store) EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	var found []store.StoredEvent
	err := s.read(ctx, func(c *conn) (err error) {
		found, err = readEvents(c, "SELECT pos, body FROM events WHERE pos > ? ORDER BY pos"+upTo, int64(after), store.PageSize(limit))
		return err
	})
	return named(found, err)("events after %d", after)
}

// readEvents reads rows of pos and body.
func readEvents(c *conn, query string, args ...any) (found []store.StoredEvent, err error) {
	err = c.query(query, func(r row) error {
		e, err := decode[event.Event](r.text(1))
		found = append(found, store.StoredEvent{Position: store.Position(r.int(0)), Event: e})
		return err
	}, args...)
	return found, err
}

// EventsChanged is the same channel for all who wait for the next event.
func (s *Store) EventsChanged() <-chan struct{} { return s.eventsChanged.Next() }
