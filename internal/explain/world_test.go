package explain_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var ctx = context.Background()

// world is a controller without a clock: a store in memory, all handlers, and an instant that tests move. Jobs run until
// a test reports their result.
type world struct {
	*testing.T
	store   *memory.Store
	catalog *catalog.Catalog
	router  *router.Router
	steps   *orchestrator.Orchestrator
	monitor *slamonitor.Monitor
	now     time.Time
}

// target is where jobs run.
type target struct{}

func (target) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	return job.Started{Handle: run.Handle("handle of " + a.ID)}, nil
}

func (target) Status(context.Context, job.Attempt, run.Handle) (job.Status, error) {
	return job.Status{}, nil
}

// newWorld begins on Tuesday the third of March 2026, ten past nine, with the given pipeline files.
func newWorld(t *testing.T, files ...string) *world {
	t.Helper()
	s := memory.New()
	w := &world{T: t, store: s, now: time.Date(2026, 3, 3, 9, 10, 0, 0, time.UTC), catalog: catalog.New(s, all.Kinds())}
	w.monitor = slamonitor.New(s, w.catalog)
	w.steps = orchestrator.New(orchestrator.Deps{Store: s, Catalog: w.catalog, Replica: "one", Jobs: map[string]job.Type{"command": target{}}})
	w.router = router.New(router.Deps{
		Store: s, Catalog: w.catalog, Deadlines: w.monitor, Jobs: w.steps,
		Limits: router.Limits{RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second},
	})
	w.apply(files...)
	w.settle()
	return w
}

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// apply puts exactly these files in force.
func (w *world) apply(files ...string) {
	w.Helper()
	var sources []pipeline.Source
	for i, text := range files {
		sources = append(sources, pipeline.Source{File: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
	}
	report, err := w.catalog.Apply(ctx, catalog.Files{Pipelines: sources}, w.now)
	w.check(err)
	if len(report.Rejected) > 0 {
		w.Fatalf("rejected: %v", report.Problems)
	}
}

// write puts a reading there, with all that follows from it. Pairs are field=value.
func (w *world) write(id, key string, pairs ...string) {
	w.Helper()
	name, p, err := sensor.ParseKey(key)
	w.check(err)
	fields := sensor.Fields{}
	for _, pair := range pairs {
		field, value, _ := strings.Cut(pair, "=")
		fields[field] = value
	}
	_, err = w.store.PutReadings(ctx, []store.Write{{
		Pipeline: pipeline.ID(id), Reading: sensor.Reading{Key: name, Period: p, Fields: fields, Source: "etl"},
	}}, w.now)
	w.check(err)
	w.settle()
}

// settle lets everything happen that is due at this instant.
func (w *world) settle() {
	w.Helper()
	for range 1000 {
		if !w.react() && !w.work() {
			return
		}
	}
	w.Fatal("it never comes to rest")
}

func (w *world) react() bool {
	w.Helper()
	n, _, err := w.store.Backlog(ctx, "router")
	w.check(err)
	if n == 0 {
		return false
	}
	changes, err := w.store.Receive(ctx, "router", "one", 100)
	w.check(err)
	for _, c := range changes {
		w.check(w.router.Handle(ctx, c, w.now))
	}
	w.check(w.store.Done(ctx, "router", changes))
	return true
}

func (w *world) work() bool {
	w.Helper()
	claims, err := w.store.Claim(ctx, store.ClaimQuery{Replica: "one", Limit: 1, Lease: time.Minute}, w.now)
	w.check(err)
	for _, c := range claims {
		if err := w.perform(c); err != nil && !errors.Is(err, store.ErrConflict) {
			w.Fatalf("%s: %v", c.Task.ID, err)
		}
	}
	return len(claims) > 0
}

func (w *world) perform(c store.Claim) error {
	switch c.Task.Kind {
	case store.Advance:
		_, err := w.steps.Step(ctx, c, func() time.Time { return w.now })
		return err
	case store.AdvanceDry:
		return w.router.AdvanceDry(ctx, c, w.now)
	case store.Fire:
		return w.router.Fire(ctx, c, w.now)
	case store.Arm:
		return w.monitor.Arm(ctx, c, w.now)
	case store.FireDeadline:
		return w.monitor.Fire(ctx, c, w.now)
	case store.RunProbe:
		return prober.Drop(ctx, w.store, c, w.now) // tests say themselves how probes have done
	case store.ReopenPeriods:
		return w.router.Reopen(ctx, c, w.now)
	default:
		return fmt.Errorf("nobody here performs tasks of kind %q", c.Task.Kind)
	}
}

// pass lets time go by, task by task.
func (w *world) pass(d time.Duration) {
	w.Helper()
	until := w.now.Add(d)
	for range 10000 {
		next, err := w.store.NextDue(ctx)
		w.check(err)
		if next.IsZero() || next.After(until) {
			w.now = until
			w.settle()
			return
		}
		if next.After(w.now) {
			w.now = next
		}
		w.settle()
	}
	w.Fatal("it never comes to rest")
}

// finish reports the result of a run's job, with all that follows from it.
func (w *world) finish(key string, r run.Report) {
	w.Helper()
	k, err := run.ParseKey(key)
	w.check(err)
	done, err := w.router.Report(ctx, run.Outcome{Key: k, Report: r}, w.now)
	w.check(err)
	if done.Late {
		w.Fatalf("nobody waits for a result of %s: it is %s", key, done.Run.Status)
	}
	w.settle()
}

// explain asks about a period; "" leaves it open.
func (w *world) explain(id, date string) explain.Explanation {
	w.Helper()
	q := explain.Question{Pipeline: pipeline.ID(id)}
	if date != "" {
		p, err := period.Parse(date)
		w.check(err)
		q.Period = p
	}
	x, err := explain.Look(ctx, explain.Sources{Store: w.store, Catalog: w.catalog}, q, w.now)
	w.check(err)
	return x
}

// says fails unless the explanation's text has all of these in it.
func (w *world) says(x explain.Explanation, state explain.State, parts ...string) {
	w.Helper()
	text := x.Text()
	if x.State != state {
		w.Errorf("state is %q, want %q\n%s", x.State, state, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			w.Errorf("nothing is said of %q\n%s", part, text)
		}
	}
}
