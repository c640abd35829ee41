package promise_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
)

// S2: at most one start per pipeline, schedule, period and attempt, across crashes, several
// controllers, lease expiry and redelivered changes. A target that treats a repeated start as a new
// one is safe only as long as no controller sleeps longer than its lease inside one start call,
// which none does here.
func TestS2AtMostOneStart(t *testing.T) {
	for _, kind := range []string{"step-function", "glue", "lambda", "command"} {
		t.Run(kind, func(t *testing.T) {
			t.Run("EverythingTwice", func(t *testing.T) { onMemory(t, func(w *world) { everythingTwice(w, kind) }) })
			t.Run("KilledInTheStart", func(t *testing.T) { onMemory(t, func(w *world) { killedInTheStart(w, kind) }) })
			t.Run("RestartedInTheStart", func(t *testing.T) { onStores(t, func(w *world) { restartedInTheStart(w, kind) }) })
			t.Run("AnswerLost", func(t *testing.T) { onStores(t, func(w *world) { answerLost(w, kind) }) })
			t.Run("ClockJumpsBack", func(t *testing.T) { onStores(t, func(w *world) { clockJumpsBack(w, kind) }) })
		})
	}
	t.Run("AsleepBeforeTheStart", func(t *testing.T) { onMemory(t, asleepBeforeTheStart) })
	sleepy := usual
	sleepy.stalls = 0.02
	t.Run("UnderFaults", func(t *testing.T) { storms(t, []uint64{11}, usual, (*world).checkStarts) })
	t.Run("AsleepBeyondTheLease", func(t *testing.T) { storms(t, []uint64{13}, sleepy, (*world).checkStarts) })
}

// jobs returns the job section for a kind of target.
func jobs(kind string) string {
	config := map[string]string{
		"step-function": "{stateMachineARN: 'arn:aws:states:eu-west-1:123456789012:stateMachine:x'}",
		"glue":          "{jobName: x}",
		"lambda":        "{functionName: x, async: true}",
		"command":       "{command: [x]}",
	}[kind]
	return fmt.Sprintf("job: {type: %s, config: %s, pollInterval: 10s, maxRetries: 1}\n", kind, config)
}

// everythingTwice has two controllers, which get every change several times, react to simultaneous
// writes.
func everythingTwice(w *world, kind string) {
	w.faults = faults{seed: 1, repeats: 0.9}
	w.file("orders", "schedule: {trigger: {key: landed, check: exists}, period: hour}\n"+jobs(kind))
	w.until("01 09:00")
	w.start("a")
	w.start("b")
	for range 5 {
		for hour := range 9 {
			w.put("orders", fmt.Sprintf("landed#2000-01-01T%02d", hour), "n=1")
		}
	}
	synctest.Wait()
	w.pass(10 * time.Minute)
	for hour := range 9 {
		w.expect(fmt.Sprintf("orders/stream/2000-01-01T%02d", hour), "COMPLETED 1")
	}
	if n := w.target.startsOf("orders"); n != 9 {
		w.Errorf("%d jobs for 9 periods", n)
	}
	w.checkStarts()
}

// killedInTheStart kills a controller during its start call while another one runs.
func killedInTheStart(w *world, kind string) {
	w.file("orders", "schedule: {trigger: {key: landed, check: exists}}\n"+jobs(kind))
	w.until("01 09:00")
	w.start("a")
	w.target.set(func(_ job.Attempt, call int) play {
		if call > 1 {
			return play{}
		}
		return play{takes: 10 * time.Second}
	})
	w.write("orders", "landed#2000-01-01", "n=1")
	w.expect("orders/stream/2000-01-01", "TRIGGERING 1")
	w.start("b")
	w.processes()[0].kill()
	w.pass(time.Minute)
	w.start("a")
	w.pass(15 * time.Minute)
	w.settledAfterLoss(kind)
}

// restartedInTheStart kills the only controller in its start call, and starts it again.
func restartedInTheStart(w *world, kind string) {
	w.file("orders", "schedule: {trigger: {key: landed, check: exists}}\n"+jobs(kind))
	w.until("01 09:00")
	p := w.start("a")
	w.target.set(func(_ job.Attempt, call int) play {
		if call > 1 {
			return play{}
		}
		return play{takes: 10 * time.Second}
	})
	w.write("orders", "landed#2000-01-01", "n=1")
	p.kill()
	w.start("a")
	w.pass(15 * time.Minute)
	w.settledAfterLoss(kind)
}

// asleepBeforeTheStart suspends a controller between the commit that announces a start and the call
// itself. Another one takes over, and its file accepts the risk of repeating a start with an
// unknown outcome; then the first wakes up.
func asleepBeforeTheStart(w *world) {
	w.faults.nods = &atomic.Bool{}
	w.faults.nods.Store(true)
	w.file("orders", "schedule: {trigger: {key: landed, check: exists}}\njob: {type: glue, config: {jobName: x, onUnknown: retry}, pollInterval: 10s}\n")
	w.until("01 09:00")
	w.start("a")
	w.start("b")
	w.write("orders", "landed#2000-01-01", "n=1")
	w.expect("orders/stream/2000-01-01", "TRIGGERING 1")
	w.pass(10 * time.Minute)
	w.expect("orders/stream/2000-01-01", "COMPLETED 1")
	w.checkStarts()
}

func answerLost(w *world, kind string) {
	w.target.set(func(_ job.Attempt, call int) play { return play{lost: call == 1} })
	w.file("orders", "schedule: {trigger: {key: landed, check: exists}}\n"+jobs(kind))
	w.until("01 09:00")
	w.start("a")
	w.write("orders", "landed#2000-01-01", "n=1")
	w.pass(15 * time.Minute)
	w.settledAfterLoss(kind)
}

// settledAfterLoss checks that a start without an answer was found again, or is held if its target
// cannot be searched.
func (w *world) settledAfterLoss(kind string) {
	w.Helper()
	w.checkStarts()
	if n := w.target.startsOf("orders"); n != 1 {
		w.Errorf("%d jobs, want 1", n)
	}
	if kind != "lambda" {
		w.expect("orders/stream/2000-01-01", "COMPLETED 1")
		return
	}
	w.expect("orders/stream/2000-01-01", "TRIGGERING 1")
	if held := w.events(event.InfraFailure); len(held) != 1 || !held[0].Detail.Extra.(event.Infra).Held {
		w.Errorf("a start with an unknown outcome is reported %d times\n%s", len(held), w.eventLog())
	}
}

// clockJumpsBack sets the clock back by an hour while one run has ended, one runs and one waits.
func clockJumpsBack(w *world, kind string) {
	skew := &atomic.Int64{}
	w.faults.skew = skew
	w.target.set(func(job.Attempt, int) play { return play{runs: 10 * time.Minute} })
	w.file("orders", "schedule: {cron: '*/20 * * * *', period: minute, evaluation: {window: 3h, interval: 1m}}\n"+
		"validation: {rules: [{key: rows, check: gte, field: count, value: 5}]}\n"+jobs(kind))
	w.until("01 08:50")
	w.start("a")
	w.write("orders", "rows#2000-01-01T09:00", "count=7")
	w.write("orders", "rows#2000-01-01T09:20", "count=7")
	w.until("01 09:25")
	w.expect("orders/cron/2000-01-01T09:00", "COMPLETED 1")
	w.expect("orders/cron/2000-01-01T09:20", "RUNNING 1")
	skew.Store(int64(-time.Hour)) // it is 08:25 now; what was due later waits until the clock has caught up
	w.write("orders", "rows#2000-01-01T09:00", "count=7")
	w.pass(45 * time.Minute) // 09:10, and nine o'clock has come again
	w.expect("orders/cron/2000-01-01T09:00", "COMPLETED 1")
	w.processes()[0].kill()
	w.start("a")
	w.pass(20 * time.Minute) // 09:30
	w.expect("orders/cron/2000-01-01T09:20", "COMPLETED 1")
	w.pass(15 * time.Minute) // 09:45
	w.write("orders", "rows#2000-01-01T09:40", "count=7")
	w.pass(12 * time.Minute)
	w.expect("orders/cron/2000-01-01T09:40", "COMPLETED 1")
	w.checkStarts()
	if n := w.target.startsOf("orders"); n != 3 {
		w.Errorf("%d jobs for 3 periods\n%s", n, w.eventLog())
	}
}
