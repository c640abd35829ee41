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
	// openingsPage is how many of the latest writes of a start condition, or runs of an upstream,
	// are checked in every pass. Earlier ones are checked only if no pass has done so.
	openingsPage = 50
	// LookBack is how old they may be. Older ones are left to an operator.
	LookBack = 24 * time.Hour
)

// unopenedRuns finds writes that met a start condition, and completed upstreams, that have no run
// because the change was lost. It handles the change as if it arrived now; a run that opens is
// reported as TRIGGER_RECOVERED.
func (w *Watchdog) unopenedRuns(ctx context.Context, p pass) (int, error) {
	since := p.now.Add(-LookBack)
	var names happened
	var err error
	if names.writes, err = w.overlookWrites(ctx, since); err != nil {
		return 0, err
	}
	if names.runs, err = w.overlookRuns(ctx, since); err != nil {
		return 0, err
	}
	found, err := w.eachPipeline(ctx, p.entries, func(e watched) (int, error) {
		if e.Opens != pipeline.ByStream || e.DryRun || e.paused {
			return 0, nil
		}
		return w.recover(ctx, e, p, names)
	})
	if err == nil {
		w.unopened = reach{p.now, p.settled}
	}
	return found, err
}

// unseen returns the time since which openings may have arrived that no pass has checked.
func (w *Watchdog) unseen(p pass) time.Time {
	return period.Later(p.now.Add(-LookBack), w.unopened.settled.Add(-w.Interval)) // with a margin for late entries
}

// happened holds the overviews of a pass.
type happened struct {
	writes written
	runs   completed
}

// opening is a change that should have opened runs.
type opening struct {
	change  store.Change
	periods []period.Period
}

func (w *Watchdog) recover(ctx context.Context, e watched, p pass, names happened) (int, error) {
	if e.Start != nil {
		return w.recoverWrites(ctx, e, p, names.writes)
	}
	openings, err := w.completions(ctx, e, p, names.runs)
	if err != nil {
		return 0, err
	}
	return w.openMissing(ctx, e, openings, p.now)
}

// openMissing makes the router handle the openings whose runs are missing, and counts the runs that
// opened.
func (w *Watchdog) openMissing(ctx context.Context, e watched, openings []opening, now time.Time) (int, error) {
	if len(openings) == 0 {
		return 0, nil
	}
	before, err := w.opened(ctx, e.Entry, openings)
	if err != nil {
		return 0, err
	}
	acted := false
	for _, o := range openings {
		if missing(e.Entry, o, before) {
			acted = true
			if err := w.Router.Recover(ctx, e.ID, o.change, now); err != nil {
				return 0, err
			}
		}
	}
	if !acted {
		return 0, nil
	}
	after, err := w.opened(ctx, e.Entry, openings) // the condition may not hold, or the calendar may exclude it
	return len(after) - len(before), err
}

// missing reports whether some run of an opening is missing, and not excluded by the calendar.
func missing(e *catalog.Entry, o opening, there map[run.Key]run.Run) bool {
	for _, p := range o.periods {
		if _, opened := there[e.Key(p)]; !opened && e.Schedule.Excluded(p) == "" {
			return true
		}
	}
	return false
}

// opened returns the runs that the openings have led to.
func (w *Watchdog) opened(ctx context.Context, e *catalog.Entry, openings []opening) (map[run.Key]run.Run, error) {
	var keys []run.Key
	seen := map[run.Key]bool{}
	for _, o := range openings {
		for _, p := range o.periods {
			if key := e.Key(p); !seen[key] {
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

// lately reports whether an instant is settled and within LookBack. Anything before the active
// version was accepted does not count: an edit opens no past periods.
func (p pass) lately(e watched, at time.Time) bool {
	return !at.After(p.settled) && !at.Before(p.now.Add(-LookBack)) && !at.Before(e.accepted)
}

// recoverWrites checks the writes of the start condition's sensor.
func (w *Watchdog) recoverWrites(ctx context.Context, e watched, p pass, named written) (int, error) {
	var of source
	of.owner, of.key = e.StartSensor()
	wanted := wantedWrites{of, w.unseen(p), named, func(at time.Time) bool { return p.lately(e, at) }}
	found, latest := 0, true
	for page, err := range w.eachWritten(ctx, wanted) {
		if err != nil {
			return found, err
		}
		page = slices.DeleteFunc(page, func(r *sensor.Reading) bool {
			// The router checks the condition too; checking it here saves calls for the many
			// readings that do not meet it.
			return r.Deleted || !p.lately(e, r.UpdatedAt) ||
				!latest && (r.UpdatedAt.Before(wanted.since) || !e.Start.MetBy(r, e.PeriodOf(r), p.now))
		})
		n, err := w.openMissing(ctx, e, openingsOf(e, of.owner, page), p.now)
		found += n
		if err != nil {
			return found, err
		}
		latest = false
	}
	return found, nil
}

// openingsOf converts writes of the start condition's sensor to openings.
func openingsOf(e watched, owner pipeline.ID, readings []*sensor.Reading) []opening {
	var all []opening
	for _, r := range readings {
		all = append(all, opening{periods: []period.Period{e.PeriodOf(r)}, change: store.Change{
			Kind: store.ReadingWritten, At: r.UpdatedAt, Pipeline: owner, Sensor: r.Key, Period: r.Period, Version: r.Version, Changed: true,
		}})
	}
	return all
}

// completions lists the completed runs of upstreams. It leaves out a period for which an upstream
// has only just completed: the router may still open it.
func (w *Watchdog) completions(ctx context.Context, e watched, p pass, named completed) ([]opening, error) {
	f := finished{pass: p, fresh: map[period.Period]bool{}}
	for _, id := range e.After {
		up := w.Catalog.Current().Get(id)
		if up == nil {
			continue
		}
		wanted := wantedRuns{up, w.unseen(p), openingsPage, named, func(completion) bool { return true }}
		latest := true
		for page, err := range w.eachCompleted(ctx, wanted) {
			if err != nil {
				return nil, err
			}
			for _, r := range page {
				if latest || !r.EndedAt.Before(wanted.since) {
					f.add(e, up, r)
				}
			}
			latest = false
		}
	}
	return slices.DeleteFunc(f.all, func(o opening) bool {
		return slices.ContainsFunc(o.periods, func(slice period.Period) bool { return f.fresh[slice] })
	}), nil
}

// finished collects the openings of completed upstream runs, and the periods for which an upstream
// has only just completed.
type finished struct {
	pass  pass
	all   []opening
	fresh map[period.Period]bool
}

func (f *finished) add(e watched, up *catalog.Entry, r run.Run) {
	o := opening{periods: e.Following(up.Definition, r.Period), change: store.Change{
		Kind: store.ReadingWritten, At: r.EndedAt, Pipeline: e.ID, Sensor: sensor.UpstreamKey(string(up.ID)), Period: r.Period, Version: r.Version, Changed: true,
	}}
	switch {
	case r.Schedule != up.Opens:
	case r.EndedAt.After(f.pass.settled):
		for _, slice := range o.periods {
			f.fresh[slice] = true
		}
	case f.pass.lately(e, r.EndedAt):
		f.all = append(f.all, o)
	}
}
