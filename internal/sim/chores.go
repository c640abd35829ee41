package sim

import (
	"context"
	"time"
)

// chore is something that a controller does again and again, one at a time.
type chore struct {
	name string
	due  time.Time // zero: not now
	do   func(ctx context.Context)
}

// chores lists what the controller has to do, and when. What it is doing is left out.
func (h *host) chores() [6]chore {
	w := h.world
	all := [6]chore{{name: "receive", do: h.receive}, {name: "claim", do: h.claim}, {name: "renew", do: h.renew}, {name: "files", do: h.read}, {name: "watchdog", due: h.looks, do: h.look}, {name: "trim", due: h.trims, do: h.trim}}
	if h.fed {
		all[0].due = w.now
	}
	if due := w.nextDue(); !due.IsZero() && len(h.held) < workers {
		all[1].due = later(due, h.claims)
	}
	if len(h.held) > 0 {
		all[2].due = h.renews
	}
	if h.edits != w.edits {
		all[3].due = h.reads
	}
	if h.looks.IsZero() && h.caughtUp() {
		all[4].due = w.now // the first look is as soon as the feed has caught up
	}
	for i, c := range all {
		if h.busy[c.name] {
			all[i].due = time.Time{}
		}
	}
	return all
}

// offer adds what the controller can do now to the moves.
func (h *host) offer() {
	w := h.world
	if !h.alive {
		if !h.starts.After(w.now) && !w.closed {
			w.moves = append(w.moves, h.start)
		}
		return
	}
	if !h.begun || h.asleep.After(w.now) {
		return
	}
	for _, c := range h.chores() {
		if !c.due.IsZero() && !c.due.After(w.now) {
			w.moves = append(w.moves, func() { h.once(c.name, c.do) })
		}
	}
	h.lanes.offer(h)
}

// next is when the controller can do something, as far as it depends on time alone.
func (h *host) next() time.Time {
	if !h.alive {
		return h.starts
	}
	if !h.begun {
		return time.Time{}
	}
	next := h.lanes.next(h)
	for _, c := range h.chores() {
		next = sooner(next, c.due)
	}
	if next.IsZero() {
		return next
	}
	return later(next, h.asleep)
}
