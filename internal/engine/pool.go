package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// pool is a bounded number of workers. Whatever takes a worker of one pool never waits for those of another.
type pool struct {
	busy    chan struct{}   // one element per worker that is taken
	waiting atomic.Int32    // tasks that wait for a worker
	freed   chan<- struct{} // signalled when a worker of a full pool is given back; may be nil
}

func newPool(workers int) *pool { return &pool{busy: make(chan struct{}, workers)} }

// room returns how many workers are free and not waited for.
func (p *pool) room() int { return max(cap(p.busy)-len(p.busy)-int(p.waiting.Load()), 0) }

// try takes a worker if one is free.
func (p *pool) try() bool {
	select {
	case p.busy <- struct{}{}:
		return true
	default:
		return false
	}
}

// take takes a worker as soon as one is free, and returns false if one of the contexts ends first.
func (p *pool) take(ctx, other context.Context) bool {
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	select {
	case p.busy <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	case <-other.Done():
		return false
	}
}

// give gives a worker back.
func (p *pool) give() {
	full := len(p.busy) == cap(p.busy)
	<-p.busy
	if full && p.freed != nil {
		select {
		case p.freed <- struct{}{}:
		default:
		}
	}
}

// slot is the worker that a task has. It is used by the goroutine of that task alone.
type slot struct{ pool *pool } // nil: none

// leave gives the worker back, if there is one.
func (s *slot) leave() {
	if s.pool != nil {
		s.pool.give()
		s.pool = nil
	}
}

type slotKey struct{}

// calls are the pools for calls to jobs' targets: one per job type, so that a target that hangs holds up only jobs of its
// own type, and one for calls that are the job itself, which take as long as the job.
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

// waiting counts the tasks that wait for a worker, by job type; "" stands for calls that are the job itself.
func (c *calls) waiting() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]int{}
	for jobType, p := range c.types {
		all[jobType] = int(p.waiting.Load())
	}
	all[""] = int(c.blocking.waiting.Load())
	return all
}

// errStopping says that the engine takes no more work.
var errStopping = errors.New("the engine stops")

// Enter moves the task that ctx belongs to from its worker to one for calls to targets of that job type, or to one for calls
// that are the job itself. Its former worker is free from then on. If all of those are taken, Enter waits for one and
// returns true: what the task has read so far may be old. It fails if ctx ends or the engine stops. Outside of a task it
// does nothing.
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
	if !p.take(ctx, e.stopping) {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		return true, errStopping
	}
	s.pool = p
	return true, nil
}
