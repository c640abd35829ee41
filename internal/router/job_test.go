package router_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const retried = `
pipeline: {id: retried, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}, maxRetries: 2, maxCodeRetries: 1, retryBackoff: 1m}
`

const retriedRun = "retried/stream/2026-03-03"

func TestFailureIsRetriedWithADoublingBackoff(t *testing.T) {
	w := newWorld(t, retried)
	w.Write("retried", "arrival", "n=1")
	for n, longest := range []time.Duration{time.Minute, 2 * time.Minute} {
		w.finish(retriedRun, run.ResultFail, run.Transient)
		next := w.run(retriedRun)
		same(t, "attempt", n+2, next.Attempt)
		wait := next.Progress.WindowStart.Sub(w.Now())
		if wait > longest || wait < longest*4/5 {
			t.Errorf("attempt %d waits %s, want at most %s less a fifth", n+2, wait, longest)
		}
		w.Pass(wait)
		if got := w.stands(retriedRun); got != "RUNNING "+string(rune('2'+n)) {
			t.Fatalf("after the backoff the run is %s", got)
		}
	}
	w.finish(retriedRun, run.ResultFail, run.Transient)
	w.expect(retriedRun, "FAILED_FINAL 3")
	same(t, "scheduled", 2, w.count(event.RetryScheduled))
	last := w.only(event.RetryExhausted)
	same(t, "budget", event.Budget{Cause: run.CauseTransient, Used: 2, Max: 2}, last.Detail.Extra.(event.Budget))
	same(t, "opened", 3, w.count(event.TriggerStarted))
	first := []event.Type{event.TriggerStarted, event.ValidationPassed, event.JobTriggered, event.JobFailed, event.RetryScheduled, event.TriggerStarted}
	same(t, "events in the order in which they happened", first, w.types("retried")[:len(first)])
}

func TestFailureEventNamesTheNextAttempt(t *testing.T) {
	w := newWorld(t, retried)
	w.Write("retried", "arrival", "n=1")
	said := func() (at []time.Time) {
		for _, e := range w.events() {
			if e.Type == event.JobFailed {
				at = append(at, e.Detail.Extra.(event.Finished).NextAttemptAt)
			}
		}
		return at
	}
	var want []time.Time
	for range 2 {
		w.finish(retriedRun, run.ResultFail, run.Transient)
		want = append(want, w.run(retriedRun).Progress.WindowStart)
		same(t, "said", want, said())
		w.Pass(2 * time.Minute)
	}
	w.finish(retriedRun, run.ResultFail, run.Transient)
	same(t, "said once the budget is spent", append(want, time.Time{}), said())
	same(t, "events of failures", 3, w.count(event.JobFailed))
}

func TestFailureDuringAPausePromisesNoAttempt(t *testing.T) {
	w := newWorld(t, retried)
	w.Write("retried", "arrival", "n=1")
	w.pause("retried", store.Pause{By: "ann", Why: "maintenance"})
	w.finish(retriedRun, run.ResultFail, run.Transient)
	if at := w.only(event.JobFailed).Detail.Extra.(event.Finished).NextAttemptAt; !at.IsZero() {
		t.Errorf("the event promises an attempt at %s", at)
	}
}

func TestEachCauseHasItsOwnBudget(t *testing.T) {
	w := newWorld(t, retried)
	w.Write("retried", "arrival", "n=1")
	for n, category := range []run.Category{run.Transient, run.Permanent, run.Timeout, run.Permanent} {
		w.finish(retriedRun, run.ResultFail, category)
		if n < 3 {
			w.Pass(15 * time.Minute)
		}
	}
	w.expect(retriedRun, "FAILED_FINAL 4")
	same(t, "counters", run.Counters{Retries: 2, CodeRetries: 1}, w.run(retriedRun).Counters)
	same(t, "the budget that was spent", run.CauseCode, w.only(event.RetryExhausted).Detail.Extra.(event.Budget).Cause)
}

func TestFailureHandledTwiceIsRetriedOnce(t *testing.T) {
	w := newWorld(t, retried)
	w.Write("retried", "arrival", "n=1")
	w.report(retriedRun, run.ResultFail, run.Transient)
	for w.Work() {
	}
	changes := w.Changes()
	for range 2 {
		for _, c := range changes {
			w.Check(w.Router.Handle(ctx, c, w.Now()))
		}
	}
	w.expect(retriedRun, "PENDING 2")
	same(t, "scheduled", 1, w.count(event.RetryScheduled))
}

func TestNextAttemptUsesTheNewestFile(t *testing.T) {
	w := newWorld(t, retried)
	w.Write("retried", "arrival", "n=1")
	before := w.run(retriedRun).Progress.Opening.ConfigVersion
	w.apply(`
pipeline: {id: retried, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}, maxRetries: 1}
`)
	w.Settle()
	w.finish(retriedRun, run.ResultFail, run.Transient)
	if next := w.run(retriedRun); next.Attempt != 2 || next.Progress.Opening.ConfigVersion == before {
		t.Errorf("attempt %d has version %s", next.Attempt, next.Progress.Opening.ConfigVersion)
	}
	w.Pass(15 * time.Minute)
	w.finish(retriedRun, run.ResultFail, run.Transient)
	w.expect(retriedRun, "FAILED_FINAL 2")
}

func TestFailureOfARemovedPipelineIsFinal(t *testing.T) {
	w := newWorld(t, retried)
	w.Write("retried", "arrival", "n=1")
	w.remove("retried")
	w.Settle()
	w.finish(retriedRun, run.ResultFail, run.Transient)
	w.expect(retriedRun, "FAILED_FINAL 1")
	same(t, "events", 1, w.count(event.RetryExhausted))
}

func TestDeadlineOfACancelledRunIsCancelled(t *testing.T) {
	w := newWorld(t, due)
	w.Write("due", "arrival", "n=1")
	_, err := w.Router.Cancel(ctx, w.Key("due/stream/2026-03-03"), "ada", "not needed", w.Now())
	w.Check(err)
	w.Settle()
	same(t, "reason", "cancelled", w.only(event.SLACancelled).Detail.Extra.(event.Deadline).Reason)
	w.Pass(4 * time.Hour)
	same(t, "breaches", 0, w.count(event.SLABreach))
}

func TestDeadlineOfAManualRunIsArmedWhenItOpens(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: byhand, owner: data}
sla: {deadline: "12:00"}
job: {type: command, config: {command: "true"}}
`)
	w.trigger("byhand", "")
	w.expect("byhand/manual/2026-03-03", "RUNNING 1")
	w.Pass(4 * time.Hour)
	same(t, "breaches", 1, w.count(event.SLABreach))
}

func TestEndedRunHasNoTask(t *testing.T) {
	w := newWorld(t, source("a", ""))
	w.Write("a", "arrival", "n=1")
	w.finish("a/stream/2026-03-03", run.ResultFail, run.Transient)
	w.expect("a/stream/2026-03-03", "FAILED_FINAL 1")
	if _, err := w.Store.Task(ctx, "advance/a/stream/2026-03-03"); err == nil {
		t.Error("its task still exists")
	}
}

func TestFailureThatWaitedForTheEndOfAPauseIsFinalWhenThePipelineIsRemoved(t *testing.T) {
	w := newWorld(t, retried)
	w.Write("retried", "arrival", "n=1")
	w.pause("retried", store.Pause{})
	w.finish(retriedRun, run.ResultFail, run.Transient)
	w.expect(retriedRun, "FAILED 1")
	w.remove("retried")
	w.Settle()
	w.expect(retriedRun, "FAILED_FINAL 1")
}

func TestPipelineWithoutAJobHasTheDefaultBudgets(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: gated, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
`)
	w.Write("gated", "arrival", "n=1")
	w.expect("gated/stream/2026-03-03", "RUNNING 1")
	w.finish("gated/stream/2026-03-03", run.ResultFail, run.Permanent)
	w.expect("gated/stream/2026-03-03", "PENDING 2")
	w.Pass(time.Minute)
	w.finish("gated/stream/2026-03-03", run.ResultFail, run.Transient)
	w.expect("gated/stream/2026-03-03", "FAILED_FINAL 2")
}
