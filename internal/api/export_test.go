package api

import (
	"runtime"

	"github.com/interlock-go/interlock/internal/store"
)

// AwaitWaiting returns once n requests wait for a gate.
func (a *API) AwaitWaiting(n int) {
	for a.waiting() != n {
		runtime.Gosched()
	}
}

func (a *API) waiting() int {
	a.waits.mu.Lock()
	defer a.waits.mu.Unlock()
	n := 0
	for _, one := range a.waits.watches {
		n += one.waiting
	}
	return n
}

// Concerned returns how many awaited gates may depend on a change.
func (a *API) Concerned(c store.Change) int {
	a.waits.mu.Lock()
	defer a.waits.mu.Unlock()
	return len(a.waits.waitingFor(c))
}

// ReservedForBodies returns how much memory is reserved for request bodies.
func (a *API) ReservedForBodies() int64 { return a.bodies.used.Load() + a.jobBodies.used.Load() }

// ReserveForBodies reserves a part of the budget for bodies, but not of that for workers, and
// returns how to free it.
func (a *API) ReserveForBodies(part, of int64) (free func()) {
	n := a.bodies.size / of * part
	a.bodies.used.Add(n)
	return func() { a.bodies.release(n) }
}
