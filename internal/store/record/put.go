package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// reading is the stored form of a reading, used for the current one of its period and for the
// history.
type reading struct {
	Key       sensor.Key    `json:"key"`
	Period    period.Period `json:"date,omitzero"`
	Version   int64         `json:"version"`
	UpdatedAt time.Time     `json:"updatedAt"`
	ExpiresAt time.Time     `json:"expiresAt,omitzero"`
	Source    string        `json:"source,omitempty"`
	Order     int64         `json:"order,omitempty"`
	Series    string        `json:"series,omitempty"`
	Changed   bool          `json:"changed,omitempty"`
	// ChangedAt is when the data last changed; zero if at UpdatedAt.
	ChangedAt time.Time       `json:"changedAt,omitzero"`
	Data      json.RawMessage `json:"data"` // from store.EncodeData: equal text means equal data
	// Record is the newest stream record stored for this row, by this write or an earlier one.
	Record streamed `json:"record,omitzero"`
	// Own means that this write itself came from Record.
	Own bool `json:"own,omitempty"`

	pipeline pipeline.ID
	trace    string // trace of the write
	once     store.Mark
	call     *call // the call that wrote it
}

// newReading converts a write to its stored form.
func newReading(w store.Write, now time.Time) (reading, error) {
	data, err := store.EncodeData(w.Reading)
	if err != nil {
		return reading{}, fmt.Errorf("put reading %s of %s: %w", w.Reading.Key, w.Pipeline, err)
	}
	return reading{
		Key: w.Reading.Key, Period: w.Reading.Period, UpdatedAt: now.Round(0).UTC(),
		ExpiresAt: w.Reading.ExpiresAt.Round(0).UTC(), Source: w.Reading.Source, Order: w.Order, Series: w.Series,
		Data: json.RawMessage(data), pipeline: w.Pipeline, once: w.Once,
	}, nil
}

func (r *reading) ref() row.Ref { return refReading(r.pipeline, r.Key, r.Period) }

func (r *reading) change() store.Change {
	return store.Change{
		Kind: store.ReadingWritten, At: r.UpdatedAt, Pipeline: r.pipeline, Sensor: r.Key, Period: r.Period,
		Version: r.Version, Changed: r.Changed, Trace: r.trace,
	}
}

// sameFacts reports whether two readings of one row have the same data, as sensor.Reading.SameFacts
// does. Only those that name their period in the data must be decoded.
func (r *reading) sameFacts(old *reading) bool {
	if bytes.Equal(r.Data, old.Data) {
		return true
	}
	if dated := []byte(`"date":`); !bytes.Contains(r.Data, dated) && !bytes.Contains(old.Data, dated) {
		return false
	}
	now, err := r.sensor()
	if err != nil {
		return false
	}
	before, err := old.sensor()
	return err == nil && now.SameFacts(before)
}

// sensor converts the reading for callers.
func (r *reading) sensor() (*sensor.Reading, error) {
	out := &sensor.Reading{
		Key: r.Key, Period: r.Period, Version: r.Version, UpdatedAt: r.UpdatedAt, ChangedAt: r.ChangedAt, ExpiresAt: r.ExpiresAt, Source: r.Source,
	}
	if err := store.DecodeData(out, r.Data); err != nil {
		return nil, fmt.Errorf("read reading %s of %s: %w", r.Key, r.pipeline, err)
	}
	return out, nil
}

func readingOf(r row.Row) (*reading, error) {
	found, err := decode[reading](r)
	found.pipeline = pipeline.ID(r.Part)
	return &found, err
}

func sensorOf(r row.Row) (*sensor.Reading, error) {
	found, err := readingOf(r)
	if err != nil {
		return nil, err
	}
	return found.sensor()
}

// call is one call of PutReadings.
type call struct {
	writes []reading
	size   int // its share of a transaction, in writes
	puts   []store.Put
	err    error
	done   chan struct{}
}

// large is the size from which a call is stored on its own, so that other calls need not wait for
// it: 1,000 writes take about 50 ms. If another call has written the same rows meanwhile, it joins
// the next group instead.
const large = 100

// combiner groups concurrent PutReadings calls into one transaction: calls that arrive while one is
// in progress form the next group.
type combiner struct {
	mu      sync.Mutex
	busy    bool
	waiting []*call
}

// PutReadings stores the writes together with those of concurrent calls.
func (s *Store) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	if err := store.CheckWrites(writes, s.maxWrites()); err != nil {
		return nil, err
	}
	c := &call{writes: make([]reading, len(writes)), done: make(chan struct{})}
	for i, w := range writes {
		var err error
		if c.writes[i], err = newReading(w, now); err != nil {
			return nil, err
		}
		c.writes[i].call, c.writes[i].trace = c, store.TraceOf(ctx)
	}
	if c.size = c.opsNeeded(); s.o.MaxOps > 0 && c.size > s.maxWrites() {
		return nil, fmt.Errorf("put readings: %d with their marks: %w", len(writes), store.ErrTooLarge)
	}
	if c.size >= large {
		if k, err := s.putOnce(ctx, c.all()); !isConflict(err) {
			return k.puts, wrap(err, "put readings")
		}
	}
	if s.puts.join(c) {
		s.putCalls(ctx, []*call{c})
		if group := s.puts.next(s.maxWrites()); group != nil {
			go s.putGroups(context.WithoutCancel(ctx), group)
		}
	}
	select {
	case <-c.done:
		return c.puts, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// opsNeeded returns the size of the call in writes; two marks count as one: a write takes two rows,
// a mark one.
func (c *call) opsNeeded() int {
	marks := map[string]bool{}
	for i := range c.writes {
		if id := c.writes[i].once.ID; id != "" {
			marks[id] = true
		}
	}
	return len(c.writes) + (len(marks)+1)/2
}

// all returns the writes of the call.
func (c *call) all() []*reading {
	all := make([]*reading, len(c.writes))
	for i := range c.writes {
		all[i] = &c.writes[i]
	}
	return all
}

// putGroups stores waiting groups until none are left.
func (s *Store) putGroups(ctx context.Context, group []*call) {
	for ; group != nil; group = s.puts.next(s.maxWrites()) {
		s.putCalls(ctx, group)
	}
}

// join returns true if no other call is in progress. Otherwise it queues c.
func (p *combiner) join(c *call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		p.waiting = append(p.waiting, c)
		return false
	}
	p.busy = true
	return true
}

// next returns the next group of waiting calls; nil if there are none.
func (p *combiner) next(most int) []*call {
	p.mu.Lock()
	defer p.mu.Unlock()
	group, size := p.waiting, 0
	for i, c := range group {
		if size += c.size; i > 0 && size > most {
			group = group[:i:i]
			break
		}
	}
	p.waiting = p.waiting[len(group):]
	p.busy = len(group) > 0
	if !p.busy {
		return nil
	}
	return group
}

// putCalls stores calls in one transaction. If that fails for any reason other than an unavailable
// store, it stores each call separately, so that only the faulty ones fail.
func (s *Store) putCalls(ctx context.Context, group []*call) {
	var all []*reading
	for _, c := range group {
		all = append(all, c.all()...)
	}
	k, err := s.put(ctx, all)
	if err != nil && len(group) > 1 && !errors.Is(err, store.ErrAway) {
		for _, c := range group {
			s.putCalls(ctx, []*call{c})
		}
		return
	}
	for _, c := range group {
		if c.err = wrap(err, "put readings"); err == nil {
			c.puts, k.puts = k.puts[:len(c.writes):len(c.writes)], k.puts[len(c.writes):]
		}
		close(c.done)
	}
}

// intake decides how each write is stored.
type intake struct {
	before, current map[row.Ref]*reading
	version         int64 // of the next write
	marks           map[string]mark

	puts    []store.Put
	taken   []*reading // in order
	changes []store.Change
}

// put stores writes, and retries if another process has written the same rows.
func (s *Store) put(ctx context.Context, writes []*reading) (k *intake, err error) {
	if len(writes) == 0 {
		_, err := s.engine.Get(ctx, nil)
		return &intake{}, err
	}
	err = retry(ctx, isConflict, func() error {
		k, err = s.putOnce(ctx, writes)
		return err
	})
	return k, err
}

// putOnce returns a conflict if the rows have changed since they were read, or are not as this
// process knows them.
func (s *Store) putOnce(ctx context.Context, writes []*reading) (*intake, error) {
	k, err := s.intake(ctx, writes)
	if err != nil {
		return &intake{}, err
	}
	if err := s.store(ctx, k); err != nil {
		s.known.forget(writes)
		return k, err
	}
	s.known.add(k.taken)
	return k, nil
}

// intake reads the stored rows and decides on each write.
func (s *Store) intake(ctx context.Context, writes []*reading) (*intake, error) {
	k := &intake{before: map[row.Ref]*reading{}}
	refs := make([]row.Ref, 0, len(writes))
	for _, w := range writes {
		ref := w.ref()
		if _, seen := k.before[ref]; seen {
			continue
		}
		if k.before[ref] = s.known.before(w, ref); k.before[ref] == nil {
			refs = append(refs, ref)
		}
	}
	if err := s.readBefore(ctx, k, refs, writes); err != nil {
		return nil, err
	}
	maps.DeleteFunc(k.before, func(_ row.Ref, r *reading) bool { return r == nil })
	k.current = maps.Clone(k.before)
	var err error
	if k.version, err = s.engine.Next(ctx, len(writes)); err != nil {
		return nil, err
	}
	for _, w := range writes {
		if err := k.take(*w); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// readBefore reads the rows that writes replace, and their marks.
func (s *Store) readBefore(ctx context.Context, k *intake, refs []row.Ref, writes []*reading) error {
	marks := markRefs(writes)
	if len(refs)+len(marks) == 0 {
		return nil
	}
	rows, err := s.engine.Get(ctx, append(refs, marks...))
	if err != nil {
		return err
	}
	for i, r := range rows[:len(refs)] {
		if r.Version == 0 {
			continue
		}
		if k.before[refs[i]], err = readingOf(r); err != nil {
			return err
		}
	}
	return k.readMarks(rows[len(refs):], writes)
}

// take decides on one write.
func (k *intake) take(next reading) error {
	old := k.current[next.ref()]
	if next.Version = k.version; old != nil {
		next.Version = max(next.Version, old.Version+1)
	}
	k.version = next.Version + 1
	if first, err := k.mark(next); err != nil || !first {
		k.puts = append(k.puts, store.Put{Repeated: true})
		return err
	}
	if old != nil {
		if next.Own && next.overtakenBy(old) {
			k.repeat(next, old)
			return nil
		}
		if next.Order != 0 && next.Series == old.Series && next.Order <= old.Order {
			k.puts = append(k.puts, store.Put{Version: old.Version, UpdatedAt: old.UpdatedAt, Ignored: true})
			return nil
		}
		if next.Order == 0 {
			next.Order, next.Series = old.Order, old.Series
		}
		switch {
		case !next.Own:
			next.Record = old.Record
		case next.Record.Sequence == "":
			next.Record.Sequence = old.Record.Sequence
		}
	}
	if next.Changed = old == nil || !next.sameFacts(old); !next.Changed {
		if next.ChangedAt = old.ChangedAt; next.ChangedAt.IsZero() {
			next.ChangedAt = old.UpdatedAt
		}
	}
	k.current[next.ref()] = &next
	k.taken = append(k.taken, &next)
	k.puts = append(k.puts, store.Put{Version: next.Version, UpdatedAt: next.UpdatedAt, Changed: next.Changed})
	k.changes = append(k.changes, next.change())
	return nil
}

// store applies the accepted writes. The first write of a period also lists its key.
func (s *Store) store(ctx context.Context, k *intake) error {
	if len(k.taken) == 0 {
		return nil
	}
	var tx row.Tx
	var keys []row.Op
	listed := map[row.Ref]bool{}
	for _, r := range k.taken {
		body, err := encode(r)
		if err != nil {
			return err
		}
		write := row.Row{Ref: refWrite(r.pipeline, r.Key, r.Version), Version: 1, Body: body}
		aging(&write, listHistory, r.UpdatedAt)
		op := row.Op{If: 0, Row: write}
		if !r.Own { // otherwise the stream consumer already has the change
			if op.Change, err = encode(r.change()); err != nil {
				return err
			}
		}
		tx.Ops = append(tx.Ops, op)
		if ref := r.ref(); k.current[ref] == r {
			var read int64
			if old := k.before[ref]; old != nil {
				read = old.Version
			} else if of := refSensor(r.pipeline, r.Key); !listed[of] {
				listed[of] = true
				keys = append(keys, row.Op{If: row.First, Row: row.Row{Ref: of, Version: 1, Body: []byte("{}")}})
			}
			tx.Ops = append(tx.Ops, row.Op{If: read, Row: row.Row{Ref: ref, Version: r.Version, Body: body}})
		}
	}
	if len(keys) > 0 && s.o.MaxOps > 0 && len(keys)+len(tx.Ops)+len(k.marks) > s.o.MaxOps {
		// A listed key without a reading is skipped when listing.
		if err := s.engine.Apply(ctx, row.Tx{Ops: keys}, k.taken[0].UpdatedAt); err != nil {
			return err
		}
		keys = nil
	}
	tx.Ops = append(tx.Ops, keys...)
	marks, err := k.markOps()
	if err != nil {
		return err
	}
	tx.Ops = append(tx.Ops, marks...)
	return s.engine.Apply(ctx, tx, k.taken[0].UpdatedAt)
}
