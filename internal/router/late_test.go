package router_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
)

// lateText returns the sensors and the reason of an event about late data.
func lateText(e event.Event) string {
	late := e.Detail.Extra.(event.Late)
	return strings.Join(late.Sensors, ", ") + ": " + late.Reason
}

// completed returns a world in which plain has completed for the third of March.
func completed(t *testing.T) *world {
	w := newWorld(t, plain)
	w.Write("plain", "arrival", "status=ready", "n=1")
	w.sleep(time.Minute)
	w.succeed("plain/stream/2026-03-03")
	w.expect("plain/stream/2026-03-03", "COMPLETED 1")
	w.sleep(time.Minute)
	return w
}

func TestChangedInputOfACompletedRunIsLateDataAndRerunsIt(t *testing.T) {
	w := completed(t)
	w.Write("plain", "arrival", "status=ready", "n=2")
	w.expect("plain/stream/2026-03-03", "RUNNING 2")
	late := w.only(event.LateDataArrival)
	same(t, "what follows", "plain/arrival: rerun", lateText(late))
	same(t, "attempt", 1, late.Detail.Attempt)
	same(t, "counter", 1, w.run("plain/stream/2026-03-03").Counters.DriftReruns)
}

func TestDataThatNoLongerMeetsTheStartConditionIsReportedAndRerunsNothing(t *testing.T) {
	w := completed(t)
	w.Write("plain", "arrival", "status=pending", "n=2")
	w.expect(plainRun, "COMPLETED 1")
	late := w.only(event.LateDataArrival)
	same(t, "what follows", "plain/arrival: report", lateText(late))
	same(t, "severity", event.Warning, late.Detail.Severity)
	same(t, "message", `plain/arrival changed after the job of attempt 1 started: n was "1", is "2", status was "ready", is "pending"; `+
		"the start condition would not have been met; no rerun follows (the start condition is not met)", late.Detail.Message)
	w.Write("plain", "arrival", "status=ready", "n=2")
	w.expect(plainRun, "RUNNING 2")
	same(t, "late data", 1, w.count(event.LateDataArrival))
}

func TestSameFactDatedInAnotherWayIsNotLateData(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival#2026-03-03", "status=ready", "n=1", "date=2026-03-03")
	w.sleep(time.Minute)
	w.succeed("plain/stream/2026-03-03")
	w.sleep(time.Minute)
	w.Write("plain", "arrival#2026-03-03", "status=ready", "n=1", "date=20260303")
	w.Write("plain", "arrival#2026-03-03", "status=ready", "n=1")
	w.expect("plain/stream/2026-03-03", "COMPLETED 1")
	same(t, "late data", 0, w.count(event.LateDataArrival))
	w.Write("plain", "arrival#2026-03-03", "status=ready", "n=2")
	w.expect("plain/stream/2026-03-03", "RUNNING 2")
}

func TestInputThatChangedWhileTheJobRanIsLateDataAtCompletion(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival", "status=ready", "n=1")
	w.sleep(time.Minute)
	w.Write("plain", "arrival", "status=ready", "n=2")
	w.expect("plain/stream/2026-03-03", "RUNNING 1")
	w.succeed("plain/stream/2026-03-03")
	w.expect("plain/stream/2026-03-03", "RUNNING 2")
	w.succeed("plain/stream/2026-03-03")
	w.expect("plain/stream/2026-03-03", "COMPLETED 2")
	same(t, "late data", 1, w.count(event.LateDataArrival))
}

func TestInputAddedByAnEditIsNotLateData(t *testing.T) {
	const gated = `
pipeline: {id: gated, owner: data}
schedule: {trigger: {key: arrival, check: equals, field: status, value: ready}}
validation: {rules: [{key: rows, check: exists}%s]}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
`
	w := newWorld(t, fmt.Sprintf(gated, ""))
	w.Write("gated", "arrival#2026-03-03", "status=ready")
	w.apply(fmt.Sprintf(gated, ", {key: audit, check: exists}")) // the open attempt keeps its version
	w.Write("gated", "audit#2026-03-03", "ok=true")
	w.Write("gated", "rows#2026-03-03", "count=1")
	w.sleep(time.Minute)
	w.succeed("gated/stream/2026-03-03")
	w.expect("gated/stream/2026-03-03", "COMPLETED 1") // not at completion
	w.sleep(time.Minute)
	w.Write("gated", "arrival#2026-03-03", "status=ready")
	w.expect("gated/stream/2026-03-03", "COMPLETED 1") // nor with an identical rewrite
	same(t, "late data", 0, w.count(event.LateDataArrival))
	w.Write("gated", "rows#2026-03-03", "count=2")
	w.Write("gated", "arrival#2026-03-03", "status=ready")
	w.expect("gated/stream/2026-03-03", "RUNNING 2")
	same(t, "sensors", []string{"gated/rows"}, w.only(event.LateDataArrival).Detail.Extra.(event.Late).Sensors)
}

func TestTomorrowsInputIsNotLateDataOfARunThatEndsAfterMidnight(t *testing.T) {
	w := newWorld(t, plain)
	w.Move(time.Date(2026, 3, 3, 23, 59, 0, 0, time.UTC))
	w.Write("plain", "arrival", "status=ready", "n=1")
	w.sleep(5 * time.Minute)
	w.Write("plain", "arrival", "status=ready", "n=2")
	w.succeed("plain/stream/2026-03-03")
	w.expect("plain/stream/2026-03-03", "COMPLETED 1")
	w.expect("plain/stream/2026-03-04", "RUNNING 1")
}

func TestChangedUndatedReadingIsNotLateData(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "quality", "verdict=good", "at=1")
	w.Write("orders", "arrival", "status=ready")
	w.sleep(time.Minute)
	w.Write("orders", "quality", "verdict=good", "at=2")
	w.succeed(day3)
	w.expect(day3, "COMPLETED 1")
}

func TestUsedLateDataBudgetIsReportedOncePerAttempt(t *testing.T) {
	w := completed(t)
	const run = "plain/stream/2026-03-03"
	for _, n := range []string{"2", "3"} {
		w.Write("plain", "arrival", "status=ready", "n="+n)
		w.sleep(time.Minute)
		w.succeed(run)
		w.sleep(time.Minute)
	}
	w.expect(run, "COMPLETED 3")
	for _, n := range []string{"4", "5", "6"} {
		w.Write("plain", "arrival", "status=ready", "n="+n)
		w.sleep(time.Minute)
	}
	w.expect(run, "COMPLETED 3")
	same(t, "late data", 3, w.count(event.LateDataArrival))
	last := w.events()[len(w.events())-1]
	same(t, "the last", "plain/arrival: budget spent", lateText(last))

	w.rerun(router.RerunRequest{ID: "1", Pipeline: "plain", Period: w.Period("2026-03-03")})
	w.sleep(time.Minute)
	w.succeed(run)
	w.expect(run, "COMPLETED 4")
	w.sleep(time.Minute)
	w.Write("plain", "arrival", "status=ready", "n=7")
	same(t, "late data after another attempt", 4, w.count(event.LateDataArrival))
}

func TestRedeliveredOldWriteIsNotLateData(t *testing.T) {
	w := newWorld(t, strings.Replace(orders, "check: equals, field: verdict, value: good", "check: exists", 1))
	w.Put("orders", "quality#2026-03-02", "verdict=good", "n=1")
	w.Put("orders", "arrival#2026-03-02", "status=ready")
	first := w.Changes()
	for _, c := range first {
		w.Check(w.Router.Handle(ctx, c, w.Now()))
	}
	w.Settle()
	w.sleep(time.Minute)
	w.succeed("orders/stream/2026-03-02")
	w.sleep(time.Minute)
	w.Write("orders", "quality#2026-03-02", "verdict=good", "n=2") // not a write of the start condition
	for _, c := range first {
		w.Check(w.Router.Handle(ctx, c, w.Now()))
	}
	w.expect("orders/stream/2026-03-02", "COMPLETED 1")
	w.sleep(time.Minute)
	w.Write("orders", "arrival#2026-03-02", "status=ready")
	w.expect("orders/stream/2026-03-02", "RUNNING 2")
	same(t, "late", []string{"orders/quality"}, w.only(event.LateDataArrival).Detail.Extra.(event.Late).Sensors)
}

func TestLateDataOfAPausedPipelineWaitsForTheEndOfThePause(t *testing.T) {
	w := completed(t)
	w.pause("plain", store.Pause{})
	w.Write("plain", "arrival", "status=ready", "n=2")
	w.expect(plainRun, "COMPLETED 1")
	w.resume("plain")
	w.expect(plainRun, "RUNNING 2")
}

func TestLateDataOfAnExcludedPeriodRerunsNothing(t *testing.T) {
	w := completed(t)
	w.apply(`
pipeline: {id: plain, owner: data}
schedule: {trigger: {key: arrival, check: exists}, exclude: {dates: [2026-03-03]}}
job: {type: command, config: {command: "true"}}
`)
	w.Settle()
	w.Write("plain", "arrival", "status=ready", "n=2")
	w.expect(plainRun, "COMPLETED 1")
	same(t, "late data", 0, w.count(event.LateDataArrival))
}
