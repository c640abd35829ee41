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

// Overview lists what happened in all pipelines. It may lag slightly behind the rows.
type Overview interface {
	// Written lists the sensor writes since an instant, with their times; false if there are more
	// than most.
	Written(ctx context.Context, from time.Time, most int) (map[store.WriteID]time.Time, bool, error)
	// Completed lists the runs completed since an instant, each with its last completed attempt;
	// false if there are more than most. The runs may have changed since.
	Completed(ctx context.Context, from time.Time, most int) (map[run.Key]int, bool, error)
}

// mostNames is how many entries an overview may have; above that, each pipeline is queried instead.
const mostNames = 500_000

// source is a sensor of a pipeline.
type source struct {
	owner pipeline.ID
	key   sensor.Key
}

// written holds an overview's writes by sensor, newest first; nil if each pipeline must be queried.
type written map[source][]writing

type writing struct {
	version int64
	at      time.Time
}

// overlookWrites reads the overview of writes since an instant.
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

// completed holds an overview's completed runs, latest period first; nil if each pipeline must be
// queried.
type completed map[pipeline.ID][]completion

type completion struct {
	key     run.Key
	attempt int
}

// overlookRuns reads the overview of runs completed since an instant.
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
