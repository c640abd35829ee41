package watchdog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	// lookBackOpenings is how many of the latest writes of a start condition, or runs of an upstream, are looked at.
	lookBackOpenings = 50
	// lookBackTime is how old they may be.
	lookBackTime = 24 * time.Hour
)

// unopenedRuns finds writes that met a start condition, and upstreams that completed, and that have no run: the change
// was lost. It is reacted to as if it came now; a run that opens is told as TRIGGER_RECOVERED.
func (w *Watchdog) unopenedRuns(ctx context.Context, p pass) (int, error) {
	since := p.now.Add(-lookBackTime)
	var names happened
	var err error
	if names.writes, err = w.overlookWrites(ctx, since); err != nil {
		return 0, err
	}
	if names.runs, err = w.overlookRuns(ctx, since); err != nil {
		return 0, err
	}
	return each(w.Workers, p.entries, func(e watched) (int, error) {
		if e.Opens != pipeline.ByStream || e.DryRun || e.paused() {
			return 0, nil
		}
		return w.recover(ctx, e, p, names)
	})
}

// happened is what an overview names.
type happened struct {
	writes written
	runs   completed
}

// opening is something that should have opened runs.
type opening struct {
	change  store.Change
	periods []period.Period
}

func (w *Watchdog) recover(ctx context.Context, e watched, p pass, names happened) (int, error) {
	openings, err := w.openings(ctx, e, p, names)
	if err != nil || len(openings) == 0 {
		return 0, err
	}
	before, err := w.opened(ctx, e.Entry, openings)
	if err != nil {
		return 0, err
	}
	acted := false
	for _, o := range openings {
		if missing(e.Entry, o, before) {
			acted = true
			if err := w.Router.Recover(ctx, e.ID, o.change, p.now); err != nil {
				return 0, err
			}
		}
	}
	if !acted {
		return 0, nil
	}
	after, err := w.opened(ctx, e.Entry, openings) // the condition may not hold, or the calendar be against it
	return len(after) - len(before), err
}

// missing says whether an opening has not led to all of its runs. The calendar may be why.
func missing(e *catalog.Entry, o opening, there map[run.Key]run.Run) bool {
	for _, p := range o.periods {
		if _, opened := there[keyOf(e, p)]; !opened && e.Schedule.Excluded(p) == "" {
			return true
		}
	}
	return false
}

func keyOf(e *catalog.Entry, p period.Period) run.Key {
	return run.Key{Pipeline: e.ID, Schedule: e.Opens, Period: p}
}

// opened gives the runs that the openings have led to.
func (w *Watchdog) opened(ctx context.Context, e *catalog.Entry, openings []opening) (map[run.Key]run.Run, error) {
	var keys []run.Key
	seen := map[run.Key]bool{}
	for _, o := range openings {
		for _, p := range o.periods {
			if key := keyOf(e, p); !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	there, err := w.Store.RunsAt(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read runs of %s: %w", e.ID, err)
	}
	return there, nil
}

// openings lists what should have opened runs of e.
func (w *Watchdog) openings(ctx context.Context, e watched, p pass, names happened) ([]opening, error) {
	if e.Start != nil {
		return w.writes(ctx, e, p, names.writes)
	}
	return w.completions(ctx, e, p, names.runs)
}

// lately says that something happened neither too lately nor too long ago to be called overlooked. What was before the file
// in force was accepted does not count: an edit opens no past.
func (p pass) lately(e watched, at time.Time) bool {
	return !at.After(p.settled) && !at.Before(p.now.Add(-lookBackTime)) && !at.Before(e.row.AcceptedAt)
}

// writes lists the writes of the start condition's sensor.
func (w *Watchdog) writes(ctx context.Context, e watched, p pass, named written) ([]opening, error) {
	of := source{e.ID, sensor.Key(e.Start.Rule.Key)}
	if e.Start.Rule.From != "" {
		of.owner = pipeline.ID(e.Start.Rule.From)
	}
	latest, err := w.latestWrites(ctx, of, named, func(at time.Time) bool { return p.lately(e, at) })
	if err != nil {
		return nil, err
	}
	var all []opening
	for _, r := range latest {
		if !p.lately(e, r.UpdatedAt) {
			continue
		}
		slice := r.Period
		if slice.IsZero() {
			slice = e.Schedule.PeriodAt(r.UpdatedAt)
		}
		all = append(all, opening{periods: []period.Period{slice}, change: store.Change{
			Kind: store.ReadingWritten, At: r.UpdatedAt, Pipeline: of.owner, Sensor: r.Key, Period: r.Period, Version: r.Version, Changed: true,
		}})
	}
	return all, nil
}

// completions lists the runs of upstreams that completed. A period for which one has only just completed is left out:
// nobody has overlooked it yet.
func (w *Watchdog) completions(ctx context.Context, e watched, p pass, named completed) ([]opening, error) {
	var all []opening
	fresh := map[period.Period]bool{}
	for _, id := range e.After {
		up := w.Catalog.Current().Get(id)
		if up == nil {
			continue
		}
		latest, err := w.latestRuns(ctx, id, lookBackOpenings, named, func(completion) bool { return true })
		if err != nil {
			return nil, err
		}
		for _, r := range latest {
			o := opening{periods: e.Following(up.Definition, r.Period), change: store.Change{
				Kind: store.ReadingWritten, At: r.EndedAt, Pipeline: e.ID, Sensor: sensor.Key("run/" + string(id)), Period: r.Period, Version: r.Version, Changed: true,
			}}
			switch {
			case r.Schedule != up.Opens:
			case r.EndedAt.After(p.settled):
				for _, slice := range o.periods {
					fresh[slice] = true
				}
			case p.lately(e, r.EndedAt):
				all = append(all, o)
			}
		}
	}
	return slices.DeleteFunc(all, func(o opening) bool {
		return slices.ContainsFunc(o.periods, func(slice period.Period) bool { return fresh[slice] })
	}), nil
}
