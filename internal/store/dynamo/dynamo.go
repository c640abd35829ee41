// Package dynamo stores the rows of an AWS deployment in four DynamoDB tables; docs/DYNAMODB.md
// lists them. Engine implements row.Engine: a transaction is one TransactWriteItems of at most ten
// items, data that decisions depend on is read consistently, and nothing scans a table.
//
// The streams of the tables are the change feed: each change is an attribute of the row it is
// about. The events of a transaction wait in its outbox until a function has published them and
// Append has assigned them a position in the log. image.go interprets stream records.
//
// apply.go writes rows, gather.go and scan.go read them, event.go maintains the event log,
// outbox.go the events waiting for it. address.go maps rows to keys, table.go lists what must be
// deployed, url.go what may be opened. producer.go handles rows that others write.
package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/record"
	"github.com/interlock-go/interlock/internal/store/row"
)

// poll is how often waiters are woken, because other processes make changes that this one is not
// notified of.
const poll = 2 * time.Second

// Options configure the use of the tables.
type Options struct {
	// KeepEvents is how long events are kept, by DynamoDB's TTL; 0 leaves that to retention.
	KeepEvents time.Duration
	// Follow means that the event log is read while other processes append to it.
	Follow bool
	// Client sends the requests; nil means the one in the configuration.
	Client aws.HTTPClient
}

// Engine is a process's access to the tables of an environment.
type Engine struct {
	*tables
	self string
}

var _ row.Engine = (*Engine)(nil)

// NewEngine returns an engine on the tables of an environment, with a client built from c. It does
// not connect yet.
func NewEngine(c aws.Config, environment string, o Options) *Engine {
	if o.Client != nil {
		c.HTTPClient = o.Client
	}
	c.Logger = logging.Nop{} // the errors contain what matters
	return &Engine{self: rand.Text(), tables: &tables{
		do: callsOf(dynamodb.NewFromConfig(c)), environment: environment, region: c.Region, keepEvents: o.KeepEvents, follow: o.Follow,
		gets: newGets(), closed: make(chan struct{}),
	}}
}

// errNoFeed is the error of Receive and Ack.
var errNoFeed = fmt.Errorf("the stream-router reads changes from the streams of the tables: %w", errors.ErrUnsupported)

// Receive fails: on AWS the streams are the change feed.
func (e *Engine) Receive(_ context.Context, group, consumer string, _ int) ([]row.Change, error) {
	return nil, fmt.Errorf("receive changes as %s of %s: %w", consumer, group, errNoFeed)
}

// Ack fails like Receive.
func (e *Engine) Ack(_ context.Context, group string, _ []row.Change) error {
	return fmt.Errorf("acknowledge changes of %s: %w", group, errNoFeed)
}

// Backlog returns how many transactions have unpublished events, ignoring the group.
func (e *Engine) Backlog(ctx context.Context, _ string) (int, *row.Change, error) {
	waiting, err := e.Outboxes(ctx, time.Time{}, store.MaxPage)
	if err != nil || len(waiting) == 0 {
		return 0, nil, err
	}
	return len(waiting), &row.Change{At: waiting[0].At}, nil
}

// Changed returns a channel that is closed by a change in this process, and periodically.
func (e *Engine) Changed(t row.Topic) <-chan struct{} {
	e.watch.Do(func() { e.ended.Go(e.raiseAll) })
	if t == row.EventTopic {
		return e.events.Next()
	}
	return e.tasks.Next()
}

func (t *tables) raiseAll() {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.tasks.Raise()
			t.events.Raise()
		case <-t.closed:
			return
		}
	}
}

// Peers returns a random name for this process. Leases expire by time: the other processes are
// unknown.
func (e *Engine) Peers() row.Peers { return row.Peers{Self: e.self} }

// Trim does nothing: DynamoDB deletes applied ids by their TTL, and streams expire changes.
func (e *Engine) Trim(context.Context, time.Time, int) (int, error) { return 0, e.open() }

// Close ends blocked calls.
func (e *Engine) Close() error {
	e.once.Do(func() {
		close(e.closed)
		e.tasks.Raise()
		e.events.Raise()
		e.ended.Wait()
	})
	return nil
}

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

// Store returns the store on the tables of e that accesses rows through rows: e, or a wrapper of
// it.
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
		var err error
		if all[i], err = record.StoredEvent(e); err != nil {
			return err
		}
	}
	return s.Append(ctx, all)
}
