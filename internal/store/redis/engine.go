// Package redis is the store that several replicas share: one Redis, version 7 or later, or Valkey.
// An Engine keeps rows. Every call is one Lua script, which Redis runs alone, so a script is a
// transaction; the scripts are in lua, and check everything before they write anything. lua/row.lua
// says which key holds which row; docs/REDIS.md lists every key.
//
// rows.go reads and writes rows, feed.go hands out changes, alive.go tells the other replicas that this
// one runs. url.go and check.go decide which servers may be used, fault.go explains their errors.
package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/record"
	"github.com/interlock-go/interlock/internal/store/row"
)

var _ row.Engine = (*Engine)(nil)

// The library would print to standard error what its errors say anyway.
func init() { logging.Disable() }

// Options say how an Engine is opened. The zero value is the one for a controller.
type Options struct {
	// Unsafe opens a Redis that may lose acknowledged writes: no append-only file, or eviction.
	Unsafe bool
	// CallersClock lets leases go by the callers' clock alone. It is for tests in fake time.
	CallersClock bool
	// Readiness is how long the last verdict on a pipeline's gate is shown to other readers of this
	// Redis; an hour if it is 0.
	Readiness time.Duration
	// Log receives what happens in the background; nil discards it.
	Log *slog.Logger
}

// Store is a store on an Engine.
type Store struct {
	*record.Store
	engine *Engine
}

// Open opens the store on the Redis that a URL names: see OpenEngine.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	e, err := OpenEngine(ctx, url, o)
	if err != nil {
		return nil, err
	}
	return &Store{record.New(e, record.Options{Readiness: cmp.Or(o.Readiness, time.Hour)}), e}, nil
}

// Trouble is why Redis does not take changes; nil if it does.
func (s *Store) Trouble() error { return s.engine.Trouble() }

// Engine is one process's connection to the data.
type Engine struct {
	client *redis.Client
	name   string // of the server, without anything secret
	prefix string
	data   string // the value of the schema key, which no other data has
	o      Options

	instance string // tells the consumers and leases of this Engine from those of others
	signals  map[byte]*store.Signal
	trouble  atomic.Pointer[error] // of the last heartbeat
	peers    peers
	held     sync.Map // of heldChange
	unsure   sync.Map // of {group}/{consumer} that asked for changes and received no answer

	closed  chan struct{}
	closing sync.Once
	ended   sync.WaitGroup
	err     error // of closing
}

// The topics as scripts name them in messages.
const (
	changeTopic = 'c'
	eventTopic  = 'e'
	taskTopic   = 't'
	leaveTopic  = 'l' // an instance has left
	allTopics   = "cetl"
)

// OpenEngine connects to the Redis that a URL names: see docs/REDIS.md. It refuses a server that could
// lose what it acknowledges.
func OpenEngine(ctx context.Context, url string, o Options) (*Engine, error) {
	to, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		client: to.client(), name: to.name, prefix: to.prefix, o: o, instance: rand.Text()[:12], closed: make(chan struct{}),
		signals: map[byte]*store.Signal{changeTopic: {}, eventTopic: {}, taskTopic: {}, leaveTopic: {}},
		peers:   peers{known: map[string]bool{}},
	}
	if err := e.start(ctx); err != nil {
		_ = e.client.Close() // the first error says more
		return nil, fmt.Errorf("open %s: %w", e.name, err)
	}
	return e, nil
}

func (e *Engine) start(ctx context.Context) error {
	if err := e.check(ctx); err != nil {
		return err
	}
	if err := e.beat(ctx); err != nil {
		return err
	}
	messages, err := e.subscribe(ctx)
	if err != nil {
		return err
	}
	e.ended.Go(e.keepAlive)
	e.ended.Go(func() { e.listen(messages) })
	return nil
}

// Close releases the changes that were received and not acknowledged, and ends what waits.
func (e *Engine) Close() error {
	e.closing.Do(func() {
		close(e.closed)
		e.ended.Wait()
		e.leave()
		e.err = e.client.Close()
	})
	return e.err
}

func (e *Engine) key(name string) string { return e.prefix + ":" + name }

//go:embed lua/*.lua
var lua embed.FS

// The scripts, each with those that it builds on.
var (
	applyScript   = script("row", "apply")
	getScript     = script("row", "get")
	scanScript    = script("row", "scan")
	dropScript    = script("row", "drop")
	nextScript    = script("next")
	beatScript    = script("beat")
	leaveScript   = script("leave")
	receiveScript = script("group", "receive")
	ackScript     = script("group", "ack")
	backlogScript = script("group", "backlog")
	trimScript    = script("group", "trim")
)

func script(names ...string) *redis.Script {
	var text strings.Builder
	for _, name := range append([]string{"common"}, names...) {
		part, err := lua.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // the file is part of the program
		}
		text.Write(part)
	}
	return redis.NewScript(text.String())
}

// run runs a script by its hash, and sends the text only if Redis does not have it: Redis has not run
// it then, so it never runs twice. Scripts answer with a number, or with a list of texts.
func (e *Engine) run(ctx context.Context, script *redis.Script, args ...any) *redis.Cmd {
	cmd := script.Run(ctx, e.client, nil, append([]any{e.prefix, e.data}, args...)...)
	err := cmd.Err()
	if ended := over(ctx); err != nil && ended != nil {
		err = fmt.Errorf("%w: %w", ended, err)
	} else {
		err = e.fault(err)
	}
	cmd.SetErr(err)
	return cmd
}

// over returns why ctx has ended; nil if it has not. A connection has the deadline of the context, and
// may reach it a moment before the context does.
func over(ctx context.Context) error {
	if at, limited := ctx.Deadline(); limited && ctx.Err() == nil && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}
