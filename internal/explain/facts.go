package explain

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// facts are the stored readings and runs, with changes that have not been made. They answer what a
// gate asks of a store.
type facts struct {
	store  store.Reader
	stored map[store.ReadingQuery][]*sensor.Reading // what the store has answered
	wrote  map[sensorID]map[period.Period]*sensor.Reading
	ended  map[run.Key]bool // runs that count as COMPLETED
	now    time.Time
}

type sensorID struct {
	owner pipeline.ID
	key   sensor.Key
}

func newFacts(s store.Reader, now time.Time) *facts {
	return &facts{
		store: s, stored: map[store.ReadingQuery][]*sensor.Reading{},
		wrote: map[sensorID]map[period.Period]*sensor.Reading{}, ended: map[run.Key]bool{}, now: now,
	}
}

// copy returns facts that can be changed on their own. Both share what the store has answered.
func (f *facts) copy() *facts {
	c := *f
	c.wrote, c.ended = map[sensorID]map[period.Period]*sensor.Reading{}, maps.Clone(f.ended)
	for name, readings := range f.wrote {
		c.wrote[name] = maps.Clone(readings)
	}
	return &c
}

// write adds a reading, as a later write of its period.
func (f *facts) write(owner pipeline.ID, r *sensor.Reading) {
	name := sensorID{owner, r.Key}
	if f.wrote[name] == nil {
		f.wrote[name] = map[period.Period]*sensor.Reading{}
	}
	f.wrote[name][r.Period] = r
}

// Readings returns the latest readings that each query asks for.
func (f *facts) Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	var unknown []store.ReadingQuery
	for _, q := range queries {
		if _, known := f.stored[q]; !known && !slices.Contains(unknown, q) {
			unknown = append(unknown, q)
		}
	}
	if len(unknown) > 0 {
		answers, err := f.store.Readings(ctx, unknown)
		if err != nil {
			return nil, err
		}
		for i, q := range unknown {
			f.stored[q] = answers[i]
		}
	}
	all := make([][]*sensor.Reading, len(queries))
	for i, q := range queries {
		all[i] = f.changed(q)
	}
	return all, nil
}

// changed returns the stored answer to a query with the changes.
func (f *facts) changed(q store.ReadingQuery) []*sensor.Reading {
	wrote := f.wrote[sensorID{q.Pipeline, q.Key}]
	if len(wrote) == 0 {
		return f.stored[q]
	}
	var all []*sensor.Reading
	for _, r := range f.stored[q] {
		if r != nil && wrote[r.Period] == nil {
			all = append(all, r)
		}
	}
	for _, r := range wrote {
		all = append(all, r)
	}
	return all
}

// RunsAt returns the runs with these keys.
func (f *facts) RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error) {
	runs, err := f.store.RunsAt(ctx, keys)
	if err != nil || len(f.ended) == 0 {
		return runs, err
	}
	runs = maps.Clone(runs)
	if runs == nil {
		runs = map[run.Key]run.Run{}
	}
	for _, key := range keys {
		if f.ended[key] {
			r := runs[key]
			r.Key, r.Status, r.EndedAt = key, run.Completed, f.now
			r.Attempt = max(r.Attempt, 1)
			runs[key] = r
		}
	}
	return runs, nil
}

// OpenRuns returns the stored open runs of a pipeline.
func (f *facts) OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error) {
	return f.store.OpenRuns(ctx, id)
}
