package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// reading is a reading on its way in, or as it is stored.
type reading struct {
	sensor.Reading
	pipeline pipeline.ID
	order    int64
	data     string // its fields in a normal form
	content  string // a hash of that
	changed  bool
	told     bool   // that is, by any write of the call: the stream has one image for all of them
	sequence string // of the stream record that it was made of; "" for a write through the API
	streamed record // the newest stream record taken for this row: this one, or one before it
	unlisted bool   // it was not written together with its copy in the history
}

// record identifies a stream record: its sequence number, and when the stream says it was written.
type record struct {
	sequence string
	at       time.Time
}

// PutReadings writes all of them, and of their history as much as there is room for, in one transaction. The rest of the
// history follows before the call comes back; should it not, the next write of that row sees to it.
func (s *Store) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	if err := store.CheckWrites(writes, MaxWrites); err != nil {
		return nil, err
	}
	var in []*reading
	for _, w := range writes {
		r, err := newReading(w, now)
		if err != nil {
			return nil, fmt.Errorf("put reading %s of %s: %w", w.Reading.Key, w.Pipeline, err)
		}
		in = append(in, r)
	}
	if len(in) == 0 {
		return nil, s.open()
	}
	defer s.serial()()
	for try := 0; ; try++ {
		k, err := s.put(ctx, in)
		if err == nil {
			s.changes.Raise()
			return k.puts, nil
		}
		if !errors.Is(err, errAgain) || try == tries {
			return nil, fmt.Errorf("put readings: %w", err)
		}
		if err := pause(ctx, try); err != nil {
			return nil, fmt.Errorf("put readings: %w", err)
		}
	}
}

func newReading(w store.Write, now time.Time) (*reading, error) {
	data, err := store.EncodeData(w.Reading)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(data))
	r := &reading{Reading: w.Reading, pipeline: w.Pipeline, order: w.Order, data: data, content: hex.EncodeToString(sum[:])}
	r.UpdatedAt, r.ExpiresAt = now.Round(0).UTC(), r.ExpiresAt.Round(0).UTC()
	return r, nil
}

func (r *reading) at() address { return readingAt(r.pipeline, r.Key, r.Period) }

// intake is what becomes of writes.
type intake struct {
	puts    []store.Put
	taken   []*reading // in order
	now     map[address]*reading
	was     map[address]*reading
	changes []store.Change
}

func (s *Store) put(ctx context.Context, in []*reading) (*intake, error) {
	var at []address
	for _, r := range in {
		at = append(at, r.at())
	}
	last, err := s.count(ctx, "VERSIONS", int64(len(in)))
	if err != nil {
		return nil, err
	}
	rows, err := s.rows(ctx, at)
	if err != nil {
		return nil, err
	}
	k := &intake{now: map[address]*reading{}, was: map[address]*reading{}}
	for a, row := range rows {
		if k.was[a], err = readingOf(row); err != nil {
			return nil, err
		}
		k.now[a] = k.was[a]
	}
	for i, r := range in {
		next := *r
		next.Version = last - int64(len(in)-1-i)
		if !k.take(&next) {
			return nil, errAgain
		}
	}
	if err := s.keep(ctx, k); err != nil || !s.o.Alone {
		return k, err
	}
	return k, s.arrange(ctx, k.changes, nil, nil)
}

// take decides about one write. It is false if somebody has written that row since the version was drawn.
func (k *intake) take(next *reading) bool {
	at := next.at()
	old := k.now[at]
	if old != nil {
		if next.overtakenBy(old) {
			return k.repeat(next, old)
		}
		if next.order != 0 && next.order <= old.order {
			k.puts = append(k.puts, store.Put{Version: old.Version, UpdatedAt: old.UpdatedAt, Ignored: true})
			return true
		}
		if old.Version >= next.Version {
			return false
		}
		if next.order == 0 {
			next.order = old.order
		}
		if next.sequence == "" {
			next.streamed = old.streamed
		}
	}
	next.changed = old == nil || old.content != next.content
	next.told = next.changed || old != nil && old != k.was[at] && old.told
	k.now[at] = next
	k.taken = append(k.taken, next)
	k.puts = append(k.puts, store.Put{Version: next.Version, UpdatedAt: next.UpdatedAt, Changed: next.changed})
	k.changes = append(k.changes, next.change())
	return true
}

// skew is how much later a stream may say that a record was written than one that follows it.
const skew = time.Minute

// overtakenBy reports whether r is a stream record that was taken before, or that a newer record of its row overtook. The
// stream of a restored table numbers its records anew, so a lower number counts as newer if it was written later.
func (r *reading) overtakenBy(old *reading) bool {
	last := old.streamed
	return r.sequence != "" && r.sequence <= last.sequence && (r.sequence == last.sequence || !r.UpdatedAt.After(last.at.Add(skew)))
}

// repeat answers a stream record that was taken before as it was answered then. It ignores one that was overtaken, by
// another record or by a write through the API, which has a change of its own.
func (k *intake) repeat(next, old *reading) bool {
	k.puts = append(k.puts, store.Put{Version: old.Version, UpdatedAt: old.UpdatedAt, Changed: old.changed, Ignored: true})
	if next.sequence == old.sequence {
		k.changes = append(k.changes, old.change())
	}
	return true
}

func (r *reading) change() store.Change {
	return store.Change{
		Kind: store.ReadingWritten, At: r.UpdatedAt, Pipeline: r.pipeline, Sensor: r.Key, Period: r.Period, Version: r.Version, Changed: r.changed,
	}
}

// keep writes what was taken.
func (s *Store) keep(ctx context.Context, k *intake) error {
	if len(k.taken) == 0 {
		return nil
	}
	p, late, err := k.plan()
	if err != nil {
		return err
	}
	for a := range k.now {
		if old := k.was[a]; old != nil && old.unlisted && k.now[a] != old {
			late = append(late, old.history()) // it may be there already, and is then the same
		}
	}
	if err := s.transact(ctx, "put "+digits(k.taken[0].Version), p.items); err != nil {
		return err
	}
	requests := map[string][]types.WriteRequest{}
	for _, row := range late {
		requests[Control] = append(requests[Control], types.WriteRequest{PutRequest: &types.PutRequest{Item: row}})
	}
	return s.write(ctx, requests)
}

// plan is the transaction, and what of the history does not fit into it. A write that another of the same call replaces is
// in the history alone, so that always fits; of the others the row itself says that its copy is to come.
func (k *intake) plan() (p *plan, late []Row, err error) {
	p = &plan{}
	room := MaxWrites - len(k.taken)
	for _, r := range k.taken {
		current := k.now[r.at()] == r
		if current && room == 0 {
			r.unlisted = true
			late = append(late, r.history())
		} else {
			row := r.history()
			p.put(historyAt(r.pipeline, r.Key, r.Version), row, condition{}, "")
			if current {
				room--
			}
		}
		if !current {
			continue
		}
		read := int64(0)
		if old := k.was[r.at()]; old != nil {
			read = old.Version
		}
		row := r.row()
		row["changed"] = truth(r.told)
		row["place"] = text(readingPrefix + join(string(r.Key), store.Place(r.Period)))
		p.put(r.at(), row, at(read), "")
	}
	return p, late, nil
}

// history is the row of the history.
func (r *reading) history() Row {
	where := historyAt(r.pipeline, r.Key, r.Version)
	row := r.row()
	row["PK"], row["SK"] = text(where.pk), text(where.sk)
	for _, name := range []string{"order", "unlisted", "lastSequence", "lastSequenceAt"} {
		delete(row, name)
	}
	aged("HISTORY", r.UpdatedAt, where, row)
	return row
}

func (r *reading) row() Row {
	row := Row{
		"key": text(string(r.Key)), "version": number(r.Version), "updatedAt": text(store.Nanos(r.UpdatedAt)),
		"data": packed([]byte(r.data)), "content": text(r.content), "changed": truth(r.changed), "order": number(r.order),
	}
	if !r.Period.IsZero() {
		row["period"] = text(r.Period.String())
	}
	if r.Source != "" {
		row["source"] = text(r.Source)
	}
	if !r.ExpiresAt.IsZero() {
		row["expiresAt"] = text(r.ExpiresAt.Format(time.RFC3339Nano))
	}
	if r.sequence != "" {
		row["sequence"] = text(r.sequence)
	} else if r.streamed.sequence != "" {
		row["lastSequence"], row["lastSequenceAt"] = text(r.streamed.sequence), text(store.Nanos(r.streamed.at))
	}
	if r.unlisted {
		row["unlisted"] = truth(true)
	}
	return row
}

func readingOf(row Row) (*reading, error) {
	r := &reading{
		pipeline: pipeline.ID(row.text("PK")[len(pipelinePrefix):]), order: row.number("order"), content: row.text("content"),
		changed: row.truth("changed"), sequence: row.text("sequence"), unlisted: row.truth("unlisted"),
	}
	r.Key, r.Version, r.UpdatedAt, r.Source = sensor.Key(row.text("key")), row.number("version"), row.instant("updatedAt"), row.text("source")
	r.streamed = record{row.text("lastSequence"), row.instant("lastSequenceAt")}
	if r.sequence != "" {
		r.streamed = record{r.sequence, r.UpdatedAt}
	}
	data, err := row.plain("data")
	if err != nil {
		return nil, err
	}
	r.data = string(data)
	if err = store.DecodeData(&r.Reading, data); err != nil {
		return nil, err
	}
	if name := row.text("period"); name != "" {
		if r.Period, err = period.Parse(name); err != nil {
			return nil, err
		}
	}
	if at := row.text("expiresAt"); at != "" {
		if r.ExpiresAt, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return nil, fmt.Errorf("read when reading %s expires: %w", r.Key, err)
		}
	}
	return r, nil
}
