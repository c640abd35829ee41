package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/record"
	"github.com/interlock-go/interlock/internal/store/row"
)

// MaxWrites is how many readings one PutReadings call can store.
const MaxWrites = store.MaxRows / 2

// Store is the store of a deployment, with what producers and the AWS functions need in addition.
type Store struct {
	*record.Store
	*tables
}

// New returns the store on the tables of an environment, with a client built from c. It does not
// connect yet.
func New(c aws.Config, environment string, o Options) *Store {
	e := NewEngine(c, environment, o)
	return e.Store(e)
}

// Store returns the store on the tables of e that accesses rows through rows: e, or a wrapper of it.
func (e *Engine) Store(rows row.Engine) *Store {
	return &Store{record.New(rows, record.Options{MaxOps: store.MaxRows}), e.tables}
}

// EventsAfter reads the log as far as it is settled: before an event appended less than Settle ago,
// another process may still be appending one. Without Options.Follow it reads everything.
func (s *Store) EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	events, err := s.Store.EventsAfter(ctx, after, limit)
	if !s.follow {
		return events, err
	}
	settled := store.Position(time.Now().Add(-Settle).UnixMicro())
	return slices.DeleteFunc(events, func(e store.StoredEvent) bool { return e.Position > settled }), err
}

// Events lists the log. With Options.Follow each page is sorted by event time: the bus delivers in
// any order, so an event may be appended after a later one.
func (s *Store) Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error) {
	page, err := s.Store.Events(ctx, q)
	if !s.follow {
		return page, err
	}
	slices.SortStableFunc(page.Items, func(a, b event.Event) int {
		if q.Ascending {
			return a.Time.Compare(b.Time)
		}
		return b.Time.Compare(a.Time)
	})
	return page, err
}

// AppendEvents assigns events their positions in the log, in this order. It skips an event whose id
// is in the log. It needs only the events table; the event-sink calls it.
func (s *Store) AppendEvents(ctx context.Context, events []event.Event) error {
	all := make([]row.Event, len(events))
	for i, e := range events {
		body, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("write event %s as JSON: %w", e.ID, err)
		}
		all[i] = row.Event{
			ID: e.ID, Part: string(e.Detail.Pipeline), Type: string(e.Type), At: e.Time, Body: body,
		}
	}
	return s.Append(ctx, all)
}
