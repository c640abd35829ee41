package redis

import (
	"sync"

	"github.com/interlock-go/interlock/internal/store"
)

// putCall is one call of PutReadings on its way.
type putCall struct {
	args  arguments
	count int // of writes
	size  int // of their data

	done chan struct{}
	puts []store.Put
	err  error
}

const (
	putsUnderWay = 2       // how many scripts take readings at once; what comes meanwhile is gathered
	putsTogether = 200     // how many writes one of them takes, so that Redis is not busy for long
	sizeTogether = 1 << 20 // and how much data
)

// gatherer gathers calls while others are under way: a script for many readings costs Redis, and the way there, far less than one
// for each. A call that comes alone waits for nobody.
type gatherer struct {
	mu      sync.Mutex
	waiting []*putCall
	busy    int
}

// take has a call carried out by do, together with others.
func (g *gatherer) take(c *putCall, do func([]*putCall)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, c)
	if g.busy == putsUnderWay {
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
func (g *gatherer) next() []*putCall {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.busy--
		return nil
	}
	n, count, size := 0, 0, 0
	for n < len(g.waiting) {
		c := g.waiting[n]
		if n > 0 && (count+c.count > putsTogether || size+c.size > sizeTogether) {
			break
		}
		n, count, size = n+1, count+c.count, size+c.size
	}
	calls := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	return calls
}
