package store

import "sync"

// Gatherer gathers calls while others are under way: one that serves many costs the server, and the way there, far less than one
// for each. A call that comes alone waits for nobody.
type Gatherer[C any] struct {
	underWay int
	together func(waiting []C) int

	mu      sync.Mutex
	waiting []C
	busy    int
}

// NewGatherer has so many groups under way at once. together says how many of those that wait, at least one, go with the first.
func NewGatherer[C any](underWay int, together func(waiting []C) int) *Gatherer[C] {
	return &Gatherer[C]{underWay: underWay, together: together}
}

// Take has calls carried out by do, together with others, and does not wait for it.
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

// next gives the calls that go together; nil if nobody waits.
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
