package router_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

// blocked is opened by any reading of arrival, and waits until block has no reading.
const blocked = `
pipeline: {id: blocked, owner: data}
schedule: {trigger: {key: arrival, check: exists}, evaluation: {window: 1h, interval: 5m}}
validation: {rules: [{not: {key: block, check: exists}}]}
sla: {maxDuration: 2h}
job: {type: command, config: {command: "true"}, maxDriftReruns: 2, maxManualReruns: 2}
`

func TestDeletedSensorOpensAGateThatWaitsForItsAbsence(t *testing.T) {
	for _, key := range []string{"block", "block#2026-03-03"} {
		w := newWorld(t, blocked)
		w.Write("blocked", key, "why=migration")
		w.Write("blocked", "arrival#2026-03-03", "n=1")
		w.expect("blocked/stream/2026-03-03", "PENDING 1")
		w.sleep(time.Second)
		w.Delete("blocked", key)
		w.Settle()
		w.expect("blocked/stream/2026-03-03", "RUNNING 1")
	}
}

func TestDeletionOpensNoRun(t *testing.T) {
	w := newWorld(t, blocked)
	w.Put("blocked", "arrival#2026-03-03", "n=1") // deleted before its change is handled
	w.sleep(time.Second)
	w.Delete("blocked", "arrival#2026-03-03")
	w.Settle()
	w.expect("blocked/stream/2026-03-03", "none")
	w.Delete("blocked", "arrival#2026-03-02") // never written
	w.Settle()
	w.expect("blocked/stream/2026-03-02", "none")
	page, err := w.Store.Deadlines(ctx, store.DeadlineQuery{Pipeline: "blocked"})
	w.Check(err)
	same(t, "armed deadlines", 0, len(page.Items))
	same(t, "events", []event.Type{}, w.types("blocked"))
}

func TestWriteAfterADeletionOpensTheRun(t *testing.T) {
	w := newWorld(t, blocked)
	w.Put("blocked", "arrival#2026-03-03", "n=1")
	w.Delete("blocked", "arrival#2026-03-03")
	w.Write("blocked", "arrival#2026-03-03", "n=1")
	w.expect("blocked/stream/2026-03-03", "RUNNING 1")
}

func TestReadingDeletedDuringAPauseOpensNothingAfterIt(t *testing.T) {
	w := newWorld(t, blocked)
	w.pause("blocked", store.Pause{By: "ada"})
	w.sleep(time.Minute)
	w.Write("blocked", "arrival#2026-03-03", "n=1")
	w.sleep(time.Minute)
	w.Delete("blocked", "arrival#2026-03-03")
	w.Settle()
	w.resume("blocked")
	w.expect("blocked/stream/2026-03-03", "none")
}

func TestDeletionIsNotLateData(t *testing.T) {
	w := newWorld(t, blocked)
	w.Write("blocked", "arrival#2026-03-03", "n=1")
	w.sleep(time.Minute)
	w.Delete("blocked", "arrival#2026-03-03") // while the job runs
	w.Settle()
	w.succeed("blocked/stream/2026-03-03")
	w.expect("blocked/stream/2026-03-03", "COMPLETED 1")
	w.sleep(time.Minute)
	w.Write("blocked", "arrival#2026-03-03", "n=1") // the job's input
	w.expect("blocked/stream/2026-03-03", "COMPLETED 1")
	w.Delete("blocked", "arrival#2026-03-03")
	w.Settle()
	w.expect("blocked/stream/2026-03-03", "COMPLETED 1")
	same(t, "late data", 0, w.count(event.LateDataArrival))
	w.Write("blocked", "arrival#2026-03-03", "n=2")
	w.expect("blocked/stream/2026-03-03", "RUNNING 2")
}

func TestDeletionGivesAnExhaustedRunNoNewWindow(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival", "status=ready")
	w.Write("orders", "arrival#2026-03-03", "status=ready")
	w.sleep(2 * time.Hour)
	w.Settle()
	w.expect("orders/stream/2026-03-03", "VALIDATION_EXHAUSTED 1")
	w.sleep(time.Minute)
	w.Delete("orders", "arrival#2026-03-03") // the undated reading still meets the start condition
	w.Settle()
	w.expect("orders/stream/2026-03-03", "VALIDATION_EXHAUSTED 1")
	w.sleep(time.Minute)
	w.Write("orders", "arrival#2026-03-03", "status=ready")
	w.expect("orders/stream/2026-03-03", "PENDING 2")
}

func TestGateThatADeletionWouldOpenAfterItsWindowIsReported(t *testing.T) {
	w := newWorld(t, blocked)
	w.Write("blocked", "block", "why=migration")
	w.Write("blocked", "arrival#2026-03-03", "n=1")
	w.sleep(2 * time.Hour)
	w.Settle()
	w.expect("blocked/stream/2026-03-03", "VALIDATION_EXHAUSTED 1")
	w.Delete("blocked", "block")
	w.Settle()
	w.expect("blocked/stream/2026-03-03", "VALIDATION_EXHAUSTED 1")
	same(t, "event", windowClosedReason, w.only(event.LateDataArrival).Detail.Message)
}

const windowClosedReason = "its gate would be open now, but its window is closed; `interlock rerun blocked --date 2026-03-03 --reason WHY` starts it"

func TestDeletedPostRunSensorIsNotDrift(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: audited, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
postRun: {driftThreshold: 0, rules: [{key: audit, check: gte, field: count, value: 1}]}
job: {type: command, config: {command: "true"}, maxDriftReruns: 2}
`)
	const key = "audited/stream/2026-03-03"
	w.Write("audited", "audit#2026-03-03", "count=10")
	w.Write("audited", "arrival#2026-03-03", "n=1")
	w.Delete("audited", "audit#2026-03-03")
	w.Settle()
	same(t, "drift in flight", 0, w.count(event.PostRunDriftInflight))
	w.Write("audited", "audit#2026-03-03", "count=10")
	w.succeed(key)
	w.sleep(time.Minute)
	w.Delete("audited", "audit#2026-03-03")
	w.Settle()
	w.expect(key, "COMPLETED 1")
	same(t, "drift", 0, w.count(event.PostRunDrift))
	w.sleep(time.Minute)
	w.Write("audited", "audit#2026-03-03", "count=11") // the baseline is still that of the completion
	w.expect(key, "RUNNING 2")
}
