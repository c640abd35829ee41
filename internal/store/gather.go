package store

import (
	"errors"
	"sync"
)

// Gatherer batches calls that arrive while others are in flight: one request for many calls costs
// the server and the network far less than one each. A call that arrives alone does not wait.
type Gatherer[C any] struct {
	underWay int
	together func(waiting []C) int

	mu      sync.Mutex
	waiting []C
	busy    int
}

// NewGatherer returns a Gatherer with at most underWay batches in flight. together returns how many
// of the waiting calls, at least one, form the next batch.
func NewGatherer[C any](underWay int, together func(waiting []C) int) *Gatherer[C] {
	return &Gatherer[C]{underWay: underWay, together: together}
}

// Take queues calls to be run by do in a batch, and returns at once.
func (g *Gatherer[C]) Take(do func([]C), calls ...C) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, calls...)
	if g.busy == g.underWay {
		return
	}
	g.busy++
	go func() {
		for calls := g.next(); calls != nil; calls = g.next() {
			do(calls)
		}
	}()
}

// next returns the next batch; nil if no calls are waiting.
func (g *Gatherer[C]) next() []C {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.busy--
		return nil
	}
	n := g.together(g.waiting)
	calls := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	return calls
}

// Together calls do for the numbers below n, at most atOnce at a time, and returns all errors.
func Together(n, atOnce int, do func(i int) error) error {
	errs, slots := make([]error, n), make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
