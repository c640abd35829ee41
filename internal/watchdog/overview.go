package watchdog

import (
	"cmp"
	"context"
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
