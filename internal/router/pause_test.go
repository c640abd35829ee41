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

// pause stops a pipeline, with all that follows from it.
func (w *world) pause(id string, p store.Pause) {
	w.Helper()
	p.By, p.Why = "ada", "tested"
	_, err := w.router.Pause(ctx, pipeline.ID(id), p, w.now)
	w.check(err)
	w.settle()
}

func (w *world) resume(id string) {
	w.Helper()
	w.check(w.router.Resume(ctx, pipeline.ID(id), "ada", "done", w.now))
	w.settle()
}

func TestNothingOpensWhilePausedAndWhatHoldsOpensAfterwards(t *testing.T) {
	w := newWorld(t, plain)
	w.pause("plain", store.Pause{})
	w.write("plain", "arrival#2026-03-01", "status=ready")
	w.write("plain", "arrival#2026-03-02", "status=ready")
	w.sleep(time.Minute)
	w.write("plain", "arrival#2026-03-02", "status=pending")
	w.write("plain", "arrival", "status=ready")
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

func TestFiresOfAPauseOpenWhileTheirWindowIsAndTheRestIsMissed(t *testing.T) {
	w := newWorld(t, hourly(", evaluation: {window: 90m, interval: 5m}"))
	w.pause("hourly", store.Pause{})
	w.pass(4 * time.Hour) // fires at 10:05, 11:05, 12:05, 13:05; now 13:10
	w.expect("hourly/cron/2026-03-03T12", "none")
	w.resume("hourly")
	same(t, "missed", []string{"2026-03-03T10", "2026-03-03T11"}, w.only(event.ScheduleMissed).Detail.Extra.(event.Missed).Dates)
	w.expect("hourly/cron/2026-03-03T12", "RUNNING 1")
	w.expect("hourly/cron/2026-03-03T13", "RUNNING 1")
}

func TestLateDataAndFailuresWaitForTheEndOfThePause(t *testing.T) {
	w := newWorld(t, plain, retried)
	w.write("plain", "arrival", "status=ready", "n=1")
	w.write("retried", "arrival", "n=1")
	w.pause("plain", store.Pause{})
	w.pause("retried", store.Pause{})
	w.sleep(time.Minute)
	w.write("plain", "arrival", "status=ready", "n=2")
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
	w.write("plain", "arrival", "status=ready", "n=1")
	w.sleep(time.Minute)
	w.write("plain", "arrival", "status=ready", "n=2")
	w.sleep(time.Minute)
	w.pause("plain", store.Pause{})
	w.succeed(plainRun)
	w.expect(plainRun, "COMPLETED 1")
	w.resume("plain")
	w.expect(plainRun, "RUNNING 2")
}

func TestPauseEndsByItself(t *testing.T) {
	w := newWorld(t, plain)
	w.pause("plain", store.Pause{Until: w.now.Add(time.Hour)})
	w.write("plain", "arrival", "status=ready")
	w.pass(59 * time.Minute)
	w.expect(plainRun, "none")
	w.pass(time.Minute)
	w.expect(plainRun, "RUNNING 1")
	same(t, "told", "interlock", w.only(event.PipelineResumed).Detail.Extra.(event.Pause).By)
}

func TestPauseEndsByItselfAlsoWhileItsFileIsGone(t *testing.T) {
	w := newWorld(t, hourly(""))
	w.pause("hourly", store.Pause{Until: w.now.Add(30 * time.Minute)})
	w.remove("hourly")
	w.pass(time.Hour)
	w.apply(hourly(""))
	w.pass(time.Hour)
	w.expect("hourly/cron/2026-03-03T11", "RUNNING 1")
	w.only(event.PipelineResumed)
}

func TestPausingAgainMovesTheEndAndNotTheBeginning(t *testing.T) {
	w := newWorld(t, plain)
	began := w.now
	w.pause("plain", store.Pause{Until: w.now.Add(time.Hour)})
	w.pass(30 * time.Minute)
	w.pause("plain", store.Pause{})
	w.pass(2 * time.Hour)
	row, err := w.store.Pipeline(ctx, "plain")
	w.check(err)
	same(t, "pause", store.Pause{By: "ada", Why: "tested", Since: began}, row.Pause)
}

func TestDeadlinesRunOnUnlessThePauseHoldsThem(t *testing.T) {
	const due = `
pipeline: {id: due, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
sla: {deadline: "12:00"}
job: {type: command, config: {command: "true"}}
`
	w := newWorld(t, due)
	w.pause("due", store.Pause{})
	w.pass(4 * time.Hour)
	same(t, "breached", 1, w.count(event.SLABreach))

	w = newWorld(t, due)
	w.pause("due", store.Pause{HoldSLA: true})
	w.pass(4 * time.Hour)
	same(t, "breached", 0, w.count(event.SLABreach))
	for _, e := range w.events() {
		if e.Type == event.SLACancelled {
			same(t, "reason", "paused", e.Detail.Extra.(event.Deadline).Reason)
		}
	}
	w.resume("due")
	w.pass(24 * time.Hour)
	same(t, "breached on the first day after the pause", []string{"SLA_BREACH 2026-03-04 0: not completed by 2026-03-04T12:00:00Z: there is no run yet"}, w.told(event.SLABreach))
}

func TestDeadlinesOfAFileThatReturnsCountAgain(t *testing.T) {
	const due = `
pipeline: {id: due, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
sla: {deadline: "12:00"}
job: {type: command, config: {command: "true"}}
`
	w := newWorld(t, due)
	w.remove("due")
	w.pass(time.Hour)
	w.apply(due)
	w.pass(4 * time.Hour)
	same(t, "cancelled", 2, w.count(event.SLACancelled))
	same(t, "breached", []string{"SLA_BREACH 2026-03-03 0: not completed by 2026-03-03T12:00:00Z: there is no run yet"}, w.told(event.SLABreach))
}

func TestDeadlinesOfARemovedPipelineAreCancelled(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: due, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
sla: {deadline: "12:00"}
job: {type: command, config: {command: "true"}}
`)
	w.remove("due")
	w.pass(48 * time.Hour)
	same(t, "breached", 0, w.count(event.SLABreach))
	same(t, "cancelled", 2, w.count(event.SLACancelled))
}

func TestAllPipelinesAtOnce(t *testing.T) {
	w := newWorld(t, plain, orders, retried)
	w.pause("orders", store.Pause{})
	done, err := w.router.PauseAll(ctx, store.Pause{By: "ada", Why: "tested"}, w.now)
	w.check(err)
	same(t, "paused", []pipeline.ID{"orders", "plain", "retried"}, done)
	w.resume("orders")
	done, err = w.router.ResumeAll(ctx, "ada", "", w.now)
	w.check(err)
	same(t, "resumed", []pipeline.ID{"plain", "retried"}, done)
}

func TestPauseAndResumeRefusals(t *testing.T) {
	w := newWorld(t, plain)
	_, err := w.router.Pause(ctx, "nobody", store.Pause{By: "ada", Why: "tested"}, w.now)
	refused(t, err, router.NotFound)
	_, err = w.router.Pause(ctx, "plain", store.Pause{By: "ada"}, w.now)
	refused(t, err, router.Invalid)
	_, err = w.router.Pause(ctx, "plain", store.Pause{By: "ada", Why: "tested", Until: w.now}, w.now)
	refused(t, err, router.Invalid)
	refused(t, w.router.Resume(ctx, "plain", "ada", "", w.now), router.Conflict)
	refused(t, w.router.Resume(ctx, "nobody", "ada", "", w.now), router.NotFound)
}
