package ingest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	// storeEvery is the minimum interval between writes of a source's activity. A process that
	// crashes loses the counts of at most that interval, and the time of the last event may be
	// stale by that much.
	storeEvery = time.Minute
	// stateKey is the key prefix of the notes that hold the activity of sources.
	stateKey = "state/"
	// maxSamples is how many unmatched events are kept for display.
	maxSamples = 10
)

// book tracks the activity of each source. It collects events in memory and stores the first at
// once, later ones at most once a minute, so that a busy source does not cost a commit per event.
type book struct {
	records records
	mu      sync.Mutex
	of      map[source.ID]*pending
	none    Unmatched
}

// pending is the activity of a source that is not stored yet.
type pending struct {
	activity source.Activity
	storing  bool
	stored   time.Time
}

// Unmatched describes the events that no source matched since the process started.
type Unmatched struct {
	Count   map[source.Format]int64
	Samples []Sample // newest first
}

// Sample is an event that no source matched.
type Sample struct {
	At     time.Time     `json:"at" doc:"When the event was received."`
	Format source.Format `json:"format" doc:"The event format."`
	Event  string        `json:"event" doc:"The event's identifying attributes, without its data."`
}

func newBook(s records) *book {
	return &book{records: s, of: map[source.ID]*pending{}, none: Unmatched{Count: map[source.Format]int64{}}}
}

// unmatched counts an event that no source matched. At most one per second is kept for display, so
// that a flood costs little.
func (b *book) unmatched(e *Event, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.none.Count[e.Format]++
	if n := b.none.Samples; len(n) > 0 && now.Sub(n[0].At) < time.Second && len(n) >= maxSamples {
		return
	}
	s := Sample{At: now.UTC(), Format: e.Format, Event: source.Summary(e.Format, e.Body)}
	if e.Source != "" {
		s.Event = strings.TrimSpace("source=" + string(e.Source) + " " + s.Event)
	}
	b.none.Samples = append([]Sample{s}, b.none.Samples[:min(len(b.none.Samples), maxSamples-1)]...)
}

// add records an event.
func (b *book) add(id source.ID, t source.Taken) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.of[id]
	if p == nil {
		p = &pending{}
		b.of[id] = p
	}
	p.activity.Add(t)
}

// store stores the collected activity of sources that were last stored at least that long ago.
func (b *book) store(ctx context.Context, now time.Time, every time.Duration) error {
	for _, id := range b.due(now, every) {
		if err := b.storeOne(ctx, id, now); err != nil {
			return err
		}
	}
	return nil
}

// due returns the sources to store now, and reserves them for the caller.
func (b *book) due(now time.Time, every time.Duration) []source.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []source.ID
	for id, p := range b.of {
		if p.activity.Matched > 0 && !p.storing && now.Sub(p.stored) >= every {
			p.storing = true
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// storeOne adds the collected activity of a source to the stored one. If a silence had been
// reported, it also reports its end.
func (b *book) storeOne(ctx context.Context, id source.ID, now time.Time) error {
	b.mu.Lock()
	p := b.of[id]
	gathered := p.activity
	p.activity = source.Activity{}
	b.mu.Unlock()
	err := Change(ctx, b.records, id, now, func(a *source.Activity) []event.Event {
		events := back(id, a, now)
		a.Join(gathered)
		return events
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	p.storing, p.stored = false, now
	if err != nil { // stored with the next event
		gathered.Join(p.activity)
		p.activity, p.stored = gathered, time.Time{}
	}
	return err
}

// Activities returns the activity of each source, by id, including what is not stored yet.
func (i *Intake) Activities(ctx context.Context) (map[source.ID]source.Activity, error) {
	all, err := Stored(ctx, i.store)
	if err != nil {
		return nil, err
	}
	i.book.mu.Lock()
	defer i.book.mu.Unlock()
	for id, p := range i.book.of {
		if p.activity.Matched > 0 {
			a := all[id]
			a.Join(p.activity)
			all[id] = a
		}
	}
	return all, nil
}

// Unmatched returns the events that no source matched.
func (i *Intake) Unmatched() Unmatched {
	i.book.mu.Lock()
	defer i.book.mu.Unlock()
	return Unmatched{Count: maps.Clone(i.book.none.Count), Samples: slices.Clone(i.book.none.Samples)}
}

// Confirm stores that SNS asks to confirm a subscription, for a person to do so.
func (i *Intake) Confirm(ctx context.Context, id source.ID, c source.Confirmation, now time.Time) error {
	c.At = now.UTC()
	return Change(ctx, i.store, id, now, func(a *source.Activity) []event.Event {
		a.Confirmation = &c
		return nil
	})
}

// Flush stores all activity that is not stored yet.
func (i *Intake) Flush(ctx context.Context, now time.Time) error { return i.book.store(ctx, now, 0) }

type notes interface {
	Notes(ctx context.Context, kind store.NoteKind) ([]store.Note, error)
}

// Stored returns the stored activity of each source, by id.
func Stored(ctx context.Context, s notes) (map[source.ID]source.Activity, error) {
	all, err := s.Notes(ctx, store.SourceNote)
	if err != nil {
		return nil, fmt.Errorf("read what came from sources: %w", err)
	}
	out := map[source.ID]source.Activity{}
	for _, n := range all {
		id, ok := strings.CutPrefix(n.Key, stateKey)
		if !ok {
			continue
		}
		var a source.Activity
		if err := json.Unmarshal(n.Data, &a); err != nil {
			return nil, fmt.Errorf("read what came from source %s: %w", id, err)
		}
		out[source.ID(id)] = a
	}
	return out, nil
}

type noter interface {
	Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error)
}

// StoredOf returns the stored activity of one source.
func StoredOf(ctx context.Context, s noter, id source.ID) (source.Activity, error) {
	_, a, err := storedNote(ctx, s, id)
	if err != nil {
		return source.Activity{}, fmt.Errorf("read what came from source %s: %w", id, err)
	}
	return a, nil
}

// storedNote returns the note of a source and the activity in it; both are zero if there is none.
func storedNote(ctx context.Context, s noter, id source.ID) (n store.Note, a source.Activity, err error) {
	n, err = s.Note(ctx, store.SourceNote, stateKey+string(id))
	if errors.Is(err, store.ErrNotFound) {
		return n, a, nil
	}
	if err == nil && len(n.Data) > 0 {
		err = json.Unmarshal(n.Data, &a)
	}
	return n, a, err
}

// changer is the part of the store that Change uses.
type changer interface {
	store.Committer
	noter
}

// maxTries is how often a change is retried because another replica was faster.
const maxTries = 10

// Change updates the stored activity of a source, and emits the events that change returns. It does
// nothing if the activity stays the same.
func Change(ctx context.Context, s changer, id source.ID, now time.Time, change func(*source.Activity) []event.Event) error {
	err := error(store.ErrConflict)
	for try := 0; try < maxTries && errors.Is(err, store.ErrConflict); try++ {
		err = changeOnce(ctx, s, id, now, change)
	}
	if err != nil {
		return fmt.Errorf("store what came from source %s: %w", id, err)
	}
	return nil
}

func changeOnce(ctx context.Context, s changer, id source.ID, now time.Time, change func(*source.Activity) []event.Event) error {
	old, a, err := storedNote(ctx, s, id)
	if err != nil {
		return err
	}
	events := change(&a)
	data, err := json.Marshal(a)
	if err != nil || string(data) == string(old.Data) {
		return err
	}
	b := store.Batch{ID: fmt.Sprintf("source/state/%s/v%d/%s", id, old.Version, rand.Text())}
	b.SwapNote(old, store.Note{Kind: store.SourceNote, Key: stateKey + string(id), Data: data})
	b.Emit(events...)
	return s.Commit(ctx, b, now)
}
