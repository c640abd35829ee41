package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate/gatetest"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var (
	ctx     = context.Background()
	morning = time.Date(2026, 3, 3, 8, 0, 0, 0, time.UTC)
)

const lease = 30 * time.Second

// The parts of the files that the tests use, with three kinds of job types: glue has onUnknown, a
// step function deduplicates by id, a command belongs to one controller.
const (
	head      = "pipeline: {id: orders, owner: tests}\n"
	daily     = head + "schedule: {cron: '0 8 * * *', evaluation: {window: 30m, interval: 5m}}\n"
	gated     = "validation: {rules: [{key: rows, check: gte, field: count, value: 10}]}\n"
	glue      = "job: {type: glue, config: {jobName: x}, pollInterval: 1m, jobPollWindowSeconds: 600}\n"
	glueRetry = "job: {type: glue, config: {jobName: x, onUnknown: retry}, pollInterval: 1m, jobPollWindowSeconds: 600}\n"
	machine   = "job: {type: step-function, config: {stateMachineARN: 'arn:aws:states:eu-west-1:123456789012:stateMachine:x'}, pollInterval: 1m, jobPollWindowSeconds: 600}\n"
	command   = "job: {type: command, config: {command: [load]}, pollInterval: 1m, jobPollWindowSeconds: 600}\n"
)

// bench drives one run through its steps, with its own clock.
type bench struct {
	t       *testing.T
	store   *memory.Store
	catalog *catalog.Catalog
	target  *target
	kind    job.Type
	steps   *orchestrator.Orchestrator
	now     time.Time
	key     run.Key
	def     *pipeline.Definition
	claimed store.Lease // lease of the last step
	early   bool        // leases may be lost before they expire
}

// newBench accepts the file and uses kind for every job of it.
func newBench(t *testing.T, file string, kind func(*target) job.Type) *bench {
	t.Helper()
	b := &bench{t: t, store: memory.New(), target: newTarget(), now: morning}
	b.kind = kind(b.target)
	b.catalog = catalog.New(b.store, all.Kinds())
	b.apply(file)
	b.key = run.Key{Pipeline: "orders", Schedule: b.def.Opens, Period: periodtest.Parse(t, "2026-03-03")}
	b.steps = b.controller("a", b.store)
	return b
}

func plainType(t *target) job.Type      { return plain{t} }
func searchableType(t *target) job.Type { return searchable{plain{t}} }
func strictType(t *target) job.Type     { return strict{plain{t}} }
func thoroughType(t *target) job.Type   { return thorough{searchable{plain{t}}} }
func localType(t *target) job.Type      { return local{thorough{searchable{plain{t}}}} }
func blockingType(t *target) job.Type   { return blocking{plain{t}} }

func (b *bench) apply(file string) {
	b.t.Helper()
	report, err := b.catalog.Apply(ctx, catalog.Files{Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte(file)}}}, b.now)
	if err != nil || len(report.Rejected) > 0 {
		b.t.Fatalf("apply: %v %v", report.Problems, err)
	}
	b.def = b.catalog.Current().Get("orders").Definition
}

// keeper is the part of a store that a controller uses.
type keeper interface {
	store.Committer
	store.Reader
	store.Sensors
	store.Tasks
}

// controller returns a controller of that name over s.
func (b *bench) controller(replica string, s keeper) *orchestrator.Orchestrator {
	jobs := map[string]job.Type{}
	for _, k := range all.Kinds() {
		jobs[k.Name] = b.kind
	}
	return orchestrator.New(orchestrator.Deps{Store: s, Catalog: b.catalog, Jobs: jobs, Replica: replica, Lease: lease, Early: b.early})
}

func (b *bench) clock() time.Time { return b.now }

func (b *bench) wait(d time.Duration) { b.now = b.now.Add(d) }

// limits returns those of the file, with the server's defaults.
func (b *bench) limits() run.Limits {
	l := run.Limits{
		Window: b.def.Window, Interval: b.def.Interval, RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second,
	}
	if b.def.Job != nil {
		l.PollInterval, l.PollWindow = b.def.Job.PollInterval, b.def.Job.PollWindow
	}
	return l
}

func (b *bench) opening(o run.Opening) run.Opening {
	o.ConfigVersion, o.Limits, o.At = b.catalog.Current().Get("orders").Version, b.limits(), b.now
	return o
}

// open opens a run.
func (b *bench) open(key run.Key, o run.Opening) {
	b.t.Helper()
	if o.Cause == "" {
		o.Cause = run.CauseCron
	}
	r, err := run.New(key, b.opening(o))
	if err != nil {
		b.t.Fatal(err)
	}
	batch := store.Batch{ID: "open/" + key.String()}
	batch.Create(r)
	batch.Schedule(advance(key, b.now))
	b.commit(batch)
}

// again opens another attempt, as package router would.
func (b *bench) again(cause run.Cause) {
	b.t.Helper()
	old := b.run()
	next, err := old.NextAttempt(b.opening(run.Opening{Cause: cause}))
	if err != nil {
		b.t.Fatal(err)
	}
	batch := store.Batch{ID: fmt.Sprintf("again/%s/v%d", b.key, old.Version)}
	batch.Swap(old, next)
	batch.Schedule(advance(b.key, b.now))
	b.commit(batch)
}

func advance(key run.Key, due time.Time) store.Task {
	return store.Task{ID: lifecycle.TaskID(key), Kind: store.Advance, Pipeline: key.Pipeline, Key: key, Due: due}
}

func (b *bench) commit(batch store.Batch) {
	b.t.Helper()
	if err := b.store.Commit(ctx, batch, b.now); err != nil {
		b.t.Fatal(err)
	}
}

// wake makes the run evaluate its gate at once, as a sensor write does.
func (b *bench) wake(key run.Key) {
	b.t.Helper()
	old, err := b.store.Run(ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	next, err := old.Wake(b.now)
	if err != nil {
		b.t.Fatal(err)
	}
	batch := store.Batch{ID: fmt.Sprintf("wake/%s/v%d", key, old.Version)}
	batch.Swap(old, next)
	batch.Schedule(advance(key, b.now))
	b.commit(batch)
}

// rows writes the sensor of the gate.
func (b *bench) rows(count int64) {
	b.t.Helper()
	b.write("rows", sensor.Fields{"count": count})
}

func (b *bench) write(key sensor.Key, fields sensor.Fields) {
	b.t.Helper()
	w := store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: key, Period: b.key.Period, Fields: fields}}
	if _, err := b.store.PutReadings(ctx, []store.Write{w}, b.now); err != nil {
		b.t.Fatal(err)
	}
}

// claim claims what is due for a controller.
func (b *bench) claim(replica string) []store.Claim {
	b.t.Helper()
	claims, err := b.store.Claim(ctx, store.ClaimQuery{Replica: replica, Limit: 10, Lease: lease, LostAfter: 10 * time.Minute}, b.now)
	if err != nil {
		b.t.Fatal(err)
	}
	var mine []store.Claim
	for _, c := range claims {
		if c.Task.Kind == store.Advance {
			mine = append(mine, c)
		}
	}
	return mine
}

// step performs the one step that is due.
func (b *bench) step() lifecycle.Step {
	b.t.Helper()
	claims := b.claim("a")
	if len(claims) != 1 {
		b.t.Fatalf("at %s %d steps are due, want 1; the run is %s (%s)", b.now.Format(time.TimeOnly), len(claims), b.run().Status, b.run().Reason)
	}
	b.claimed = claims[0].Lease
	next, err := b.steps.Step(ctx, claims[0], b.clock)
	if err != nil {
		b.t.Fatal(err)
	}
	return next
}

// idle checks that nothing is due now.
func (b *bench) idle() {
	b.t.Helper()
	if claims := b.claim("a"); len(claims) > 0 {
		b.t.Errorf("at %s something is due: %+v", b.now.Format(time.TimeOnly), claims)
	}
}

// runUntilIdle performs steps, and advances the clock between them, until the run has nothing to do
// by itself for an hour or has ended.
func (b *bench) runUntilIdle() {
	b.t.Helper()
	for end := b.now.Add(time.Hour); b.now.Before(end); {
		claims := b.claim("a")
		for _, c := range claims {
			if _, err := b.steps.Step(ctx, c, b.clock); err != nil {
				b.t.Fatal(err)
			}
			end = b.now.Add(time.Hour)
		}
		if len(claims) == 0 {
			b.wait(15 * time.Second)
		}
		if r := b.run(); !r.Status.Open() || r.Status == run.Failed || r.Progress.Held.Reason != "" {
			return
		}
	}
}

func (b *bench) run() run.Run { return b.runOf(b.key) }

func (b *bench) runOf(key run.Key) run.Run {
	b.t.Helper()
	r, err := b.store.Run(ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) want(status run.Status) run.Run {
	b.t.Helper()
	r := b.run()
	if r.Status != status {
		b.t.Fatalf("at %s the run is %s (%s), want %s", b.now.Format(time.TimeOnly), r.Status, r.Reason, status)
	}
	return r
}

// due returns when the run's task is due; zero if it has none.
func (b *bench) due(key run.Key) time.Time {
	b.t.Helper()
	task, err := b.store.Task(ctx, lifecycle.TaskID(key))
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return task.Due
}

func (b *bench) wantDue(d time.Duration) {
	b.t.Helper()
	if got := b.due(b.key); !got.Equal(b.now.Add(d)) {
		b.t.Errorf("the next step is due at %s, want %s", got, b.now.Add(d))
	}
}

// events lists the events about runs, oldest first.
func (b *bench) events() []event.Event {
	b.t.Helper()
	stored, err := b.store.EventsAfter(ctx, 0, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	var events []event.Event
	for _, s := range stored {
		if err := s.Event.Validate(); err != nil {
			b.t.Error(err)
		}
		if s.Event.Type != event.ConfigAccepted {
			events = append(events, s.Event)
		}
	}
	return events
}

func (b *bench) wantEvents(want ...event.Type) {
	b.t.Helper()
	var got []event.Type
	for _, e := range b.events() {
		got = append(got, e.Type)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("events (-want +got):\n%s", diff)
	}
}

// last returns the newest event of that type.
func (b *bench) last(t event.Type) event.Event {
	b.t.Helper()
	var last event.Event
	for _, e := range b.events() {
		if e.Type == t {
			last = e
		}
	}
	if last.ID == "" {
		b.t.Fatalf("%s was not emitted", t)
	}
	return last
}

// log returns the run's job log.
func (b *bench) log() []store.JobEntry {
	b.t.Helper()
	logs, err := b.store.JobLogs(ctx, []run.Key{b.key})
	if err != nil {
		b.t.Fatal(err)
	}
	return logs[b.key]
}

func (b *bench) wantLog(want ...store.JobEvent) {
	b.t.Helper()
	var got []store.JobEvent
	for _, e := range b.log() {
		got = append(got, e.Event)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("job log (-want +got):\n%s", diff)
	}
}

// checkStarts checks guarantee S1 for every start: each start call has its stored snapshot, on
// whose facts alone the gate is open, or a bypass with who and why.
func (b *bench) checkStarts() {
	b.t.Helper()
	tries := map[run.AttemptID]int{}
	for _, id := range b.target.calls {
		tries[id]++
		s, err := b.store.Snapshot(ctx, run.SnapshotID(fmt.Sprintf("%s/%d", id, tries[id])))
		if err != nil {
			b.t.Errorf("start %d of %s has no snapshot: %v", tries[id], id, err)
			continue
		}
		def, err := b.catalog.Definition(ctx, s.Key.Pipeline, s.Config)
		if err != nil {
			b.t.Errorf("start of %s: %v", id, err)
			continue
		}
		opening := b.runOf(s.Key).Progress.Opening
		bypassed := s.Bypassed && opening.By != "" && opening.Reason != ""
		if got := judge(def, s); got != rule.Pass && !bypassed {
			b.t.Errorf("start %d of %s is based on a gate that is %s", tries[id], id, got)
		}
	}
}

// judge returns the gate's outcome on the facts of a snapshot alone.
func judge(d *pipeline.Definition, s store.Snapshot) rule.Outcome {
	return gatetest.Judge(d.Gate, s)
}
