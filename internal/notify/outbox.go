package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	page      = 100                    // events read per page
	window    = 512                    // letters held in memory; the rest stays in the store
	ahead     = 4096                   // events read beyond the first undelivered one: at most this many are sent again after a crash
	saveEvery = 200 * time.Millisecond // minimum interval between cursor writes
)

// Outbox holds the letters in flight to one sink. One goroutine uses it: it fills the outbox, sends
// the letters that Next returns, concurrently if there are several, and settles each with the
// sink's result. Letters of one pipeline are sent one at a time, in event order. The cursor stays
// before the first event that has not been dealt with.
type Outbox struct {
	n        *Notifier
	sink     sink.Sink
	follower sink.Follower // nil if the sink does not implement it
	name     string
	due      time.Time     // due time of its task
	lease    store.Lease   // lease that guards all writes
	term     time.Duration // duration of the lease
	heldAt   time.Time     // when the lease was last known to be held

	read, saved store.Position
	unsettled   []store.Position // positions of events read that the cursor has not passed
	savedAt     time.Time
	lanes       map[string][]*Letter // oldest first
	pending     int                  // letters in lanes
	sending     int
	groups      map[string]*burst

	failures int       // consecutive failures
	until    time.Time // nothing is sent until then
	failing  bool      // it has accepted none since it last failed
}

// Letter is an alert in flight.
type Letter struct {
	alert       sink.Alert
	first, last store.Position // positions of its events
	lane        string
	group       *burst // nil if it is not grouped
	follow      bool   // it only updates an alert the sink has shown before
	kept        bool   // it is stored in its group's note
	late        bool   // the sink may already have seen later events
	sending     bool
	ready       time.Time // when it could first have been sent
	tries       int
	alone       int // tries that failed while the sink accepted others
	retryAt     time.Time
}

// lane returns the ordering key of an event: letters of one lane never overtake each other.
func lane(e event.Event) string { return string(e.Detail.Pipeline) }

// open loads the sink's cursor and bursts.
func (n *Notifier) open(ctx context.Context, s sink.Sink, c store.Claim, term time.Duration, now time.Time) (*Outbox, error) {
	at, err := n.store.Cursor(ctx, cursorName(s.Name()))
	if err != nil {
		return nil, fmt.Errorf("read the cursor of sink %s: %w", s.Name(), err)
	}
	o := &Outbox{
		n: n, sink: s, name: s.Name(), due: c.Task.Due, lease: c.Lease, term: term, heldAt: now.Round(0),
		read: at, saved: at, lanes: map[string][]*Letter{}, groups: map[string]*burst{},
	}
	o.follower, _ = s.(sink.Follower)
	return o, o.loadBursts(ctx)
}

// Fill reads the next events while there is room.
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

// crowded reports whether there is no room for more events. It counts events, since positions have
// gaps.
func (o *Outbox) crowded() bool {
	passed, _ := slices.BinarySearch(o.unsettled, o.cursor()+1)
	o.unsettled = o.unsettled[passed:]
	return o.pending >= window || len(o.unsettled) >= ahead
}

// take routes events to letters. It reads silences after the events, and only if an event is routed
// to this sink.
func (o *Outbox) take(ctx context.Context, events []store.StoredEvent, now time.Time) error {
	for _, e := range events {
		route := o.n.route(e.Event)
		wanted := route != nil && slices.Contains(route.Sinks, o.name)
		if wanted {
			all, err := o.n.silencesAt(ctx, events[len(events)-1].Position)
			if err != nil {
				return err
			}
			wanted = covering(all, e.Event) == ""
		}
		if wanted {
			o.add(route, e, now)
		}
		if !wanted || route.Interval > 0 { // a burst may deliver it late, or a later event instead
			o.follow(e)
		}
		o.read = e.Position
		o.unsettled = append(o.unsettled, e.Position)
	}
	return nil
}

// follow queues an event for a sink that updates earlier alerts, if the event settles one.
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

// add queues an event by itself, or adds it to its group.
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
	o.lanes[l.lane] = append(o.lanes[l.lane], l)
	o.pending++
}

// Next returns a letter to send now. It returns nil if there is none or the sink is backing off.
// While the sink is failing, only one letter at a time is tried.
func (o *Outbox) Next(now time.Time) *Letter {
	if now.Before(o.until) || o.full() {
		return nil
	}
	o.release(now)
	var next *Letter
	for _, letters := range o.lanes {
		if l := letters[0]; !l.sending && !now.Before(l.retryAt) && (next == nil || o.before(l, next)) {
			next = l
		}
	}
	if next != nil {
		next.sending = true
		o.sending++
	}
	return next
}

// full reports whether nothing can be sent until a letter in flight is settled.
func (o *Outbox) full() bool { return o.sending >= o.n.concurrency || o.failures > 0 && o.sending > 0 }

// release queues the bursts whose interval is over, in event order.
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

// before prefers the older letter. While the sink is failing it prefers the one tried less often,
// since another letter may be the cause.
func (o *Outbox) before(a, b *Letter) bool {
	if o.failures > 0 && a.tries != b.tries {
		return a.tries < b.tries
	}
	return a.first < b.first
}

// Send sends a letter returned by Next. It is safe for concurrent use.
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

// remove removes a settled letter from its lane.
func (o *Outbox) remove(l *Letter, now time.Time) {
	letters := o.lanes[l.lane]
	letters[0] = nil // let the letter be collected: the array stays
	if o.lanes[l.lane] = letters[1:]; len(letters) == 1 {
		delete(o.lanes, l.lane)
	}
	o.pending--
	if l.group != nil {
		l.group.done(now)
	}
}

// cursor returns the position up to which every event has been settled or stored in a note.
func (o *Outbox) cursor() store.Position {
	at := o.read
	for _, letters := range o.lanes {
		for _, l := range letters {
			if !l.kept {
				at = min(at, l.first-1)
				break // later letters have later positions
			}
		}
	}
	return at
}

// Save stores the sink's progress if it has changed. It stores bursts before the cursor, so that
// the cursor never passes an event that is stored nowhere. It writes at most every saveEvery,
// unless final. If the lease is lost it stores nothing and returns ErrTakenOver.
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
		if err := o.n.postponeAbandon(ctx, o.name, now); err != nil {
			return err
		}
		o.due = now.Add(abandoned)
	}
	return nil
}

// hold verifies that the lease is held. It asks the store only if the lease may have expired since
// it was last confirmed.
func (o *Outbox) hold(ctx context.Context, now time.Time) error {
	now = now.Round(0) // the monotonic clock stops while the machine is suspended
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

// Wake returns when there is something to do again, if nothing happens before.
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
			sooner(period.Later(g.over(), o.until))
		}
		if g.dirty {
			sooner(o.savedAt.Add(saveEvery))
		}
	}
	if o.full() {
		return wake
	}
	for _, letters := range o.lanes {
		if l := letters[0]; !l.sending {
			sooner(period.Later(l.retryAt, o.until))
		}
	}
	return period.Later(wake, now)
}
