package sim

import (
	"context"
	"time"
)

// chore is something that a controller does again and again, one at a time.
type chore struct {
	name string
	due  func(h *host) time.Time // zero: not now
	do   func(h *host, ctx context.Context)
}

var chores = []chore{
	{"receive", (*host).receives, (*host).receive},
	{"claim", (*host).nextClaim, (*host).claim},
	{"renew", (*host).nextRenewal, (*host).renew},
	{"files", (*host).nextRead, (*host).read},
	{"watchdog", (*host).nextLook, (*host).look},
	{"trim", func(h *host) time.Time { return h.trims }, (*host).trim},
	{"deliver", (*host).nextDelivery, (*host).deliver},
}

// receives is now, if there may be changes and there is room for them.
func (h *host) receives() time.Time {
	if h.fed && h.lanes.moving(h.world.bugs.insists) < inFlight {
		return h.world.now
	}
	return time.Time{}
}

// nextClaim is when the next task is due, if there is a worker for one.
func (h *host) nextClaim() time.Time {
	due := h.world.nextDue()
	if due.IsZero() || h.pools.steps.room()+h.pools.timers.room() == 0 {
		return time.Time{}
	}
	return later(due, h.claims)
}

func (h *host) nextRenewal() time.Time {
	if len(h.held) == 0 {
		return time.Time{}
	}
	return h.renews
}

func (h *host) nextRead() time.Time {
	if h.edits == h.world.edits {
		return time.Time{}
	}
	return h.reads
}

// nextLook is when the watchdog looks next; for the first time as soon as the feed has caught up.
func (h *host) nextLook() time.Time {
	if h.looks.IsZero() && h.caughtUp() {
		return h.world.now
	}
	return h.looks
}

func (h *host) nextDelivery() time.Time {
	if h.world.chaos == nil { // a scripted world sends no alerts
		return time.Time{}
	}
	return h.courier.due(h.world.now)
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
	for _, c := range chores {
		if due := h.dueFor(c); !due.IsZero() && !due.After(w.now) {
			w.moves = append(w.moves, func() { h.once(c.name, func(ctx context.Context) { c.do(h, ctx) }) })
		}
	}
	h.lanes.offer(h)
}

// dueFor is when the controller is to do a chore. What it is doing is left out.
func (h *host) dueFor(c chore) time.Time {
	if h.busy[c.name] {
		return time.Time{}
	}
	return c.due(h)
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
	for _, c := range chores {
		next = sooner(next, h.dueFor(c))
	}
	if next.IsZero() {
		return next
	}
	return later(next, h.asleep)
}
