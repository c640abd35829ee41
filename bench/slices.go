package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

const (
	manySlices  = 720 // the hours of a month of 30 days
	fewSlices   = 24  // the hours of a day
	slicesLimit = 1.5
	lookTime    = 200 * time.Millisecond
)

// slicedGate is a gate with a rule over the hours of a period. The last hour has no reading, so
// that every evaluation also explains.
type slicedGate struct {
	question gate.Question
	hours    int
}

// slicesRow compares the cost per slice of a gate with a rule over the hours of a month and over
// those of a day. The readings come from SQLite and the verdict names the missing hour.
func slicesRow() (row, error) { return withStore(slicesRowWith) }

func slicesRowWith(db *sqlite.Store) (row, error) {
	many, err := newSlicedGate(db, "month", "2026-04", manySlices)
	if err != nil {
		return row{}, err
	}
	few, err := newSlicedGate(db, "day", "2026-04-01", fewSlices)
	if err != nil {
		return row{}, err
	}
	var ratios []float64
	best := [2]float64{}
	for range rounds { // alternate, so that a slow moment of the machine hits both
		var turn [2]float64
		for i, g := range []slicedGate{many, few} {
			if turn[i], err = g.perSlice(db); err != nil {
				return row{}, err
			}
			if best[i] == 0 || turn[i] < best[i] {
				best[i] = turn[i]
			}
		}
		ratios = append(ratios, turn[0]/turn[1])
	}
	slices.Sort(ratios)
	ratio := ratios[len(ratios)/2]
	return row{
		name: fmt.Sprintf("a slice of a rule over %d slices / over %d", manySlices, fewSlices), ratio: ratio, limit: slicesLimit,
		detail: fmt.Sprintf("%.1f and %.1f µs a slice, %.0f and %.0f µs a gate", best[0], best[1], best[0]*manySlices, best[1]*fewSlices),
		failed: ratio > slicesLimit,
	}, nil
}

// newSlicedGate stores a reading for every hour of a period except the last.
func newSlicedGate(db store.Store, size, name string, hours int) (slicedGate, error) {
	text := fmt.Sprintf(`pipeline: {id: %[1]s, owner: bench}
schedule: {period: %[1]s}
validation: {rules: [{key: landed, check: equals, field: complete, value: true, over: {slices: hour}}]}
`, size)
	set := pipeline.Load([]pipeline.Source{{File: size + ".yaml", Data: []byte(text)}}, pipeline.Options{Jobs: all.Kinds()})
	if len(set.Definitions) != 1 {
		return slicedGate{}, fmt.Errorf("load the pipeline: %v", set.Problems)
	}
	def := set.Definitions[0]
	whole, err := period.Parse(name)
	if err != nil {
		return slicedGate{}, err
	}
	expected := gate.Slices(def.Schedule, rule.Range{Size: period.Hour}, whole)
	if len(expected) != hours {
		return slicedGate{}, fmt.Errorf("%s has %d hours, not %d", name, len(expected), hours)
	}
	var writes []store.Write
	for _, hour := range expected[:hours-1] {
		writes = append(writes, store.Write{Pipeline: def.ID, Reading: sensor.Reading{Key: "landed", Period: hour, Fields: sensor.Fields{"complete": true, "count": int64(1200)}}})
	}
	_, err = db.PutReadings(context.Background(), writes, time.Now())
	return slicedGate{gate.Question{Definition: def, Period: whole}, hours}, err
}

// perSlice returns the microseconds that one evaluation of the gate takes per slice.
func (g slicedGate) perSlice(db store.Store) (float64, error) {
	began, n := time.Now(), 0
	for ; time.Since(began) < lookTime; n++ {
		v, err := gate.Evaluate(context.Background(), db, g.question, time.Now())
		if err != nil {
			return 0, err
		}
		if seen := len(v.Sensors[0].Slices); v.Open() || seen != g.hours {
			return 0, fmt.Errorf("the gate saw %d slices of %d: %s", seen, g.hours, v.Verdict.Leaves[0].Reason)
		}
	}
	return float64(time.Since(began).Microseconds()) / float64(n*g.hours), nil
}
