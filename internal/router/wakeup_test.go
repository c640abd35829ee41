package router_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	narrow3 = "narrow/stream/2026-03-03"
	narrow4 = "narrow/stream/2026-03-04"
)

func TestSlotThatIsFreedWhileARunDecidesToWaitIsTaken(t *testing.T) {
	w := newWorld(t, narrow)
	w.Write("narrow", "arrival#2026-03-03", "n=1")
	w.expect(narrow3, "RUNNING 1")
	w.sleep(time.Minute)
	w.Put("narrow", "arrival#2026-03-04", "n=1")
	w.handleChanges()
	w.duringCommit(narrow4, func() {
		w.report(narrow3, run.ResultSuccess, "")
		for w.Work() {
		}
		w.handleChanges()
		w.expect(narrow3, "COMPLETED 1")
	})
	w.Settle()
	w.expect(narrow4, "RUNNING 1")
}

func TestOlderRunCancelledWhileAnotherYieldsToItBlocksNothing(t *testing.T) {
	w := newWorld(t, narrow)
	w.Put("narrow", "arrival#2026-03-04", "n=1")
	w.Put("narrow", "arrival#2026-03-03", "n=1")
	w.handleChanges() // both are due for their first evaluation
	w.duringCommit(narrow4, func() {
		_, err := w.Router.Cancel(ctx, w.Key(narrow3), "ada", "tested", w.Now())
		w.Check(err)
		w.handleChanges()
	})
	w.Settle()
	w.expect(narrow4, "RUNNING 1")
}

func TestOlderRunWhoseGateClosesWhileItWaitsForASlotBlocksNothing(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: narrow, owner: data}
schedule: {trigger: {key: arrival, check: exists}, maxActive: 1, evaluation: {window: 1h, interval: 30m}}
validation: {rules: [{key: rows, check: equals, field: ok, value: "yes"}]}
job: {type: command, config: {command: "true"}}
`)
	for _, day := range []string{"02", "03", "04"} {
		w.Put("narrow", "rows#2026-03-"+day, "ok=yes")
		w.Write("narrow", "arrival#2026-03-"+day, "n=1")
	}
	w.expect("narrow/stream/2026-03-02", "RUNNING 1")
	w.sleep(time.Minute)
	w.report("narrow/stream/2026-03-02", run.ResultSuccess, "")
	w.Put("narrow", "rows#2026-03-03", "ok=no")
	w.Settle()
	w.expect(narrow3, "PENDING 1")
	w.expect(narrow4, "RUNNING 1")
}

func TestAttemptsWithALimitThatAnEditRemovedAreWoken(t *testing.T) {
	w := crowded(t)
	w.apply(`
pipeline: {id: narrow, owner: data}
schedule: {trigger: {key: arrival, check: exists}, evaluation: {window: 1h, interval: 30m}}
job: {type: command, config: {command: "true"}}
`)
	w.Settle()
	for _, day := range []string{"04", "01", "02", "03"} {
		w.sleep(time.Minute)
		w.expect("narrow/stream/2026-03-"+day, "RUNNING 1")
		w.succeed("narrow/stream/2026-03-" + day)
	}
}

// refusing returns a world in which the start of orders was rejected, and may be repeated now.
func refusing(t *testing.T) *world {
	w := newWorld(t, orders)
	w.jobs.refuse = job.Refuse(run.Transient, "busy")
	w.Put("orders", "quality", "verdict=good")
	w.Write("orders", "arrival", "status=ready")
	w.expect(day3, "TRIGGERING 1")
	w.jobs.refuse = nil
	w.sleep(time.Minute)
	return w
}

func TestGateThatClosesDuringTheEvaluationBeforeARepeatedStartIsSeen(t *testing.T) {
	w := refusing(t)
	w.duringCommit(day3, func() {
		w.Put("orders", "quality", "verdict=bad")
		w.handleChanges()
	})
	w.expect(day3, "PENDING 1")
	same(t, "started", 0, len(w.jobs.started))
}

func TestGateThatOpensDuringTheEvaluationBeforeARepeatedStartIsSeen(t *testing.T) {
	w := refusing(t)
	w.Put("orders", "quality", "verdict=bad")
	w.handleChanges()
	w.duringCommit(day3, func() {
		w.Put("orders", "quality", "verdict=good")
		w.handleChanges()
	})
	w.Settle()
	w.expect(day3, "RUNNING 1")
}

func TestPauseDuringAnEvaluationStartsNothing(t *testing.T) {
	for name, file := range map[string]string{"without slots": orders, "with slots": `
pipeline: {id: orders, owner: data}
schedule: {trigger: {key: arrival, check: exists}, maxActive: 1}
job: {type: command, config: {command: "true"}}
`} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, file)
			w.Put("orders", "quality", "verdict=good")
			w.Put("orders", "arrival", "status=ready")
			w.handleChanges()
			w.duringCommit(day3, func() { w.pause("orders", store.Pause{}) })
			w.expect(day3, "PENDING 1")
			same(t, "started", 0, len(w.jobs.started))
			w.resume("orders")
			w.expect(day3, "RUNNING 1")
		})
	}
}

func TestRunStartsIfItsPauseEndsWhileItsWindowIsClosed(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival", "status=ready")
	w.pause("orders", store.Pause{})
	w.Put("orders", "quality", "verdict=good")
	w.handleChanges()
	w.Move(w.run(day3).Progress.WindowEnd)
	w.duringCommit(day3, func() { w.Check(w.Router.Resume(ctx, "orders", "ada", "done", w.Now())) })
	w.Settle()
	w.expect(day3, "RUNNING 1")
}

func TestPauseWhileARunIsBeingOpenedOpensNothing(t *testing.T) {
	for name, before := range map[string]func(w *world){
		"by its start condition": func(w *world) { w.Put("plain", "arrival", "status=ready") },
		"again, after a failure": func(w *world) {
			w.Write("plain", "arrival", "status=ready")
			w.report(plainRun, run.ResultFail, run.Permanent)
			for w.Work() {
			}
		},
		"again, for late data": func(w *world) {
			w.Write("plain", "arrival", "status=ready", "n=1")
			w.succeed(plainRun)
			w.Put("plain", "arrival", "status=ready", "n=2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain)
			before(w)
			was := w.run(plainRun).Attempt
			first, m := twins(w)
			m.others = []func(){func() {
				_, err := w.Router.Pause(ctx, "plain", store.Pause{By: "ada", Why: "tested"}, w.Now())
				w.Check(err)
			}}
			for _, c := range w.Changes() {
				w.Check(first.Handle(ctx, c, w.Now()))
			}
			same(t, "attempts", was, w.run(plainRun).Attempt)
			w.resume("plain")
			same(t, "attempts after the pause", was+1, w.run(plainRun).Attempt)
		})
	}
}

func TestWriteBeforeAPauseHandledDuringItTakesEffectAfterIt(t *testing.T) {
	w := newWorld(t, plain)
	w.Put("plain", "arrival", "status=ready")
	w.sleep(time.Second)
	_, err := w.Router.Pause(ctx, "plain", store.Pause{By: "ada", Why: "tested"}, w.Now())
	w.Check(err)
	w.Settle()
	w.expect(plainRun, "none")
	w.sleep(time.Minute)
	w.resume("plain")
	w.expect(plainRun, "RUNNING 1")
}

func TestCompletionBeforeAPauseHandledDuringItTakesEffectAfterIt(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival", "status=ready", "n=1")
	w.sleep(time.Minute)
	w.Write("plain", "arrival", "status=ready", "n=2")
	w.report(plainRun, run.ResultSuccess, "")
	for w.Work() {
	}
	w.sleep(time.Second)
	_, err := w.Router.Pause(ctx, "plain", store.Pause{By: "ada", Why: "tested"}, w.Now())
	w.Check(err)
	w.Settle()
	w.expect(plainRun, "COMPLETED 1")
	w.sleep(time.Minute)
	w.resume("plain")
	w.expect(plainRun, "RUNNING 2")
}

func TestPauseLastsUntilItIsLiftedForStartsAndOpeningsAlike(t *testing.T) {
	w := newWorld(t, orders, plain)
	w.Write("orders", "arrival", "status=ready")
	for _, id := range []string{"orders", "plain"} {
		w.pause(id, store.Pause{Until: w.Now().Add(30 * time.Minute)})
	}
	w.sleep(30 * time.Minute)
	w.Put("orders", "quality", "verdict=good")
	w.Put("plain", "arrival", "status=ready")
	w.handleChanges()
	w.Check(w.Perform(w.claim(day3))) // before the task that ends the pause
	w.expect(day3, "PENDING 1")
	w.expect(plainRun, "none")
	w.Settle()
	w.expect(day3, "RUNNING 1")
	w.expect(plainRun, "RUNNING 1")
}

func TestWaitingRunWithAnUnreadableVersionEndsAndBlocksNothing(t *testing.T) {
	w := newWorld(t, narrow)
	w.Write("narrow", "arrival#2026-03-02", "n=1")
	w.Write("narrow", "arrival#2026-03-03", "n=1")
	w.Write("narrow", "arrival#2026-03-04", "n=1")
	w.forget(narrow3)
	w.sleep(time.Minute)
	w.succeed("narrow/stream/2026-03-02")
	w.expect(narrow4, "RUNNING 1")
	w.Pass(8 * time.Hour)
	w.expect(narrow3, "FAILED_FINAL 1")
}

// forget makes a run have opened with a version of its file that no controller can read.
func (w *world) forget(text string) {
	w.Helper()
	old := w.run(text)
	next := old
	next.Version++
	next.Progress.Opening.ConfigVersion = "gone"
	b := store.Batch{ID: "forget/" + text}
	b.Swap(old, next)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
}

func TestWriteWhileTheFileIsGoneWakesTheAttempt(t *testing.T) {
	const file = `
pipeline: {id: narrow, owner: data}
schedule: {trigger: {key: arrival, check: exists}, evaluation: {window: 1h, interval: 30m}}
validation: {rules: [{key: rows, check: equals, field: ok, value: "yes"}]}
job: {type: command, config: {command: "true"}}
`
	w := newWorld(t, file)
	w.Write("narrow", "arrival#2026-03-03", "n=1")
	w.expect(narrow3, "PENDING 1")
	w.sleep(time.Minute)
	w.remove("narrow")
	w.Write("narrow", "rows#2026-03-03", "ok=yes")
	w.expect(narrow3, "RUNNING 1")
}

func TestWriteToASensorThatAnEditDroppedWakesTheAttemptThatReadsIt(t *testing.T) {
	const file = `
pipeline: {id: narrow, owner: data}
schedule: {trigger: {key: arrival, check: exists}, evaluation: {window: 1h, interval: 30m}}
validation: {rules: [{key: %s, check: equals, field: ok, value: "yes"}]}
job: {type: command, config: {command: "true"}}
`
	w := newWorld(t, fmt.Sprintf(file, "rows"))
	w.Write("narrow", "arrival#2026-03-03", "n=1")
	w.sleep(time.Minute)
	w.apply(fmt.Sprintf(file, "other"))
	w.Settle()
	w.expect(narrow3, "PENDING 1")
	w.sleep(time.Minute)
	w.Write("narrow", "rows#2026-03-03", "ok=yes")
	w.expect(narrow3, "RUNNING 1")
}

// A file that is accepted while a write is handled must not take the attempt out of the write's
// trace.
func TestEditOfTheFileLeavesTheAttemptInTheTraceOfItsWrite(t *testing.T) {
	const (
		writes = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		edits  = "00-11111111111111111111111111111111-2222222222222222-01"
		file   = `
pipeline: {id: narrow, owner: %s}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}}
`
	)
	w := newWorld(t, fmt.Sprintf(file, "data"))
	w.Put("narrow", "arrival#2026-03-03", "n=1")
	for _, c := range w.Changes() {
		w.Check(w.Router.Handle(store.WithTrace(ctx, writes), c, w.Now()))
	}
	w.apply(fmt.Sprintf(file, "platform"))
	claims, err := w.Store.Claim(ctx, store.ClaimQuery{Replica: "one", Task: "reopen/narrow", Limit: 1, Lease: time.Minute}, w.Now())
	w.Check(err)
	w.Check(w.Router.Reopen(store.WithTrace(ctx, edits), claims[0], w.Now()))
	if got, err := w.Router.Trace(ctx, w.Key(narrow3)); err != nil || got != writes {
		t.Errorf("trace %s, want that of the write, %s; %v", got, writes, err)
	}
}
