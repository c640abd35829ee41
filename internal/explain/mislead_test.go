package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// promisesNoReading fails if an explanation suggests a sensor write although no write opens the
// run.
func (w *world) promisesNoReading(x explain.Explanation) {
	w.Helper()
	for _, hint := range x.Opens {
		if strings.Contains(hint, "interlock sensor set") && !strings.Contains(hint, "also needs") {
			w.Errorf("it recommends a write that does nothing: %s\n%s", hint, x.Text())
		}
	}
}

func TestEditOfAStartConditionDoesNotPromiseToOpenThePast(t *testing.T) {
	w := newWorld(t, strings.Replace(stream, "value: ready", "value: redy", 1))
	w.Write("stream", "landed#2026-03-03", "status=ready")
	w.says(w.explain("stream", "2026-03-03"), explain.NotOpened, "the start condition is not met")
	w.Pass(time.Hour)
	w.Apply(stream)
	w.Pass(10 * time.Minute)
	w.says(w.explain("stream", "2026-03-03"), explain.NotOpened,
		"the start condition was met 2026-03-03T09:10:00Z (1h10m ago), before this version of the file was accepted, 2026-03-03T10:10:00Z (10m ago)",
		"an edit does not open past periods", "interlock trigger stream --date 2026-03-03")
}

// The stream of a table has whole seconds: a write in the second of the acceptance counts as before
// it.
func TestReadingFromBeforeThePipelineDoesNotPromiseToOpenThePast(t *testing.T) {
	w := newWorld(t)
	w.Write("stream", "landed#2026-03-03", "status=ready")
	w.Pass(time.Millisecond)
	w.Apply(stream)
	w.Pass(10 * time.Minute)
	x := w.explain("stream", "2026-03-03")
	w.says(x, explain.NotOpened,
		"the start condition was met 2026-03-03T09:10:00Z (10m ago), before the pipeline was first accepted, 2026-03-03T09:10:00Z (10m ago)",
		"a new pipeline does not open past periods", "interlock trigger stream --date 2026-03-03")
	if strings.Contains(x.Text(), "edit") {
		t.Errorf("it was not edited:\n%s", x.Text())
	}
}

// editsAfterCompletion completes a run of orders, and an hour later sets the dependent's file.
func (w *world) editsAfterCompletion() {
	w.Helper()
	w.Write("orders", "source#2026-03-04", "status=ready")
	w.Write("orders", "rows#2026-03-04", "count=5000")
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultSuccess})
	w.Pass(time.Hour)
	w.Apply(orders, downstream)
	w.Settle()
}

func TestNewUpstreamDoesNotPromiseToOpenThePast(t *testing.T) {
	w := opened(t)
	w.editsAfterCompletion()
	w.says(w.explain("downstream", "2026-03-04"), explain.NotOpened,
		"the last upstream run completed 2026-03-04T08:10:00Z (1h ago), before the pipeline was first accepted, 2026-03-04T09:10:00Z (now)",
		"a new pipeline does not open past periods", "interlock trigger downstream --date 2026-03-04")
}

func TestEditOfUpstreamsDoesNotPromiseToOpenThePast(t *testing.T) {
	w := newWorld(t, orders, strings.Replace(downstream, "after: [orders]", "after: [downstream-of-nothing]", 1), "pipeline: {id: downstream-of-nothing, owner: data}\n")
	w.Pass(23 * time.Hour)
	w.editsAfterCompletion()
	w.says(w.explain("downstream", "2026-03-04"), explain.NotOpened,
		"before this version of the file was accepted, 2026-03-04T09:10:00Z (now)", "an edit does not open past periods", "interlock trigger downstream --date 2026-03-04")
}

func TestEditOfACronDoesNotPromiseToOpenThePast(t *testing.T) {
	w := newWorld(t, orders)
	w.Pass(29 * time.Hour) // Wednesday at ten past two
	w.Apply(orders, strings.Replace(weekdays, "0 8 * * *", "0 20 * * *", 1))
	w.Pass(time.Hour)
	w.Apply(orders, strings.Replace(weekdays, "0 8 * * *", "0 15 * * *", 1))
	w.Pass(time.Minute)
	w.says(w.explain("weekdays", "2026-03-04"), explain.NotOpened,
		"its fire at 2026-03-04T15:00:00Z came before this version of the file was accepted, 2026-03-04T15:10:00Z (1m ago)", "an edit does not open past periods",
		"interlock trigger weekdays --date 2026-03-04")
}

// The watchdog opens what was overlooked in the last day; anything older is left to an operator.
func TestOverlookedStartConditionIsPromisedOnlyAsFarAsTheWatchdogLooksBack(t *testing.T) {
	w := newWorld(t, strings.Replace(stream, `, deadline: "18:00"`, "", 1))
	w.Put("stream", "landed#2026-03-03", "status=ready")
	w.Changes() // the change is lost
	w.says(w.explain("stream", "2026-03-03"), explain.NotOpened, "the start condition was met 2026-03-03T09:10:00Z (now); the run opens within one watchdog interval")
	w.Move(w.Now().Add(25 * time.Hour))
	w.says(w.explain("stream", "2026-03-03"), explain.NotOpened, "longer ago than the watchdog looks back (1d)", "interlock trigger stream --date 2026-03-03")
}

func TestAfterTheStartDeadlineNoReadingIsRecommended(t *testing.T) {
	w := newWorld(t, stream)
	w.Pass(8 * time.Hour) // 17:10
	w.says(w.explain("stream", "2026-03-03"), explain.NotOpened, "interlock sensor set stream landed#2026-03-03 status=ready")
	w.Pass(time.Hour) // before the watchdog's next pass
	x := w.explain("stream", "2026-03-03")
	w.says(x, explain.NotOpened, "the start condition was not met before its deadline, 2026-03-03T18:00:00Z (10m ago)", "interlock trigger stream --date 2026-03-03")
	w.promisesNoReading(x)

	w.Move(w.Now().Add(7 * time.Minute)) // at the watchdog's pass
	key, _ := run.ParseKey("stream/stream/2026-03-03")
	if closed, err := w.Router.CloseStart(ctx, key, w.Now()); err != nil || !closed {
		t.Fatalf("closed %v, %v", closed, err)
	}
	x = w.explain("stream", "2026-03-03")
	w.says(x, explain.Exhausted, "the start condition was not met before its deadline, 2026-03-03T18:00:00Z (17m ago)",
		"after the deadline no reading opens the run", "opening the run:", "interlock trigger stream --date 2026-03-03\n", "that attempt also needs rows with count gt 10")
	if strings.Contains(x.Text(), "reopens") || strings.Contains(x.Text(), "landed") {
		t.Errorf("no reading of the start condition matters any more:\n%s", x.Text())
	}
}

func TestDeadlineOfAStartConditionUnderCronIsNotCalledAWindow(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: nightly, owner: data}
schedule:
  cron: "0 8 * * *"
  trigger: {key: closed, check: equals, field: status, value: "yes", deadline: "09:00"}
  evaluation: {window: 3h, interval: 10m}
job: {type: command, config: {command: [load]}}
`)
	w.Pass(24 * time.Hour)
	x := w.explain("nightly", "2026-03-04")
	w.says(x, explain.Exhausted, "the gate stayed closed until the start condition's deadline, 2026-03-04T09:00:00Z (10m ago)",
		"after the deadline no reading opens the run", "interlock rerun nightly --date 2026-03-04 --reason TEXT")
	if strings.Contains(x.Summary, "window") {
		t.Errorf("got %q", x.Summary)
	}
}

// Outside a start deadline a changed reading of the start condition reopens an exhausted run; no
// other reading does.
func TestExhaustedRunSaysWhichReadingReopensIt(t *testing.T) {
	w := newWorld(t, strings.Replace(stream, `, deadline: "18:00"`, "", 1))
	w.Write("stream", "landed#2026-03-03", "status=ready")
	w.Pass(2 * time.Hour)
	w.says(w.explain("stream", "2026-03-03"), explain.Exhausted, "a changed reading of landed that meets the start condition reopens the run",
		"that attempt also needs rows with count gt 10")
}

func TestRerunThatNeedsForceIsHintedWithForce(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-04", "status=ready")
	w.Write("orders", "rows#2026-03-04", "count=5000")
	key := w.Key("orders/cron/2026-03-04")
	r, err := w.Store.Run(ctx, key)
	w.Check(err)
	spent, err := r.Cancel("ann", "wrong input", run.NothingLeft, w.Now())
	w.Check(err)
	spent.Counters.ManualReruns = 1
	b := store.Batch{ID: "spent"}
	b.Swap(r, spent)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
	w.says(w.explain("orders", "2026-03-04"), explain.Cancelled,
		"another attempt (maxManualReruns: 1 used up):", "interlock rerun orders --date 2026-03-04 --force --reason TEXT\n")
}

func TestFailureOfAPausedPipelineSaysThatNoRetryOpens(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-04", "status=ready")
	w.Write("orders", "rows#2026-03-04", "count=5000")
	_, err := w.Router.Pause(ctx, "orders", store.Pause{By: "ann", Why: "migration"}, w.Now())
	w.Check(err)
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultFail, Category: run.Transient, Message: "no network"})
	w.says(w.explain("orders", "2026-03-04"), explain.Settling, "attempt 1 failed (no network); the pipeline is paused, so no retry opens", "interlock resume orders")
}

func TestRunWithoutAResultInTimePromisesNoRetry(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-04", "status=ready")
	w.Write("orders", "rows#2026-03-04", "count=5000")
	w.Settle()
	r, err := w.Store.Run(ctx, w.Key("orders/cron/2026-03-04"))
	w.Check(err)
	late, err := r.PollExhausted(run.NothingLeft, w.Now())
	w.Check(err)
	b := store.Batch{ID: "late"}
	b.Swap(r, late)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
	x := w.explain("orders", "2026-03-04")
	w.says(x, explain.Settling, "attempt 1 ended (no result within the poll window) and is not retried")
	w.omits(x, "is being decided")
	if got := x.Cause().String(); got != "attempt 1 ended: no result within the poll window; it is not retried" {
		t.Errorf("cause %q", got)
	}
}

func TestEveryProblemOfARejectedFileHasItsLine(t *testing.T) {
	w := newWorld(t, orders)
	w.Offer(orders, "pipeline: {id: broken, owner: data}\nschedule: {cron: \"61 * * * *\", timezone: Mars/Base}\n")
	w.Settle()
	x := w.explain("broken", "2026-03-04")
	w.says(x, explain.NotOpened, "the pipeline's file was rejected, and no version of it is active\n", "\n  - 1.yaml:2:18: schedule.cron:", "\n  - 1.yaml:2:")
	if strings.ContainsRune(x.Text(), '�') || len(x.Reasons) < 2 {
		t.Errorf("got %q\n%s", x.Reasons, x.Text())
	}
}

// A write replaces the whole reading: without count the run would open, and then wait for it.
func TestHintedStartConditionKeepsWhatTheRulesNeed(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: gated, owner: data}
schedule: {trigger: {key: landed, check: equals, field: complete, value: true}}
validation: {rules: [{key: landed, check: gte, field: count, value: 1000}]}
`)
	w.Write("gated", "landed#2026-03-03", "complete=false", "count=12")
	w.says(w.explain("gated", "2026-03-03"), explain.NotOpened, "interlock sensor set gated landed#2026-03-03 complete=true count=1000")
	w.Write("gated", "landed#2026-03-03", "complete=false", "count=2000")
	w.says(w.explain("gated", "2026-03-03"), explain.NotOpened, "interlock sensor set gated landed#2026-03-03 complete=true count=")
}

// withoutSlot returns the explanation of a run that waits for the only slot.
func withoutSlot(t *testing.T) (*world, explain.Explanation) {
	t.Helper()
	w := newWorld(t, strings.Replace(stream, "trigger:", "maxActive: 1\n  trigger:", 1))
	for _, date := range []string{"2026-03-03", "2026-03-04"} {
		w.Write("stream", "rows#"+date, "count=20")
		w.Write("stream", "landed#"+date, "status=ready")
	}
	w.Pass(10 * time.Minute)
	return w, w.explain("stream", "2026-03-04")
}

func TestWindowOfARunThatWaitsForASlotStandsStill(t *testing.T) {
	w, x := withoutSlot(t)
	w.says(x, explain.Waiting, "its window is paused until a job ends, with 1h left")
	if strings.Contains(x.Text(), "the window is open until") {
		t.Errorf("that window has no end yet:\n%s", x.Text())
	}
}

func TestRejectedFileIsNamedBesideTheVersionActive(t *testing.T) {
	w := newWorld(t, stream)
	w.Offer(strings.NewReplacer("window: 1h", "windw: 1h", "owner: data", "ownr: data").Replace(stream))
	w.says(w.explain("stream", "2026-03-03"), explain.NotOpened, "the newest version of the file has problems and is not active: ", "pipeline.owner: is required", "(and 2 more)")
}

func TestCompletedRunNamesUnusedData(t *testing.T) {
	w := newWorld(t, strings.Replace(stream, "job: {", "job: {maxDriftReruns: 0, ", 1))
	w.Write("stream", "rows#2026-03-03", "count=20")
	w.Write("stream", "landed#2026-03-03", "status=ready")
	w.finish("stream/stream/2026-03-03", run.Report{Result: run.ResultSuccess})
	w.Pass(time.Minute)
	if x := w.explain("stream", "2026-03-03"); len(x.Reasons)+len(x.Opens) > 0 {
		t.Errorf("there is nothing to say about it:\n%s", x.Text())
	}
	w.Write("stream", "landed#2026-03-03", "status=ready", "part=2")
	w.says(w.explain("stream", "2026-03-03"), explain.Completed,
		"stream/landed changed after the job of attempt 1 started: part was missing, is \"2\"; the gate would still have opened; no rerun follows (maxDriftReruns: 0)",
		"interlock rerun stream --date 2026-03-03 --reason TEXT\n")
}
