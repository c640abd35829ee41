// Package redis is the store that several replicas share: one Redis, version 7 or later, or Valkey.
// An Engine stores rows. Every call is one Lua script. Redis runs scripts one at a time, so a
// script is a transaction; the scripts are in lua, and check everything before they write anything.
// lua/row.lua maps rows to keys; docs/REDIS.md lists every key.
//
// rows.go reads and writes rows, feed.go delivers changes, alive.go sends heartbeats to the other
// replicas. url.go and check.go decide which servers may be used, fault.go explains their errors.
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

// Options configure an Engine. The zero value suits a controller.
type Options struct {
	// Unsafe opens a Redis that may lose acknowledged writes: no append-only file, or eviction.
	Unsafe bool
	// CallersClock makes leases use only the callers' clock. It is for tests in fake time.
	CallersClock bool
	// Readiness is how long the last verdict on a pipeline's gate is visible to other readers of
	// this Redis; 0 means an hour.
	Readiness time.Duration
	// Log receives background messages; nil discards them.
	Log *slog.Logger

	look time.Duration // for tests: instead of lookEvery
}

// Store is a store on an Engine.
type Store struct {
	*record.Store
	engine *Engine
}

// Open opens the store on the Redis at a URL: see OpenEngine.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	e, err := OpenEngine(ctx, url, o)
	if err != nil {
		return nil, err
	}
	return &Store{record.New(e, record.Options{Readiness: cmp.Or(o.Readiness, time.Hour)}), e}, nil
}

// Trouble returns why Redis accepts no changes; nil if it does.
func (s *Store) Trouble() error { return s.engine.Trouble() }

// Engine is one process's connection to the data.
type Engine struct {
	client *redis.Client
	name   string // name of the server, without secrets
	prefix string
	data   string // the unique value of the schema key
	o      Options

	instance string // identifies this Engine's consumers and leases
	signals  map[byte]*store.Signal
	trouble  atomic.Pointer[error] // error of the last heartbeat
	peers    peers
	held     sync.Map // set of heldChange
	unsure   sync.Map // set of {group}/{consumer} whose last request had no reply

	closed  chan struct{}
	closing sync.Once
	ended   sync.WaitGroup
	err     error // result of Close
}

// The topics, as scripts name them in messages.
const (
	changeTopic = 'c'
	eventTopic  = 'e'
	taskTopic   = 't'
	leaveTopic  = 'l' // an instance has left
	allTopics   = "cetl"
)

// OpenEngine connects to the Redis at a URL: see docs/REDIS.md. It rejects a server that could lose
// acknowledged writes.
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
		_ = e.client.Close() // the first error is more useful
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

// Close releases changes that were received but not acknowledged, and ends blocked calls.
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

// The scripts, each with the files it includes.
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

// run runs a script by its hash, and sends the text only if Redis does not have it. In that case
// Redis has not run the script, so it never runs twice. Scripts return a number or a list of
// strings.
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

// over returns why ctx has ended; nil if it has not. A connection uses the context's deadline, and
// may reach it slightly before the context does.
func over(ctx context.Context) error {
	if at, limited := ctx.Deadline(); limited && ctx.Err() == nil && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// LogTo sends the Redis client's log messages to logger. It applies to the whole process.
func LogTo(logger *slog.Logger) { redis.SetLogger(clientLog{logger}) }

type clientLog struct{ logger *slog.Logger }

// Printf logs one message of the client.
func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	l.logger.WarnContext(ctx, "redis client", "message", fmt.Sprintf(format, args...))
}
