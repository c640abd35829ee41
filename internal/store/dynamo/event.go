package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Events pages by position.
func (s *Store) Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error) {
	after, err := numberCursor(q.Cursor)
	if err != nil {
		return store.Page[event.Event]{}, err
	}
	about := cmp.Or(q.Pipeline, q.Key.Pipeline)
	page, err := store.PageOf(q.Limit, after, func(after string, limit int) ([]store.StoredEvent, string, error) {
		from := store.Position(0)
		if n, err := strconv.ParseInt(after, 10, 64); err == nil {
			from = store.Position(n)
		}
		items, err := s.eventPiece(ctx, about, from, q.Ascending, limit)
		if n := len(items); n > 0 {
			after = strconv.FormatInt(int64(items[n-1].Position), 10)
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

// eventPiece gives events of a pipeline, or of all, after a position, or before it where the newest come first; 0 means
// from the beginning.
func (s *Store) eventPiece(ctx context.Context, about pipeline.ID, after store.Position, ascending bool, limit int) ([]store.StoredEvent, error) {
	of := span{table: Events, low: digits(0), high: last, backwards: !ascending}
	switch {
	case after > 0 && ascending:
		of.low = digits(int64(after) + 1)
	case after > 0:
		of.high = digits(int64(after) - 1)
	}
	if about != "" {
		of.index, of.hash = byPosition, partition(about)
		rows, _, err := s.query(ctx, of, limit)
		if err != nil {
			return nil, err
		}
		return storedEvents(rows)
	}
	return s.logPiece(ctx, of, after, limit)
}

// logPiece goes through the partitions of the log of all events.
func (s *Store) logPiece(ctx context.Context, of span, after store.Position, limit int) (all []store.StoredEvent, err error) {
	from, err := s.places.look(ctx, s)
	if err != nil {
		return nil, err
	}
	end := from.events / stretch
	at := min(int64(after)/stretch, end)
	if of.backwards && after == 0 {
		at = end
	}
	for at >= 0 && at <= end && len(all) < limit {
		of.hash = logPartition(store.Position(at * stretch))
		rows, _, err := s.query(ctx, of, limit-len(all))
		if err != nil {
			return nil, err
		}
		some, err := storedEvents(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if of.backwards {
			at--
		} else {
			at++
		}
	}
	return all, nil
}

func storedEvents(rows []Row) (all []store.StoredEvent, err error) {
	for _, row := range rows {
		e, err := decode[event.Event](row)
		if err != nil {
			return nil, err
		}
		at, err := strconv.ParseInt(row.text("position"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the position of event %s: %w", e.ID, err)
		}
		all = append(all, store.StoredEvent{Position: store.Position(at), Event: e})
	}
	return all, nil
}

// EventsAfter cuts a piece out of the list.
func (s *Store) EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	some, err := s.eventPiece(ctx, "", max(after, 0), true, store.PageSize(limit))
	if err != nil {
		return nil, fmt.Errorf("read events after %d: %w", after, err)
	}
	return some, nil
}

// Cursor gives a place.
func (s *Store) Cursor(ctx context.Context, name string) (store.Position, error) {
	row, err := s.row(ctx, cursorAt(name))
	if err != nil {
		return 0, fmt.Errorf("read cursor %s: %w", name, err)
	}
	return store.Position(row.number("n")), nil
}

// SetCursor moves a place.
func (s *Store) SetCursor(ctx context.Context, name string, at store.Position) error {
	if err := s.putRow(ctx, cursorAt(name), Row{"n": number(int64(at))}); err != nil {
		return fmt.Errorf("set cursor %s: %w", name, err)
	}
	return nil
}

// putRow writes a row, whatever was there.
func (s *Store) putRow(ctx context.Context, at address, row Row) error {
	if err := s.open(); err != nil {
		return err
	}
	row["PK"], row["SK"] = text(at.pk), text(at.sk)
	_, err := s.do.put(ctx, &dynamodb.PutItemInput{TableName: s.table(at.table), Item: row})
	return s.fault(err)
}

// DropCursor forgets a place.
func (s *Store) DropCursor(ctx context.Context, name string) error {
	if err := s.open(); err != nil {
		return err
	}
	at := cursorAt(name)
	if _, err := s.do.drop(ctx, &dynamodb.DeleteItemInput{TableName: s.table(at.table), Key: at.key()}); err != nil {
		return fmt.Errorf("drop cursor %s: %w", name, s.fault(err))
	}
	return nil
}
