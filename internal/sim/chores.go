package sim

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/presence"
)

// chore is recurring work of a controller, one at a time.
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
	{"presence", (*host).nextPresence, (*host).attend},
	{"watchdog", (*host).nextWatchdogPass, (*host).watchdogPass},
	{"trim", func(h *host) time.Time { return h.trims }, (*host).trim},
	{"deliver", (*host).nextDelivery, (*host).deliver},
}

// receives returns now if there may be changes and there is room for them.
func (h *host) receives() time.Time {
	if h.fed && h.lanes.moving(h.world.bugs.insists) < inFlight {
		return h.world.now
	}
	return time.Time{}
}

// nextClaim returns when the next task is due, if a worker is free.
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

// nextPresence returns when the controller next records that it can accept heartbeats. A world does
// that only while a worker may send some.
func (h *host) nextPresence() time.Time {
	if len(h.world.watch.notes.workers) == 0 {
		return time.Time{}
	}
	return h.attends
}

func (h *host) attend(ctx context.Context) {
	h.attends = h.world.now.Add(presence.Interval)
	_ = h.Presence.Attend(ctx, h.clock()) // it tries again at the next interval
}

func (h *host) nextRead() time.Time {
	if h.edits == h.world.edits {
		return time.Time{}
	}
	return h.reads
}

// nextWatchdogPass returns when the next watchdog pass is due; the first is due as soon as the feed
// has caught up.
func (h *host) nextWatchdogPass() time.Time {
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

// offer adds the controller's possible actions to the moves.
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

// dueFor returns when a chore is due; zero if it is running.
func (h *host) dueFor(c chore) time.Time {
	if h.busy[c.name] {
		return time.Time{}
	}
	return c.due(h)
}

// next returns when the controller can act next, as far as that depends on time alone.
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
