package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// ready writes what the gate of orders needs for a day.
func (w *world) ready(date string) {
	w.Helper()
	w.Write("orders", "source#"+date, "status=ready")
	w.Write("orders", "rows#"+date, "count=5000")
}

// needs fails unless the explanation says that the run needs this, and offers that action.
func (w *world) needs(x explain.Explanation, by explain.By, action string) {
	w.Helper()
	if n := x.Next(); n.By != by || string(n.Action) != action {
		w.Errorf("it needs %q and offers %q, want %q and %q\n%s", n.By, n.Action, by, action, x.Text())
	}
}

// A period that nothing opens may have rules that pass, but is not open.
func TestPeriodThatNothingOpensNeedsAnOperatorThoughItsRulesPass(t *testing.T) {
	w := opened(t)
	w.ready("2026-03-01")
	x := w.explain("orders", "2026-03-01")
	w.needs(x, explain.ByOperator, "trigger")
	w.says(x, explain.NotOpened, "the run no longer opens automatically", "interlock trigger orders --date 2026-03-01")
	if !x.Gate.Open() || x.LetsStart() {
		t.Errorf("rules pass: %v, lets it start: %v", x.Gate.Open(), x.LetsStart())
	}
}

// A fire that was handled and left no run does not open one "yet".
func TestFireThatOpenedNoRunIsNotPromised(t *testing.T) {
	w := newWorld(t, orders)
	w.Move(w.Now().Add(23*time.Hour + 30*time.Second)) // just after the fire, and nothing was handled
	x := w.explain("orders", "2026-03-04")
	w.needs(x, explain.ByTime, "")
	w.says(x, explain.NotOpened, "its fire at 2026-03-04T08:00:00Z has not opened the run yet")
	row, err := w.Store.Pipeline(ctx, "orders")
	w.Check(err)
	next := row
	next.FiredThrough = w.Now()
	b := store.Batch{ID: "fired"}
	b.SwapPipeline(row, next)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
	x = w.explain("orders", "2026-03-04")
	w.needs(x, explain.ByOperator, "trigger")
	w.says(x, explain.NotOpened, "its fire at 2026-03-04T08:00:00Z opened no run")
}

func TestNextOfAWaitingRun(t *testing.T) {
	w := opened(t)
	w.needs(w.explain("orders", ""), explain.ByData, "")
	if n := w.explain("orders", "").Next(); !n.Until.Equal(w.run("orders/cron/2026-03-04").Progress.WindowEnd) {
		t.Errorf("it waits until %s", n.Until)
	}
	_, err := w.Router.Pause(ctx, "orders", store.Pause{By: "ann", Why: "migration"}, w.Now())
	w.Check(err)
	w.ready("2026-03-04")
	x := w.explain("orders", "")
	w.needs(x, explain.ByOperator, "resume")
	if x.LetsStart() {
		t.Error("a paused run is let start")
	}
	w.needs(w.explain("orders", "2026-03-05"), explain.ByOperator, "resume")
	w.Check(w.Router.Resume(ctx, "orders", "ann", "done", w.Now()))
	w.Settle()
	x = w.explain("orders", "")
	w.needs(x, explain.ByJob, "")
	if !x.LetsStart() {
		t.Error("what a job started on was not open")
	}
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultFail, Category: run.Transient, Message: "no network"})
	x = w.explain("orders", "")
	w.needs(x, explain.ByTime, "")
	if n := x.Next(); !n.At.After(w.Now()) || x.LetsStart() {
		t.Errorf("in backoff it continues at %s, lets it start: %v", n.At, x.LetsStart())
	}
	w.Pass(time.Hour)
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultFail, Category: run.Transient, Message: "no network"})
	w.needs(w.explain("orders", "2026-03-04"), explain.ByOperator, "rerun")
	w.needs(w.explain("orders", "2026-03-05"), explain.ByTime, "")
}

func TestNextOfARunThatEndedOrNeverOpens(t *testing.T) {
	w := newWorld(t, orders, stream, weekdays)
	w.needs(w.explain("weekdays", "2026-03-07"), explain.ByOperator, "trigger")
	w.needs(w.explain("stream", "2026-03-03"), explain.ByData, "")
	w.Pass(23 * time.Hour)
	key := w.Key("orders/cron/2026-03-04")
	_, err := w.Router.Cancel(ctx, key, "ann", "wrong day", w.Now())
	w.Check(err)
	w.Settle()
	w.needs(w.explain("orders", "2026-03-04"), explain.ByOperator, "rerun")
	w.Apply(stream)
	w.Settle()
	w.needs(w.explain("orders", "2026-03-04"), explain.ByNothing, "")
	w.needs(w.explain("orders", "2026-03-05"), explain.ByNothing, "")
}

func TestNextOfARunThatWaitsForASlot(t *testing.T) {
	w, x := withoutSlot(t)
	w.needs(x, explain.BySlot, "")
	if !x.LetsStart() {
		t.Error("its gate is open")
	}
}

func TestNextOfADryRunAndOfAHeldStart(t *testing.T) {
	w := newWorld(t, strings.Replace(stream, "\nschedule:", "\ndryRun: true\nschedule:", 1), orders)
	w.Write("stream", "rows#2026-03-03", "count=20")
	w.Write("stream", "landed#2026-03-03", "status=ready")
	w.needs(w.explain("stream", "2026-03-03"), explain.ByNothing, "")
	w.Pass(23 * time.Hour)
	r := w.run("orders/cron/2026-03-04")
	starting, err := r.Evaluated(true, w.Now())
	w.Check(err)
	starting, err = starting.Trigger(run.Start{Snapshot: "s"}, w.Now())
	w.Check(err)
	held, err := starting.Hold("no answer", w.Now())
	w.Check(err)
	b := store.Batch{ID: "held"}
	b.Swap(r, held)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
	w.needs(w.explain("orders", "2026-03-04"), explain.ByOperator, "job-complete")
}

func (w *world) run(key string) run.Run {
	w.Helper()
	r, err := w.Store.Run(ctx, w.Key(key))
	w.Check(err)
	return r
}

func TestJobThatReportsItselfIsNotSaidToBePolled(t *testing.T) {
	w := &world{t, controllertest.New(t, memory.New(), map[string]job.Type{"http": controllertest.Idle{}})}
	w.Apply(`
pipeline: {id: called, owner: data}
schedule: {cron: "0 8 * * *"}
job: {type: http, config: {url: "https://example.com/load", callback: true}}
`)
	w.Settle()
	w.Pass(23 * time.Hour)
	x := w.explain("called", "")
	w.says(x, explain.Running, "its job reports the result itself, until 2026-03-04T09:00:00Z (in 50m)", "interlock job complete called/cron/2026-03-04 success\n")
	w.omits(x, "polled")
}

func TestStartCallWithoutAnAnswerSaysSinceWhen(t *testing.T) {
	w := opened(t)
	r := w.run("orders/cron/2026-03-04")
	next, err := r.Evaluated(true, w.Now())
	w.Check(err)
	next, err = next.Trigger(run.Start{Snapshot: "s"}, w.Now())
	w.Check(err)
	b := store.Batch{ID: "trigger"}
	b.Swap(r, next)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
	w.Move(w.Now().Add(20 * time.Second))
	x := w.explain("orders", "")
	w.says(x, explain.Starting, "start call 1 of attempt 1 was made 2026-03-04T08:10:00Z (20s ago) and has not been answered", "its time limit is 2026-03-04T12:30:00Z")
	if cause := x.Cause(); cause.Code != explain.CauseStarting {
		t.Errorf("the cause is %s: %q", cause.Code, cause)
	}
}
