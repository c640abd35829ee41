package prober_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// tuesday is when tests begin.
var tuesday = time.Date(2026, 3, 3, 9, 10, 0, 0, time.UTC)

// world is a controller without a clock: a store in memory, all handlers, and an instant that tests move. Its probes
// answer as the test says; jobs run until they are told to end.
type world struct {
	*testing.T
	store   *memory.Store
	catalog *catalog.Catalog
	router  *router.Router
	steps   *orchestrator.Orchestrator
	monitor *slamonitor.Monitor
	prober  *prober.Prober
	now     time.Time
	asked   []string // "pipeline/key period attempt"
	answer  func(r probe.Request) (probe.Answer, error)
	ended   bool // jobs have succeeded
}

func newWorld(t *testing.T, files ...string) *world {
	t.Helper()
	s := memory.New()
	w := &world{T: t, store: s, now: tuesday, catalog: catalog.New(s, all.Kinds()), answer: passes}
	w.monitor = slamonitor.New(s, w.catalog)
	w.steps = orchestrator.New(orchestrator.Deps{Store: s, Catalog: w.catalog, Jobs: map[string]job.Type{"lambda": target{w}}, Replica: "one"})
	w.router = router.New(router.Deps{
		Store: s, Catalog: w.catalog, Deadlines: w.monitor, Jobs: w.steps,
		Limits: router.Limits{RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second},
	})
	w.prober = prober.New(prober.Deps{Store: s, Catalog: w.catalog, Evaluator: w})
	w.apply(files...)
	return w
}

func passes(probe.Request) (probe.Answer, error) { return probe.Answer{Status: probe.Pass}, nil }

func fails(probe.Request) (probe.Answer, error) {
	return probe.Answer{Status: probe.Fail, Reason: "not there"}, nil
}

func breaks(probe.Request) (probe.Answer, error) {
	return probe.Answer{}, &probe.Failure{Category: run.Transient, Reason: "exited with code 1: no such table"}
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

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// apply puts these files in force, and no others.
func (w *world) apply(texts ...string) {
	w.Helper()
	var files catalog.Files
	for i, text := range texts {
		files.Pipelines = append(files.Pipelines, pipeline.Source{File: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
	}
	report, err := w.catalog.Apply(w.Context(), files, w.now)
	w.check(err)
	for _, p := range report.Problems {
		if p.Severity == document.Error {
			w.Fatal(p)
		}
	}
	w.settle()
}

// settle does all that is due.
func (w *world) settle() {
	w.Helper()
	for range 1000 {
		if !w.followed() && !w.worked() {
			return
		}
	}
	w.Fatal("it never comes to rest")
}

func (w *world) followed() bool {
	w.Helper()
	n, _, err := w.store.Backlog(w.Context(), "router")
	w.check(err)
	if n == 0 {
		return false
	}
	changes, err := w.store.Receive(w.Context(), "router", "one", 10)
	w.check(err)
	for _, c := range changes {
		w.check(w.router.Handle(w.Context(), c, w.now))
	}
	w.check(w.store.Done(w.Context(), "router", changes))
	return true
}

func (w *world) worked() bool {
	w.Helper()
	claims, err := w.store.Claim(w.Context(), store.ClaimQuery{Replica: "one", Limit: 1, Lease: time.Minute}, w.now)
	w.check(err)
	for _, c := range claims {
		w.check(w.perform(c))
	}
	return len(claims) > 0
}

func (w *world) perform(c store.Claim) error {
	clock := func() time.Time { return w.now }
	switch c.Task.Kind {
	case store.RunProbe:
		return w.prober.Run(w.Context(), c, clock)
	case store.Advance:
		_, err := w.steps.Step(w.Context(), c, clock)
		return err
	case store.AdvanceDry:
		return w.router.AdvanceDry(w.Context(), c, w.now)
	case store.Fire:
		return w.router.Fire(w.Context(), c, w.now)
	case store.ReopenPeriods:
		return w.router.Reopen(w.Context(), c, w.now)
	case store.CheckPostRun:
		return w.router.CheckPostRun(w.Context(), c, w.now)
	case store.Arm:
		return w.monitor.Arm(w.Context(), c, w.now)
	case store.FireDeadline:
		return w.monitor.Fire(w.Context(), c, w.now)
	default:
		return fmt.Errorf("nobody carries out %s", c.Task.ID)
	}
}

// pass lets time pass, from one due task to the next.
func (w *world) pass(d time.Duration) {
	w.Helper()
	for end := w.now.Add(d); ; {
		due, err := w.store.NextDue(w.Context())
		w.check(err)
		if due.IsZero() || due.After(end) {
			w.now = end
			w.settle()
			return
		}
		if due.After(w.now) {
			w.now = due
		}
		w.settle()
	}
}

// wantAsked compares what was asked since the last time.
func (w *world) wantAsked(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.asked); diff != "" {
		w.Errorf("asked (-want +got):\n%s", diff)
	}
	w.asked = nil
}

func (w *world) key(name string) run.Key {
	w.Helper()
	key, err := run.ParseKey(name)
	w.check(err)
	return key
}

func (w *world) wantRun(name, want string) {
	w.Helper()
	r, err := w.store.Run(w.Context(), w.key(name))
	w.check(err)
	if got := fmt.Sprintf("%s %d", r.Status, r.Attempt); got != want {
		w.Errorf("%s is %s, want %s", name, got, want)
	}
}

func (w *world) period(name string) period.Period {
	w.Helper()
	p, err := period.Parse(name)
	w.check(err)
	return p
}

// reading is what a sensor shows for a period, as rules see it; nil if nothing.
func (w *world) reading(id pipeline.ID, key sensor.Key, date string) *sensor.Reading {
	w.Helper()
	answers, err := w.store.Readings(w.Context(), []store.ReadingQuery{{Pipeline: id, Key: key, Period: w.period(date)}})
	w.check(err)
	return sensor.ForPeriod(w.period(date), answers[0]).Reading
}

func (w *world) state(id pipeline.ID, key string) probe.State {
	w.Helper()
	version := ""
	if e := w.catalog.Current().Get(id); e != nil {
		version = e.Version
	}
	s, err := prober.StateOf(w.Context(), w.store, id, key, version)
	w.check(err)
	return s
}

// write is a reading from outside.
func (w *world) write(id pipeline.ID, key sensor.Key, date string, fields sensor.Fields) {
	w.Helper()
	_, err := w.store.PutReadings(w.Context(), []store.Write{{Pipeline: id, Reading: sensor.Reading{Key: key, Period: w.period(date), Fields: fields}}}, w.now)
	w.check(err)
	w.settle()
}
