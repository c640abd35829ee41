package record

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// eventLog is the range of all events, or of those of a partition.
func eventLog(part string) row.Range {
	return row.Range{Kind: row.Events, Part: part, Index: row.Ordered, List: listEvents}
}

// StoredEvent encodes an event for the log.
func StoredEvent(e event.Event) (row.Event, error) {
	body, err := encode(e)
	err = wrap(err, "store event %s", e.ID)
	return row.Event{ID: e.ID, Part: string(e.Detail.Pipeline), Type: string(e.Type), At: e.Time, Body: body}, err
}

// EventOf decodes an event of the log.
func EventOf(r row.Row) (store.StoredEvent, error) {
	e, err := decode[event.Event](r)
	if err != nil {
		return store.StoredEvent{}, err
	}
	at, err := strconv.ParseInt(r.Key, 10, 64)
	if err != nil {
		return store.StoredEvent{}, fmt.Errorf("read the position of event %s: %w", e.ID, err)
	}
	return store.StoredEvent{Position: store.Position(at), Event: e}, nil
}

// recent is how many events Events reads by time. If more events match q.Since, it reads the log
// instead.
const recent = 1000

// Events reads the log, or the list of a type. If only few events match q.Since, it reads just
// those.
func (s *Store) Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error) {
	var none store.Page[event.Event]
	last, err := store.AfterNumber(q.Cursor)
	if err != nil {
		return none, err
	}
	r := eventLog(string(cmp.Or(q.Pipeline, q.Key.Pipeline)))
	if q.Type != "" {
		r.Index, r.List = row.Pending, listTyped+string(q.Type)
	}
	r.Backwards = !q.Ascending
	switch {
	case last > 0 && q.Ascending:
		r.From = row.Digits(last + 1)
	case last > 0:
		r.To = row.Digits(last)
	}
	wanted := func(e store.StoredEvent) bool { return q.Wants(e.Event) }
	page, few, err := s.recentEvents(ctx, q, r)
	if err == nil && !few {
		page, err = list(ctx, s, r, q.Limit, EventOf, wanted, eventCursor)
	}
	if err != nil {
		return none, fmt.Errorf("list events: %w", err)
	}
	out := store.Page[event.Event]{Next: page.Next}
	for _, e := range page.Items {
		out.Items = append(out.Items, e.Event)
	}
	return out, nil
}

func eventCursor(e store.StoredEvent) string { return store.NumberCursor(e.Position) }

// recentEvents answers a query with q.Since from the events since then; false if there are too
// many.
func (s *Store) recentEvents(ctx context.Context, q store.EventQuery, log row.Range) (page store.Page[store.StoredEvent], few bool, err error) {
	if q.Since.IsZero() {
		return page, false, nil
	}
	young := row.Range{Kind: row.Events, Index: row.Aging, List: listEvents, From: store.Nanos(q.Since), Limit: recent + 1}
	found, err := s.scan(ctx, young)
	if err != nil || len(found.Rows) > recent {
		return page, false, err
	}
	all, err := readRows(slices.DeleteFunc(found.Rows, func(r row.Row) bool {
		return r.Key < log.From || log.To != "" && r.Key >= log.To
	}), EventOf)
	if err != nil {
		return page, false, err
	}
	all = slices.DeleteFunc(all, func(e store.StoredEvent) bool { return !q.Wants(e.Event) })
	slices.SortFunc(all, func(a, b store.StoredEvent) int {
		if q.Ascending {
			return cmp.Compare(a.Position, b.Position)
		}
		return cmp.Compare(b.Position, a.Position)
	})
	return store.FirstPage(all, q.Limit, eventCursor), true, nil
}

// EventsAfter reads the log of all events.
func (s *Store) EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	r := eventLog("")
	r.From, r.Limit = row.Digits(int64(max(after, 0))+1), store.PageSize(limit)
	page, err := s.scan(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read events after %d: %w", after, err)
	}
	return readRows(page.Rows, EventOf)
}

// LastPosition reads the log from its end.
func (s *Store) LastPosition(ctx context.Context) (store.Position, error) {
	r := eventLog("")
	r.Backwards, r.Limit = true, 1
	page, err := s.scan(ctx, r)
	if err != nil || len(page.Rows) == 0 {
		return 0, wrap(err, "read the position of the last event")
	}
	e, err := EventOf(page.Rows[0])
	return e.Position, err
}

// youngest is how many events PositionAt reads by time: the clocks of processes may differ
// slightly.
const youngest = 100

// PositionAt reads the first events since t.
func (s *Store) PositionAt(ctx context.Context, t time.Time) (store.Position, error) {
	at, err := s.LastPosition(ctx)
	if err != nil {
		return 0, err
	}
	page, err := s.scan(ctx, row.Range{
		Kind: row.Events, Index: row.Aging, List: listEvents, From: store.Nanos(t), Limit: youngest,
	})
	if err != nil {
		return 0, fmt.Errorf("read the position of events since %s: %w", t, err)
	}
	young, err := readRows(page.Rows, EventOf)
	for _, e := range young {
		at = min(at, e.Position-1)
	}
	return at, err
}

// EventsChanged returns a channel that is closed when events are committed.
func (s *Store) EventsChanged() <-chan struct{} { return s.engine.Changed(row.EventTopic) }
