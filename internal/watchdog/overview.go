package watchdog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Overview names what happened in all pipelines at once. It may follow a moment later than the rows.
type Overview interface {
	// Written names the writes of all sensors from an instant on, with when each was; false if there are more than most.
	Written(ctx context.Context, from time.Time, most int) (map[store.WriteID]time.Time, bool, error)
	// Completed does the same for runs that completed, each with its last attempt that did. They may have moved on since.
	Completed(ctx context.Context, from time.Time, most int) (map[run.Key]int, bool, error)
}

// mostNames is how many names an overview may have before each pipeline is asked instead.
const mostNames = 500_000

// source is a sensor of a pipeline.
type source struct {
	owner pipeline.ID
	key   sensor.Key
}

// written is what an overview tells of writes, newest first; nil where each pipeline is asked.
type written map[source][]writing

type writing struct {
	version int64
	at      time.Time
}

// overlookWrites reads what was written since an instant.
func (w *Watchdog) overlookWrites(ctx context.Context, from time.Time) (written, error) {
	if w.Overview == nil {
		return nil, nil
	}
	names, whole, err := w.Overview.Written(ctx, from, mostNames)
	if err != nil || !whole {
		return nil, err
	}
	all := written{}
	for id, at := range names {
		of := source{id.Pipeline, id.Key}
		all[of] = append(all[of], writing{id.Version, at})
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b writing) int { return cmp.Compare(b.version, a.version) })
	}
	return all, nil
}

// latestWrites gives the latest writes of a sensor, newest first; of those that were named the ones that count.
func (w *Watchdog) latestWrites(ctx context.Context, of source, named written, counts func(at time.Time) bool) ([]*sensor.Reading, error) {
	if named == nil {
		page, err := w.Store.History(ctx, store.HistoryQuery{Pipeline: of.owner, Key: of.key, Limit: lookBackOpenings})
		if err != nil {
			return nil, fmt.Errorf("read history of sensor %s of %s: %w", of.key, of.owner, err)
		}
		return page.Items, nil
	}
	var ids []store.WriteID
	for _, one := range named[of][:min(lookBackOpenings, len(named[of]))] {
		if counts(one.at) {
			ids = append(ids, store.WriteID{Pipeline: of.owner, Key: of.key, Version: one.version})
		}
	}
	found, err := w.Store.Writes(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read writes of sensor %s of %s: %w", of.key, of.owner, err)
	}
	var all []*sensor.Reading
	for _, id := range ids {
		if r := found[id]; r != nil {
			all = append(all, r)
		}
	}
	return all, nil
}

// completed is what an overview tells of completed runs, latest period first; nil where each pipeline is asked.
type completed map[pipeline.ID][]completion

type completion struct {
	key     run.Key
	attempt int
}

// overlookRuns reads which runs completed since an instant.
func (w *Watchdog) overlookRuns(ctx context.Context, from time.Time) (completed, error) {
	if w.Overview == nil {
		return nil, nil
	}
	names, whole, err := w.Overview.Completed(ctx, from, mostNames)
	if err != nil || !whole {
		return nil, err
	}
	all := completed{}
	for key, attempt := range names {
		all[key.Pipeline] = append(all[key.Pipeline], completion{key, attempt})
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b completion) int {
			return cmp.Or(b.key.Period.Compare(a.key.Period), cmp.Compare(a.key.Schedule, b.key.Schedule))
		})
	}
	return all, nil
}

// latestRuns gives the completed runs of a pipeline, latest period first; of those that were named the ones that count.
func (w *Watchdog) latestRuns(ctx context.Context, id pipeline.ID, limit int, named completed, counts func(completion) bool) ([]run.Run, error) {
	if named == nil {
		page, err := w.Store.Runs(ctx, store.RunQuery{Pipeline: id, Status: run.Completed, Limit: limit})
		if err != nil {
			return nil, fmt.Errorf("list completed runs of %s: %w", id, err)
		}
		return page.Items, nil
	}
	var keys []run.Key
	for _, one := range named[id][:min(limit, len(named[id]))] {
		if counts(one) {
			keys = append(keys, one.key)
		}
	}
	found, err := w.Store.RunsAt(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read completed runs of %s: %w", id, err)
	}
	var all []run.Run
	for _, key := range keys {
		if r, there := found[key]; there && r.Status == run.Completed {
			all = append(all, r)
		}
	}
	return all, nil
}
