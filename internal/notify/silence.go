package notify

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

// silenceLife is how long a silence is kept after its end, to show which alerts it suppressed: as
// long as events are kept.
const silenceLife = 90 * 24 * time.Hour

// Silence suppresses alerts about some pipelines for a while. The events are still recorded.
// Whether it covers an event depends on the two alone, so every sink and replica gets the same
// answer.
type Silence struct {
	ID       string     `json:"id"`
	Pipeline string     `json:"pipeline"`       // a pattern with *
	Type     event.Type `json:"type,omitempty"` // empty: every type
	By       string     `json:"by"`
	Why      string     `json:"why"`
	Since    time.Time  `json:"since"`
	Until    time.Time  `json:"until"`
	EndedAt  time.Time  `json:"endedAt,omitzero"` // if ended early
	EndedBy  string     `json:"endedBy,omitempty"`
	EndedWhy string     `json:"endedWhy,omitempty"`
}

// Standing is a silence with its state and the number of alerts it suppressed.
type Standing struct {
	Silence
	Active     bool
	Suppressed int // alerts
}

// ErrNoSilence means that the silence does not exist.
var ErrNoSilence = errors.New("there is no such silence")

// End returns when the silence ended or will end.
func (s Silence) End() time.Time {
	if !s.EndedAt.IsZero() {
		return s.EndedAt
	}
	return s.Until
}

// Covers reports whether it suppresses an alert about e. An event about no pipeline is suppressed
// only by its type: an operator who silences "*" does not mean the watchdog itself. The audit
// record is never suppressed: it is also about operators.
func (s Silence) Covers(e event.Event) bool {
	d := e.Detail
	switch {
	case e.Type == event.Audit:
		return false
	case s.Type != "" && s.Type != e.Type, s.Type == "" && d.Pipeline == "":
		return false
	case e.Time.Before(s.Since) || !e.Time.Before(s.End()):
		return false
	}
	return matches(s.Pipeline, string(d.Pipeline))
}

// silences returns all stored silences, newest last.
func (n *Notifier) silences(ctx context.Context) ([]Silence, error) {
	notes, err := n.store.Notes(ctx, store.SilenceNote)
	if err != nil {
		return nil, fmt.Errorf("read silences: %w", err)
	}
	all := make([]Silence, len(notes))
	for i, note := range notes {
		if all[i], err = readSilence(note); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readSilence(n store.Note) (Silence, error) {
	var s Silence
	if err := json.Unmarshal(n.Data, &s); err != nil {
		return s, fmt.Errorf("read silence %s: %w", n.Key, err)
	}
	return s, nil
}

// covering returns the id of the first silence that covers e, or "".
func covering(all []Silence, e event.Event) string {
	if i := slices.IndexFunc(all, func(s Silence) bool { return s.Covers(e) }); i >= 0 {
		return all[i].ID
	}
	return ""
}

// Silenced returns a function that gives the id of the silence that suppressed the alert about an
// event; "" if none did, or if routes would not send it anyway.
func (n *Notifier) Silenced(ctx context.Context) (func(event.Event) string, error) {
	all, err := n.silences(ctx)
	if err != nil {
		return nil, err
	}
	return func(e event.Event) string { return n.suppressor(all, e) }, nil
}

// SilencedAmong is Silenced for events that follow one another. It reads silences only if one of the
// events would be sent, and once for everybody who follows them.
func (n *Notifier) SilencedAmong(ctx context.Context, events []store.StoredEvent) (func(event.Event) string, error) {
	var all []Silence
	if slices.ContainsFunc(events, func(e store.StoredEvent) bool { return n.alerts(e.Event) }) {
		var err error
		if all, err = n.silencesAt(ctx, events[len(events)-1].Position); err != nil {
			return nil, err
		}
	}
	return func(e event.Event) string { return n.suppressor(all, e) }, nil
}

func (n *Notifier) suppressor(all []Silence, e event.Event) string {
	if len(all) == 0 || !n.alerts(e) {
		return ""
	}
	return covering(all, e)
}

// known is the silences as they were last read by somebody who follows events.
type known struct {
	mu      sync.Mutex
	all     []Silence
	through store.Position // they were read after the event at this position
}

// silencesAt returns the silences, read after the event at a position. A silence covers no event
// from before it was made, so later ones do not matter.
func (n *Notifier) silencesAt(ctx context.Context, at store.Position) ([]Silence, error) {
	k := &n.known
	k.mu.Lock()
	defer k.mu.Unlock()
	if at <= k.through {
		return k.all, nil
	}
	all, err := n.silences(ctx)
	if err != nil {
		return nil, err
	}
	k.all, k.through = all, at
	return all, nil
}

// Silence starts s now, until s.Until, and returns it as stored.
func (n *Notifier) Silence(ctx context.Context, s Silence, now time.Time) (Silence, error) {
	s.ID, s.Since, s.Until = newSilenceID(), period.Instant(now), period.Instant(s.Until)
	return s, n.saveSilence(ctx, store.Note{}, s, now)
}

// newSilenceID returns a short id, since people type it.
func newSilenceID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "s-" + hex.EncodeToString(b[:])
}

func (n *Notifier) saveSilence(ctx context.Context, read store.Note, s Silence, now time.Time) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write silence %s: %w", s.ID, err)
	}
	b := store.Batch{ID: fmt.Sprintf("silence/%s/%d/%s", s.ID, read.Version, rand.Text())}
	b.SwapNote(read, store.Note{Kind: store.SilenceNote, Key: s.ID, Data: data, Until: s.End().Add(silenceLife)})
	if err := n.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("store silence %s: %w", s.ID, err)
	}
	return nil
}

// EndSilence ends a silence early. A silence that is over stays unchanged. It returns ErrNoSilence
// if there is none.
func (n *Notifier) EndSilence(ctx context.Context, id, by, why string, now time.Time) (Silence, error) {
	for {
		note, err := n.store.Note(ctx, store.SilenceNote, id)
		if errors.Is(err, store.ErrNotFound) {
			return Silence{}, fmt.Errorf("%.40s: %w", id, ErrNoSilence)
		}
		if err != nil {
			return Silence{}, fmt.Errorf("read silence %.40s: %w", id, err)
		}
		s, err := readSilence(note)
		if err != nil || !now.Before(s.End()) {
			return s, err
		}
		s.EndedAt, s.EndedBy, s.EndedWhy = period.Instant(now), by, why
		if err := n.saveSilence(ctx, note, s, now); !errors.Is(err, store.ErrConflict) {
			return s, err
		}
	}
}

// Silences lists the active silences, or all stored ones, each with how many alerts it has
// suppressed.
func (n *Notifier) Silences(ctx context.Context, all bool, now time.Time) ([]Standing, error) {
	remembered, err := n.silences(ctx)
	if err != nil {
		return nil, err
	}
	n.tallies.forget(remembered)
	listed := slices.DeleteFunc(remembered, func(s Silence) bool { return !all && !now.Before(s.End()) })
	counts, err := n.suppressed(ctx, listed)
	if err != nil {
		return nil, err
	}
	var list []Standing
	for _, s := range listed {
		list = append(list, Standing{Silence: s, Active: now.Before(s.End()), Suppressed: counts[s.ID]})
	}
	return list, nil
}

// clockSlack is how far the clocks of replicas may differ. Events are ordered by commit, so their
// times may be out of order by this much.
const clockSlack = time.Hour

// tallies counts the alerts that silences have suppressed. It remembers its position, so that it
// reads each event once for all silences, and none from before the first silence.
type tallies struct {
	mu sync.Mutex
	of map[string]*tally
}

type tally struct {
	count   int
	through store.Position // events up to this position are counted
	over    bool           // no later event can be covered
}

// suppressed returns how many alerts each silence has suppressed, by id.
func (n *Notifier) suppressed(ctx context.Context, silences []Silence) (map[string]int, error) {
	t := &n.tallies
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]*tally{}
	}
	var open []Silence
	from := store.Position(-1)
	for _, s := range silences {
		one := t.of[s.ID]
		if one == nil {
			at, err := n.store.PositionAt(ctx, s.Since.Add(-clockSlack))
			if err != nil {
				return nil, fmt.Errorf("count the alerts that silence %s held back: %w", s.ID, err)
			}
			one = &tally{through: at}
			t.of[s.ID] = one
		}
		if !one.over {
			open = append(open, s)
			if from < 0 || one.through < from {
				from = one.through
			}
		}
	}
	if err := n.count(ctx, open, from); err != nil {
		return nil, fmt.Errorf("count the alerts that silences held back: %w", err)
	}
	counts := map[string]int{}
	for _, s := range silences {
		counts[s.ID] = t.of[s.ID].count
	}
	return counts, nil
}

// forget drops the tallies of silences that are no longer stored.
func (t *tallies) forget(remembered []Silence) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.of, func(id string, _ *tally) bool {
		return !slices.ContainsFunc(remembered, func(s Silence) bool { return s.ID == id })
	})
}

// count reads the events after a position, as long as one of the silences may cover them.
func (n *Notifier) count(ctx context.Context, open []Silence, from store.Position) error {
	for len(open) > 0 {
		events, err := n.store.EventsAfter(ctx, from, store.MaxPage)
		if err != nil {
			return err
		}
		var still []Silence
		for _, s := range open {
			if one := n.tallies.of[s.ID]; n.add(one, s, events) {
				still = append(still, s)
			}
		}
		if len(events) < store.MaxPage {
			return nil
		}
		open, from = still, events[len(events)-1].Position
	}
	return nil
}

// add counts the events that were not counted yet, and reports whether the silence may cover later
// ones.
func (n *Notifier) add(one *tally, s Silence, events []store.StoredEvent) bool {
	for _, e := range events {
		if e.Position <= one.through {
			continue
		}
		one.through = e.Position
		if s.Covers(e.Event) && n.alerts(e.Event) {
			one.count++
		}
		if one.over = e.Event.Time.After(s.End().Add(clockSlack)); one.over {
			return false
		}
	}
	return true
}
