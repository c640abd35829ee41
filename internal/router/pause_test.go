package router_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// pause pauses a pipeline and handles everything that follows.
func (w *world) pause(id string, p store.Pause) {
	w.Helper()
	p.By, p.Why = "ada", "tested"
	_, err := w.Router.Pause(ctx, pipeline.ID(id), p, w.Now())
	w.Check(err)
	w.Settle()
}

func (w *world) resume(id string) {
	w.Helper()
	w.Check(w.Router.Resume(ctx, pipeline.ID(id), "ada", "done", w.Now()))
	w.Settle()
}

func TestPauseOpensNothingAndItsEndOpensMetConditions(t *testing.T) {
	w := newWorld(t, plain)
	w.pause("plain", store.Pause{})
	w.Write("plain", "arrival#2026-03-01", "status=ready")
	w.Write("plain", "arrival#2026-03-02", "status=ready")
	w.sleep(time.Minute)
	w.Write("plain", "arrival#2026-03-02", "status=pending")
	w.Write("plain", "arrival", "status=ready")
	for _, day := range []string{"01", "02", "03"} {
		w.expect("plain/stream/2026-03-"+day, "none")
	}
	w.sleep(time.Hour)
	w.resume("plain")
	w.expect("plain/stream/2026-03-01", "RUNNING 1")
	w.expect("plain/stream/2026-03-02", "none")
	w.expect("plain/stream/2026-03-03", "RUNNING 1")
	same(t, "events", []event.Type{event.PipelinePaused, event.PipelineResumed}, w.types("plain")[:2])
}

func TestFiresOfAPauseOpenWithinTheirWindowAndOthersAreMissed(t *testing.T) {
	w := newWorld(t, hourly(", evaluation: {window: 90m, interval: 5m}"))
	w.pause("hourly", store.Pause{})
	w.Pass(4 * time.Hour) // fires at 10:05, 11:05, 12:05, 13:05; now 13:10
	w.expect("hourly/cron/2026-03-03T12", "none")
	w.resume("hourly")
	same(t, "missed", []string{"2026-03-03T10", "2026-03-03T11"}, w.only(event.ScheduleMissed).Detail.Extra.(event.Missed).Dates)
	w.expect("hourly/cron/2026-03-03T12", "RUNNING 1")
	w.expect("hourly/cron/2026-03-03T13", "RUNNING 1")
}

func TestLateDataAndFailuresWaitForTheEndOfThePause(t *testing.T) {
	w := newWorld(t, plain, retried)
	w.Write("plain", "arrival", "status=ready", "n=1")
	w.Write("retried", "arrival", "n=1")
	w.pause("plain", store.Pause{})
	w.pause("retried", store.Pause{})
	w.sleep(time.Minute)
	w.Write("plain", "arrival", "status=ready", "n=2")
	w.succeed(plainRun)
	w.finish(retriedRun, run.ResultFail, run.Transient)
	w.expect(plainRun, "COMPLETED 1")
	w.expect(retriedRun, "FAILED 1")
	w.resume("plain")
	w.resume("retried")
	w.expect(plainRun, "RUNNING 2")
	w.expect(retriedRun, "PENDING 2")
}

func TestInputFromBeforeAPauseIsLateDataOfARunThatCompletedInIt(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival", "status=ready", "n=1")
	w.sleep(time.Minute)
	w.Write("plain", "arrival", "status=ready", "n=2")
	w.sleep(time.Minute)
	w.pause("plain", store.Pause{})
	w.succeed(plainRun)
	w.expect(plainRun, "COMPLETED 1")
	w.resume("plain")
	w.expect(plainRun, "RUNNING 2")
}

func TestPauseEndsAutomatically(t *testing.T) {
	w := newWorld(t, plain)
	w.pause("plain", store.Pause{Until: w.Now().Add(time.Hour)})
	w.Write("plain", "arrival", "status=ready")
	w.Pass(59 * time.Minute)
	w.expect(plainRun, "none")
	w.Pass(time.Minute)
	w.expect(plainRun, "RUNNING 1")
	same(t, "event", "interlock", w.only(event.PipelineResumed).Detail.Extra.(event.Pause).By)
}

func TestPauseEndsByItselfAlsoWhileItsFileIsGone(t *testing.T) {
	w := newWorld(t, hourly(""))
	w.pause("hourly", store.Pause{Until: w.Now().Add(30 * time.Minute)})
	w.remove("hourly")
	w.Pass(time.Hour)
	w.apply(hourly(""))
	w.Pass(time.Hour)
	w.expect("hourly/cron/2026-03-03T11", "RUNNING 1")
	w.only(event.PipelineResumed)
}

func TestPausingAgainChangesTheEndAndNotTheStart(t *testing.T) {
	w := newWorld(t, plain)
	began := w.Now()
	w.pause("plain", store.Pause{Until: w.Now().Add(time.Hour)})
	w.Pass(30 * time.Minute)
	w.pause("plain", store.Pause{})
	w.Pass(2 * time.Hour)
	row, err := w.Store.Pipeline(ctx, "plain")
	w.Check(err)
	same(t, "pause", store.Pause{By: "ada", Why: "tested", Since: began}, row.Pause)
}

// due has a deadline at noon.
const due = `
pipeline: {id: due, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
sla: {deadline: "12:00"}
job: {type: command, config: {command: "true"}}
`

func TestDeadlinesContinueUnlessThePauseHoldsThem(t *testing.T) {
	w := newWorld(t, due)
	w.pause("due", store.Pause{})
	w.Pass(4 * time.Hour)
	same(t, "breached", 1, w.count(event.SLABreach))

	w = newWorld(t, due)
	w.pause("due", store.Pause{HoldSLA: true})
	w.Pass(4 * time.Hour)
	same(t, "breached", 0, w.count(event.SLABreach))
	for _, e := range w.events() {
		if e.Type == event.SLACancelled {
			same(t, "reason", "paused", e.Detail.Extra.(event.Deadline).Reason)
		}
	}
	w.resume("due")
	w.Pass(24 * time.Hour)
	same(t, "breached on the first day after the pause", []string{"SLA_BREACH 2026-03-04 0: not completed by 2026-03-04T12:00:00Z: there is no run yet; not satisfied: arrival (no reading)"}, w.eventLines(event.SLABreach))
}

func TestDeadlinesOfAFileThatReturnsCountAgain(t *testing.T) {
	w := newWorld(t, due)
	w.remove("due")
	w.Pass(time.Hour)
	w.apply(due)
	w.Pass(4 * time.Hour)
	same(t, "cancelled", 2, w.count(event.SLACancelled))
	same(t, "breached", []string{"SLA_BREACH 2026-03-03 0: not completed by 2026-03-03T12:00:00Z: there is no run yet; not satisfied: arrival (no reading)"}, w.eventLines(event.SLABreach))
}

func TestDeadlinesOfARemovedPipelineAreCancelled(t *testing.T) {
	w := newWorld(t, due)
	w.remove("due")
	w.Pass(48 * time.Hour)
	same(t, "breached", 0, w.count(event.SLABreach))
	same(t, "cancelled", 2, w.count(event.SLACancelled))
}

func TestPauseAndResumeRefusals(t *testing.T) {
	w := newWorld(t, plain)
	_, err := w.Router.Pause(ctx, "nobody", store.Pause{By: "ada", Why: "tested"}, w.Now())
	refused(t, err, router.NotFound)
	_, err = w.Router.Pause(ctx, "plain", store.Pause{By: "ada"}, w.Now())
	refused(t, err, router.Invalid)
	_, err = w.Router.Pause(ctx, "plain", store.Pause{By: "ada", Why: "tested", Until: w.Now()}, w.Now())
	refused(t, err, router.Invalid)
	refused(t, w.Router.Resume(ctx, "plain", "ada", "", w.Now()), router.Conflict)
	refused(t, w.Router.Resume(ctx, "nobody", "ada", "", w.Now()), router.NotFound)
}

// A pause may last longer than the time limit of an attempt, whose job has ended.
func TestFailureDuringALongPauseIsRetriedAfterIt(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: orders, owner: data}
schedule: {trigger: {key: a, check: equals, field: status, value: ready}}
job: {type: command, config: {command: "true"}, maxRetries: 2}
`)
	w.Write("orders", "a#2026-03-03", "status=ready")
	w.Pass(time.Second)
	_, err := w.Router.Pause(ctx, "orders", store.Pause{By: "ada", Why: "maintenance"}, w.Now())
	w.Check(err)
	w.Settle()
	w.Pass(time.Minute)
	_, err = w.Router.Report(ctx, run.Outcome{Key: w.Key("orders/stream/2026-03-03"), Attempt: 1, Report: run.Report{Result: run.ResultFail, Category: run.Transient, Message: "the network"}}, w.Now())
	w.Check(err)
	w.Settle()
	w.Pass(6 * time.Hour)
	w.expect("orders/stream/2026-03-03", "FAILED 1")
	w.Check(w.Router.Resume(ctx, "orders", "ada", "done", w.Now()))
	w.Settle()
	w.Pass(time.Minute)
	w.expect("orders/stream/2026-03-03", "RUNNING 2")
}
