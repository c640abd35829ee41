package awslambda_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

func TestMain(m *testing.M) { os.Exit(dynamotest.Main(m)) }

var dawn = time.Date(2026, 3, 3, 5, 30, 45, 0, time.UTC)

// jobs runs the jobs. Each takes the given time, and the named ones fail.
type jobs struct {
	now   func() time.Time
	takes time.Duration
	fails map[run.AttemptID]bool

	mu     sync.Mutex
	starts []run.AttemptID
	ends   map[run.Handle]time.Time
}

func (j *jobs) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := run.Handle(a.ID)
	if _, runs := j.ends[h]; !runs { // like a target that rejects repeats
		j.starts = append(j.starts, a.ID)
		j.ends[h] = j.now().Add(j.takes)
	}
	return job.Started{Handle: h}, nil
}

func (j *jobs) Status(_ context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.now().Before(j.ends[h]) {
		return job.Status{}, nil
	}
	if j.fails[a.ID] {
		return job.Status{Done: true, Result: run.ResultFail, Category: run.Transient, Message: "out of memory"}, nil
	}
	return job.Status{Done: true, Result: run.ResultSuccess}, nil
}

func (j *jobs) Find(_ context.Context, a job.Attempt) (run.Handle, bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, runs := j.ends[run.Handle(a.ID)]
	return run.Handle(a.ID), runs, nil
}

func (*jobs) RefusesRepeats() bool { return true }

// world is a deployment with its jobs.
type world struct {
	*awslambdatest.World
	jobs *jobs
}

// deploy creates a deployment with pipeline files. Missing options get defaults.
func deploy(t testing.TB, o awslambdatest.Options, files ...string) *world {
	t.Helper()
	w := &world{jobs: &jobs{takes: 5 * time.Minute, ends: map[run.Handle]time.Time{}, fails: map[run.AttemptID]bool{}}}
	w.jobs.now = func() time.Time { return w.Now() }
	o.Begins, o.Jobs = dawn, map[string]job.Type{"step-function": w.jobs}
	if o.Watch == 0 {
		o.Watch = 5 * time.Minute
	}
	if o.Tables == nil {
		o.Tables = func(func() time.Time) awslambdatest.Tables { return awslambdatest.NewMemory() }
	}
	w.World = awslambdatest.New(t, o)
	w.Start()
	w.put(t, files...)
	return w
}

// put replaces the deployed files.
func (w *world) put(t testing.TB, files ...string) {
	t.Helper()
	var all catalog.Files
	for _, text := range files {
		_, rest, _ := strings.Cut(text, "id: ")
		id, _, _ := strings.Cut(rest, ",")
		all.Pipelines = append(all.Pipelines, pipeline.Source{File: id + ".yaml", Data: []byte(text)})
	}
	if err := w.PutFiles(all); err != nil {
		t.Fatal(err)
	}
	w.Settle()
}

// at advances the time to an hour of the day.
func (w *world) at(clock string) {
	of, _ := time.Parse("15:04", clock)
	w.AdvanceTo(dawn.Truncate(24 * time.Hour).Add(of.Sub(of.Truncate(24 * time.Hour))))
}

// eventTypes returns the types of the events about a run, in order.
func (w *world) eventTypes(t *testing.T, key string) []event.Type {
	t.Helper()
	k, err := run.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	page, err := w.Store().Events(t.Context(), store.EventQuery{Key: k, Ascending: true, Limit: store.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	var types []event.Type
	for _, e := range page.Items {
		types = append(types, e.Type)
	}
	return types
}

// run returns a run.
func (w *world) run(t *testing.T, key string) run.Run {
	t.Helper()
	k, err := run.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Store().Run(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *world) wantStarts(t *testing.T, want ...run.AttemptID) {
	t.Helper()
	w.jobs.mu.Lock()
	defer w.jobs.mu.Unlock()
	if !slices.Equal(w.jobs.starts, want) {
		t.Errorf("started %q, want %q", w.jobs.starts, want)
	}
}

const daily = `pipeline: {id: orders, owner: data}
schedule: {cron: "0 6 * * *"}
sla: {deadline: "07:00", expectedDuration: 20m}
job: {type: step-function, config: {stateMachineARN: "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"}, maxRetries: 1}
`

const today = "orders/cron/2026-03-03"
