package router_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// world is a controller whose whole state tests can inspect. Jobs start and run until a test
// reports their result.
type world struct {
	controllertest.T
	*controllertest.Controller
	jobs  *targets
	files map[string]string
}

// targets runs the jobs of every type. Jobs that were asked to stop have stopped.
type targets struct {
	started []run.AttemptID
	stopped []run.AttemptID
	running map[run.AttemptID]bool
	atOnce  bool  // the start call is the job
	refuse  error // the error of start calls
	slow    bool  // a job that is asked to stop continues until a test ends it
}

func (t *targets) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	if t.refuse != nil {
		return job.Started{}, t.refuse
	}
	t.started = append(t.started, a.ID)
	if t.atOnce {
		return job.Started{Handle: run.Handle(a.ID), Result: &job.Status{Done: true, Result: run.ResultSuccess}}, nil
	}
	t.running[a.ID] = true
	return job.Started{Handle: run.Handle(a.ID)}, nil
}

func (t *targets) Status(_ context.Context, a job.Attempt, _ run.Handle) (job.Status, error) {
	if t.running[a.ID] {
		return job.Status{}, nil
	}
	return job.Status{Done: true, Result: run.ResultSuccess}, nil
}

// stoppable is a target that can stop its jobs.
type stoppable struct{ *targets }

func (t stoppable) Stop(_ context.Context, a job.Attempt, _ run.Handle) error {
	t.stopped = append(t.stopped, a.ID)
	if !t.slow {
		t.running[a.ID] = false
	}
	return nil
}

// local is a target on the machine of one replica.
type local struct{ *targets }

func (local) OnThisReplica() bool { return true }

// newWorld starts with the given pipeline files.
func newWorld(t controllertest.T, files ...string) *world {
	t.Helper()
	return newWorldOn(t, memory.New(), files...)
}

func newWorldOn(t controllertest.T, s *memory.Store, files ...string) *world {
	t.Helper()
	jobs := &targets{running: map[run.AttemptID]bool{}}
	types := map[string]job.Type{"command": stoppable{jobs}, "lambda": jobs, "http": local{jobs}}
	w := &world{T: t, Controller: controllertest.New(t, s, types), jobs: jobs, files: map[string]string{}}
	w.apply(files...)
	w.Settle()
	return w
}

var ctx = context.Background()

// apply adds files to the active ones; the id in a file identifies it.
func (w *world) apply(files ...string) {
	w.Helper()
	for _, text := range files {
		_, rest, _ := strings.Cut(text, "id: ")
		id := strings.FieldsFunc(rest, func(c rune) bool { return strings.ContainsRune(" ,}\n", c) })[0]
		w.files[id] = text
	}
	w.reload()
}

// remove removes a pipeline's file.
func (w *world) remove(id string) {
	w.Helper()
	delete(w.files, id)
	w.reload()
}

func (w *world) reload() {
	w.Helper()
	var texts []string
	for _, id := range slices.Sorted(maps.Keys(w.files)) {
		texts = append(texts, w.files[id])
	}
	w.Apply(texts...)
}

// sleep advances the clock while no controller runs.
func (w *world) sleep(d time.Duration) { w.Move(w.Now().Add(d)) }

// run returns a run; the zero Run if there is none.
func (w *world) run(text string) run.Run {
	w.Helper()
	r, err := w.Store.Run(ctx, w.Key(text))
	if !errors.Is(err, store.ErrNotFound) {
		w.Check(err)
	}
	return r
}

// stands returns the status and attempt of a run, such as "RUNNING 1".
func (w *world) stands(text string) string {
	w.Helper()
	r := w.run(text)
	if r.Status == "" {
		return "none"
	}
	return fmt.Sprintf("%s %d", r.Status, r.Attempt)
}

// expect fails the test unless a run has that status and attempt.
func (w *world) expect(text, want string) {
	w.Helper()
	if got := w.stands(text); got != want {
		w.Fatalf("%s is %s, want %s\n%s", text, got, want, strings.Join(w.eventLines(), "\n"))
	}
}

// finish reports the result of a run's job, and handles everything that follows.
func (w *world) finish(text string, result run.Result, category run.Category) {
	w.Helper()
	w.report(text, result, category)
	w.Settle()
}

func (w *world) report(text string, result run.Result, category run.Category) {
	w.Helper()
	key := w.Key(text)
	done, err := w.Router.Report(ctx, run.Outcome{Key: key, Report: run.Report{Result: result, Category: category, Message: "said the test"}}, w.Now())
	w.Check(err)
	if done.Late {
		w.Fatalf("no result of %s is awaited: it is %s", text, w.stands(text))
	}
	w.jobs.running[done.Run.ID()] = false
}

func (w *world) succeed(text string) {
	w.Helper()
	w.finish(text, run.ResultSuccess, "")
}

// events lists the emitted events, oldest first.
func (w *world) events() []event.Event {
	w.Helper()
	stored, err := w.Store.EventsAfter(ctx, 0, store.MaxPage)
	w.Check(err)
	events := make([]event.Event, len(stored))
	for i, s := range stored {
		events[i] = s.Event
		w.Check(s.Event.Validate())
	}
	return events
}

// eventLines lists the events of those types, each as "TYPE date attempt: message", without
// accepted files.
func (w *world) eventLines(types ...event.Type) []string {
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

// count returns the number of events of a type.
func (w *world) count(t event.Type) int {
	w.Helper()
	return len(w.eventLines(t))
}

// only returns the only event of a type.
func (w *world) only(t event.Type) event.Event {
	w.Helper()
	var found []event.Event
	for _, e := range w.events() {
		if e.Type == t {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		w.Fatalf("%d events %s, want one:\n%s", len(found), t, strings.Join(w.eventLines(), "\n"))
	}
	return found[0]
}

// types lists the types of events about a pipeline, oldest first, without those about files.
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

func same[T any](t controllertest.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(run.Key{}, period.Period{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var _ controllertest.T = (*testing.T)(nil)

// refused fails the test unless err is a refusal of that kind.
func refused(t controllertest.T, err error, kind router.RefusalKind) {
	t.Helper()
	var r *router.Refusal
	if !errors.As(err, &r) || r.Kind != kind {
		t.Fatalf("got %v, want a refusal: %s", err, kind)
	}
}

// rerun requests another attempt, and handles everything that follows.
func (w *world) rerun(q router.RerunRequest) store.Rerun {
	w.Helper()
	q.By, q.Reason = "ada", "tested"
	answer, err := w.Router.Rerun(ctx, q, w.Now())
	w.Check(err)
	w.Settle()
	return answer
}

// trigger opens the run of a period, and handles everything that follows.
func (w *world) trigger(id, date string) {
	w.Helper()
	q := router.TriggerRequest{ID: "trigger " + date, Pipeline: pipeline.ID(id), By: "ada", Reason: "tested"}
	if date != "" {
		q.Period = w.Period(date)
	}
	_, err := w.Router.Trigger(ctx, q, w.Now())
	w.Check(err)
	w.Settle()
}
