// Package ingest receives events of other tools and writes the readings that the active sources
// derive from them (package source). A reading of an event with an id is written only once within a
// day, across restarts and replicas: a mark is stored with it. So a repeated event writes what the
// first could not write, and nothing else. The activity of each source is stored too, so that the
// watchdog can detect missing events.
//
// It does not know HTTP: whatever receives events, from a bus or a queue, calls Take.
package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
)

// remembered is how long the id of an event is remembered.
const remembered = 24 * time.Hour

// mostWrites is how many readings are stored per call. The rest of the call's capacity is for their
// marks, which take half as much.
const mostWrites = store.MaxWrites / 2

// records is the part of the store that an Intake uses.
type records interface {
	store.Committer
	store.Sensors
	store.Reader
}

// Intake receives events. It is safe for concurrent use.
type Intake struct {
	store   records
	catalog *catalog.Catalog
	book    *book

	maxFuture time.Duration // how far ahead a reading may be dated
}

// New returns an Intake for the active sources of c. Readings may be dated at most maxFuture ahead.
func New(s records, c *catalog.Catalog, maxFuture time.Duration) *Intake {
	return &Intake{store: s, catalog: c, book: newBook(s), maxFuture: maxFuture}
}

// Event is one event.
type Event struct {
	Format source.Format
	Source source.ID      // the source that a JSON event was sent to
	ID     string         // identifies repeats, unique within the format; "" if there is none
	Of     string         // a digest of what the ID was sent with, if the ID alone does not identify the event
	Body   map[string]any // as package source decodes it
}

// Admit decides whether a reading may be written, and sets who writes it. An error becomes a
// problem of the event. undo reverts any quota counted for it.
type Admit func(w *store.Write, size int) (undo func(), err error)

// Result is the outcome for a list of events.
type Result struct {
	Matched  int                   `json:"matched" doc:"Number of matching sources, over all events."`
	Written  int                   `json:"written" doc:"Number of readings written."`
	Repeated int                   `json:"repeated" doc:"Number of readings not written because the same event wrote them before."`
	Problems []source.EventProblem `json:"problems" doc:"Why readings or fields are missing."`

	Hits []bool `json:"-"` // per event: whether a source matched
}

// taking is one event being processed.
type taking struct {
	mapped   []source.Mapped
	readings []*reading
	taken    []source.Taken // by index in mapped
}

// reading is one reading of an event.
type reading struct {
	write store.Write
	taken *source.Taken // counts it
	undo  func()        // reverts the quota counted for it; nil if there is none, or once it is stored
}

// Take writes the readings of events. An error means that the store failed and that some of the
// events may have been written: sending them again is safe. If it is store.ErrMarked, an ID was
// used before with another Of, and sending them again fails in the same way. A reading that cannot
// be written is a problem, and does not affect the others.
func (i *Intake) Take(ctx context.Context, events []Event, admit Admit, now time.Time) (Result, error) {
	result := Result{Problems: []source.EventProblem{}}
	all := make([]*taking, 0, len(events))
	for n := range events {
		t := i.prepare(ctx, &events[n], admit, now)
		result.Hits = append(result.Hits, len(t.mapped) > 0)
		if len(t.mapped) == 0 {
			i.book.unmatched(&events[n], now)
			continue
		}
		all = append(all, t)
		result.Matched += len(t.mapped)
		for _, m := range t.mapped {
			result.Problems = append(result.Problems, m.Problems...)
		}
	}
	err := i.write(ctx, all, now)
	for _, t := range all {
		for n, m := range t.mapped {
			result.Written += t.taken[n].Written
			result.Repeated += t.taken[n].Repeated
			if err == nil {
				i.book.add(m.Source.ID, t.taken[n])
			}
		}
	}
	if err != nil {
		return result, err
	}
	return result, i.book.store(ctx, now, storeEvery)
}

// prepare derives the readings of an event.
func (i *Intake) prepare(ctx context.Context, e *Event, admit Admit, now time.Time) *taking {
	t := &taking{mapped: i.mapped(e)}
	t.taken = make([]source.Taken, len(t.mapped))
	name := ""
	if len(t.mapped) > 0 {
		name = source.Summary(e.Format, e.Body)
	}
	for n := range t.mapped {
		m := &t.mapped[n]
		for _, w := range m.Writes {
			write, undo, err := i.check(ctx, m.Source.ID, w, admit, now)
			if err != nil {
				m.Problems = append(m.Problems, source.EventProblem{
					Source: m.Source.ID, Write: w.At, Pipeline: string(w.Pipeline), Key: string(w.Key), Message: fmt.Sprintf("nothing is written: %s", err),
				})
				continue
			}
			if e.ID != "" {
				write.Once = store.Mark{ID: markID(e, m.Source.ID, w.Entry), Until: now.Add(remembered), Of: e.Of}
			}
			t.readings = append(t.readings, &reading{write, &t.taken[n], undo})
		}
		t.taken[n] = source.Taken{At: now.UTC(), Event: name, Problems: texts(m.Problems)}
	}
	return t
}

// mapped applies the sources to an event.
func (i *Intake) mapped(e *Event) []source.Mapped {
	sources := i.catalog.Sources()
	if e.Format != source.JSON {
		return sources.Map(e.Format, e.Body)
	}
	d := sources.Get(e.Source)
	if d == nil {
		return nil
	}
	if m, ok := d.Map(e.Body); ok {
		return []source.Mapped{m}
	}
	return nil
}

func texts(problems []source.EventProblem) []string {
	all := make([]string, len(problems))
	for i, p := range problems {
		all[i] = p.String()
	}
	return all
}

// markID returns the id of the mark of one reading of an event. Each reading has its own, because a
// problem may keep one from being written while the others are.
func markID(e *Event, id source.ID, entry string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{string(e.Format), e.ID, string(id), entry}))
	return "event/" + hex.EncodeToString(sum[:16])
}

// check converts a write to a store.Write, or returns why it cannot be written.
func (i *Intake) check(ctx context.Context, id source.ID, w source.Write, admit Admit, now time.Time) (store.Write, func(), error) {
	if i.catalog.Current().Get(w.Pipeline) == nil {
		if e, _, err := i.catalog.Active(ctx, w.Pipeline); err != nil {
			return store.Write{}, nil, err
		} else if e == nil {
			return store.Write{}, nil, fmt.Errorf("there is no pipeline %q", w.Pipeline)
		}
	}
	if err := i.catalog.Current().CheckDate(w.Pipeline, w.Key, w.Period, now, i.maxFuture); err != nil {
		return store.Write{}, nil, err
	}
	data, err := json.Marshal(w.Fields)
	if err != nil {
		return store.Write{}, nil, err
	}
	if len(data) > sensor.MaxBytes {
		return store.Write{}, nil, fmt.Errorf("the fields have %d bytes; at most %d are allowed", len(data), sensor.MaxBytes)
	}
	write := store.Write{Pipeline: w.Pipeline, Reading: sensor.Reading{Key: w.Key, Period: w.Period, Fields: w.Fields, Source: string(id)}}
	if w.TTL > 0 {
		write.Reading.ExpiresAt = now.Add(w.TTL).UTC()
	}
	undo, err := admit(&write, len(data))
	return write, undo, err
}

// write stores the readings of events, as many events per call as fit.
func (i *Intake) write(ctx context.Context, all []*taking, now time.Time) error {
	for rest := all; len(rest) > 0; {
		n, readings := together(rest)
		if err := i.put(ctx, readings, now); err != nil {
			for _, t := range rest {
				t.takeBack()
			}
			return fmt.Errorf("store the readings of %d events: %w", len(rest), err)
		}
		rest = rest[n:]
	}
	return nil
}

// together returns how many of the events, at least one, can be stored in one call, and their
// readings. A repeated event comes in a later call than the event itself: the store does not count
// writes of one call with the same mark as repeated.
func together(all []*taking) (n int, readings []*reading) {
	marks := map[string]bool{}
	for ; n < len(all) && (n == 0 || len(readings)+len(all[n].readings) <= mostWrites); n++ {
		for _, r := range all[n].readings {
			if marks[r.write.Once.ID] {
				return n, readings
			}
		}
		for _, r := range all[n].readings {
			marks[r.write.Once.ID] = r.write.Once.ID != ""
		}
		readings = append(readings, all[n].readings...)
	}
	return n, readings
}

// takeBack reverts the quota of readings that are not stored.
func (t *taking) takeBack() {
	for _, r := range t.readings {
		if r.undo != nil {
			r.undo()
		}
	}
}

// put stores readings in one call, or in several if the store does not accept as many at once.
func (i *Intake) put(ctx context.Context, readings []*reading, now time.Time) error {
	if len(readings) == 0 {
		return nil
	}
	writes := make([]store.Write, len(readings))
	for n, r := range readings {
		writes[n] = r.write
	}
	// Store accepted readings even if the sender has disconnected: otherwise it could not know
	// whether they were stored.
	puts, err := i.store.PutReadings(context.WithoutCancel(ctx), writes, now)
	if half := len(readings) / 2; errors.Is(err, store.ErrTooLarge) && half > 0 {
		if err := i.put(ctx, readings[:half], now); err != nil {
			return err
		}
		return i.put(ctx, readings[half:], now)
	}
	if err != nil {
		return err
	}
	for n, r := range readings {
		r.undo = nil
		if puts[n].Repeated {
			r.taken.Repeated++
		} else {
			r.taken.Written++
		}
	}
	return nil
}
