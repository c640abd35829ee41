// Package dynamo is the store of a deployment on AWS: four DynamoDB tables, whose rows docs/DYNAMODB.md lists. A Batch is one
// transaction of at most ten rows, each on condition that it still is as it was read; what a decision depends on is read
// consistently; nothing ever scans a table.
//
// Events and changes are not put in their order by that transaction, which has no room for it. On AWS the stream of the tables
// does so: a function follows it, and image.go says what each record means to it. A process that is alone with its tables
// (Options.Alone) does it itself with each call.
//
// One file per role of the contract: commit.go, swap.go and task.go change records, put.go and producer.go take readings,
// run.go, record.go, reading.go and event.go list, order.go gives events and changes their places, feed.go hands changes
// out, trim.go forgets. gather.go reads rows, table.go says what has to be deployed, address.go where each row is, url.go what may be opened.
package dynamo

import (
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"

	"github.com/interlock-go/interlock/internal/store"
)

var _ store.Store = (*Store)(nil)

var errClosed = errors.New("store is closed")

// MaxWrites is how many readings one call takes: what fits into one transaction.
const MaxWrites = 10

// look is how often those who wait are woken where other processes make the changes: nobody tells of these.
const look = 2 * time.Second

// Options say how a Store is used. The zero value is for tables whose streams are followed by functions.
type Options struct {
	// Alone says that no other process changes the tables and nobody follows their streams: events and changes are given
	// their places by the call that makes them, and changes are handed out by Receive.
	Alone bool
	// KeepEvents is how long events are kept, by DynamoDB's own TTL; 0 leaves that to Trim.
	KeepEvents time.Duration
	// Client sends the requests; nil means that of the configuration.
	Client aws.HTTPClient
}

// Store is one process's hold on the tables.
type Store struct {
	do          calls
	environment string
	region      string
	o           Options

	alone  sync.Mutex // with Options.Alone: one change after the other
	places places
	feed   feed
	ticket ticket
	gets   *store.Gatherer[wanted]

	tasks, events, changes store.Signal

	closed chan struct{}
	once   sync.Once
	watch  sync.Once
	ended  sync.WaitGroup
}

// New works on the tables of an environment, with a client made of c. It connects to nothing yet.
func New(c aws.Config, environment string, o Options) *Store {
	if o.Client != nil {
		c.HTTPClient = o.Client
	}
	c.Logger = logging.Nop{} // what matters is in the errors
	return &Store{
		do: callsOf(dynamodb.NewFromConfig(c)), environment: environment, region: c.Region, o: o,
		feed: feed{groups: map[string]*group{}}, gets: newGets(), closed: make(chan struct{}),
	}
}

// Close ends what waits, and lets go of the changes that were received and are not done.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.ended.Wait()
	})
	return nil
}

func (s *Store) open() error {
	select {
	case <-s.closed:
		return errClosed
	default:
		return nil
	}
}

// serial begins a change, and the function it gives ends it. A process that is alone makes one after the other: what it gives
// a place is then in the order in which it happened.
func (s *Store) serial() func() {
	if !s.o.Alone {
		return func() {}
	}
	s.alone.Lock()
	return s.alone.Unlock
}

// TasksChanged is the same channel for all who wait for the next change.
func (s *Store) TasksChanged() <-chan struct{} { return s.wait(&s.tasks) }

// EventsChanged is the same channel for all who wait for the next event.
func (s *Store) EventsChanged() <-chan struct{} { return s.wait(&s.events) }

func (s *Store) wait(on *store.Signal) <-chan struct{} {
	if !s.o.Alone {
		s.watch.Do(func() { s.ended.Go(s.raiseAll) })
	}
	return on.Next()
}

func (s *Store) raiseAll() {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.tasks.Raise()
			s.events.Raise()
		case <-s.closed:
			return
		}
	}
}

// ticket numbers what this process does, by the clock of its callers as far as that goes on.
type ticket struct {
	mu   sync.Mutex
	last int64
}

// next is the first of as many numbers as a Batch has rows.
func (t *ticket) next(now time.Time) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = max(t.last+store.MaxRows, now.UnixNano())
	return t.last
}
