package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Kind is a kind of fault.
type Kind string

// Faults between a controller and its store, of the feed, of jobs, and of the environment.
const (
	ErrorBefore     Kind = "store call failed"
	ErrorAfter      Kind = "store call succeeded and reported failure"
	CrashBefore     Kind = "crash before a store call"
	CrashAfter      Kind = "crash after a store call"
	Asleep          Kind = "controller suspended within its lease"
	Overslept       Kind = "controller suspended beyond its lease"
	Slow            Kind = "one step delayed"
	LeaseLost       Kind = "lease lost while its task ran"
	Killed          Kind = "controller killed between steps"
	Repeated        Kind = "change redelivered"
	Delayed         Kind = "change delayed, and overtaken by others"
	StartTimedOut   Kind = "start timed out after it took effect"
	StartLost       Kind = "start timed out before it took effect"
	StartRefused    Kind = "start refused (5xx)"
	StartForbidden  Kind = "start refused permanently (4xx)"
	StartSlow       Kind = "start took nearly its whole time limit"
	StatusFailed    Kind = "status call failed (5xx)"
	StatusLied      Kind = "status wrongly reported a failure"
	JobLost         Kind = "target lost the run"
	SearchFailed    Kind = "search for a job failed"
	SearchMissed    Kind = "search missed an existing job"
	JobFailed       Kind = "job failed"
	JobHung         Kind = "job never ended"
	ClockAhead      Kind = "clocks jumped ahead by an hour"
	ClockBack       Kind = "clocks jumped back by an hour"
	StartHung       Kind = "start call was never answered"
	StopSlow        Kind = "job was slow to stop"
	TaskFails       Kind = "tasks failed on every try"
	ChangeFails     Kind = "changes of one pipeline failed for a while"
	AlertFailed     Kind = "alert could not be sent"
	AlertUnanswered Kind = "alert sent but not acknowledged"
	EventsLost      Kind = "store lost its latest events"
	Raced           Kind = "others acted during a commit"
	WorkerDied      Kind = "worker outside died"
	WorkerSilent    Kind = "worker outside fell silent for a while"
)

// Fault is one fault that happened. Its ID is the same in every replay.
type Fault struct {
	ID   string
	Kind Kind
	At   time.Time
}

// chaos decides which faults happen. Each decision has an id, made of the place and how often it
// was reached, by which it can be switched off.
type chaos struct {
	seed  uint64
	only  map[string]bool // if it is not nil, only these faults happen
	calm  bool            // no faults happen any more
	rates map[Kind]float64
	turns float64                                // how often other acts run during a store call
	rival func(w *World, about run.Key, d *dice) // what others do while a commit is under way

	passed   map[string]int // by place
	fired    []Fault
	happened []string  // faults and errands, by id
	agenda   []*errand // by time
}

// errand is an external event at an instant.
type errand struct {
	id   string
	kind Kind // if it is a fault
	at   time.Time
	what string
	do   func(w *World)

	again bool // it follows from another, and happens if that did
}

// odds is a possible fault and the factor on its usual rate.
type odds struct {
	kind   Kind
	weight float64
}

// throw returns the dice of a place, and how often it was reached before.
func (c *chaos) throw(place string) (dice, int) {
	n := c.passed[place]
	c.passed[place] = n + 1
	return throw(c.seed, place, n), n
}

// decide returns the fault in a place this time: mostly none.
func (c *chaos) decide(now time.Time, place string, menu []odds) (Kind, dice) {
	d, n := c.throw(place)
	if c.calm {
		return "", d
	}
	u := d.share()
	for _, o := range menu {
		p := c.rates[o.kind] * o.weight
		if u >= p {
			u -= p
			continue
		}
		id := fmt.Sprintf("%s#%d", place, n)
		if !c.allows(id) {
			return "", d
		}
		c.note(id, o.kind, now)
		c.happened = append(c.happened, id)
		return o.kind, d
	}
	return "", d
}

func (c *chaos) allows(id string) bool { return c.only == nil || c.only[id] }

func (c *chaos) note(id string, kind Kind, now time.Time) {
	c.fired = append(c.fired, Fault{ID: id, Kind: kind, At: now})
}

// among chooses one of n possible moves.
func (c *chaos) among(n int) int {
	if n == 1 {
		return 0
	}
	d, _ := c.throw("turn")
	return d.under(n)
}

// The faults before and after a store call.
var (
	beforeCommit = append([]odds{{Raced, 1}}, beforeWrite...)
	afterCommit  = append([]odds{{Raced, 1}}, afterWrite...)
	beforeWrite  = []odds{{ErrorBefore, 1}, {CrashBefore, 1}, {Asleep, 1}, {Overslept, 1}, {Slow, 1}}
	afterWrite   = []odds{{ErrorAfter, 1}, {CrashAfter, 1}, {Asleep, 1}, {Overslept, 1}, {Slow, 1}}
	beforeRead   = []odds{{ErrorBefore, 0.1}, {CrashBefore, 0.1}, {Overslept, 0.05}, {Slow, 0.2}}
	afterRead    = []odds{{CrashAfter, 0.05}, {Asleep, 0.1}, {Overslept, 0.1}, {Slow, 0.2}}
	whole        = []odds{{ErrorBefore, 1}, {CrashBefore, 0.3}}
	afterWhole   = []odds{{ErrorAfter, 1}, {CrashAfter, 0.3}}
)

// writing are the calls with an effect. A lost answer of Receive is not among them: received
// changes are held until the controller is gone, which a crash after the call covers.
var writing = map[string]bool{"Commit": true, "PutReadings": true, "Claim": true, "Done": true, "Renew": true, "Release": true}

func menu(l *line, name string, after bool) []odds {
	switch {
	case l.whole && after && !writing[name]:
		return nil
	case l.whole && after:
		return afterWhole
	case l.whole:
		return whole
	case name == "Commit" && after:
		return afterCommit
	case name == "Commit":
		return beforeCommit
	case writing[name] && after:
		return afterWrite
	case writing[name]:
		return beforeWrite
	case after:
		return afterRead
	default:
		return beforeRead
	}
}

// strike injects a fault into a store call.
func (c *chaos) strike(l *line, name string, after bool) error {
	w, h := l.host.world, l.host
	if h.doomed {
		return h.gone(l)
	}
	place := h.name + "." + name
	if after {
		place += "+"
	}
	kind, d := c.decide(w.now, place, menu(l, name, after))
	switch kind {
	case ErrorBefore, ErrorAfter:
		w.tracef("%s: %s %s", h.name, name, kind)
		return errFault
	case CrashBefore, CrashAfter:
		w.tracef("%s: %s: %s of %s", h.name, kind, name, w.current.name)
		h.doomed, h.away = true, c.away(&d)
		return h.gone(l)
	case Asleep:
		c.sleep(h, d.span(w.Lease))
	case Overslept:
		c.sleep(h, w.Lease+d.span(2*w.Lease))
	case Slow:
		w.tracef("%s: %s of %s is held up", h.name, name, w.current.name)
		w.wait(w.now.Add(d.span(w.Lease * 3 / 2)))
	case Raced:
		held := 500*time.Millisecond + d.span(w.Lease/10)
		about := w.current.about
		c.plan(&errand{at: w.now.Add(d.span(held)), what: "others act during " + w.current.name, again: true, do: func(w *World) { c.rival(w, about, &d) }})
		w.wait(w.now.Add(held))
	default:
		if !l.whole && d.chance(c.turns) {
			w.wait(w.now.Add(latency(&d)))
		}
	}
	return nil
}

// latency returns how long a call, or its answer, takes while others continue.
func latency(d *dice) time.Duration {
	switch d.under(8) {
	case 0:
		return d.span(2 * time.Second)
	case 1, 2:
		return d.span(50 * time.Millisecond)
	default:
		return 0
	}
}

// sleep suspends a whole controller.
func (c *chaos) sleep(h *host, d time.Duration) {
	w := h.world
	w.tracef("%s stands still for %s", h.name, d.Round(time.Millisecond))
	h.asleep = later(h.asleep, w.now.Add(d))
	w.wait(w.now)
}

// away returns how long a crashed controller is down: mostly briefly, sometimes for long.
func (c *chaos) away(d *dice) time.Duration {
	switch d.under(8) {
	case 0:
		return d.span(45 * time.Minute)
	case 1, 2:
		return d.span(3 * time.Minute)
	default:
		return d.span(5 * time.Second)
	}
}

// lease makes a holder lose its lease without notice.
func (c *chaos) lease(h *host, l store.Lease) {
	kind, d := c.decide(h.world.now, h.name+".lease", []odds{{LeaseLost, 1}})
	if kind == "" {
		return
	}
	at := h.world.now
	if d.chance(0.7) {
		at = at.Add(d.span(10 * time.Second))
	}
	c.plan(&errand{at: at, what: h.name + " loses its lease on " + l.Task, again: true, do: func(w *World) {
		_ = w.watch.heldBy(w.data).Release(context.Background(), []store.Lease{l}, w.Now()) // it may be done by now
	}})
}

// deliver delays or repeats a change.
func (c *chaos) deliver(h *host, d *delivery) {
	w := h.world
	if d.Pipeline == clogged {
		return
	}
	kind, dice := c.decide(w.now, h.name+".feed", []odds{{Repeated, 1}, {Delayed, 1}})
	switch kind {
	case Delayed:
		d.at = w.now.Add(dice.span(4 * time.Minute))
	case Repeated:
		again := *d
		again.again, again.at = true, w.now.Add(dice.span(2*time.Hour))
		h.lanes.add(fmt.Sprintf("again/%d", d.Position), again)
	}
}

// offer adds the possible external events to the moves.
func (c *chaos) offer(w *World) {
	if len(c.agenda) == 0 || c.agenda[0].at.After(w.now) {
		return
	}
	e := c.agenda[0]
	w.moves = append(w.moves, func() {
		c.agenda = slices.DeleteFunc(c.agenda, func(o *errand) bool { return o == e })
		if !e.again {
			if !c.allows(e.id) {
				return
			}
			c.happened = append(c.happened, e.id)
		}
		if e.kind != "" {
			c.note(e.id, e.kind, w.now)
		}
		if e.what != "" {
			w.tracef("%s", e.what)
		}
		e.do(w)
	})
}

// next returns when the next external event happens.
func (c *chaos) next() time.Time {
	if len(c.agenda) == 0 {
		return time.Time{}
	}
	return c.agenda[0].at
}

// plan puts an errand on the agenda.
func (c *chaos) plan(e *errand) {
	at, _ := slices.BinarySearchFunc(c.agenda, e, func(a, b *errand) int {
		if a.at.After(b.at) {
			return 1
		}
		return -1
	})
	c.agenda = slices.Insert(c.agenda, at, e)
}
