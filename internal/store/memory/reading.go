package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

type sensorKey struct {
	pipeline pipeline.ID
	key      sensor.Key
}

// rows is everything that was written under one key.
type rows struct {
	current map[period.Period]*reading // the last write of each period
	history []*reading                 // every write, by version
}

// reading is one write. It is never changed.
type reading struct {
	sensor.Reading
	order int64
}

// last is the most recent write of the key.
func (r *rows) last() *reading { return r.history[len(r.history)-1] }

// give is a reading for a caller, who may do with it what he likes.
func (r *reading) give() *sensor.Reading {
	out := r.Reading
	if !r.Deleted {
		out.Fields = copyFields(r.Fields)
	}
	return &out
}

func copyFields(f map[string]any) map[string]any {
	out := make(map[string]any, len(f))
	for name, v := range f {
		out[name] = copyValue(v)
	}
	return out
}

func copyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return copyFields(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = copyValue(item)
		}
		return out
	}
	return v
}

// PutReadings normalises all data before it stores any, since that can fail.
func (s *Store) PutReadings(_ context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	if err := store.CheckWrites(writes, store.MaxWrites); err != nil {
		return nil, err
	}
	readings := make([]*reading, len(writes))
	for i, w := range writes {
		data, err := sensor.Normalize(w.Reading.Fields)
		if err != nil {
			return nil, fmt.Errorf("put reading %s of %s: %w", w.Reading.Key, w.Pipeline, err)
		}
		r := w.Reading
		r.Fields, r.UpdatedAt, r.ExpiresAt = data.(map[string]any), instant(now), instant(r.ExpiresAt)
		if r.Deleted {
			r.Fields = nil
		}
		readings[i] = &reading{Reading: r, order: w.Order}
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	puts := make([]store.Put, len(writes))
	for i, w := range writes {
		puts[i] = s.put(w.Pipeline, readings[i])
	}
	return puts, nil
}

func (s *Store) put(id pipeline.ID, next *reading) store.Put {
	key := sensorKey{id, next.Key}
	of := s.sensors[key]
	if of == nil {
		of = &rows{current: map[period.Period]*reading{}}
		s.sensors[key] = of
	}
	old := of.current[next.Period]
	if old != nil && next.order != 0 && next.order <= old.order {
		return store.Put{Version: old.Version, UpdatedAt: old.UpdatedAt, Ignored: true}
	}
	if old != nil && next.order == 0 {
		next.order = old.order
	}
	s.lastVersion++
	next.Version = s.lastVersion
	changed := old == nil || old.Deleted != next.Deleted || !sensor.SameData(old.Fields, next.Fields)
	of.current[next.Period] = next
	of.history = append(of.history, next)
	s.feed(store.Change{
		Kind: store.ReadingWritten, At: next.UpdatedAt, Pipeline: id,
		Sensor: next.Key, Period: next.Period, Version: next.Version, Changed: changed,
	})
	return store.Put{Version: next.Version, UpdatedAt: next.UpdatedAt, Changed: changed}
}

// Readings answers query by query.
func (s *Store) Readings(_ context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	answers := make([][]*sensor.Reading, len(queries))
	for i, q := range queries {
		if of := s.sensors[sensorKey{q.Pipeline, q.Key}]; of != nil {
			answers[i] = of.candidates(q.Period)
		}
	}
	return answers, nil
}

// candidates are the current readings that matter for p: its own and those of the slices that hold it, the undated one,
// and of all others the one of the latest period.
func (r *rows) candidates(p period.Period) []*sensor.Reading {
	var out []*sensor.Reading
	var other *reading
	for _, of := range slices.SortedFunc(maps.Keys(r.current), period.Period.Compare) {
		if of.IsZero() || of.Holds(p) {
			out = append(out, r.current[of].give())
		} else {
			other = r.current[of]
		}
	}
	if other != nil {
		out = append(out, other.give())
	}
	return out
}

// LatestReadings looks at every key of the pipeline.
func (s *Store) LatestReadings(_ context.Context, q store.LatestQuery) (store.Page[*sensor.Reading], error) {
	var none store.Page[*sensor.Reading]
	if err := s.open(); err != nil {
		return none, err
	}
	defer s.mu.Unlock()
	var keys []sensor.Key
	for key := range s.sensors {
		if key.pipeline == q.Pipeline {
			keys = append(keys, key.key)
		}
	}
	keys, err := q.Keys(keys)
	if err != nil {
		return none, err
	}
	var found []*sensor.Reading
	for _, key := range keys {
		found = append(found, s.sensors[sensorKey{q.Pipeline, key}].last().give())
	}
	return q.Page(found), nil
}

// SensorSizes encodes the latest reading of every key.
func (s *Store) SensorSizes(_ context.Context, id pipeline.ID) (map[sensor.Key]int, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	sizes := map[sensor.Key]int{}
	for key, of := range s.sensors {
		if key.pipeline != id {
			continue
		}
		data, err := json.Marshal(of.last().Fields)
		if err != nil {
			return nil, err
		}
		sizes[key.key] = len(data)
	}
	return sizes, nil
}

// History pages by version.
func (s *Store) History(_ context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error) {
	var none store.Page[*sensor.Reading]
	before, err := store.AfterNumber(q.Cursor)
	if err != nil {
		return none, err
	}
	if err := s.open(); err != nil {
		return none, err
	}
	defer s.mu.Unlock()
	of := s.sensors[sensorKey{q.Pipeline, q.Key}]
	if of == nil {
		return none, nil
	}
	var found []*sensor.Reading
	for _, r := range slices.Backward(of.history) {
		if (q.Cursor == "" || r.Version < before) && (q.Period.IsZero() || r.Period == q.Period) {
			found = append(found, r.give())
		}
	}
	return paged(found, q.Limit, func(r *sensor.Reading) string {
		return store.NumberCursor(r.Version)
	}), nil
}

// Writes looks each up in the history of its key.
func (s *Store) Writes(_ context.Context, ids []store.WriteID) (map[store.WriteID]*sensor.Reading, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	found := map[store.WriteID]*sensor.Reading{}
	for _, id := range ids {
		of := s.sensors[sensorKey{id.Pipeline, id.Key}]
		if of == nil {
			continue
		}
		i, there := slices.BinarySearchFunc(of.history, id.Version, func(r *reading, v int64) int { return cmp.Compare(r.Version, v) })
		if there {
			found[id] = of.history[i].give()
		}
	}
	return found, nil
}

// paged cuts a page off what was found.
func paged[T any](found []T, limit int, cursor func(last T) string) store.Page[T] {
	size := store.PageSize(limit)
	if len(found) <= size {
		return store.Page[T]{Items: found}
	}
	return store.Page[T]{Items: found[:size], Next: cursor(found[size-1])}
}
