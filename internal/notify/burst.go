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
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// burst is the state of one group of alerts to one sink. Alerts that wait for the interval to end
// are stored in a note, so that the sink's cursor need not wait for them.
//
//	an event ──interval is over──> queued ──sent──> nothing waits, until the interval is over again
//	    └──────it is not─────────> held ──it is over, or the queued one was not taken──> queued
type burst struct {
	key      string // key of its note
	interval time.Duration
	sentAt   time.Time
	through  store.Position // events of the group up to this position were sent or are in the note
	queued   *Letter        // queued for sending; new events are merged into it until sending starts
	held     *Letter        // waits for the interval to end
	note     store.Note     // as last read or stored
	known    bool           // the note has been read
	dirty    bool           // the note must be stored again
}

// burstNote is the stored form of a burst.
type burstNote struct {
	Interval time.Duration  `json:"interval"`
	SentAt   time.Time      `json:"sentAt"`
	Through  store.Position `json:"through"`
	Waits    *waiting       `json:"waits,omitempty"`
}

// waiting is the stored form of a letter.
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

// join adds an event to the group. It returns a letter to queue now, or nil.
func (g *burst) join(l *Letter, now time.Time) *Letter {
	switch {
	case l.last <= g.through:
		return nil // already counted before this process started
	case g.queued != nil && !g.queued.sending:
		g.queued.merge(l)
		g.dirty = g.dirty || g.queued.kept
	case g.held != nil:
		g.held.merge(l)
		g.dirty = true
	case g.queued != nil || now.Before(g.over()):
		l.kept, g.held, g.dirty = true, l, true
		if g.queued != nil {
			g.queued.kept = true // the note covers both letters: it cannot hold the later one alone
		}
	default:
		g.queued = l
		return l
	}
	return nil
}

// release returns the held letter once its interval is over.
func (g *burst) release(now time.Time) *Letter {
	if g.held == nil || g.queued != nil || now.Before(g.over()) {
		return nil
	}
	g.queued, g.held = g.held, nil
	g.queued.ready, g.queued.late = period.Later(g.queued.alert.Since, g.over()), true
	return g.queued
}

// back records that the queued letter was not accepted: letters held while it was being sent are
// merged into it.
func (g *burst) back() {
	if g.held != nil {
		g.queued.merge(g.held)
		g.held, g.dirty = nil, true
	}
}

// done records that the queued letter was sent or buried.
func (g *burst) done(now time.Time) {
	g.through = max(g.through, g.queued.last)
	g.queued, g.sentAt, g.dirty = nil, now, true
}

// idle reports whether the group's state can be forgotten.
func (g *burst) idle(now time.Time) bool {
	return g.queued == nil && g.held == nil && !g.dirty && !now.Before(g.over())
}

// encode returns the burst's note.
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

// merge merges a later letter into an earlier one.
func (l *Letter) merge(later *Letter) {
	l.alert.Event, l.last, l.late = later.alert.Event, later.last, true
	l.alert.Count += later.alert.Count
}

// burstNotes returns the burst notes of one sink.
func (n *Notifier) burstNotes(ctx context.Context, name string) ([]store.Note, error) {
	all, err := n.store.Notes(ctx, store.BurstNote)
	if err != nil {
		return nil, fmt.Errorf("read the bursts of sink %s: %w", name, err)
	}
	return slices.DeleteFunc(all, func(note store.Note) bool { return !strings.HasPrefix(note.Key, burstKey(name, "")) }), nil
}

// forgetBursts empties the notes of a removed sink, so that waiting alerts are not sent if it is
// configured again. It works under the lease of the sink's task.
func (n *Notifier) forgetBursts(ctx context.Context, name string, lease *store.Lease, now time.Time) error {
	notes, err := n.burstNotes(ctx, name)
	if err != nil {
		return err
	}
	var all store.Batch
	for _, note := range notes {
		all.SwapNote(note, store.Note{Kind: note.Kind, Key: note.Key, Data: []byte("{}"), Until: now})
	}
	if _, err := n.swapNotes(ctx, "forget/"+name, lease, all.Notes, now); err != nil {
		return fmt.Errorf("delete the bursts of sink %s: %w", name, err)
	}
	return nil
}

// swapNotes commits swaps under a lease, in as many batches as needed. It returns how many swaps
// were committed, even if a later one failed.
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

// loadBursts reads the stored bursts of the sink.
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

// saveBursts stores the groups that have changed, and drops those that are idle.
func (o *Outbox) saveBursts(ctx context.Context, now time.Time) error {
	var changed []*burst
	var all store.Batch
	for key, g := range o.groups {
		if g.idle(now) {
			delete(o.groups, key)
			continue
		}
		if !g.dirty {
			continue
		}
		if err := o.swapBurst(ctx, &all, g); err != nil {
			return err
		}
		changed = append(changed, g)
	}
	done, err := o.n.swapNotes(ctx, "bursts/"+o.name, &o.lease, all.Notes, now)
	for i, g := range changed[:done] {
		g.note, g.dirty = all.Notes[i].Next, false
	}
	if err != nil {
		return fmt.Errorf("store the bursts of sink %s: %w", o.name, takenOver(err))
	}
	return nil
}

// swapBurst adds to b the change that stores a burst.
func (o *Outbox) swapBurst(ctx context.Context, b *store.Batch, g *burst) error {
	if !g.known {
		old, err := o.n.store.Note(ctx, store.BurstNote, g.key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("read burst %s: %w", g.key, err)
		}
		g.note, g.known = old, true
	}
	next, err := g.encode()
	if err != nil {
		return fmt.Errorf("write burst %s: %w", g.key, err)
	}
	b.SwapNote(g.note, next)
	return nil
}
