package router

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// notifyDownstream writes the status of a run as a reading of each downstream pipeline. The reading
// only wakes them; their gates read the run itself. A late reading is ignored, since its version is
// lower; versions of runs of two schedules, before and after an edit, are not compared. Every
// change is one reading, even if the run has changed since, so that their number does not depend on
// timing.
func (h *runHandler) notifyDownstream(ctx context.Context, c store.Change, now time.Time) error {
	dependents := h.dependents(c.Run.Pipeline)
	if len(dependents) == 0 {
		return nil
	}
	e, _, err := h.catalog.Active(ctx, c.Run.Pipeline) // an edit that opened the run may be newer than Current
	if err != nil || e == nil || c.Run.Schedule != e.Opens {
		return err
	}
	reading := gate.RunReading(c.Run.Pipeline, c.Run.Period, c.Status, c.Attempt, c.At)
	var writes []store.Write
	for _, dependent := range dependents {
		writes = append(writes, store.Write{
			Pipeline: dependent, Reading: reading, Order: c.Version, Series: string(c.Run.Schedule),
		})
	}
	if _, err := store.PutAll(ctx, h.store, writes, now); err != nil {
		return fmt.Errorf("wake the downstream pipelines of %s: %w", c.Run, err)
	}
	return nil
}

// dependents lists the pipelines that wait for a pipeline, by their active version or by that of an
// open attempt.
func (h *runHandler) dependents(id pipeline.ID) []pipeline.ID {
	var all []pipeline.ID
	for _, e := range h.catalog.Current().Dependents(id) {
		all = append(all, e.ID)
	}
	for _, older := range h.catalog.OlderDependents(id) {
		if !slices.Contains(all, older) {
			all = append(all, older)
		}
	}
	return all
}

// upstreamsDone reports whether every upstream is COMPLETED for a period.
func (c *core) upstreamsDone(ctx context.Context, e *catalog.Entry, key run.Key, now time.Time) (bool, error) {
	view, err := c.evaluate(ctx, e, nil, key.Period, now)
	if err != nil {
		return false, err
	}
	for _, l := range view.Verdict.Leaves {
		if requires(e, l.Rule) && l.Outcome != rule.Pass {
			return false, nil
		}
	}
	return true, nil
}

// requires reports whether a rule is the one that schedule.after adds for an upstream. Other rules
// may read the engine's keys, too, and need not pass for the run to open.
func requires(e *catalog.Entry, r *rule.Asked) bool {
	name, engine := sensor.Key(r.Key).Upstream()
	return engine && r.From == "" && r.Check == rule.Equals && r.Field == "status" && r.Value == string(run.Completed) &&
		slices.Contains(e.After, pipeline.ID(name))
}

// openAfter opens the run of a pipeline that only upstreams open, once all of them are COMPLETED.
func (h *readingHandler) openAfter(ctx context.Context, o order, now time.Time) error {
	done, err := h.upstreamsDone(ctx, o.entry, o.run.Key, now)
	if err != nil || !done {
		return err
	}
	return h.openRun(ctx, o, now)
}

// upstreamsNew reports whether an upstream completed since the last evaluation of the run's window.
func (h *windowHandler) upstreamsNew(ctx context.Context, e *catalog.Entry, old run.Run, end store.Snapshot, now time.Time) (bool, error) {
	view, err := h.evaluate(ctx, e, nil, old.Period, now)
	if err != nil {
		return false, err
	}
	upstreams := slices.DeleteFunc(view.Sensors, func(s store.SeenSensor) bool { return !gate.IsUpstream(s) })
	return len(rerun.Changed(gate.Compared(end.Sensors), gate.Compared(upstreams))) > 0, nil
}
