// Package redis is the store that several replicas share: one Redis, version 7 or later, or Valkey. Every change is one Lua
// script, which Redis runs alone, so a script is a transaction; the scripts are in lua, one for each call, and look at
// everything before they write anything. Leases are compared with Redis' own clock, so that no replica's clock decides who
// holds a task. docs/REDIS.md lists every key and its value.
//
// One file per role of the contract: commit.go and task.go change records, put.go and gather.go take readings, run.go, record.go,
// reading.go and event.go list, feed.go and held.go hand out changes, trim.go forgets. url.go and check.go say what may be opened, fault.go
// what a refusal means, alive.go tells the other replicas that this one lives.
package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/interlock-go/interlock/internal/store"
)

var _ store.Store = (*Store)(nil)

var errClosed = errors.New("store is closed")

// The library would print to standard error what its errors say anyway.
func init() { logging.Disable() }

// Options say how a Store is opened. The zero value is what a controller wants.
type Options struct {
	// Unsafe opens a Redis that may lose what it acknowledged: without an append-only file, or with eviction.
	Unsafe bool
	// CallersClock compares leases with the instant that a call is given, as the other stores do, and not with Redis' clock.
	// It is for tests, whose time is not the real one.
	CallersClock bool
	// Readiness is how long the last verdict on a pipeline's gate is shown to others who read this Redis; an hour unless said.
	Readiness time.Duration
	// Log is told of what goes on in the background; nil means nobody.
	Log *slog.Logger
}

// Store is one process's hold on the data.
type Store struct {
	client *redis.Client
	name   string // of the server, without anything secret
	prefix string
	data   string // which data it is, as the schema key names it
	o      Options

	instance string // tells this Store's consumers from those of others
	signals  map[byte]*store.Signal
	trouble  atomic.Pointer[error] // of the last sign of life
	held     held
	puts     *store.Gatherer[*putCall]

	closed chan struct{}
	once   sync.Once
	ended  sync.WaitGroup
	err    error // of closing
}

// Open connects to the Redis that a URL names: see docs/REDIS.md. It refuses one that cannot keep what the store promises.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	to, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Readiness <= 0 {
		o.Readiness = time.Hour
	}
	s := &Store{
		client: to.client(), name: to.name, prefix: to.prefix, o: o, instance: rand.Text()[:12],
		signals: map[byte]*store.Signal{'c': {}, 'e': {}, 't': {}}, closed: make(chan struct{}),
		puts: store.NewGatherer(putsUnderWay, goTogether),
	}
	if err := s.begin(ctx); err != nil {
		_ = s.client.Close() // what went wrong before says more
		return nil, fmt.Errorf("open %s: %w", s.name, err)
	}
	return s, nil
}

func (s *Store) begin(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := s.beat(ctx); err != nil {
		return err
	}
	messages, err := s.listen(ctx)
	if err != nil {
		return err
	}
	s.ended.Go(s.keepAlive)
	s.ended.Go(func() { s.hear(messages) })
	return nil
}

// Close lets go of the changes that were received through s and are not done, and ends what waits.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.ended.Wait()
		s.leave()
		s.err = s.client.Close()
	})
	return s.err
}

func (s *Store) open() error {
	select {
	case <-s.closed:
		return errClosed
	default:
		return nil
	}
}
