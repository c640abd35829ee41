package prober

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// tick runs a probe, each interval, for the current period and for those that runs wait for.
func (t *turn) tick(ctx context.Context) error {
	e, _, err := t.Catalog.Active(ctx, t.claim.Task.Pipeline)
	if err != nil {
		return err
	}
	if e == nil {
		return t.finish(ctx)
	}
	p := t.probe(e.Definition)
	if p == nil || p.Interval == 0 {
		return t.finish(ctx)
	}
	_, state, err := stateOf(ctx, t.Store, e.ID, p.Key, e.Version)
	if err != nil {
		return err
	}
	if state.Resting(t.now) {
		return t.move(ctx, state.Rest)
	}
	periods, err := t.waitedFor(ctx, e, sensor.Key(p.Key))
	if err != nil {
		return err
	}
	current := e.Schedule.Current(t.now)
	matters, err := t.matters(ctx, e, sensor.Key(p.Key), current)
	if err != nil {
		return err
	}
	if matters && !slices.Contains(periods, current) {
		periods = append(periods, current)
	}
	asks := make([]store.Task, 0, len(periods))
	for _, about := range periods {
		asks = append(asks, t.asks(e.Definition, p.Key, about))
	}
	return t.spread(ctx, asks, func(b *store.Batch) { b.Schedule(t.again(t.now.Add(p.Interval))) })
}

// probe returns the probe of def that the task is about; nil if def has none.
func (t *turn) probe(def *pipeline.Definition) *pipeline.Probe {
	about := t.claim.Task.Key.Period
	key := strings.TrimPrefix(t.claim.Task.ID, tickID(def.ID, ""))
	if !about.IsZero() {
		key = strings.TrimSuffix(key, "#"+about.String())
	}
	return def.Probe(sensor.Key(key))
}

// waitedFor returns the periods of all runs that wait for a gate which reads the sensor.
func (t *turn) waitedFor(ctx context.Context, owner *catalog.Entry, key sensor.Key) ([]period.Period, error) {
	var periods []period.Period
	for _, e := range t.Catalog.Current().Readers(owner.ID, key) {
		open, err := t.Store.OpenRuns(ctx, e.ID)
		if err != nil {
			return nil, fmt.Errorf("list open runs of %s: %w", e.ID, err)
		}
		for _, r := range open {
			if r.Status == run.Pending && !slices.Contains(periods, r.Period) {
				periods = append(periods, r.Period)
			}
		}
	}
	return periods, nil
}

// matters reports whether a probe's result for a period can still affect its own pipeline: no run
// of the period has begun, or one is waiting, has waited in vain, or is in its post-run window.
// Periods that the calendar excludes do not count.
func (t *turn) matters(ctx context.Context, e *catalog.Entry, key sensor.Key, about period.Period) (bool, error) {
	r, err := t.own(ctx, e, about)
	if err != nil {
		return false, err
	}
	switch r.Status {
	case "":
		return e.Schedule.Excluded(about) == "", nil
	case run.Pending, run.ValidationExhausted:
		return true, nil
	case run.Completed:
		return watched(e, r, key, t.now), nil
	default:
		return false, nil
	}
}

// watched reports whether the post-run rules of a completed run still read the sensor.
func watched(e *catalog.Entry, r run.Run, key sensor.Key, now time.Time) bool {
	if e.PostRun == nil || !now.Before(r.EndedAt.Add(e.PostRun.Window)) {
		return false
	}
	return slices.ContainsFunc(e.PostRun.Gate.Refs(), func(ref rule.Ref) bool { return ref.Key == key && ref.From == "" })
}

// own returns the pipeline's run, or dry run, of a period; the zero Run if there is none.
func (t *turn) own(ctx context.Context, e *catalog.Entry, about period.Period) (run.Run, error) {
	read := t.Store.Run
	if e.DryRun {
		read = t.Store.DryRun
	}
	r, err := missing(read(ctx, e.Key(about)))
	if err != nil {
		return r, fmt.Errorf("read run of %s for %s: %w", e.ID, about, err)
	}
	return r, nil
}

// comesBack returns when a probe runs again by itself; zero if it does not. If a run waits for a
// gate that reads the sensor, that is the end of the backoff. If a dry run waits, it is also after
// each interval: dry runs are not listed, so ticks do not see them.
func (t *turn) comesBack(ctx context.Context, a asked, rest time.Time) (time.Time, error) {
	resting := rest.After(t.now)
	if !resting && a.probe.Interval == 0 {
		return time.Time{}, nil
	}
	for _, e := range t.Catalog.Current().Readers(a.pipeline, a.key()) {
		r, err := t.own(ctx, e, a.period)
		switch {
		case err != nil:
			return time.Time{}, err
		case r.Status != run.Pending:
		case resting:
			return rest, nil
		case e.DryRun:
			return t.now.Add(a.probe.Interval), nil
		}
	}
	return time.Time{}, nil
}

// attempt is a run or dry run, and the version of its file that it uses.
type attempt struct {
	run run.Run
	def *pipeline.Definition
}

// attempts returns the run of that key, with the file version it opened with, and also the dry run
// if the pipeline is now a dry run: a real run that was open before continues beside it.
func (t *turn) attempts(ctx context.Context, key run.Key) ([]attempt, error) {
	active := t.Catalog.Current().Definition(key.Pipeline)
	var found []attempt
	r, err := missing(t.Store.Run(ctx, key))
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", key, err)
	}
	if r.Status != "" {
		def, _, err := t.Catalog.Shown(ctx, r, active)
		if err != nil {
			return nil, err
		}
		if def != nil {
			found = append(found, attempt{r, def})
		}
	}
	if active == nil || !active.DryRun {
		return found, nil
	}
	dry, err := missing(t.Store.DryRun(ctx, key))
	if err != nil {
		return nil, fmt.Errorf("read dry run %s: %w", key, err)
	}
	if dry.Status != "" {
		found = append(found, attempt{dry, active})
	}
	return found, nil
}

// missing converts store.ErrNotFound to the zero Run.
func missing(r run.Run, err error) (run.Run, error) {
	if errors.Is(err, store.ErrNotFound) {
		return run.Run{}, nil
	}
	return r, err
}
