// Package engine hosts the controller in a process: it owns the goroutines, timers and loops, and
// nothing else. It passes changes to the router, due tasks to their handlers, events to the sinks,
// and files to the catalog, and it shuts down gracefully. It makes no decisions: the engine knows
// the kinds of tasks, not what they do.
//
// Each loop has a file: feed.go, worker.go, sink.go, lease.go, tick.go, reload.go, replica.go.
// pool.go bounds concurrency.
package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/panicked"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Handlers are the functions the engine calls. Each may be called more than once for the same
// input, and concurrently.
type Handlers struct {
	Change func(ctx context.Context, c store.Change, now time.Time) error
	// Task carries out a task of any kind that controller.Of lists and the engine does not carry out
	// itself.
	Task  func(ctx context.Context, c store.Claim) error
	Ticks []Tick
	// Await blocks until the job of an attempt has ended, and handles the result. It returns at
	// once if the end of that job cannot be observed. It may be nil.
	Await func(ctx context.Context, key run.Key, attempt int) error
	// Config reloads a pipeline's definition from the store, or all definitions if id is "". Other
	// processes may have stored newer ones. It may be nil.
	Config func(ctx context.Context, id pipeline.ID) error
}

// Tick is periodic work.
type Tick struct {
	Name  string
	Every time.Duration
	Do    func(ctx context.Context, now time.Time) error
	First bool // run once at start too, as soon as the feed has caught up
	Now   bool // run once at start too, at once
	One   bool // only one process runs it at a time
}

// Options configure an engine.
type Options struct {
	Store    store.Store
	Handlers Handlers
	Notifier *notify.Notifier // nil: events are not delivered
	Logger   *slog.Logger     // gets every failure: the caller summarises what repeats
	Observer Observer         // may be nil
	Replica  string
	// Workers is how many tasks of each class run at once, and how many calls are made at once to
	// the targets of each job type.
	Workers int
	// BlockingStarts is how many start calls that block for the whole job may run at once; 0 means
	// Workers.
	BlockingStarts int
	Lease          time.Duration
	LostAfter      time.Duration
	// ProbeWorkers is how many probes run at once. They take long, can be interrupted, and are when the
	// engine stops. If 0, they have no workers of their own.
	ProbeWorkers int
	Alone        bool // no other process uses this store: existing leases are void
}

// Observer receives measurements for metrics. Its methods must not block.
type Observer interface {
	TaskDone(kind store.TaskKind, late, took time.Duration, err error)
	ChangeDone(late, took time.Duration, err error)
	TickDone(name string, took time.Duration, err error)
	SinkFailed(name string, err error)
}

// Engine runs the loops.
type Engine struct {
	Options
	health *health
	awaits *awaits
	leases *leases
	calls  *calls
	// stopping is cancelled when the engine stops claiming work.
	stopping context.Context
}

// New returns an engine that has not started yet.
func New(o Options) *Engine {
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	e := &Engine{Options: o, health: newHealth(), stopping: context.Background()}
	e.calls = &calls{workers: o.Workers, blocking: newPool(cmp.Or(o.BlockingStarts, o.Workers)), types: map[string]*pool{}}
	e.leases = &leases{engine: e, held: map[store.Lease]context.CancelFunc{}}
	e.awaits = &awaits{engine: e, known: map[run.AttemptID]bool{}}
	return e
}

// Run works until ctx is cancelled. Then it stops claiming work, gives work in progress up to grace
// to finish, releases the rest, and returns. It starts once the store accepts writes, and returns
// an error only if that did not happen before ctx was cancelled.
func (e *Engine) Run(ctx context.Context, grace time.Duration) error {
	if e.Alone {
		if err := e.voidLeases(ctx); err != nil {
			return err
		}
	}
	// Work in progress continues after ctx is cancelled, until grace is over.
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	e.stopping = ctx
	// Waiting for jobs ends with ctx: the next process waits again.
	e.awaits.resume(ctx)
	renewing, stopRenewing := context.WithCancel(work)
	var loops, renewed sync.WaitGroup
	renewed.Go(func() { e.leases.renew(renewing) })
	loops.Go(func() { e.follow(ctx, work) })
	loops.Go(func() { e.workOff(ctx, work) })
	if !e.Alone && e.Handlers.Config != nil {
		loops.Go(func() { e.keepUp(ctx) })
	}
	if e.Notifier != nil {
		for _, s := range e.Notifier.Sinks() {
			loops.Go(func() { e.deliver(ctx, work, s) })
		}
	}
	for _, t := range e.Handlers.Ticks {
		loops.Go(func() { e.tick(ctx, work, t) })
	}
	<-ctx.Done()
	stop := time.AfterFunc(grace, end)
	defer stop.Stop()
	loops.Wait()
	stopRenewing()
	renewed.Wait()
	e.awaits.all.Wait()
	return nil
}

// voidLeases ends the leases of the process before. It repeats that until the store accepts it: a
// disk that is full at the start may have space later.
func (e *Engine) voidLeases(ctx context.Context) error {
	for failures := 1; ; failures++ {
		err := e.Store.VoidLeases(context.WithoutCancel(ctx))
		if err == nil {
			return nil
		}
		if failures == 1 {
			e.Logger.Error("work does not start until the store accepts writes", slog.Any("error", err))
		}
		if !pause(ctx, retries.After(failures)) {
			return err
		}
	}
}

// pause sleeps for d. It returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool { return pauseUntil(ctx, nil, d) }

// pauseUntil is pause that also ends when woken is signalled.
func pauseUntil(ctx context.Context, woken <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-woken:
	case <-t.C:
	}
	return true
}

// maxBackoff is also the longest delay before work resumes after a store outage.
const maxBackoff = 10 * time.Second

var retries = backoff.Doubling{First: 250 * time.Millisecond, Most: maxBackoff}

// trials counts the consecutive failures of a loop, and reports them in health under the name of
// its part.
type trials struct {
	engine   *Engine
	part     string
	failures int
}

// failed reports a failure, and waits before the next try.
func (t *trials) failed(ctx context.Context, err error, message string, about ...any) {
	t.failures++
	t.engine.health.failed(t.part, err)
	t.engine.Logger.Error(message, append(about, "error", err)...)
	pause(ctx, retries.After(t.failures))
}

// succeeded ends a series of failures.
func (t *trials) succeeded() {
	if t.failures > 0 {
		t.engine.health.mended(t.part)
	}
	t.failures = 0
}

// stopped reports whether err only means that ctx has ended.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ctx.Err()))
}

type unobserved struct{}

func (unobserved) TaskDone(store.TaskKind, time.Duration, time.Duration, error) {}
func (unobserved) ChangeDone(time.Duration, time.Duration, error)               {}
func (unobserved) TickDone(string, time.Duration, error)                        {}
func (unobserved) SinkFailed(string, error)                                     {}

// safely calls code outside the engine. It turns a panic into an error and logs the stack.
func (e *Engine) safely(do func() error) error {
	err := panicked.Catch(do)
	if stack := panicked.Stack(err); stack != "" {
		e.Logger.Error("a handler panicked", slog.Any("error", err), slog.String("stack", stack))
	}
	return err
}
