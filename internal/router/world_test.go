package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// tester is what a world needs of *testing.T and *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// world is a controller without a clock: a store in memory, all handlers, and an instant that tests move. Jobs start and run
// until a test reports their result.
type world struct {
	tester
	store   *memory.Store
	catalog *catalog.Catalog
	router  *router.Router
	steps   *orchestrator.Orchestrator
	monitor *slamonitor.Monitor
	jobs    *targets
	now     time.Time
	files   map[string]string
}

// targets is where jobs of every type run. Those that were asked to stop have.
type targets struct {
	started []run.AttemptID
	stopped []run.AttemptID
	running map[run.AttemptID]bool
}

func (t *targets) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	t.started = append(t.started, a.ID)
	t.running[a.ID] = true
	return job.Started{Handle: run.Handle(a.ID)}, nil
}

func (t *targets) Status(_ context.Context, a job.Attempt, _ run.Handle) (job.Status, error) {
	if t.running[a.ID] {
		return job.Status{}, nil
	}
	return job.Status{Done: true, Result: run.ResultSuccess}, nil
}

// stoppable is a target that can end its jobs.
type stoppable struct{ *targets }

func (t stoppable) Stop(_ context.Context, a job.Attempt, _ run.Handle) error {
	t.stopped = append(t.stopped, a.ID)
	t.running[a.ID] = false
	return nil
}

// local is a target on the machine of one replica.
type local struct{ *targets }

func (local) OnThisReplica() bool { return true }

// tuesday is when tests begin: the third of March 2026, ten past nine in the morning, UTC.
var tuesday = time.Date(2026, 3, 3, 9, 10, 0, 0, time.UTC)

// newWorld begins on that Tuesday with the given pipeline files.
func newWorld(t tester, files ...string) *world {
	t.Helper()
	return newWorldOn(t, memory.New(), files...)
}

func newWorldOn(t tester, s *memory.Store, files ...string) *world {
	t.Helper()
	w := &world{tester: t, store: s, now: tuesday, files: map[string]string{}, jobs: &targets{running: map[run.AttemptID]bool{}}}
	w.catalog = catalog.New(s, all.Kinds())
	w.check(w.catalog.Load(ctx))
	w.monitor = slamonitor.New(s, w.catalog)
	w.steps = orchestrator.New(orchestrator.Deps{
		Store: s, Catalog: w.catalog, Replica: "one",
		Jobs: map[string]job.Type{"command": stoppable{w.jobs}, "lambda": w.jobs, "http": local{w.jobs}},
	})
	w.router = router.New(router.Deps{
		Store: s, Catalog: w.catalog, Deadlines: w.monitor, Jobs: w.steps,
		Limits: router.Limits{RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second},
	})
	w.apply(files...)
	w.settle()
	return w
}

var ctx = context.Background()

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// apply puts files in force beside those that are; a file is known by the id in it.
func (w *world) apply(files ...string) {
	w.Helper()
	for _, text := range files {
		_, rest, _ := strings.Cut(text, "id: ")
		id := strings.FieldsFunc(rest, func(c rune) bool { return strings.ContainsRune(" ,}\n", c) })[0]
		w.files[id] = text
	}
	w.reload()
}

// remove takes a pipeline's file away.
func (w *world) remove(id string) {
	w.Helper()
	delete(w.files, id)
	w.reload()
}

func (w *world) reload() {
	w.Helper()
	var sources []pipeline.Source
	for id, text := range w.files {
		sources = append(sources, pipeline.Source{File: id + ".yaml", Data: []byte(text)})
	}
	slices.SortFunc(sources, func(a, b pipeline.Source) int { return strings.Compare(a.File, b.File) })
	report, err := w.catalog.Apply(ctx, catalog.Files{Pipelines: sources}, w.now)
	w.check(err)
	if len(report.Rejected) > 0 {
		w.Fatalf("rejected: %v", report.Problems)
	}
}

// put writes an undated reading, or one dated by a "#period" behind its key. Pairs are field=value.
func (w *world) put(id, key string, pairs ...string) {
	w.Helper()
	name, p, err := sensor.ParseKey(key)
	w.check(err)
	fields := sensor.Fields{}
	for _, pair := range pairs {
		field, value, _ := strings.Cut(pair, "=")
		fields[field] = value
	}
	_, err = w.store.PutReadings(ctx, []store.Write{{Pipeline: pipeline.ID(id), Reading: sensor.Reading{Key: name, Period: p, Fields: fields}}}, w.now)
	w.check(err)
}

// write is put, with all that follows from it.
func (w *world) write(id, key string, pairs ...string) {
	w.Helper()
	w.put(id, key, pairs...)
	w.settle()
}

// settle lets everything happen that is due at this instant.
func (w *world) settle() {
	w.Helper()
	for range 1000 {
		if !w.handle() && !w.work() {
			return
		}
	}
	w.Fatal("it never comes to rest")
}

// handle reacts to the changes there are, and says whether there were any.
func (w *world) handle() bool {
	w.Helper()
	changes := w.changes()
	for _, c := range changes {
		w.check(w.router.Handle(ctx, c, w.now))
	}
	return len(changes) > 0
}

// changes takes the changes that nobody has handled yet.
func (w *world) changes() []store.Change {
	w.Helper()
	n, _, err := w.store.Backlog(ctx, "router")
	w.check(err)
	if n == 0 {
		return nil
	}
	changes, err := w.store.Receive(ctx, "router", "one", 100)
	w.check(err)
	w.check(w.store.Done(ctx, "router", changes))
	return changes
}

// work performs the tasks that are due, and says whether there were any.
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
	case store.ReopenPeriods:
		return w.router.Reopen(ctx, c, w.now)
	case store.ResumePaused:
		return w.router.ResumeDue(ctx, c, w.now)
	case store.CheckPostRun:
		return w.router.CheckPostRun(ctx, c, w.now)
	default:
		return fmt.Errorf("task %s: nobody knows kind %q", c.Task.ID, c.Task.Kind)
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

// sleep lets time go by with nobody there.
func (w *world) sleep(d time.Duration) { w.now = w.now.Add(d) }

// key reads a run's key, such as orders/stream/2026-03-03.
func (w *world) key(text string) run.Key {
	w.Helper()
	k, err := run.ParseKey(text)
	w.check(err)
	return k
}

func (w *world) period(text string) period.Period {
	w.Helper()
	p, err := period.Parse(text)
	w.check(err)
	return p
}

// run gives a run; the zero Run if there is none.
func (w *world) run(text string) run.Run {
	w.Helper()
	r, err := w.store.Run(ctx, w.key(text))
	if !errors.Is(err, store.ErrNotFound) {
		w.check(err)
	}
	return r
}

// stands says where a run stands, such as "RUNNING 1".
func (w *world) stands(text string) string {
	w.Helper()
	r := w.run(text)
	if r.Status == "" {
		return "none"
	}
	return fmt.Sprintf("%s %d", r.Status, r.Attempt)
}

// expect fails unless a run stands so.
func (w *world) expect(text, want string) {
	w.Helper()
	if got := w.stands(text); got != want {
		w.Fatalf("%s is %s, want %s\n%s", text, got, want, strings.Join(w.told(), "\n"))
	}
}

// finish reports the result of a run's job, with all that follows from it.
func (w *world) finish(text string, result run.Result, category run.Category) {
	w.Helper()
	w.report(text, result, category)
	w.settle()
}

func (w *world) report(text string, result run.Result, category run.Category) {
	w.Helper()
	key := w.key(text)
	done, err := w.router.Report(ctx, run.Outcome{Key: key, Report: run.Report{Result: result, Category: category, Message: "said the test"}}, w.now)
	w.check(err)
	if done.Late {
		w.Fatalf("nobody waits for a result of %s: it is %s", text, w.stands(text))
	}
	w.jobs.running[done.Run.ID()] = false
}

func (w *world) succeed(text string) {
	w.Helper()
	w.finish(text, run.ResultSuccess, "")
}

// events lists what was announced, oldest first.
func (w *world) events() []event.Event {
	w.Helper()
	stored, err := w.store.EventsAfter(ctx, 0, store.MaxPage)
	w.check(err)
	events := make([]event.Event, len(stored))
	for i, s := range stored {
		events[i] = s.Event
		w.check(s.Event.Validate())
	}
	return events
}

// about lists the events of those types, each as "TYPE date attempt: message", without what files were accepted.
func (w *world) told(types ...event.Type) []string {
	w.Helper()
	lines := []string{}
	for _, e := range w.events() {
		if len(types) > 0 && !slices.Contains(types, e.Type) || len(types) == 0 && e.Type == event.ConfigAccepted {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s %d: %s", e.Type, e.Detail.Date, e.Detail.Attempt, e.Detail.Message))
	}
	return lines
}

// count is how many events of a type there are.
func (w *world) count(t event.Type) int {
	w.Helper()
	return len(w.told(t))
}

// only gives the one event of a type.
func (w *world) only(t event.Type) event.Event {
	w.Helper()
	var found []event.Event
	for _, e := range w.events() {
		if e.Type == t {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		w.Fatalf("%d events %s, want one:\n%s", len(found), t, strings.Join(w.told(), "\n"))
	}
	return found[0]
}

// types lists the types of events about a pipeline, oldest first, apart from files.
func (w *world) types(id string) []event.Type {
	w.Helper()
	types := []event.Type{}
	for _, e := range w.events() {
		if e.Detail.Pipeline == pipeline.ID(id) && e.Type != event.ConfigAccepted {
			types = append(types, e.Type)
		}
	}
	return types
}

func same[T any](t tester, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(run.Key{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var _ tester = (*testing.T)(nil)

// refused fails unless err is a refusal of that kind.
func refused(t tester, err error, kind router.RefusalKind) {
	t.Helper()
	var r *router.Refusal
	if !errors.As(err, &r) || r.Kind != kind {
		t.Fatalf("got %v, want a refusal: %s", err, kind)
	}
}

// rerun asks for another attempt, with all that follows from it.
func (w *world) rerun(q router.RerunRequest) store.Rerun {
	w.Helper()
	q.By, q.Reason = "ada", "tested"
	answer, err := w.router.Rerun(ctx, q, w.now)
	w.check(err)
	w.settle()
	return answer
}

// trigger opens the run of a period, with all that follows from it.
func (w *world) trigger(id, date string) {
	w.Helper()
	q := router.TriggerRequest{ID: "trigger " + date, Pipeline: pipeline.ID(id), By: "ada", Reason: "tested"}
	if date != "" {
		q.Period = w.period(date)
	}
	_, err := w.router.Trigger(ctx, q, w.now)
	w.check(err)
	w.settle()
}
