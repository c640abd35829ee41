package router_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

// orders is opened by one sensor and waits for another.
const orders = `
pipeline: {id: orders, owner: data}
schedule:
  trigger: {key: arrival, check: equals, field: status, value: ready}
  evaluation: {window: 1h, interval: 5m}
validation:
  rules: [{key: quality, check: equals, field: verdict, value: good}]
job: {type: command, config: {command: "true"}}
`

// plain is opened by a sensor and waits for nothing.
const plain = `
pipeline: {id: plain, owner: data}
schedule: {trigger: {key: arrival, check: equals, field: status, value: ready}}
job: {type: command, config: {command: "true"}, maxDriftReruns: 2, maxManualReruns: 2}
`

func TestWriteThatMeetsTheStartConditionOpensTheRun(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival", "status=pending")
	w.expect("plain/stream/2026-03-03", "none")
	w.Write("plain", "arrival", "status=ready")
	w.expect("plain/stream/2026-03-03", "RUNNING 1")
	same(t, "events", []event.Type{event.TriggerStarted, event.ValidationPassed, event.JobTriggered}, w.types("plain"))
}

func TestUndatedWriteBelongsToThePeriodInWhichItWasWritten(t *testing.T) {
	w := newWorld(t, plain)
	w.Move(time.Date(2026, 3, 3, 23, 59, 0, 0, time.UTC))
	w.Put("plain", "arrival", "status=ready")
	w.sleep(2 * time.Minute) // midnight passes before the change is handled
	w.Settle()
	w.expect("plain/stream/2026-03-03", "RUNNING 1")
	w.expect("plain/stream/2026-03-04", "none")
}

func TestEachWriteOpensItsOwnPeriodHoweverLateItIsHandled(t *testing.T) {
	w := newWorld(t, plain)
	w.Put("plain", "arrival", "status=ready")
	w.sleep(24 * time.Hour)
	w.Put("plain", "arrival", "status=ready")
	w.sleep(24 * time.Hour)
	w.Put("plain", "arrival", "status=pending")
	w.Settle()
	w.expect("plain/stream/2026-03-03", "RUNNING 1")
	w.expect("plain/stream/2026-03-04", "RUNNING 1")
	w.expect("plain/stream/2026-03-05", "none")
}

func TestDatedWriteOpensExactlyThePeriodItNames(t *testing.T) {
	w := newWorld(t, plain)
	for _, p := range []string{"2026-02-01", "2026-03-03T07", "2026-03-03T07:15"} {
		w.Write("plain", "arrival#"+p, "status=ready")
		w.expect("plain/stream/"+p, "RUNNING 1")
	}
	w.expect("plain/stream/2026-03-03", "none")
}

func TestIdenticalRewriteOpensNothingAndIsNotLateData(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival", "status=ready")
	w.succeed("plain/stream/2026-03-03")
	w.sleep(time.Hour)
	w.Write("plain", "arrival", "status=ready")
	w.expect("plain/stream/2026-03-03", "COMPLETED 1")
	same(t, "late data", 0, w.count(event.LateDataArrival))
}

func TestSameDataOnTheNextDayOpensTheNextDay(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival", "status=ready")
	w.succeed("plain/stream/2026-03-03")
	w.sleep(24 * time.Hour)
	w.Write("plain", "arrival", "status=ready")
	w.expect("plain/stream/2026-03-03", "COMPLETED 1")
	w.expect("plain/stream/2026-03-04", "RUNNING 1")
}

func TestAnySensorOfTheGateWakesTheRunAtOnce(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival", "status=ready")
	w.expect("orders/stream/2026-03-03", "PENDING 1")
	w.sleep(time.Second)
	w.Write("orders", "quality", "verdict=good")
	w.expect("orders/stream/2026-03-03", "RUNNING 1")
}

func TestIdenticalRewriteWakesTheGate(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: fresh, owner: data}
schedule:
  trigger: {key: arrival, check: exists}
  evaluation: {window: 1h, interval: 30m}
validation: {rules: [{key: beat, check: age_lt, value: 1m}]}
job: {type: command, config: {command: "true"}}
`)
	w.Write("fresh", "beat", "n=1")
	w.sleep(5 * time.Minute)
	w.Write("fresh", "arrival", "n=1")
	w.expect("fresh/stream/2026-03-03", "PENDING 1")
	w.sleep(time.Minute)
	w.Write("fresh", "beat", "n=1")
	w.expect("fresh/stream/2026-03-03", "RUNNING 1")
}

func TestReadingOfADayWakesItsHours(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival#2026-03-03T07", "status=ready")
	w.Write("orders", "arrival#2026-03-02T07", "status=ready")
	w.Write("orders", "quality#2026-03-03", "verdict=good")
	w.expect("orders/stream/2026-03-03T07", "RUNNING 1")
	w.expect("orders/stream/2026-03-02T07", "PENDING 1")
}

func TestSharedSensorOpensAndWakesItsReaders(t *testing.T) {
	w := newWorld(t, `pipeline: {id: shared, owner: data}`, `
pipeline: {id: first, owner: data}
schedule: {trigger: {key: arrival, check: exists, from: shared}}
job: {type: command, config: {command: "true"}}
`, `
pipeline: {id: second, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
validation: {rules: [{key: arrival, check: exists, from: shared}]}
job: {type: command, config: {command: "true"}}
`)
	w.Write("second", "arrival", "n=1")
	w.expect("second/stream/2026-03-03", "PENDING 1")
	w.Write("first", "arrival", "n=1")
	w.expect("first/stream/2026-03-03", "none")
	w.Write("shared", "arrival", "n=1")
	w.expect("first/stream/2026-03-03", "RUNNING 1")
	w.expect("second/stream/2026-03-03", "RUNNING 1")
}

func TestWritesBeforeThePipelineWasAcceptedOpenNothing(t *testing.T) {
	w := newWorld(t, `pipeline: {id: shared, owner: data}`)
	w.Put("shared", "arrival", "n=1")
	w.sleep(time.Minute)
	w.apply(`
pipeline: {id: later, owner: data}
schedule: {trigger: {key: arrival, check: exists, from: shared}}
job: {type: command, config: {command: "true"}}
`)
	w.Settle()
	w.expect("later/stream/2026-03-03", "none")
	w.Write("shared", "arrival", "n=1")
	w.expect("later/stream/2026-03-03", "RUNNING 1")
}

func TestFirstReadingOfTheStartConditionArmsTheRelativeDeadline(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: timed, owner: data}
schedule: {trigger: {key: arrival, check: equals, field: status, value: ready}}
sla: {maxDuration: 2h}
job: {type: command, config: {command: "true"}}
`)
	arrived := w.Now()
	w.Put("timed", "arrival", "status=pending")
	w.sleep(time.Minute)
	w.Write("timed", "arrival", "status=ready")
	w.Pass(3 * time.Hour)
	breach := w.only(event.RelativeSLABreach).Detail.Extra.(event.Deadline).Deadline
	same(t, "breach", arrived.Add(2*time.Hour), breach)
}

func TestEarliestStartDelaysTheRun(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: late, owner: data}
schedule: {trigger: {key: arrival, check: exists}, time: "10:00"}
job: {type: command, config: {command: "true"}}
`)
	w.Write("late", "arrival", "n=1")
	w.expect("late/stream/2026-03-03", "PENDING 1")
	w.Pass(49 * time.Minute)
	w.expect("late/stream/2026-03-03", "PENDING 1")
	w.Pass(time.Minute)
	w.expect("late/stream/2026-03-03", "RUNNING 1")
}

func TestUnderCronTheStartConditionOpensNothing(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: nightly, owner: data}
schedule: {cron: "0 22 * * *", trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}}
`)
	w.Write("nightly", "arrival", "n=1")
	w.Write("nightly", "arrival#2026-03-02", "n=1")
	w.expect("nightly/cron/2026-03-03", "none")
	w.expect("nightly/cron/2026-03-02", "none")
	w.Pass(13 * time.Hour)
	w.expect("nightly/cron/2026-03-03", "RUNNING 1")
}

func TestUndatedWriteOfAPostRunSensorOpensItsOwnPeriodOnly(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: both, owner: data}
schedule: {trigger: {key: audit, check: exists}}
job: {type: command, config: {command: "true"}}
postRun: {rules: [{key: audit, check: exists}]}
`)
	w.Write("both", "audit", "count=1")
	w.expect("both/stream/2026-03-03", "RUNNING 1")
	w.expect("both/stream/2026-03-02", "none")
}

func TestRelativeDeadlineIgnoresReadingsBeforeTheHorizonOrInAPause(t *testing.T) {
	const timed = `
pipeline: {id: timed, owner: data}
schedule: {trigger: {key: arrival, check: exists, from: shared}}
sla: {maxDuration: 2h}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
`
	armed := func(w *world) int {
		page, err := w.Store.Deadlines(ctx, store.DeadlineQuery{Pipeline: "timed"})
		w.Check(err)
		return len(page.Items)
	}
	w := newWorld(t, `pipeline: {id: shared, owner: data}`)
	w.Put("shared", "arrival", "n=1")
	w.sleep(time.Minute)
	w.apply(timed)
	w.Settle()
	same(t, "before the horizon", 0, armed(w))
	w.pause("timed", store.Pause{HoldSLA: true})
	w.Write("shared", "arrival", "n=2")
	same(t, "held", 0, armed(w))
	w.resume("timed")
	same(t, "afterwards", 1, armed(w))
}

func TestRunOfAnEarlierScheduleIsNotChanged(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: plain, owner: data}
schedule: {cron: "0 10 * * *", trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}}
`)
	w.Write("plain", "arrival#2026-03-03", "n=1")
	w.Pass(time.Hour)
	w.succeed("plain/cron/2026-03-03")
	w.apply(source("plain", ""))
	w.Settle()
	w.Write("plain", "arrival#2026-03-03", "n=2")
	w.expect("plain/cron/2026-03-03", "COMPLETED 1")
	w.expect("plain/stream/2026-03-03", "RUNNING 1")
}

const bounded = `
pipeline: {id: bounded, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
validation: {rules: [{key: rows, check: exists}]}
sla: {maxDuration: 1h}
`

func TestDeadlineOfAReadingHandledTooLateIsBreached(t *testing.T) {
	w := newWorld(t, bounded)
	w.Put("bounded", "arrival#2026-03-03", "n=1")
	w.sleep(2 * time.Hour) // no controller runs
	w.Settle()
	w.only(event.RelativeSLABreach)
}

func TestDeadlineOfAReadingDuringAHeldPauseIsNotArmedLater(t *testing.T) {
	w := newWorld(t, bounded)
	_, err := w.Router.Pause(ctx, "bounded", store.Pause{By: "ada", Why: "tested", HoldSLA: true}, w.Now())
	w.Check(err)
	w.Settle()
	w.Write("bounded", "arrival#2026-03-02", "n=1")
	w.Pass(time.Hour + 30*time.Minute)
	w.Write("bounded", "arrival#2026-03-03", "n=1")
	w.Pass(30 * time.Minute)
	w.Check(w.Router.Resume(ctx, "bounded", "ada", "tested", w.Now()))
	w.Settle()
	same(t, "events at once", []string{}, w.eventLines(event.RelativeSLABreach))
	w.Pass(time.Hour)
	same(t, "event of the deadline that had time left", "2026-03-03", w.only(event.RelativeSLABreach).Detail.Date.String())
}
