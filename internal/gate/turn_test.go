package gate_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// runs are the runs of one pipeline, without readings.
type runs []run.Run

func (runs) Readings(context.Context, []store.ReadingQuery) ([][]*sensor.Reading, error) {
	return nil, nil
}

func (all runs) RunsAt(_ context.Context, keys []run.Key) (map[run.Key]run.Run, error) {
	found := map[run.Key]run.Run{}
	for _, r := range all {
		if slices.Contains(keys, r.Key) {
			found[r.Key] = r
		}
	}
	return found, nil
}

func (all runs) OpenRuns(context.Context, pipeline.ID) ([]run.Run, error) {
	return slices.DeleteFunc(slices.Clone(all), func(r run.Run) bool { return !r.Status.Open() }), nil
}

const twoAtOnce = `
pipeline: {id: orders, owner: tests}
schedule: {cron: "0 8 * * *", maxActive: 2}
job: {type: command, config: {command: "true"}}
`

// ofDay returns the first attempt of a day's run, evaluated before.
func ofDay(t *testing.T, date string, status run.Status, change ...func(*run.Progress)) run.Run {
	r := run.Run{Key: run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: periodtest.Parse(t, date)}, Status: status, Attempt: 1}
	r.Progress.LastEvaluation = morning.Add(-time.Minute)
	for _, do := range change {
		do(&r.Progress)
	}
	return r
}

func TestStartHasAFreeSlotAndItsTurn(t *testing.T) {
	waits := func(p *run.Progress) { p.WaitingSince = morning }
	unanswered := func(p *run.Progress) { p.Unanswered = true }
	due := func(p *run.Progress) { p.LastEvaluation, p.NextEvaluation = time.Time{}, morning }
	stopping := func(p *run.Progress) { p.Left = run.JobStopping }
	for name, c := range map[string]struct {
		slots   []string // the days that hold them
		others  []run.Run
		want    []string // the days that hold them after the start; none: it is blocked
		because string
	}{
		"free":                                 {nil, nil, []string{"03"}, ""},
		"one of two is used":                   {[]string{"01"}, runs{ofDay(t, "2026-03-01", run.Running)}, []string{"01", "03"}, ""},
		"all are used":                         {[]string{"01", "02"}, runs{ofDay(t, "2026-03-01", run.Running), ofDay(t, "2026-03-02", run.Triggering)}, nil, "maxActive allows (2)"},
		"one was not released":                 {[]string{"01", "02"}, runs{ofDay(t, "2026-03-01", run.Completed), ofDay(t, "2026-03-02", run.Running)}, []string{"02", "03"}, ""},
		"one is being stopped":                 {[]string{"01", "02"}, runs{ofDay(t, "2026-03-01", run.Cancelled, stopping), ofDay(t, "2026-03-02", run.Running)}, nil, "maxActive allows (2)"},
		"one may have a job":                   {[]string{"01", "02"}, runs{ofDay(t, "2026-03-01", run.Pending, unanswered), ofDay(t, "2026-03-02", run.Running)}, nil, "maxActive allows (2)"},
		"an older one waits, two are free":     {nil, runs{ofDay(t, "2026-03-02", run.Pending, waits)}, []string{"03"}, ""},
		"an older one waits, one is free":      {[]string{"01"}, runs{ofDay(t, "2026-03-01", run.Running), ofDay(t, "2026-03-02", run.Pending, waits)}, nil, "2026-03-02 waits"},
		"an older one is about to be asked":    {[]string{"01"}, runs{ofDay(t, "2026-03-01", run.Running), ofDay(t, "2026-03-02", run.Pending, due)}, nil, "2026-03-02 waits"},
		"an older one's gate is closed":        {[]string{"01"}, runs{ofDay(t, "2026-03-01", run.Running), ofDay(t, "2026-03-02", run.Pending)}, []string{"01", "03"}, ""},
		"a younger one waits":                  {[]string{"01"}, runs{ofDay(t, "2026-03-01", run.Running), ofDay(t, "2026-03-04", run.Pending, waits)}, []string{"01", "03"}, ""},
		"an older one that waits has its slot": {[]string{"02"}, runs{ofDay(t, "2026-03-02", run.Pending, waits)}, []string{"02", "03"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			own := ofDay(t, "2026-03-03", run.Pending)
			id := func(day string) run.AttemptID { return ofDay(t, "2026-03-"+day, run.Pending).ID() }
			s := gate.Situation{
				Question: gate.Question{Definition: define(t, twoAtOnce)["orders"], Period: own.Period}, Run: own, Starting: true,
			}
			for _, day := range c.slots {
				s.Row.Slots = append(s.Row.Slots, id(day))
			}
			answer, err := gate.Ask(t.Context(), append(runs{own}, c.others...), s, morning)
			if err != nil {
				t.Fatal(err)
			}
			var want []run.AttemptID
			for _, day := range c.want {
				want = append(want, id(day))
			}
			if diff := cmp.Diff(want, answer.Slots); diff != "" || answer.Allowed() != (c.because == "") {
				t.Errorf("allowed: %t; slots (-want +got):\n%s", answer.Allowed(), diff)
			}
			if c.because != "" && (!answer.Blocked(gate.MaxActive) || !strings.Contains(answer.Blocks[0].Reason.String(), c.because)) {
				t.Errorf("blocked by %+v, want %q", answer.Blocks, c.because)
			}
		})
	}
}
