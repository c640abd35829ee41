package prober_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// world is a controller whose probes answer as the test says. Jobs run until the test ends them.
type world struct {
	*testing.T
	*controllertest.Controller
	asked  []string // "pipeline/key period attempt"
	answer func(r probe.Request) (probe.Answer, error)
	ended  bool // jobs have succeeded
}

func newWorld(t *testing.T, files ...string) *world {
	t.Helper()
	w := &world{T: t, answer: passes}
	w.Controller = controllertest.New(t, memory.New(), map[string]job.Type{"lambda": target{w}})
	w.Probe = prober.New(prober.Deps{Store: w.Store, Catalog: w.Catalog, Evaluator: w}).Run
	w.apply(files...)
	return w
}

// apply activates exactly these files, with all consequences.
func (w *world) apply(files ...string) {
	w.Helper()
	w.Apply(files...)
	w.Settle()
}

func passes(probe.Request) (probe.Answer, error) { return probe.Answer{Status: probe.Pass}, nil }

func fails(probe.Request) (probe.Answer, error) {
	return probe.Answer{Status: probe.Fail, Reason: "not there"}, nil
}

func breaks(probe.Request) (probe.Answer, error) {
	return probe.Answer{}, &probe.Failure{Category: run.Transient, Reason: "exited with code 1: no such table"}
}

func knowsNothing(probe.Request) (probe.Answer, error) {
	return probe.Answer{Status: probe.Unknown, Reason: "no row"}, nil
}

// Evaluate answers as the test says.
func (w *world) Evaluate(_ context.Context, r probe.Request) (probe.Answer, error) {
	w.asked = append(w.asked, fmt.Sprintf("%s/%s %s %d", r.Pipeline, r.Probe.Key, r.Period, r.Attempt))
	return w.answer(r)
}

// target is where jobs run.
type target struct{ w *world }

func (target) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	return job.Started{Handle: run.Handle(a.ID)}, nil
}

func (t target) Status(context.Context, job.Attempt, run.Handle) (job.Status, error) {
	return job.Status{Done: t.w.ended, Result: run.ResultSuccess}, nil
}

// wantAsked compares the probes run since the last call.
func (w *world) wantAsked(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.asked); diff != "" {
		w.Errorf("asked (-want +got):\n%s", diff)
	}
	w.asked = nil
}

func (w *world) wantRun(name, want string) {
	w.Helper()
	r, err := w.Store.Run(w.Context(), w.Key(name))
	w.Check(err)
	if got := fmt.Sprintf("%s %d", r.Status, r.Attempt); got != want {
		w.Errorf("%s is %s, want %s", name, got, want)
	}
}

// reading returns what rules see of a sensor for a period; nil if nothing.
func (w *world) reading(id pipeline.ID, key sensor.Key, date string) *sensor.Reading {
	w.Helper()
	answers, err := w.Store.Readings(w.Context(), []store.ReadingQuery{{Pipeline: id, Key: key, Period: w.Period(date)}})
	w.Check(err)
	return sensor.ForPeriod(w.Period(date), answers[0]).Reading
}

func (w *world) state(id pipeline.ID, key string) probe.State {
	w.Helper()
	version := ""
	if e := w.Catalog.Current().Get(id); e != nil {
		version = e.Version
	}
	s, err := prober.StateOf(w.Context(), w.Store, id, key, version)
	w.Check(err)
	return s
}

// write writes an external reading.
func (w *world) write(id pipeline.ID, key sensor.Key, date string, fields sensor.Fields) {
	w.Helper()
	_, err := w.Store.PutReadings(w.Context(), []store.Write{{Pipeline: id, Reading: sensor.Reading{Key: key, Period: w.Period(date), Fields: fields}}}, w.Now())
	w.Check(err)
	w.Settle()
}
