package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/store"
)

// pause pauses a pipeline for that long; zero means until it is resumed.
func (w *world) pause(id string, d time.Duration) {
	w.Helper()
	p := store.Pause{By: "ann", Why: "migration"}
	if d > 0 {
		p.Until = w.Now().Add(d)
	}
	_, err := w.Router.Pause(ctx, w.Key(id+"/cron/2026-03-04").Pipeline, p, w.Now())
	w.Check(err)
	w.Settle()
}

// omits fails if the explanation's text contains one of these.
func (w *world) omits(x explain.Explanation, parts ...string) {
	w.Helper()
	for _, part := range parts {
		if strings.Contains(x.Text(), part) {
			w.Errorf("it says %q\n%s", part, x.Text())
		}
	}
}

func TestPausedRunPromisesNoEvaluation(t *testing.T) {
	w := opened(t)
	w.pause("orders", 0)
	w.Pass(20 * time.Minute)
	x := w.explain("orders", "")
	w.says(x, explain.Waiting, "the pipeline is paused, so attempt 1 does not start",
		"the gate is not evaluated during the pause; unless the pipeline is resumed before the window ends, 2026-03-04T11:00:00Z (in 2h30m), the run ends as VALIDATION_EXHAUSTED",
		"interlock resume orders")
	w.omits(x, "at once when one of its sensors is written", "; next ")
	if n := x.Next(); n.By != explain.ByOperator || !n.At.IsZero() {
		t.Errorf("next is %+v", n)
	}
}

func TestPauseThatEndsInsideTheWindowSaysWhenTheRunContinues(t *testing.T) {
	w := opened(t)
	w.pause("orders", time.Hour)
	x := w.explain("orders", "")
	w.says(x, explain.Waiting, "the pipeline is paused, so attempt 1 does not start", "the pause ends 2026-03-04T09:10:00Z (in 1h)",
		"the gate is not evaluated before the pause ends", "the window is open until 2026-03-04T11:00:00Z")
	w.omits(x, "VALIDATION_EXHAUSTED")
	if n := x.Next(); n.By != explain.ByTime || !n.At.Equal(w.Now().Add(time.Hour)) || n.Action != "resume" {
		t.Errorf("next is %+v", n)
	}
}

func TestWindowThatEndsInAPauseIsNotBlamedOnTheGate(t *testing.T) {
	w := opened(t)
	w.pause("orders", 0)
	w.Write("orders", "source#2026-03-04", "status=ready")
	w.Write("orders", "rows#2026-03-04", "count=5000")
	w.Pass(4 * time.Hour)
	x := w.explain("orders", "2026-03-04")
	w.says(x, explain.Exhausted, "the window of attempt 1 ended 2026-03-04T11:00:00Z (1h10m ago), while the pipeline was paused", "the gate would be open now")
	w.omits(x, "stayed closed")
	if cause := x.Cause(); cause.Code != explain.CausePaused {
		t.Errorf("the cause is %s: %q", cause.Code, cause)
	}
}

func TestPauseThatEndsBeforeTheFireDoesNotKeepTheRunFromOpening(t *testing.T) {
	w := newWorld(t, orders)
	w.pause("orders", time.Hour)
	x := w.explain("orders", "2026-03-04")
	w.says(x, explain.NotOpened, "the schedule opens this run 2026-03-04T08:00:00Z", "the pause ends 2026-03-03T10:10:00Z (in 1h)")
	w.omits(x, "so no run opens")
	if n := x.Next(); n.By != explain.ByTime || !n.At.Equal(time.Date(2026, 3, 4, 8, 0, 0, 0, time.UTC)) {
		t.Errorf("next is %+v", n)
	}
	w.pause("orders", 48*time.Hour)
	w.says(w.explain("orders", "2026-03-04"), explain.NotOpened, "the pipeline is paused, so no run opens")
}

func TestRefusedStartIsNotRepeatedDuringAPause(t *testing.T) {
	w := opened(t)
	w.refuse("orders/cron/2026-03-04")
	w.pause("orders", 0)
	w.Pass(5 * time.Minute)
	x := w.explain("orders", "")
	w.says(x, explain.Starting, "start call 1 of attempt 1 was refused (no reason recorded); the pipeline is paused, so it is not repeated",
		"its time limit is ", "; the run then ends as FAILED_FINAL", "interlock resume orders")
	w.omits(x, "the next one is")
	w.needs(x, explain.ByOperator, "resume")
}

func TestFireWhoseWindowEndedInAPauseIsNotOpenedByItsEnd(t *testing.T) {
	w := newWorld(t, orders)
	w.pause("orders", 0)
	w.Pass(24 * time.Hour) // the fire at eight is an hour ago, its window is 3h
	x := w.explain("orders", "2026-03-04")
	w.says(x, explain.NotOpened, "the pipeline is paused, so no run opens", "interlock resume orders")
	w.Pass(3 * time.Hour)
	x = w.explain("orders", "2026-03-04")
	w.says(x, explain.NotOpened, "the window of its fire at 2026-03-04T08:00:00Z ended 2026-03-04T11:00:00Z (1h10m ago), while the pipeline was paused",
		"the run no longer opens automatically", "interlock resume orders", "interlock trigger orders --date 2026-03-04")
	w.Check(w.Router.Resume(ctx, "orders", "ann", "done", w.Now()))
	w.Settle()
	w.says(w.explain("orders", "2026-03-04"), explain.NotOpened, "was missed")
}

func TestStartDeadlineIsAnnouncedBeforeItPasses(t *testing.T) {
	w := newWorld(t, stream)
	x := w.explain("stream", "2026-03-03")
	w.says(x, explain.NotOpened, "the start condition must be met before its deadline, 2026-03-03T18:00:00Z (in 8h50m)")
	if n := x.Next(); n.By != explain.ByData || !n.Until.Equal(time.Date(2026, 3, 3, 18, 0, 0, 0, time.UTC)) {
		t.Errorf("next is %+v", n)
	}
}

func TestDeadlineOfAPipelineWithoutAJobNeedsAReport(t *testing.T) {
	w := newWorld(t, "pipeline: {id: bare, owner: data}\nschedule: {cron: \"0 8 * * *\"}\nsla: {deadline: \"10:00\"}\n")
	w.Pass(23*time.Hour + 30*time.Minute)
	w.says(w.explain("bare", "2026-03-04"), explain.Running, "the pipeline has no job: its result is reported from outside, until 2026-03-04T12:00:00Z",
		"its absolute deadline is breached unless the result is reported before 2026-03-04T10:00:00Z (in 1h20m)",
		"interlock job complete bare/cron/2026-03-04 success\n")
	w.Pass(2 * time.Hour)
	if x := w.explain("bare", "2026-03-04"); strings.Contains(x.Text(), "unless the result") {
		t.Errorf("after the breach: %s", x.Text())
	}
}

// Without a job, the time limit ends the wait for the result that is reported from outside.
func TestResultFromOutsideIsAwaitedUntilTheTimeLimit(t *testing.T) {
	w := newWorld(t, "pipeline: {id: bare, owner: data}\nschedule: {cron: \"0 8 * * *\"}\n")
	w.Pass(23 * time.Hour)
	x := w.explain("bare", "2026-03-04")
	w.says(x, explain.Running, "its result is reported from outside, until 2026-03-04T12:00:00Z", "interlock job complete bare/cron/2026-03-04 success\n")
	if n := x.Next(); !n.Until.Equal(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("next is %+v", n)
	}
}
