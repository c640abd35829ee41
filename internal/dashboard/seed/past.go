package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/files"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// habit is how the periods of a pipeline usually go.
type habit struct {
	arrives  time.Duration // its sensor, after the fire
	takes    time.Duration // its job
	due      time.Duration // its deadline, after the fire; 0 without
	fails    float64       // how often an attempt fails
	slow     float64       // how often it takes four times as long
	drifting bool          // some published values move after completion
	silent   bool          // it has no sensor
	never    int           // so many periods before the last one, no run opened; 0: every period has one
	broken   bool          // its last period failed for good
}

// habits are by pipeline. A pipeline without one has no past.
var habits = map[pipeline.ID]habit{
	"orders":  {arrives: 4 * time.Minute, takes: 6 * time.Minute, due: 28 * time.Minute, fails: 0.05, slow: 0.02},
	"billing": {arrives: 5 * time.Minute, takes: 25 * time.Minute, due: time.Hour, fails: 0.15, slow: 0.12, drifting: true},
	"ledger":  {arrives: 5 * time.Minute, takes: 12 * time.Minute, due: 30 * time.Minute},
	"nightly": {arrives: 2 * time.Minute, takes: 9 * time.Minute, fails: 0.1, never: 3, broken: true},
	"ticks":   {arrives: 10 * time.Second, takes: time.Minute, silent: true},
	"weekly":  {arrives: 30 * time.Minute, takes: 40 * time.Minute, fails: 0.2},
	"trial":   {arrives: time.Minute},
}

// written is one period of the past, as the program prints it.
type written struct {
	Pipeline pipeline.ID `json:"pipeline"`
	Date     string      `json:"date"`
	Start    time.Time   `json:"start"`
	End      time.Time   `json:"end"`
	Phase    string      `json:"phase"`
}

// turn is one expected period of a pipeline.
type turn struct {
	*catalog.Entry
	habit
	slot     schedule.Slot
	fire     time.Time // when it opens: at its end, where its sensor opens it
	fromLast int       // how many periods come after it
}

// writePast writes the past of the pipelines in a directory. The same numbers are drawn each time;
// only the days are others.
func writePast(ctx context.Context, s store.Store, dir string, days int, now time.Time) ([]written, error) {
	from := now.Add(-time.Duration(days) * 24 * time.Hour)
	sources, err := files.Read(dir)
	if err != nil {
		return nil, err
	}
	// The definitions are needed before the pipelines are accepted: a controller reacts to an
	// acceptance.
	known := catalog.New(memory.New(), all.Kinds())
	if _, err := known.Apply(ctx, catalog.Files{Pipelines: sources}, from); err != nil {
		return nil, err
	}
	draw := rand.New(rand.NewPCG(1, 2))
	var out []written
	var steps []step
	for _, t := range turns(known, from, now) {
		w, step := t.plan(draw, now)
		out, steps = append(out, w), append(steps, step)
	}
	if err := each(steps, func(st step) error { return st.write(ctx, s) }); err != nil {
		return nil, err
	}
	if err := settle(ctx, s); err != nil {
		return nil, err
	}
	_, err = catalog.New(s, all.Kinds()).Apply(ctx, catalog.Files{Pipelines: sources, Since: from}, now)
	return out, err
}

// turns lists the expected periods that have fired, in the order of their fires.
func turns(c *catalog.Catalog, from, now time.Time) []turn {
	var all []turn
	for id, h := range habits {
		e := c.Current().Get(id)
		if e == nil {
			continue
		}
		var own []turn
		for slot := range e.Schedule.Slots(from) {
			fire := slot.FireAt
			if fire.IsZero() {
				fire = slot.Period.End(e.Schedule.Zone())
			}
			if !fire.Before(now) {
				break
			}
			own = append(own, turn{Entry: e, habit: h, slot: slot, fire: fire})
		}
		for i := range own {
			own[i].fromLast = len(own) - 1 - i
		}
		all = append(all, own...)
	}
	slices.SortFunc(all, func(a, b turn) int {
		if c := a.fire.Compare(b.fire); c != 0 {
			return c
		}
		return slices.Compare([]byte(a.ID), []byte(b.ID))
	})
	return all
}

// settle marks all changes as handled, so that the controller does not react to the past.
func settle(ctx context.Context, s store.Store) error {
	for {
		left, _, err := s.Backlog(ctx, "router")
		if err != nil || left == 0 {
			return err
		}
		changes, err := s.Receive(ctx, "router", "seed", store.MaxPage)
		if err != nil {
			return err
		}
		if err := s.Done(ctx, "router", changes); err != nil {
			return err
		}
	}
}
