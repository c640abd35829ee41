package router_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const day3 = "orders/stream/2026-03-03"

// exhausted returns a world in which the window of orders has closed at 10:10.
func exhausted(t *testing.T) *world {
	w := newWorld(t, orders)
	w.Write("orders", "arrival", "status=ready", "n=1")
	w.Pass(time.Hour)
	w.expect(day3, "VALIDATION_EXHAUSTED 1")
	return w
}

func TestChangedWriteThatMeetsTheStartConditionReopensAnExhaustedRun(t *testing.T) {
	w := exhausted(t)
	w.sleep(time.Minute)
	w.Write("orders", "arrival", "status=ready", "n=2")
	w.expect(day3, "PENDING 2")
	w.sleep(time.Minute)
	w.Write("orders", "quality", "verdict=good")
	w.expect(day3, "RUNNING 2")
	same(t, "counter", 1, w.run(day3).Counters.Reopenings)
}

func TestIdenticalWriteReopensNothing(t *testing.T) {
	w := exhausted(t)
	w.sleep(time.Minute)
	w.Write("orders", "arrival", "status=ready", "n=1")
	w.expect(day3, "VALIDATION_EXHAUSTED 1")
}

func TestWriteThatDoesNotMeetTheStartConditionReopensNothing(t *testing.T) {
	w := exhausted(t)
	w.sleep(time.Minute)
	w.Write("orders", "arrival", "status=pending", "n=2")
	w.expect(day3, "VALIDATION_EXHAUSTED 1")
}

func TestReopeningIsBounded(t *testing.T) {
	w := exhausted(t)
	for n := range 10 {
		w.sleep(time.Minute)
		w.Write("orders", "arrival", "status=ready", "n="+strings.Repeat("x", n+2))
		w.Pass(2 * time.Hour)
	}
	w.expect(day3, "VALIDATION_EXHAUSTED 6")
}

func TestWriteFromBeforeTheWindowEndedReopensNothing(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival", "status=ready", "n=1")
	w.sleep(59 * time.Minute)
	w.Put("orders", "arrival", "status=ready", "n=2")
	w.sleep(time.Minute)
	for w.Work() { // the feed lags behind the last evaluation
	}
	w.expect(day3, "VALIDATION_EXHAUSTED 1")
	w.Settle()
	w.expect(day3, "VALIDATION_EXHAUSTED 1")
}

func TestWriteStoredAfterTheLastEvaluationReopensTheRunWhateverItsTime(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival", "status=ready", "n=1")
	w.sleep(time.Hour + time.Millisecond)
	w.duringCommit(day3, func() {
		w.sleep(-time.Millisecond) // by the clock of another process
		w.Put("orders", "arrival", "status=ready", "n=2")
	})
	w.expect(day3, "VALIDATION_EXHAUSTED 1")
	w.Settle()
	w.expect(day3, "PENDING 2")
}

func TestGateThatOpensAfterTheLastEvaluationIsReportedWhateverItsTime(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival", "status=ready")
	w.sleep(time.Hour + time.Millisecond)
	w.duringCommit(day3, func() {
		w.sleep(-time.Millisecond) // by the clock of another process
		w.Put("orders", "quality", "verdict=good")
	})
	w.Settle()
	w.expect(day3, "VALIDATION_EXHAUSTED 1")
	same(t, "what follows", "window closed", w.only(event.LateDataArrival).Detail.Extra.(event.Late).Reason)
}

func TestWriteThatWouldOpenTheGateOfAnExhaustedRunIsReportedOnceWithTheCommand(t *testing.T) {
	w := exhausted(t)
	for _, verdict := range []string{"bad", "good", "bad", "good"} {
		w.sleep(time.Minute)
		w.Write("orders", "quality", "verdict="+verdict)
	}
	w.expect(day3, "VALIDATION_EXHAUSTED 1")
	late := w.only(event.LateDataArrival)
	same(t, "what follows", "orders/quality: window closed", lateText(late))
	if want := "interlock rerun orders --date 2026-03-03"; !strings.Contains(late.Detail.Message, want) {
		t.Errorf("%q does not name %q", late.Detail.Message, want)
	}
}

func TestUndatedWriteThatWouldOpenTheGateOfAnotherPeriodIsReported(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival#2026-02-01", "status=ready")
	w.Pass(time.Hour)
	w.expect("orders/stream/2026-02-01", "VALIDATION_EXHAUSTED 1")
	for range 2 {
		w.sleep(time.Minute)
		w.Write("orders", "quality", "verdict=good")
	}
	w.expect("orders/stream/2026-02-01", "VALIDATION_EXHAUSTED 1")
	late := w.only(event.LateDataArrival)
	same(t, "date", "2026-02-01", late.Detail.Date.String())
	same(t, "what follows", "orders/quality: window closed", lateText(late))
}

func TestUndatedWriteReportsNothingAboutWindowsOfLongAgo(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival#2026-02-01", "status=ready")
	w.Pass(26 * time.Hour)
	w.Write("orders", "quality", "verdict=good")
	same(t, "events", 0, w.count(event.LateDataArrival))
}

// The command in the message must be one that is accepted.
func TestCommandThatStartsAnExhaustedRunSkipsASpentBudget(t *testing.T) {
	w := exhausted(t)
	if answer := w.rerun(router.RerunRequest{ID: "one", Pipeline: "orders", Period: w.Period("2026-03-03")}); !answer.Accepted {
		t.Fatalf("rejected: %s", answer.Why)
	}
	w.Pass(2 * time.Hour)
	w.expect(day3, "VALIDATION_EXHAUSTED 2")
	w.Write("orders", "quality", "verdict=good")
	message := w.only(event.LateDataArrival).Detail.Message
	if want := "`interlock rerun orders --date 2026-03-03 --force --reason WHY` starts it (maxManualReruns: 1 used up)"; !strings.Contains(message, want) {
		t.Errorf("got %q, want %q", message, want)
	}
}

func TestFirstWriteOfADayReopensEvenWithYesterdaysData(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: nightly, owner: data}
schedule:
  cron: "0 5 * * *"
  trigger: {key: arrival, check: equals, field: status, value: ready}
  evaluation: {window: 1h, interval: 5m}
job: {type: command, config: {command: "true"}}
`)
	w.Write("nightly", "arrival", "status=ready")
	w.Pass(21 * time.Hour) // past the window of the fourth, which yesterday's reading did not open
	w.expect("nightly/cron/2026-03-04", "VALIDATION_EXHAUSTED 1")
	w.Write("nightly", "arrival", "status=ready")
	w.expect("nightly/cron/2026-03-04", "RUNNING 2")
}

const closing = `
pipeline: {id: closing, owner: data}
schedule: {trigger: {key: arrival, check: exists, deadline: "10:00"}}
job: {type: command, config: {command: "true"}}
`

func TestStartConditionAfterItsDeadlineClosesTheRun(t *testing.T) {
	w := newWorld(t, closing)
	w.sleep(time.Hour)
	w.Write("closing", "arrival", "n=1")
	w.expect("closing/stream/2026-03-03", "VALIDATION_EXHAUSTED 0")
	same(t, "events", []event.Type{event.SensorDeadlineExpired, event.LateDataArrival}, w.types("closing"))
	w.sleep(time.Minute)
	w.Write("closing", "arrival", "n=2")
	w.expect("closing/stream/2026-03-03", "VALIDATION_EXHAUSTED 0")
	same(t, "events", []event.Type{event.SensorDeadlineExpired, event.LateDataArrival}, w.types("closing"))
}

// Nothing starts by itself after the deadline, also if the condition was met in time and the
// controller was away: the event says so.
func TestStartConditionHandledAfterItsDeadlineStartsNothing(t *testing.T) {
	w := newWorld(t, closing)
	w.Put("closing", "arrival", "n=1")
	w.sleep(time.Hour)
	w.Settle()
	w.Pass(time.Minute)
	w.expect("closing/stream/2026-03-03", "VALIDATION_EXHAUSTED 1")
	if message := w.only(event.ValidationExhausted).Detail.Message; !strings.Contains(message, "the start condition's deadline, 2026-03-03T10:00:00Z") {
		t.Errorf("%q does not name the deadline", message)
	}
}

func TestDeadlineOfAnUnexpectedPeriodSendsNoAlert(t *testing.T) {
	w := newWorld(t, closing)
	w.Write("closing", "arrival#2026-02-01", "n=1")
	w.expect("closing/stream/2026-02-01", "none")
	same(t, "deadline", 0, w.count(event.SensorDeadlineExpired))
	if want := "interlock trigger closing --date 2026-02-01"; !strings.Contains(w.only(event.LateDataArrival).Detail.Message, want) {
		t.Errorf("%q does not name %q", w.only(event.LateDataArrival).Detail.Message, want)
	}
}

func TestExhaustedRunOfAPausedPipelineReopensAfterThePause(t *testing.T) {
	w := exhausted(t)
	w.pause("orders", store.Pause{})
	w.sleep(time.Minute)
	w.Write("orders", "arrival", "status=ready", "n=2")
	w.expect(day3, "VALIDATION_EXHAUSTED 1")
	w.resume("orders")
	w.expect(day3, "PENDING 2")
}

// exhaustedDependent returns a world in which the window of b has closed, an hour after a completed.
func exhaustedDependent(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, source("a", ""), `
pipeline: {id: b, owner: data}
schedule: {after: [a]}
validation: {rules: [{key: quality, check: exists}]}
job: {type: command, config: {command: "true"}}
`)
	w.Write("a", "arrival", "n=1")
	w.succeed("a/stream/2026-03-03")
	w.Pass(time.Hour)
	return w
}

func TestNewCompletionOfAnUpstreamReopensAnExhaustedRun(t *testing.T) {
	w := exhaustedDependent(t)
	w.expect("b/stream/2026-03-03", "VALIDATION_EXHAUSTED 1")
	w.Write("a", "arrival", "n=2")
	w.expect("b/stream/2026-03-03", "VALIDATION_EXHAUSTED 1")
	w.sleep(time.Minute)
	w.succeed("a/stream/2026-03-03")
	w.expect("b/stream/2026-03-03", "PENDING 2")
}

func TestReadingThatOpensTheGateOfAnExhaustedDependentReopensNothing(t *testing.T) {
	w := exhaustedDependent(t)
	w.sleep(time.Minute)
	w.Write("b", "quality", "n=1")
	w.expect("b/stream/2026-03-03", "VALIDATION_EXHAUSTED 1")
	same(t, "event", "window closed", w.only(event.LateDataArrival).Detail.Extra.(event.Late).Reason)
}

func TestRedeliveredOldWriteReportsNothingAboutLaterOnes(t *testing.T) {
	w := newWorld(t, orders)
	w.Put("orders", "arrival#2026-02-01", "status=ready", "n=1")
	before := w.Changes()
	for _, c := range before {
		w.Check(w.Router.Handle(ctx, c, w.Now()))
	}
	w.Pass(time.Hour)
	w.expect("orders/stream/2026-02-01", "VALIDATION_EXHAUSTED 1")
	w.sleep(time.Minute)
	w.Put("orders", "quality#2026-02-01", "verdict=bad")
	after := w.Changes()
	for _, c := range after {
		w.Check(w.Router.Handle(ctx, c, w.Now()))
	}
	w.sleep(time.Minute)
	w.Write("orders", "quality#2026-02-01T07", "verdict=good")
	w.Write("orders", "quality", "verdict=good") // an undated reading; the dated one takes precedence
	same(t, "events", 0, w.count(event.LateDataArrival))
	for _, c := range append(before, after...) {
		w.Check(w.Router.Handle(ctx, c, w.Now()))
	}
	same(t, "events", 0, w.count(event.LateDataArrival))
}

func TestStartIsNotClosedBeforeItsDeadlineNorIfARunExists(t *testing.T) {
	w := newWorld(t, closing)
	closeIt := func() bool {
		closed, err := w.Router.CloseStart(ctx, w.Key("closing/stream/2026-03-03"), w.Now())
		w.Check(err)
		return closed
	}
	same(t, "before", false, closeIt())
	w.sleep(time.Hour)
	same(t, "after", true, closeIt())
	same(t, "again", false, closeIt())
	w.Write("closing", "arrival#2026-03-02", "n=1")
	same(t, "events", 1, w.count(event.SensorDeadlineExpired))
}

func TestOneOfTwoReplicasClosesTheStart(t *testing.T) {
	w := newWorld(t, closing)
	w.sleep(time.Hour)
	key := w.Key("closing/stream/2026-03-03")
	first, m := twins(w)
	m.others = append(m.others, func() {
		closed, err := w.Router.CloseStart(ctx, key, w.Now().Add(time.Second))
		w.Check(err)
		same(t, "the one that commits first", true, closed)
	})
	closed, err := first.CloseStart(ctx, key, w.Now())
	w.Check(err)
	same(t, "the other one", false, closed)
	same(t, "events", 1, w.count(event.SensorDeadlineExpired))
}

const waiting = `
pipeline: {id: waiting, owner: data}
schedule: {cron: "30 9 * * *", evaluation: {window: 6h}, trigger: {key: arrival, check: exists, deadline: "10:00"}}
job: {type: command, config: {command: "true"}}
`

// The deadline of a start condition also closes the automatic window of a run that cron has opened.
func TestRunThatCronOpenedWaitsForItsConditionUntilTheDeadline(t *testing.T) {
	w := newWorld(t, waiting)
	w.Pass(25 * time.Minute)
	w.expect("waiting/cron/2026-03-03", "PENDING 1")
	same(t, "window", time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC), w.run("waiting/cron/2026-03-03").Progress.WindowEnd)
	w.Pass(30 * time.Minute)
	w.expect("waiting/cron/2026-03-03", "VALIDATION_EXHAUSTED 1")
	w.Write("waiting", "arrival", "n=1")
	w.expect("waiting/cron/2026-03-03", "VALIDATION_EXHAUSTED 1")
	same(t, "late", "window closed", w.only(event.LateDataArrival).Detail.Extra.(event.Late).Reason)
	w.trigger("waiting", "")
	w.expect("waiting/cron/2026-03-03", "RUNNING 2")
}

func TestWriteAfterTheDeadlineReopensNothing(t *testing.T) {
	w := newWorld(t, strings.Replace(closing, "10:00\"}", "10:00\"}, evaluation: {window: 10m}", 1)+"validation: {rules: [{key: quality, check: exists}]}\n")
	w.Write("closing", "arrival", "n=1")
	w.Pass(15 * time.Minute)
	w.expect("closing/stream/2026-03-03", "VALIDATION_EXHAUSTED 1")
	w.sleep(time.Hour)
	w.Write("closing", "arrival", "n=2")
	w.expect("closing/stream/2026-03-03", "VALIDATION_EXHAUSTED 1")
}

// The first attempt of a run that its deadline closed is not a rerun.
func TestTriggerOfAClosedRunUsesNoBudget(t *testing.T) {
	w := newWorld(t, strings.Replace(closing, "job: {", "job: {maxManualReruns: 0, ", 1))
	w.sleep(time.Hour)
	w.Write("closing", "arrival", "n=1")
	w.expect("closing/stream/2026-03-03", "VALIDATION_EXHAUSTED 0")
	w.trigger("closing", "")
	w.expect("closing/stream/2026-03-03", "RUNNING 1")
	same(t, "manual reruns", 0, w.run("closing/stream/2026-03-03").Counters.ManualReruns)
}

const closingAtTen = `
pipeline: {id: closing, owner: data}
schedule: {cron: "0 9 * * *", timezone: UTC, maxActive: 1, evaluation: {window: 6h, interval: 5m}, trigger: {key: arrival, check: exists, deadline: "10:00"}}
job: {type: command, config: {command: "true"}, maxRetries: 3, retryBackoff: 1m, jobPollWindowSeconds: 86400}
`

// No automatic start happens after the deadline of the start condition. A rerun is requested.
func TestNothingStartsByItselfAfterTheStartDeadline(t *testing.T) {
	const key = "closing/cron/2026-03-04"
	fail := func(w *world) {
		_, err := w.Router.Report(ctx, run.Outcome{Key: w.Key(key), Report: run.Report{Result: run.ResultFail, Category: run.Transient, Message: "lost"}}, w.Now())
		w.Check(err)
		w.Settle()
	}
	// at moves to a time of day on the day of the run.
	at := func(w *world, clock string) {
		to, err := time.Parse(time.DateTime, "2026-03-04 "+clock+":00")
		w.Check(err)
		w.Pass(to.Sub(w.Now()))
	}
	for name, c := range map[string]struct {
		steps func(w *world)
		want  string
		event event.Type
	}{
		"a failure at the deadline is not retried": {func(w *world) {
			w.Write("closing", "arrival#2026-03-04", "n=1")
			at(w, "10:30")
			fail(w)
		}, "FAILED_FINAL 1", event.RetryExhausted},
		"a retry that waits ends": {func(w *world) {
			w.Write("closing", "arrival#2026-03-04", "n=1")
			at(w, "09:50")
			w.Delete("closing", "arrival#2026-03-04")
			w.Settle()
			fail(w)
			at(w, "10:30")
			w.Write("closing", "arrival#2026-03-04", "n=2")
		}, "FAILED_FINAL 2", event.RetryExhausted},
		"a run that waits for a slot ends": {func(w *world) {
			at(w, "08:00")
			w.Write("closing", "arrival#2026-03-03", "n=1")
			_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: "t", Pipeline: "closing", Period: w.Period("2026-03-03"), By: "ada", Reason: "r"}, w.Now())
			w.Check(err)
			w.Settle()
			w.expect("closing/cron/2026-03-03", "RUNNING 1")
			w.Write("closing", "arrival#2026-03-04", "n=1")
			at(w, "09:30")
			w.expect(key, "PENDING 1")
			at(w, "10:30")
			w.jobs.running["closing/cron/2026-03-03/1"] = false
			at(w, "11:00")
		}, "VALIDATION_EXHAUSTED 1", event.ValidationExhausted},
		"a triggered run and its retry start": {func(w *world) {
			w.Write("closing", "arrival#2026-03-04", "n=1")
			at(w, "09:30")
			_, err := w.Router.Cancel(ctx, w.Key(key), "ada", "r", w.Now())
			w.Check(err)
			w.Settle()
			at(w, "11:00")
			_, err = w.Router.Trigger(ctx, router.TriggerRequest{ID: "t", Pipeline: "closing", Period: w.Period("2026-03-04"), By: "ada", Reason: "r"}, w.Now())
			w.Check(err)
			w.Settle()
			w.expect(key, "RUNNING 2")
			fail(w)
			at(w, "11:10")
		}, "RUNNING 3", event.RetryScheduled},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, closingAtTen)
			c.steps(w)
			w.expect(key, c.want)
			if w.count(c.event) == 0 {
				t.Errorf("no event %s", c.event)
			}
		})
	}
}
