package notify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// burst is how a group of alerts to one sink stands. What waits for the interval to be over is stored in a note, so that
// the sink's cursor need not wait for it.
//
//	an event ──interval is over──> queued ──sent──> nothing waits, until the interval is over again
//	    └──────it is not─────────> held ──it is over, or the queued one was not taken──> queued
type burst struct {
	key      string // of its note
	interval time.Duration
	sentAt   time.Time
	through  store.Position // events of the group up to here were sent, or are in the note
	queued   *Letter        // on its way; what happens meanwhile joins it until it is being sent
	held     *Letter        // waits for the interval
	note     store.Note     // as it was read or stored last
	known    bool           // the note was read
	dirty    bool           // the note is not what it should be
}

// burstNote is a burst as it is stored.
type burstNote struct {
	Interval time.Duration  `json:"interval"`
	SentAt   time.Time      `json:"sentAt"`
	Through  store.Position `json:"through"`
	Waits    *waiting       `json:"waits,omitempty"`
}

// waiting is a letter as it is stored.
type waiting struct {
	Event event.Event    `json:"event"`
	Count int            `json:"count"`
	Since time.Time      `json:"since"`
	First store.Position `json:"first"`
	Last  store.Position `json:"last"`
}

func burstKey(sink, group string) string { return sink + "|" + group }

// over is when the next alert of the group may be sent.
func (g *burst) over() time.Time { return g.sentAt.Add(g.interval) }

// join adds an event to the group. It gives a letter that is to be queued now, if there is one.
func (g *burst) join(l *Letter, now time.Time) *Letter {
	switch {
	case l.last <= g.through:
		return nil // it was counted before this process began
	case g.queued != nil && !g.queued.sending:
		g.queued.merge(l)
		g.dirty = g.dirty || g.queued.kept
	case g.held != nil:
		g.held.merge(l)
		g.dirty = true
	case g.queued != nil || now.Before(g.over()):
		l.kept, g.held, g.dirty = true, l, true
		if g.queued != nil {
			g.queued.kept = true // the note speaks for both: it cannot tell of the later one alone
		}
	default:
		g.queued = l
		return l
	}
	return nil
}

// release gives what waited, once it need not any more.
func (g *burst) release(now time.Time) *Letter {
	if g.held == nil || g.queued != nil || now.Before(g.over()) {
		return nil
	}
	g.queued, g.held = g.held, nil
	g.queued.ready, g.queued.late = later(g.queued.alert.Since, g.over()), true
	return g.queued
}

// back takes note that the queued letter was not taken: what came while it was on its way joins it.
func (g *burst) back() {
	if g.held != nil {
		g.queued.merge(g.held)
		g.held, g.dirty = nil, true
	}
}

// done takes note that the queued letter was dealt with.
func (g *burst) done(now time.Time) {
	g.through = max(g.through, g.queued.last)
	g.queued, g.sentAt, g.dirty = nil, now, true
}

// idle says that nothing of the group need be remembered.
func (g *burst) idle(now time.Time) bool {
	return g.queued == nil && g.held == nil && !g.dirty && !now.Before(g.over())
}

// encode is the note that says how the burst stands.
func (g *burst) encode() (store.Note, error) {
	b := burstNote{Interval: g.interval, SentAt: g.sentAt, Through: g.through}
	for _, l := range []*Letter{g.queued, g.held} {
		if l == nil || !l.kept {
			continue
		}
		if b.Waits == nil {
			b.Waits = &waiting{Since: l.alert.Since, First: l.first}
		}
		b.Waits.Event, b.Waits.Last = l.alert.Event, l.last
		b.Waits.Count += l.alert.Count
		b.Through = max(b.Through, l.last)
	}
	data, err := json.Marshal(b)
	next := store.Note{Kind: store.BurstNote, Key: g.key, Data: data}
	if b.Waits == nil {
		next.Until = g.over().Add(time.Hour)
	}
	return next, err
}

// merge adds a later letter to an earlier one.
func (l *Letter) merge(later *Letter) {
	l.alert.Event, l.last, l.late = later.alert.Event, later.last, true
	l.alert.Count += later.alert.Count
}

// burstNotes are those of one sink.
func (n *Notifier) burstNotes(ctx context.Context, name string) ([]store.Note, error) {
	all, err := n.store.Notes(ctx, store.BurstNote)
	if err != nil {
		return nil, fmt.Errorf("read the bursts of sink %s: %w", name, err)
	}
	return slices.DeleteFunc(all, func(note store.Note) bool { return !strings.HasPrefix(note.Key, burstKey(name, "")) }), nil
}

// forgetBursts empties the notes of a removed sink, so that it is not sent what waited for it if it returns. It works under
// the lease of the sink's task.
func (n *Notifier) forgetBursts(ctx context.Context, name string, lease *store.Lease, now time.Time) error {
	notes, err := n.burstNotes(ctx, name)
	if err != nil {
		return err
	}
	swaps := make([]store.Swap[store.Note], len(notes))
	for i, note := range notes {
		swaps[i] = swapNote(note, store.Note{Kind: note.Kind, Key: note.Key, Data: []byte("{}"), Until: now})
	}
	if _, err := n.swapNotes(ctx, "forget/"+name, lease, swaps, now); err != nil {
		return fmt.Errorf("delete the bursts of sink %s: %w", name, err)
	}
	return nil
}

// swapNote is the swap of one note; its version is counted up here.
func swapNote(read, next store.Note) store.Swap[store.Note] {
	next.Version = read.Version + 1
	return store.Swap[store.Note]{Read: read.Version, Next: next}
}

// swapNotes commits swaps in as many Batches as they need, under a lease. It returns how many swaps were committed, also
// where a later one failed.
func (n *Notifier) swapNotes(ctx context.Context, what string, lease *store.Lease, swaps []store.Swap[store.Note], now time.Time) (done int, err error) {
	b := store.Batch{Lease: lease}
	for i, s := range swaps {
		b.Notes = append(b.Notes, s)
		if !b.Full() && i < len(swaps)-1 {
			continue
		}
		b.ID = what + "/" + rand.Text()
		if err := n.store.Commit(ctx, b, now); err != nil {
			return done, err
		}
		done, b = i+1, store.Batch{Lease: lease}
	}
	return done, nil
}

// loadBursts reads how the groups of the sink stood.
func (o *Outbox) loadBursts(ctx context.Context) error {
	notes, err := o.n.burstNotes(ctx, o.name)
	if err != nil {
		return err
	}
	for _, note := range notes {
		var b burstNote
		if err := json.Unmarshal(note.Data, &b); err != nil {
			return fmt.Errorf("read burst %s: %w", note.Key, err)
		}
		g := &burst{key: note.Key, interval: b.Interval, sentAt: b.SentAt, through: b.Through, note: note, known: true}
		if w := b.Waits; w != nil {
			g.held = &Letter{
				alert: sink.Alert{Event: w.Event, Count: w.Count, Since: w.Since}, first: w.First, last: w.Last,
				lane: lane(w.Event), group: g, kept: true,
			}
		}
		o.groups[note.Key] = g
	}
	return nil
}

// saveBursts stores the groups that have changed, and forgets those that are over.
func (o *Outbox) saveBursts(ctx context.Context, now time.Time) error {
	var changed []*burst
	var swaps []store.Swap[store.Note]
	for key, g := range o.groups {
		if g.idle(now) {
			delete(o.groups, key)
			continue
		}
		if !g.dirty {
			continue
		}
		swap, err := o.swapBurst(ctx, g)
		if err != nil {
			return err
		}
		changed, swaps = append(changed, g), append(swaps, swap)
	}
	done, err := o.n.swapNotes(ctx, "bursts/"+o.name, &o.lease, swaps, now)
	for i, g := range changed[:done] {
		g.note, g.dirty = swaps[i].Next, false
	}
	if err != nil {
		return fmt.Errorf("store the bursts of sink %s: %w", o.name, takenOver(err))
	}
	return nil
}

// swapBurst is the swap that stores a burst.
func (o *Outbox) swapBurst(ctx context.Context, g *burst) (store.Swap[store.Note], error) {
	if !g.known {
		old, err := o.n.store.Note(ctx, store.BurstNote, g.key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return store.Swap[store.Note]{}, fmt.Errorf("read burst %s: %w", g.key, err)
		}
		g.note, g.known = old, true
	}
	next, err := g.encode()
	if err != nil {
		return store.Swap[store.Note]{}, fmt.Errorf("write burst %s: %w", g.key, err)
	}
	return swapNote(g.note, next), nil
}
