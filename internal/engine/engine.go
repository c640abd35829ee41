// Package engine is the host that is a process: it owns the goroutines, timers and loops, and nothing else. It hands
// changes to the router, due tasks to their handlers, events to the sinks, and files to the catalog, and it stops
// gracefully. What any of that means is decided elsewhere: the engine knows kinds of tasks, not what they do.
//
// Each loop has a file: feed.go, worker.go, sink.go, lease.go, tick.go, reload.go, replica.go. pool.go bounds what is done at once.
package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/panicked"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Handlers are what the engine calls. Each may be called again for the same thing, and from several goroutines at once.
type Handlers struct {
	Change func(ctx context.Context, c store.Change, now time.Time) error
	Tasks  map[store.TaskKind]func(ctx context.Context, c store.Claim) error
	Ticks  []Tick
	// Await returns when the job of an attempt has ended, where that can be seen, and has dealt with it; at once where it
	// cannot. It may be nil.
	Await func(ctx context.Context, key run.Key, attempt int) error
	// Config brings a pipeline's definition up to what is stored, or those of all if id is "", where other processes may have
	// stored another. It may be nil.
	Config func(ctx context.Context, id pipeline.ID) error
}

// Tick is something that is done again and again.
type Tick struct {
	Name  string
	Every time.Duration
	Do    func(ctx context.Context, now time.Time) error
	First bool // also once at start, as soon as the feed has caught up
	One   bool // of several processes, one does it
}

// Options are how the engine works.
type Options struct {
	Store    store.Store
	Handlers Handlers
	Notifier *notify.Notifier // nil: nobody is told of events
	Logger   *slog.Logger
	Observer Observer // may be nil
	Replica  string
	// Workers is how many tasks of each class are carried out at once, and how many calls are made at once to the targets of
	// each job type.
	Workers int
	// BlockingStarts is how many start calls that are the job itself are under way at once; as many as Workers if it is 0.
	BlockingStarts int
	Lease          time.Duration
	LostAfter      time.Duration
	// Apart are kinds of tasks with workers of their own, so many for each: what they do takes long and must not keep the
	// others waiting. It can be broken off, and is when the engine stops.
	Apart map[store.TaskKind]int
	Alone bool // no other process works on this store: leases from before are void
}

// Observer is told what the engine does, for metrics. Its methods return at once.
type Observer interface {
	TaskDone(kind store.TaskKind, late, took time.Duration, err error)
	ChangeDone(late, took time.Duration, err error)
	TickDone(name string, took time.Duration, err error)
	SinkFailed(name string, err error)
}

// Group is the engine's place in the feed.
const Group = "router"

// Engine runs the loops.
type Engine struct {
	Options
	health health
	awaits *awaits
	leases *leases
	calls  *calls
	// stopping ends when the engine takes no more work.
	stopping context.Context
}

// New is an engine that has not started yet.
func New(o Options) *Engine {
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	e := &Engine{Options: o, stopping: context.Background()}
	e.calls = &calls{workers: o.Workers, blocking: newPool(cmp.Or(o.BlockingStarts, o.Workers)), types: map[string]*pool{}}
	e.leases = newLeases(e)
	e.awaits = &awaits{engine: e, known: map[run.AttemptID]bool{}}
	return e
}

// Run works until ctx ends, then stops taking work, lets what is under way finish for as long as grace, hands back the
// rest, and returns. It returns an error only if it could not begin.
func (e *Engine) Run(ctx context.Context, grace time.Duration) error {
	if e.Alone {
		if err := e.Store.VoidLeases(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	// Work that was begun goes on after ctx has ended, until grace is over.
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	e.stopping = ctx
	// What is only waited for ends with ctx: whoever starts next waits again.
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

// pause waits, and says whether it was left alone until the end.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 10 * time.Second // also how late work goes on after the store was away
)

// backoff is the wait after that many failures in a row.
func backoff(failures int) time.Duration {
	wait := minBackoff
	for n := 1; n < failures && wait < maxBackoff; n++ {
		wait *= 2
	}
	return min(wait, maxBackoff)
}

// stopped says that an error is only the end of the work.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ctx.Err()))
}

type unobserved struct{}

func (unobserved) TaskDone(store.TaskKind, time.Duration, time.Duration, error) {}
func (unobserved) ChangeDone(time.Duration, time.Duration, error)               {}
func (unobserved) TickDone(string, time.Duration, error)                        {}
func (unobserved) SinkFailed(string, error)                                     {}

// safely calls what is not the engine's own. A panic is an error like any other; its stack is logged.
func (e *Engine) safely(do func() error) error {
	err := panicked.Catch(do)
	if stack := panicked.Stack(err); stack != "" {
		e.Logger.Error("a handler panicked", slog.Any("error", err), slog.String("stack", stack))
	}
	return err
}
