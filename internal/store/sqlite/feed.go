package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// feed is how far each group has come. What was received and is not done is held in memory alone: it is given out again
// after the next start. So is a place until the next commit takes it along; a crash in between gives some changes twice,
// which they may be.
type feed struct {
	mu     sync.Mutex
	groups map[string]*group
	start  int64          // changes up to here were forgotten: a new group begins after them
	tail   []store.Change // the last that were committed, without a gap: who keeps up is not answered from the file
	fed    store.Signal
}

// tailLength is how many changes the tail has at least, once there were so many; it has less than twice as many.
const tailLength = 1024

// append is called by the writer, between the commit and its announcement.
func (f *feed) append(changes []store.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.tail)+len(changes) > 2*tailLength {
		f.tail = append(f.tail[:0], f.tail[max(0, len(f.tail)-tailLength):]...)
	}
	f.tail = append(f.tail, changes...)
}

// after gives up to limit changes after a position; false if the tail does not reach back that far.
func (f *feed) after(pos int64, limit int) ([]store.Change, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.tail) == 0 || int64(f.tail[0].Position) > pos+1 {
		return nil, false
	}
	rest := f.tail[pos+1-int64(f.tail[0].Position):]
	return slices.Clone(rest[:min(limit, len(rest))]), true
}

// group is how far those who share one group have come. Positions have no gaps, so counting needs no look at the log.
type group struct {
	turn sync.Mutex // held by the consumer that is being served

	place   int64 // everything up to here is done
	done    spans // what is done beyond it
	given   int64 // everything up to here was given to somebody, or is done
	unsaved bool
}

// group gives one by name; the caller holds the lock.
func (f *feed) group(name string) *group {
	g := f.groups[name]
	if g == nil {
		g = &group{place: f.start, given: f.start, unsaved: true}
		f.groups[name] = g
	}
	return g
}

// unsaved gives the places that moved since they were last stored.
func (f *feed) unsaved() map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var places map[string]int64
	for name, g := range f.groups {
		if g.unsaved {
			if places == nil {
				places = map[string]int64{}
			}
			places[name] = g.place
		}
	}
	return places
}

const upsertPlace = "INSERT INTO feed_groups (name, place) VALUES (?, ?) ON CONFLICT DO UPDATE SET place = excluded.place"

// savePlaces stores the places that moved. That they were is remembered once it is durable.
func (tx *tx) savePlaces() error {
	places := tx.w.feed.unsaved()
	for name, place := range places {
		if err := tx.exec(upsertPlace, name, place); err != nil {
			return err
		}
	}
	if len(places) > 0 {
		tx.after = append(tx.after, func() { tx.w.feed.saved(places) })
	}
	return nil
}

func (f *feed) saved(places map[string]int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, place := range places {
		g := f.groups[name]
		g.unsaved = g.place != place
	}
}

// passed is what every group has done; false if there is no group.
func (f *feed) passed() (place int64, any bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range f.groups {
		if !any || g.place < place {
			place, any = g.place, true
		}
	}
	return place, any
}

// begins is where a new group begins, and begin moves that place.
func (f *feed) begins() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.start
}

func (f *feed) begin(at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.start = at
}

// Receive waits on a channel, never on a clock.
func (s *Store) Receive(ctx context.Context, name, _ string, limit int) ([]store.Change, error) {
	for {
		more := s.feed.fed.Next()
		changes, err := s.take(ctx, name, limit)
		if err != nil {
			return nil, fmt.Errorf("receive changes: %w", err)
		}
		if len(changes) > 0 {
			return changes, nil
		}
		select {
		case <-more:
		case <-s.quit:
			return nil, errClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take holds what is free at this moment. Consumers of one group take turns, so that none skips what another is about to
// take.
func (s *Store) take(ctx context.Context, name string, limit int) ([]store.Change, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	g := s.feed.get(name)
	g.turn.Lock()
	defer g.turn.Unlock()
	from, to := s.feed.given(g), s.committed.Load()
	if from >= to {
		return nil, nil
	}
	if changes, there := s.feed.after(from, store.PageSize(limit)); there {
		return s.feed.hold(g, changes), ctx.Err()
	}
	var changes []store.Change
	err := s.read(ctx, func(c *conn) error {
		return c.query(`SELECT pos, kind, at, pipeline, sensor, period, body FROM log
			WHERE pos > ? AND pos <= ? ORDER BY pos`+upTo, func(r row) error {
			change, err := changeOf(r)
			changes = append(changes, change)
			return err
		}, from, to, store.PageSize(limit))
	})
	if err != nil {
		return nil, err
	}
	return s.feed.hold(g, changes), nil
}

// get gives a group by name.
func (f *feed) get(name string) *group {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.group(name)
}

func (f *feed) given(g *group) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return g.given
}

// hold leaves out what is done already: somebody may say so of changes that he received before the last start.
func (f *feed) hold(g *group, changes []store.Change) []store.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	free := changes[:0]
	for _, c := range changes {
		g.given = int64(c.Position)
		if g.given > g.place && !g.done.has(g.given) {
			free = append(free, c)
		}
	}
	return free
}

// Done moves the place on as far as everything before it is done.
func (s *Store) Done(_ context.Context, name string, changes []store.Change) error {
	if err := s.open(); err != nil {
		return err
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	g := s.feed.group(name)
	for _, c := range changes {
		if pos := int64(c.Position); pos > g.place {
			g.done.add(pos)
		}
	}
	if len(g.done) > 0 && g.done[0].from == g.place+1 {
		g.place, g.done, g.unsaved = g.done[0].to, g.done[1:], true
		g.given = max(g.given, g.place)
	}
	return nil
}

// Backlog counts what is beyond the group's place and not done.
func (s *Store) Backlog(ctx context.Context, name string) (n int, oldest time.Time, err error) {
	if err := s.open(); err != nil {
		return 0, time.Time{}, err
	}
	n, first := s.feed.backlog(name, s.committed.Load())
	if n == 0 {
		return 0, time.Time{}, nil
	}
	err = s.read(ctx, func(c *conn) error {
		at, err := c.number("SELECT at FROM log WHERE pos = ?", first)
		oldest = fromNanos(at)
		return err
	})
	return n, oldest, err
}

func (f *feed) backlog(name string, last int64) (n int, first int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.groups[name]
	if g == nil {
		g = &group{place: f.start} // asking does not make one: nobody follows yet
	}
	return int(last - g.place - g.done.count()), g.place + 1
}

// changeOf reads a row of the log: pos, kind, at, pipeline, sensor, period, body.
func changeOf(r row) (store.Change, error) {
	c := store.Change{Position: store.Position(r.int(0)), At: fromNanos(r.int(2)), Pipeline: pipeline.ID(r.text(3))}
	switch r.int(1) {
	case kindRun, kindPipeline:
		m, err := decode[move](r.text(6))
		if err != nil {
			return c, err
		}
		return m.change(r.int(0), r.int(2), c.Pipeline), nil
	}
	c.Kind, c.Version, c.Changed, c.Sensor = store.ReadingWritten, r.int(0), r.int(1) == kindChanged, sensor.Key(r.text(4))
	return c, c.Period.UnmarshalText([]byte(r.text(5)))
}

// move is what the log says of a run or a pipeline's row.
type move struct {
	Kind    store.ChangeKind `json:"kind"`
	Version int64            `json:"version"`
	Run     run.Key          `json:"run,omitzero"`
	Status  run.Status       `json:"status,omitempty"`
	Attempt int              `json:"attempt,omitempty"`
}

func (m move) change(pos, at int64, of pipeline.ID) store.Change {
	return store.Change{
		Position: store.Position(pos), Kind: m.Kind, At: fromNanos(at), Pipeline: of, Version: m.Version,
		Run: m.Run, Status: m.Status, Attempt: m.Attempt,
	}
}

// span is a stretch of positions, both ends included.
type span struct{ from, to int64 }

// spans are stretches in order, with gaps between them: however long a single change takes, what is done beyond it is
// remembered in a few numbers.
type spans []span

func (s spans) has(pos int64) bool {
	i := s.search(pos)
	return i < len(s) && s[i].from <= pos
}

// search gives the first stretch that does not end before pos.
func (s spans) search(pos int64) int {
	i, _ := slices.BinarySearchFunc(s, pos, func(a span, pos int64) int { return cmp.Compare(a.to, pos) })
	return i
}

func (s *spans) add(pos int64) {
	i := s.search(pos - 1) // the one that pos may be appended to
	switch all := *s; {
	case i < len(all) && all[i].from <= pos && pos <= all[i].to:
		return
	case i < len(all) && all[i].to == pos-1:
		all[i].to = pos
		if i+1 < len(all) && all[i+1].from == pos+1 {
			all[i].to = all[i+1].to
			*s = slices.Delete(all, i+1, i+2)
		}
	case i < len(all) && all[i].from == pos+1:
		all[i].from = pos
	default:
		*s = slices.Insert(all, i, span{pos, pos})
	}
}

func (s spans) count() (n int64) {
	for _, a := range s {
		n += a.to - a.from + 1
	}
	return n
}
