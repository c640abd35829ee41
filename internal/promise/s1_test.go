package promise_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
)

// S1: every start has a stored snapshot (sensor versions, config version, instant) on which the
// gate is open, or a recorded bypass with who and why. The witness in the target checks that for
// every start in this package; the tests here try ways to start without an open gate.
func TestS1NoUnsafeStart(t *testing.T) {
	t.Run("TheGateHasToBeOpen", func(t *testing.T) { onStores(t, closedGateStartsNothing) })
	t.Run("RepeatedStartLooksAgain", func(t *testing.T) { onStores(t, repeatedStartLooksAgain) })
	t.Run("RetryLooksAgain", func(t *testing.T) { onStores(t, retryLooksAgain) })
	t.Run("UpstreamOpenedAgain", func(t *testing.T) { onStores(t, upstreamOpenedAgain) })
	t.Run("AttemptKeepsItsVersion", func(t *testing.T) { onStores(t, attemptKeepsItsVersion) })
	t.Run("BypassIsSigned", func(t *testing.T) { onStores(t, bypassIsSigned) })
	t.Run("UnderFaults", func(t *testing.T) { storms(t, []uint64{1}, usual, func(*world) {}) })
}

const (
	gated = `schedule: {cron: "0 9 * * *", evaluation: {window: 1h, interval: 5m}}
validation: {rules: [{key: rows, check: gte, field: count, value: 10}, {key: rows, check: age_lt, field: updatedAt, value: 1h}]}
`
	glue    = "job: {type: glue, config: {jobName: x}, pollInterval: 10s, maxRetries: 2}\n"
	machine = "job: {type: step-function, config: {stateMachineARN: 'arn:aws:states:eu-west-1:123456789012:stateMachine:x'}, pollInterval: 10s, maxRetries: 2}\n"
)

func closedGateStartsNothing(w *world) {
	w.file("orders", strings.Replace(gated, "0 9 * * *", "0 * * * *", 1)+glue)
	w.until("01 08:30")
	w.start("a")
	w.write("orders", "rows", "count=12") // fresh for an hour
	w.until("01 09:20")
	w.expect("orders/cron/2000-01-01T09", "COMPLETED 1")
	w.until("01 10:10")
	w.write("orders", "rows#2000-01-01T10", "count=9")  // too few
	w.write("orders", "rows#2000-01-01T08", "count=12") // of another hour
	w.until("01 10:50")
	w.expect("orders/cron/2000-01-01T10", "PENDING 1")
	w.until("01 11:30")
	w.write("orders", "rows", "count=12") // undated: the dated one counts for ten o'clock
	w.until("01 12:00:30")
	w.expect("orders/cron/2000-01-01T10", "VALIDATION_EXHAUSTED 1")
	w.expect("orders/cron/2000-01-01T11", "COMPLETED 1")
	if n := w.target.startsOf("orders"); n != 3 {
		w.Errorf("%d starts, want those of nine, eleven and twelve o'clock", n)
	}
}

// A refused start is repeated, but only after a new evaluation.
func repeatedStartLooksAgain(w *world) {
	w.target.play = func(_ job.Attempt, call int) play {
		if call == 1 {
			return play{refused: job.Refuse(run.Transient, "busy")}
		}
		return play{}
	}
	w.file("orders", gated+glue)
	w.until("01 08:59")
	w.start("a")
	w.until("01 09:00:30")
	w.write("orders", "rows", "count=12")
	w.expect("orders/cron/2000-01-01", "TRIGGERING 1")
	w.write("orders", "rows", "count=3")
	w.until("01 09:30")
	w.expect("orders/cron/2000-01-01", "PENDING 1")
	w.write("orders", "rows", "count=11")
	w.until("01 09:40")
	w.expect("orders/cron/2000-01-01", "COMPLETED 1")
}

func retryLooksAgain(w *world) {
	w.target.play = func(a job.Attempt, _ int) play {
		if a.Number == 1 {
			return play{fails: run.Transient}
		}
		return play{}
	}
	w.file("orders", gated+machine)
	w.until("01 08:59")
	w.start("a")
	w.until("01 09:10")
	w.write("orders", "rows", "count=12")
	w.write("orders", "rows", "count=1")
	w.until("01 09:30")
	w.expect("orders/cron/2000-01-01", "PENDING 2")
	w.write("orders", "rows", "count=12")
	w.until("01 09:40")
	w.expect("orders/cron/2000-01-01", "COMPLETED 2")
}

// An upstream that was COMPLETED, announced, and opened again is no longer COMPLETED.
func upstreamOpenedAgain(w *world) {
	w.target.play = func(a job.Attempt, _ int) play {
		if a.Pipeline == "bronze" && a.Number == 2 {
			return play{runs: 20 * time.Minute}
		}
		return play{}
	}
	w.file("bronze", "schedule: {trigger: {key: landed, check: exists}}\n"+machine)
	w.file("silver", `schedule: {after: [bronze], evaluation: {window: 4h, interval: 5m}}
validation: {rules: [{key: rows, check: exists}]}
`+glue)
	w.until("01 09:00")
	p := w.start("a")
	w.write("bronze", "landed#2000-01-01", "n=1")
	w.pass(5 * time.Minute)
	w.expect("bronze/stream/2000-01-01", "COMPLETED 1")
	w.expect("silver/stream/2000-01-01", "PENDING 1")
	w.write("bronze", "landed#2000-01-01", "n=2") // late data: it runs again
	w.pass(time.Minute)
	w.expect("bronze/stream/2000-01-01", "RUNNING 2")
	w.write("silver", "rows", "n=1")
	w.pass(10 * time.Minute)
	w.expect("silver/stream/2000-01-01", "PENDING 1")
	p.kill()
	w.start("a")
	w.pass(15 * time.Minute)
	w.expect("silver/stream/2000-01-01", "COMPLETED 1")
}

// An open attempt keeps the gate of the version it opened with; the next attempt has the newest.
func attemptKeepsItsVersion(w *world) {
	w.target.play = func(a job.Attempt, _ int) play {
		if a.Number == 1 {
			return play{fails: run.Transient}
		}
		return play{}
	}
	w.file("orders", gated+machine)
	w.until("01 08:59")
	w.start("a")
	w.until("01 09:10")
	w.file("orders", `schedule: {cron: "0 9 * * *", evaluation: {window: 2h, interval: 5m}}
validation: {rules: [{key: rows, check: gte, field: count, value: 100}]}
`+machine)
	w.write("orders", "rows", "count=12")
	w.until("01 09:30")
	w.expect("orders/cron/2000-01-01", "PENDING 2")
	if n := w.target.startsOf("orders"); n != 1 {
		w.Errorf("%d starts", n)
	}
	w.write("orders", "rows", "count=120")
	w.until("01 09:40")
	w.expect("orders/cron/2000-01-01", "COMPLETED 2")
}

func bypassIsSigned(w *world) {
	w.file("orders", gated+glue)
	w.until("01 08:00")
	p := w.start("a")
	for _, q := range []router.TriggerRequest{{By: "ada"}, {Reason: "must"}} {
		q.ID, q.Pipeline, q.BypassGate = "unsigned", "orders", true
		if _, err := p.Router.Trigger(w.Context(), q, time.Now()); err == nil {
			w.Errorf("the gate was bypassed by %q for %q", q.By, q.Reason)
		}
	}
	_, err := p.Router.Trigger(w.Context(), router.TriggerRequest{ID: "signed", Pipeline: "orders", By: "ada", Reason: "must", BypassGate: true}, time.Now())
	w.check(err)
	w.pass(5 * time.Minute)
	w.expect("orders/cron/2000-01-01", "COMPLETED 1")
	o := w.events(event.TriggerStarted)[0].Detail.Extra.(event.Opening)
	if !o.GateBypassed || o.RequestedBy != "ada" || o.Reason != "must" {
		w.Errorf("the bypass was reported as %+v", o)
	}
}
