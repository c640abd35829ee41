package slamonitor_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
)

// A breach raises no second alert if RETRY_EXHAUSTED was emitted. Other ends of a run raised none.
func TestBreachOfAFailedRunIsMutedOnlyAfterRetryExhausted(t *testing.T) {
	const polled = "job: {type: command, config: {command: x}}\n"
	fail := func(c *controller) { c.report("orders/stream/2026-03-03", run.ResultFail) }
	for _, c := range []struct {
		name  string
		job   string
		end   func(c *controller)
		last  event.Type
		muted bool
	}{
		{"its budget is spent", polled, fail, event.RetryExhausted, true},
		{"its poll window is over", polled, func(*controller) {}, event.JobPollExhausted, false},
		{"its result never came", "", func(*controller) {}, event.SFNTimeout, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := controllerWith(t, c.job, untilReady+"sla: {deadline: \"20:00\"}\n")
			w.Write("orders", "a", "status=ready")
			c.end(w)
			w.until("20:00")
			w.wantBreaches("03T20:00 SLA_BREACH 2026-03-03: not completed by 2026-03-03T20:00:00Z: attempt 1 is FAILED_FINAL")
			if got := w.only(c.last); got.Detail.Attempt != 1 {
				t.Errorf("%s is about attempt %d", c.last, got.Detail.Attempt)
			}
			if muted := w.only(event.SLABreach).Detail.Severity == event.Info; muted != c.muted {
				t.Errorf("muted: %t", muted)
			}
		})
	}
}
