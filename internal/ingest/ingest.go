// Package ingest receives events of other tools and writes the readings that the active sources
// derive from them (package source). A reading of an event with an id is written only once within a
// day, across restarts and replicas: a mark is stored with it. So a repeated event writes what the
// first could not write, and nothing else. After the end of an OpenLineage run, nothing is
// written for its earlier states. The activity of each source is stored too, so that the watchdog
// can detect missing events.
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
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
)

// remembered is how long the id of an event is remembered.
const remembered = 24 * time.Hour

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
	Source source.ID      // the only source that it is for; "" for all of the format. A JSON event has one
	ID     string         // identifies repeats, unique within the format; "" if there is none
	Of     string         // a digest of what the ID was sent with, if the ID alone does not identify the event
	Body   map[string]any // as package source decodes it
}

// Admit decides whether a reading may be written, and sets who writes it. An error becomes a
// problem of the event. undo reverts any quota counted for it.
type Admit func(w *store.Write, size int) (undo func(), err error)

// Later is an error of Admit that may pass. TakeEach then writes nothing of the event, and returns
// the error.
type Later struct{ Err error }

func (l *Later) Error() string { return l.Err.Error() }

// Unwrap returns the reason.
func (l *Later) Unwrap() error { return l.Err }

// Result is the outcome for a list of events.
type Result struct {
	Matched  int                   `json:"matched" doc:"Number of matching sources, over all events."`
	Written  int                   `json:"written" doc:"Number of readings written."`
	Repeated int                   `json:"repeated" doc:"Number of readings not written because the same event, or a later one of its run, wrote them before."`
	Problems []source.EventProblem `json:"problems" doc:"Why readings or fields are missing."`

	Hits []bool `json:"-"` // per event: whether a source matched
}

// taking is one event being processed.
type taking struct {
	mapped   []source.Mapped
	readings []*reading
	taken    []source.Taken // by index in mapped
	over     string         // why it is too large; "" if it is not
	later    *Later         // why it should be redelivered; nil if it need not
	end      *store.Mark    // the end of a run, to be marked even if there are no readings
}

// reading is one reading of an event.
type reading struct {
	write store.Write
	taken *source.Taken // counts it
	undo  func()        // reverts the quota counted for it; nil if there is none, or once it is stored
}

// Take writes the readings of events. An error means that the store failed and that some of the
// events may have been written: sending them again is safe. If it is store.ErrMarked, an ID was
// used before with another Of, and sending them again fails in the same way. If it is
// store.ErrTooLarge, one of them gives more than source.MaxReadings readings, and nothing was
// written. A reading that cannot be written is a problem, and does not affect the others.
func (i *Intake) Take(ctx context.Context, events []Event, admit Admit, now time.Time) (Result, error) {
	return i.take(ctx, events, admit, false, now)
}

// TakeEach is Take for events that are answered for one by one: one that gives too many readings is
// a problem, and one of which a reading is refused with Later is not written, while the others are.
func (i *Intake) TakeEach(ctx context.Context, events []Event, admit Admit, now time.Time) (Result, error) {
	return i.take(ctx, events, admit, true, now)
}

func (i *Intake) take(ctx context.Context, events []Event, admit Admit, each bool, now time.Time) (Result, error) {
	result := Result{Problems: []source.EventProblem{}}
	all, later := make([]*taking, 0, len(events)), (*Later)(nil)
	for n := range events {
		t := i.prepare(ctx, &events[n], admit, each, now)
		if t.over != "" && !each {
			takeBack(append(all, t))
			return result, fmt.Errorf("event %d: %s: %w; nothing was written", n, t.over, store.ErrTooLarge)
		}
		result.Hits = append(result.Hits, len(t.mapped) > 0)
		if t.later != nil {
			later = t.later
			continue
		}
		if len(t.mapped) == 0 {
			i.book.unmatched(&events[n], now)
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
	if err := i.book.store(ctx, now, storeEvery); err != nil || later == nil {
		return result, err
	}
	return result, later
}

// prepare derives the readings of an event. Only if each is set, a reading that is refused with
// Later stops it.
func (i *Intake) prepare(ctx context.Context, e *Event, admit Admit, each bool, now time.Time) *taking {
	t := &taking{mapped: i.mapped(e)}
	t.taken = make([]source.Taken, len(t.mapped))
	once := markOf(e, now)
	if once.Rank > 0 && i.catalog.Sources().Takes(source.OpenLineage) {
		t.end = &once
	}
	name := ""
	if len(t.mapped) > 0 {
		name = source.Summary(e.Format, e.Body)
	}
	t.measure()
	for n := range t.mapped {
		m := &t.mapped[n]
		id := identify(e, m)
		for _, w := range m.Writes {
			if t.over != "" {
				break
			}
			write, undo, err := i.check(ctx, m.Source.ID, w, admit, now)
			if later, is := errors.AsType[*Later](err); is && each {
				t.later = later
				takeBack([]*taking{t})
				return t
			}
			if err != nil {
				m.Problems = append(m.Problems, source.EventProblem{
					Source: m.Source.ID, Write: w.At, Pipeline: string(w.Pipeline), Key: string(w.Key), Message: fmt.Sprintf("nothing is written: %s", err),
				})
				continue
			}
			if write.Once = once; id != "" {
				write.Once = store.Mark{ID: markID(e.Format, id, m.Source.ID, w.Entry), Until: now.Add(remembered).UTC(), Of: e.Of}
			}
			t.readings = append(t.readings, &reading{write, &t.taken[n], undo})
		}
		t.taken[n] = source.Taken{At: now.UTC(), Event: name, Problems: texts(m.Problems), Topic: source.TopicOf(e.Format, e.Body)}
	}
	return t
}

// identify returns the id by which a source recognises repeats of an event: the one that its sender
// gave it with a key, else the one at the source's own path, else the event's.
func identify(e *Event, m *source.Mapped) string {
	if e.Of != "" {
		return e.ID
	}
	id, given, err := m.Source.Dedupe(e.Body)
	if !given {
		return e.ID
	}
	if err != nil {
		m.Problems = append(m.Problems, source.EventProblem{Source: m.Source.ID, Write: -1, Message: err.Error()})
	}
	return id
}

// measure rejects an event that is too large for one of its sources, or gives too many readings.
func (t *taking) measure() {
	total := 0
	for n := range t.mapped {
		m := &t.mapped[n]
		over := m.Over
		if total += len(m.Writes); over == "" && total > source.MaxReadings {
			over = fmt.Sprintf("the message gives more than %d readings", source.MaxReadings)
		}
		if over != "" {
			t.over = over
			m.Problems = append(m.Problems, source.EventProblem{Source: m.Source.ID, Write: -1, Message: "nothing is written: " + over + "; send smaller messages"})
		}
	}
}

// endKept is how long the end of an OpenLineage run is remembered.
const endKept = 7 * 24 * time.Hour

// markOf returns the mark that all readings of an event of an OpenLineage run share: an end takes
// precedence over the ends before it, and everything else over nothing. It is the zero Mark for any
// other event.
func markOf(e *Event, now time.Time) store.Mark {
	if e.Format != source.OpenLineage {
		return store.Mark{}
	}
	state, ok := source.RunStateOf(e.Body)
	if !ok {
		return store.Mark{}
	}
	sum := sha256.Sum256([]byte(state.RunID))
	mark := store.Mark{ID: "lineage/" + hex.EncodeToString(sum[:16]), Until: now.Add(endKept).UTC(), Rank: store.Unmarked}
	if state.Ended {
		mark.Rank = max(state.At.UnixNano(), 1)
	}
	return mark
}

// mapped applies the sources to an event.
func (i *Intake) mapped(e *Event) []source.Mapped {
	sources := i.catalog.Sources()
	if e.Source == "" {
		return sources.Map(e.Format, e.Body)
	}
	d := sources.Get(e.Source)
	if d == nil || d.Format != e.Format {
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
func markID(f source.Format, id string, of source.ID, entry string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{string(f), id, string(of), entry}))
	return "event/" + hex.EncodeToString(sum[:16])
}

// check converts a write to a store.Write, or returns why it cannot be written.
func (i *Intake) check(ctx context.Context, id source.ID, w source.Write, admit Admit, now time.Time) (store.Write, func(), error) {
	p := i.catalog.Current().Get(w.Pipeline)
	if p == nil {
		var err error
		if p, _, err = i.catalog.Active(ctx, w.Pipeline); err != nil {
			return store.Write{}, nil, err
		} else if p == nil {
			return store.Write{}, nil, fmt.Errorf("there is no pipeline %q", w.Pipeline)
		}
	}
	if !w.Instant.IsZero() {
		w.Period = period.At(w.Instant, p.Schedule.Size(), p.Schedule.Zone())
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

// write stores the readings of events, as many events per call as fit, and the ends of runs that
// give none.
func (i *Intake) write(ctx context.Context, all []*taking, now time.Time) error {
	for rest := all; len(rest) > 0; {
		n, readings := together(rest)
		err := i.put(ctx, readings, now)
		for _, t := range rest[:n] {
			if err == nil && len(t.readings) == 0 && t.end != nil {
				err = i.markEnd(ctx, *t.end, now)
			}
		}
		if err != nil {
			takeBack(rest)
			return fmt.Errorf("store the readings of %d events: %w", len(rest), err)
		}
		rest = rest[n:]
	}
	return nil
}

// markEnd marks the end of a run that gives no readings, so that nothing is written for its earlier
// states. If an end is marked already, that one stays.
func (i *Intake) markEnd(ctx context.Context, end store.Mark, now time.Time) error {
	b := store.Batch{ID: fmt.Sprintf("%s/%d", end.ID, end.Rank), Marks: []store.Mark{end}}
	if err := i.store.Commit(ctx, b, now); !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil
}

// together returns how many of the events, at least one, can be stored in one call, and their
// readings. A repeated event comes in a later call than the event itself: the store does not count
// writes of one call with the same mark as repeated.
func together(all []*taking) (n int, readings []*reading) {
	marks := map[string]bool{}
	for ; n < len(all) && (n == 0 || len(readings)+len(all[n].readings) <= store.MaxWrites); n++ {
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
func takeBack(all []*taking) {
	for _, t := range all {
		for _, r := range t.readings {
			if r.undo != nil {
				r.undo()
			}
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
	puts, err := store.PutAll(context.WithoutCancel(ctx), i.store, writes, now)
	for n, put := range puts {
		r := readings[n]
		r.undo = nil
		if put.Repeated {
			r.taken.Repeated++
		} else {
			r.taken.Written++
		}
	}
	return err
}
