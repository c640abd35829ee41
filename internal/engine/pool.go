package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// pool is a bounded number of workers. Work in one pool never waits for workers of another.
// Pipelines that wait for a worker take turns, so that none waits for all tasks of another.
type pool struct {
	size  int
	freed chan<- struct{} // signalled when a full pool gets a free worker; may be nil

	mu    sync.Mutex
	busy  int
	turns []pipeline.ID // pipelines with waiting tasks, next turn first
	queue map[pipeline.ID][]*waiter
	count int // waiting tasks
}

// waiter is a task that waits for a worker.
type waiter struct {
	given chan struct{} // closed when it gets a worker
	done  bool          // it has a worker
}

func newPool(workers int) *pool { return &pool{size: workers, queue: map[pipeline.ID][]*waiter{}} }

// room returns how many workers are free and not claimed by waiting tasks.
func (p *pool) room() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.size-p.busy-p.count, 0)
}

// waiting returns how many tasks wait for a worker.
func (p *pool) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// try takes a worker if one is free.
func (p *pool) try() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy == p.size {
		return false
	}
	p.busy++
	return true
}

// take waits for a worker for a task of that pipeline. It returns false if one of the contexts ends
// first.
func (p *pool) take(ctx, other context.Context, id pipeline.ID) bool {
	if p.try() {
		return true
	}
	w := p.join(id)
	select {
	case <-w.given:
		return true
	case <-ctx.Done():
	case <-other.Done():
	}
	if p.withdraw(id, w) {
		return false
	}
	p.give() // it got a worker at the same moment
	return false
}

// join queues a task, or takes a worker that has become free.
func (p *pool) join(id pipeline.ID) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &waiter{given: make(chan struct{})}
	if p.busy < p.size { // a worker has become free
		p.busy++
		w.done = true
		close(w.given)
		return w
	}
	if len(p.queue[id]) == 0 {
		p.turns = append(p.turns, id)
	}
	p.queue[id] = append(p.queue[id], w)
	p.count++
	return w
}

// withdraw removes a task from the queue. It returns false if the task already has a worker.
func (p *pool) withdraw(id pipeline.ID, w *waiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.done {
		return false
	}
	p.count--
	p.set(id, slices.DeleteFunc(p.queue[id], func(other *waiter) bool { return other == w }))
	return true
}

// set replaces the waiting tasks of a pipeline, and removes its turn if there are none.
func (p *pool) set(id pipeline.ID, waiters []*waiter) {
	if len(waiters) > 0 {
		p.queue[id] = waiters
		return
	}
	delete(p.queue, id)
	p.turns = slices.DeleteFunc(p.turns, func(other pipeline.ID) bool { return other == id })
}

// give returns a worker to the pool, or passes it to the pipeline whose turn it is.
func (p *pool) give() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count > 0 {
		id := p.turns[0]
		p.turns = append(p.turns[1:], id)
		w := p.queue[id][0]
		p.set(id, p.queue[id][1:])
		p.count--
		w.done = true
		close(w.given)
		return
	}
	full := p.busy == p.size
	p.busy--
	if full && p.freed != nil {
		select {
		case p.freed <- struct{}{}:
		default:
		}
	}
}

// slot is the worker held by a task. Only that task's goroutine uses it.
type slot struct {
	pool     *pool // nil: none
	pipeline pipeline.ID
}

// leave returns the worker, if the slot has one.
func (s *slot) leave() {
	if s.pool != nil {
		s.pool.give()
		s.pool = nil
	}
}

type slotKey struct{}

// calls holds the pools for calls to job targets: one per job type, so that a hanging target delays
// only jobs of its own type, and one for start calls that block for the whole job.
type calls struct {
	workers  int
	blocking *pool

	mu    sync.Mutex
	types map[string]*pool
}

func (c *calls) of(jobType string, blocking bool) *pool {
	if blocking {
		return c.blocking
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.types[jobType]
	if p == nil {
		p = newPool(c.workers)
		c.types[jobType] = p
	}
	return p
}

// waiting counts the tasks that wait for a worker, by job type; "" stands for start calls that
// block for the whole job.
func (c *calls) waiting() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]int{}
	for jobType, p := range c.types {
		all[jobType] = p.waiting()
	}
	all[""] = c.blocking.waiting()
	return all
}

// errStopping means that the engine is shutting down and starts no more work.
var errStopping = errors.New("the engine is shutting down")

// Enter moves the task of ctx from its worker to a worker for calls to targets of that job type,
// or, if blocking, to one for calls that block for the whole job. Its former worker becomes free.
// If none is free, Enter waits and returns true: data the task has read may be stale. It fails if
// ctx ends or the engine stops. Outside a task it does nothing.
func (e *Engine) Enter(ctx context.Context, jobType string, blocking bool) (waited bool, err error) {
	s, _ := ctx.Value(slotKey{}).(*slot)
	p := e.calls.of(jobType, blocking)
	if s == nil || s.pool == p {
		return false, nil
	}
	if p.try() {
		s.leave()
		s.pool = p
		return false, nil
	}
	s.leave()
	if !p.take(ctx, e.stopping, s.pipeline) {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		return true, errStopping
	}
	s.pool = p
	return true, nil
}

// crew runs functions concurrently on reused goroutines. Handlers need a deep stack, and a new
// goroutine for every change and task would have to grow its stack, copying it, each time.
type crew struct {
	next    chan func()
	running sync.WaitGroup // functions
	idle    sync.WaitGroup // goroutines
}

func newCrew() *crew { return &crew{next: make(chan func())} }

// start runs f on an idle goroutine, or on a new one.
func (c *crew) start(f func()) {
	c.running.Add(1)
	select {
	case c.next <- f:
	default:
		c.idle.Go(func() { c.work(f) })
	}
}

func (c *crew) work(f func()) {
	for more := true; more; f, more = <-c.next {
		f()
		c.running.Done()
	}
}

// end waits for all functions to return. start must not be called after it.
func (c *crew) end() {
	c.running.Wait()
	close(c.next)
	c.idle.Wait()
}
