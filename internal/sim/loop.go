package sim

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// move is something that can happen now.
type move func()

// step makes one of the possible moves, and reports whether there was one. The seed decides which;
// without faults it is the first.
func (w *World) step() bool {
	w.moves = w.moves[:0]
	for _, a := range w.acts {
		if a.ready(w.now) {
			w.moves = append(w.moves, func() { w.takeUp(a) })
		}
	}
	for _, h := range w.hosts {
		h.offer()
	}
	if w.chaos != nil {
		w.chaos.offer(w)
	}
	if len(w.moves) == 0 {
		return false
	}
	w.steps++
	at := 0
	if w.chaos != nil {
		at = w.chaos.among(len(w.moves))
	}
	w.moves[at]()
	return true
}

// next returns the next instant at which something can happen; zero if nothing ever will.
func (w *World) next() time.Time {
	var next time.Time
	for _, a := range w.acts {
		next = sooner(next, a.resumes())
	}
	for _, h := range w.hosts {
		next = sooner(next, h.next())
	}
	if w.chaos != nil {
		next = sooner(next, w.chaos.next())
	}
	if !next.IsZero() && next.Before(w.now) {
		return w.now
	}
	return next
}

// sooner returns the earlier of two instants; zero means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// dueCache caches when the next task is due, until a task changes.
type dueCache struct {
	known bool
	at    time.Time // by the clock
}

// nextDue returns when the next task can be claimed, in real time; zero if there is none.
func (w *World) nextDue() time.Time {
	if !w.due.known {
		at, err := w.data.NextDue(context.Background(), store.ClaimQuery{})
		if err != nil {
			return time.Time{} // only after the world is closed
		}
		w.due = dueCache{known: true, at: at}
	}
	if w.due.at.IsZero() {
		return time.Time{}
	}
	return w.due.at.Add(-w.skew)
}
