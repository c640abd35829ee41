package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	page      = 100                    // events read at once
	window    = 512                    // letters held in memory: what else there is stays in the store
	ahead     = 4096                   // how far it reads beyond what is not delivered: so many may be sent again after a crash
	saveEvery = 200 * time.Millisecond // between two writes of how far it has come
)

// Outbox is what is on its way to one sink. One goroutine works with it: it fills it, sends what Next gives, as many at once
// as Next gives, and settles each letter with what the sink said. Letters of one pipeline go out one after the other, in
// the order of their events. The cursor stays behind the first event that is not dealt with.
type Outbox struct {
	n        *Notifier
	sink     sink.Sink
	follower sink.Follower // nil if the sink is none
	name     string
	due      time.Time     // of its task
	lease    store.Lease   // under which everything is stored
	term     time.Duration // of the lease
	heldAt   time.Time     // the lease was held at that instant

	read, saved store.Position
	unsettled   []store.Position // of the events that were read and that the cursor has not passed
	savedAt     time.Time
	lanes       map[string]*queue
	pending     int // letters in lanes
	sending     int
	groups      map[string]*burst

	failures int       // in a row
	until    time.Time // it is left alone
	told     bool      // that it takes nothing
	refusing bool      // it took none since one that it will never take
}

// queue is the letters of one lane, oldest first.
type queue struct{ letters []*Letter }

// Letter is an alert on its way.
type Letter struct {
	alert       sink.Alert
	first, last store.Position // of its events
	lane        string
	group       *burst // nil where it stands alone
	follow      bool   // it only brings up to date what the sink said before
	kept        bool   // it is in its group's note
	late        bool   // the sink may have followed later events meanwhile
	sending     bool
	ready       time.Time // since then it could have been sent
	tries       int
	alone       int // tries that failed while the sink took others
	retryAt     time.Time
}

// lane is what orders letters: those of one lane never overtake each other.
func lane(e event.Event) string { return string(e.Detail.Pipeline) }

// open reads how far the sink has come.
func (n *Notifier) open(ctx context.Context, s sink.Sink, c store.Claim, term time.Duration, now time.Time) (*Outbox, error) {
	at, err := n.store.Cursor(ctx, cursorName(s.Name()))
	if err != nil {
		return nil, fmt.Errorf("read the cursor of sink %s: %w", s.Name(), err)
	}
	o := &Outbox{
		n: n, sink: s, name: s.Name(), due: c.Task.Due, lease: c.Lease, term: term, heldAt: now.Round(0),
		read: at, saved: at, lanes: map[string]*queue{}, groups: map[string]*burst{},
	}
	o.follower, _ = s.(sink.Follower)
	return o, o.loadBursts(ctx)
}

// Fill reads the events that come next, as far as there is room.
func (o *Outbox) Fill(ctx context.Context, now time.Time) error {
	for !o.crowded() {
		events, err := o.n.store.EventsAfter(ctx, o.read, page)
		if err != nil {
			return fmt.Errorf("read events for sink %s: %w", o.name, err)
		}
		if err := o.take(ctx, events, now); err != nil || len(events) < page {
			return err
		}
	}
	return nil
}

// crowded reports whether there is no room for more events. It counts events, since positions have gaps.
func (o *Outbox) crowded() bool {
	passed, _ := slices.BinarySearch(o.unsettled, o.cursor()+1)
	o.unsettled = o.unsettled[passed:]
	return o.pending >= window || len(o.unsettled) >= ahead
}

// take sorts events in. Silences are read after the events, and only where there is something to keep back.
func (o *Outbox) take(ctx context.Context, events []store.StoredEvent, now time.Time) error {
	var silences []Silence
	looked := false
	for _, e := range events {
		route := o.n.route(e.Event)
		wanted := route != nil && slices.Contains(route.Sinks, o.name)
		if wanted && !looked {
			var err error
			if silences, err = o.n.silences(ctx); err != nil {
				return err
			}
			looked = true
		}
		if wanted = wanted && covering(silences, e.Event) == ""; wanted {
			o.add(route, e, now)
		}
		if !wanted || route.Interval > 0 { // a burst may tell of it late, or of another event in its place
			o.follow(e)
		}
		o.read = e.Position
		o.unsettled = append(o.unsettled, e.Position)
	}
	return nil
}

// follow queues an event that the sink need only know of to bring up to date what it said, if it is one.
func (o *Outbox) follow(e store.StoredEvent) {
	if o.follower == nil || !sink.Settles(e.Event) {
		return
	}
	l := letter(e)
	l.follow = true
	o.queue(l)
}

func letter(e store.StoredEvent) *Letter {
	return &Letter{
		alert: sink.Alert{Event: e.Event, Count: 1, Since: e.Event.Time}, first: e.Position, last: e.Position,
		lane: lane(e.Event), ready: e.Event.Time,
	}
}

// add queues an event by itself, or has it join its group.
func (o *Outbox) add(r *Route, e store.StoredEvent, now time.Time) {
	l := letter(e)
	if r.Interval <= 0 {
		o.queue(l)
		return
	}
	key := burstKey(o.name, r.group(e.Event, o.n.subject(e.Event.Detail.Pipeline)))
	g := o.groups[key]
	if g == nil || g.idle(now) {
		g = &burst{key: key}
		o.groups[key] = g
	}
	g.interval, l.group = r.Interval, g
	if ready := g.join(l, now); ready != nil {
		o.queue(ready)
	}
}

func (o *Outbox) queue(l *Letter) {
	q := o.lanes[l.lane]
	if q == nil {
		q = &queue{}
		o.lanes[l.lane] = q
	}
	q.letters = append(q.letters, l)
	o.pending++
}

// Next gives a letter to be sent now; nil if there is none, or the sink is left alone. While the sink takes nothing, one
// letter at a time tries it.
func (o *Outbox) Next(now time.Time) *Letter {
	if now.Before(o.until) || o.full() {
		return nil
	}
	o.release(now)
	var next *Letter
	for _, q := range o.lanes {
		if l := q.letters[0]; !l.sending && !now.Before(l.retryAt) && (next == nil || o.before(l, next)) {
			next = l
		}
	}
	if next != nil {
		next.sending = true
		o.sending++
	}
	return next
}

// full says that nothing can be sent before there is an answer to what is under way.
func (o *Outbox) full() bool { return o.sending >= o.n.concurrency || o.failures > 0 && o.sending > 0 }

// release queues the bursts that need not wait any more, in the order of the events that they tell of.
func (o *Outbox) release(now time.Time) {
	var over []*Letter
	for _, g := range o.groups {
		if l := g.release(now); l != nil {
			over = append(over, l)
		}
	}
	slices.SortFunc(over, func(a, b *Letter) int { return cmp.Compare(a.last, b.last) })
	for _, l := range over {
		o.queue(l)
	}
}

// before prefers the older letter; while the sink takes nothing, one that was not tried so often, since another may be
// what is wrong.
func (o *Outbox) before(a, b *Letter) bool {
	if o.failures > 0 && a.tries != b.tries {
		return a.tries < b.tries
	}
	return a.first < b.first
}

// Send sends a letter that Next gave. It may be called from any goroutine.
func (o *Outbox) Send(ctx context.Context, l *Letter) error {
	a := o.n.alert(l.alert.Event, l.alert.Count, l.alert.Since)
	switch {
	case l.follow:
		return o.follower.Follow(ctx, a)
	case l.late:
		return o.n.sendLate(ctx, o.sink, a)
	default:
		return o.sink.Send(ctx, a)
	}
}

// remove takes a letter that was dealt with out of its lane.
func (o *Outbox) remove(l *Letter, now time.Time) {
	q := o.lanes[l.lane]
	q.letters[0] = nil // let go of it although the array stays
	if q.letters = q.letters[1:]; len(q.letters) == 0 {
		delete(o.lanes, l.lane)
	}
	o.pending--
	if l.group != nil {
		l.group.done(now)
	}
}

// cursor is the last place up to which everything is dealt with, or in a note.
func (o *Outbox) cursor() store.Position {
	at := o.read
	for _, q := range o.lanes {
		for _, l := range q.letters {
			if !l.kept {
				at = min(at, l.first-1)
				break // those behind it are later
			}
		}
	}
	return at
}

// Save stores how far the sink has come, if there is something to store: what waits in groups first, so that the cursor
// never passes what is nowhere. It waits a moment between two writes, unless it is final. Without its lease it stores
// nothing and returns ErrTakenOver.
func (o *Outbox) Save(ctx context.Context, final bool, now time.Time) error {
	if !final && now.Before(o.savedAt.Add(saveEvery)) {
		return nil
	}
	o.savedAt = now
	if err := o.hold(ctx, now); err != nil {
		return err
	}
	at := o.cursor()
	if err := o.saveBursts(ctx, now); err != nil {
		return err
	}
	if at != o.saved {
		if err := o.n.advance(ctx, o.name, at); err != nil {
			return err
		}
		o.saved = at
	}
	if stale(o.due, now) {
		if err := o.n.want(ctx, o.name, now); err != nil {
			return err
		}
		o.due = now.Add(abandoned)
	}
	return nil
}

// hold makes sure that the lease is held. The store is asked only where the lease may have lapsed since it last said so.
func (o *Outbox) hold(ctx context.Context, now time.Time) error {
	now = now.Round(0) // the monotonic clock stands still while the machine is suspended
	if since := now.Sub(o.heldAt); since >= 0 && since < o.term/2 {
		return nil
	}
	kept, err := o.n.store.Renew(ctx, []store.Lease{o.lease}, o.term, now)
	switch {
	case err != nil:
		return fmt.Errorf("renew the lease on sink %s: %w", o.name, err)
	case len(kept) == 0:
		return fmt.Errorf("sink %s: %w", o.name, ErrTakenOver)
	}
	o.heldAt = now
	return nil
}

// Wake is when there is something to do again, if nothing happens before.
func (o *Outbox) Wake(now time.Time) time.Time {
	wake := o.due.Add(-abandoned / 2)
	sooner := func(at time.Time) {
		if at.Before(wake) {
			wake = at
		}
	}
	if o.cursor() != o.saved {
		sooner(o.savedAt.Add(saveEvery))
	}
	for _, g := range o.groups {
		if g.held != nil && g.queued == nil && !o.full() {
			sooner(later(g.over(), o.until))
		}
		if g.dirty {
			sooner(o.savedAt.Add(saveEvery))
		}
	}
	if o.full() {
		return wake
	}
	for _, q := range o.lanes {
		if l := q.letters[0]; !l.sending {
			sooner(later(l.retryAt, o.until))
		}
	}
	return later(wake, now)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
