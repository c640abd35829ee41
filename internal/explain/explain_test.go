package explain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const orders = `
pipeline: {id: orders, owner: data}
schedule:
  cron: "0 8 * * *"
  evaluation: {window: 3h, interval: 10m}
sla: {deadline: "12:00", expectedDuration: 30m}
validation:
  rules:
    - {key: source, check: equals, field: status, value: ready}
    - {key: rows, check: gte, field: count, value: 1000}
    - {key: note, check: exists, level: advisory}
job: {type: command, config: {command: [load]}, maxRetries: 1}
`

const stream = `
pipeline: {id: stream, owner: data}
schedule:
  trigger: {key: landed, check: equals, field: status, value: ready, deadline: "18:00"}
  evaluation: {window: 1h, interval: 5m}
validation:
  rules: [{key: rows, check: gt, field: count, value: 10}]
job: {type: command, config: {command: [load]}}
`

const weekdays = `
pipeline: {id: weekdays, owner: data}
schedule: {cron: "0 8 * * *", exclude: {weekends: true}}
job: {type: command, config: {command: [load]}}
`

const downstream = `
pipeline: {id: downstream, owner: data}
schedule: {after: [orders]}
job: {type: command, config: {command: [load]}}
`

// opened is the world of orders on Wednesday, when today's run waits since eight.
func opened(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, orders)
	w.Pass(23 * time.Hour)
	return w
}

func TestWaitingRunSaysWhichRuleIsClosedAndWhatWouldOpenIt(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-04", "status=pending")
	w.Write("orders", "rows#2026-03-04", "count=5000")
	w.Pass(2 * time.Minute)
	w.says(w.explain("orders", ""), explain.Waiting,
		"orders/cron/2026-03-04", "WAITING: the gate is closed: 1 of 2 rules does not hold",
		`✗ source  status equals "ready": status is "pending", needs "ready"`,
		"written 2026-03-04T08:10:00Z, 2m before, by etl, for 2026-03-04",
		"✓ rows", "✗ note", "(advisory: does not count)",
		"waiting since 2026-03-04T08:00:00Z (12m ago); the window is open until 2026-03-04T11:00:00Z (in 2h48m)",
		"`interlock sensor set orders source#2026-03-04 status=ready`",
		"absolute: ARMED, breach 2026-03-04T12:00:00Z (in 3h48m), warning 2026-03-04T11:30:00Z",
	)
}

func TestMissingSensorIsUnknownAndHinted(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-03", "status=ready")
	w.says(w.explain("orders", "2026-03-04"), explain.Waiting,
		"2 of 2 rules do not hold", "? source", "2026-03-03",
		"`interlock sensor set orders source#2026-03-04 status=ready`", "`interlock sensor set orders rows#2026-03-04 count=1000`",
	)
}

func TestRunningAndCompletedRunsShowWhatTheyStartedOn(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-04", "status=ready")
	w.Write("orders", "rows#2026-03-04", "count=5000")
	w.says(w.explain("orders", ""), explain.Running, "RUNNING: attempt 1 runs since 2026-03-04T08:10:00Z (now)", "Rules, as they stood at the start 2026-03-04T08:10:00Z")
	w.Pass(5 * time.Minute)
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultSuccess, Message: "5000 rows"})
	x := w.explain("orders", "2026-03-04")
	w.says(x, explain.Completed,
		"COMPLETED: attempt 1 succeeded, 15m after the run opened", `✓ source  status equals "ready": status is "ready"`,
		"attempt 1 (cron), opened 2026-03-04T08:00:00Z, started 2026-03-04T08:10:00Z, success 2026-03-04T08:15:00Z: 5000 rows",
		"absolute: MET, breach 2026-03-04T12:00:00Z",
	)
	if len(x.Opens) > 0 {
		t.Errorf("a completed run needs nothing, got %q", x.Opens)
	}
}

func TestFailedRunTellsEachAttempt(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-04", "status=ready")
	w.Write("orders", "rows#2026-03-04", "count=5000")
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultFail, Category: run.Transient, Message: "no network"})
	w.says(w.explain("orders", ""), explain.Waiting, "WAITING: attempt 2 begins", "attempt 1 (cron)", "fail TRANSIENT", "no network")
	w.Pass(time.Hour)
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultFail, Category: run.Transient, Message: "still none", Exited: true, ExitCode: 75})
	w.says(w.explain("orders", "2026-03-04"), explain.Failed, "failed for good in attempt 2", "attempt 2 (transient)", "exit 75", "still none", "`interlock rerun orders --date 2026-03-04 --reason TEXT`")
}

func TestExhaustedRunShowsTheGateAsItIsNow(t *testing.T) {
	w := opened(t)
	w.Pass(4 * time.Hour)
	x := w.explain("orders", "2026-03-04")
	w.says(x, explain.Exhausted, "the gate did not open within the window of attempt 1, which ended 2026-03-04T11:00:00Z", "interlock rerun orders", "Rules, as they stand now")
}

func TestCancelledRunSaysByWhom(t *testing.T) {
	w := opened(t)
	key, _ := run.ParseKey("orders/cron/2026-03-04")
	_, err := w.Router.Cancel(ctx, key, "ann", "wrong day", w.Now())
	w.Check(err)
	w.says(w.explain("orders", "2026-03-04"), explain.Cancelled, "cancelled by ann: wrong day", "interlock rerun orders")
}

func TestPauseIsTheFirstThingSaid(t *testing.T) {
	w := opened(t)
	_, err := w.Router.Pause(ctx, "orders", store.Pause{By: "ann", Why: "migration", Until: w.Now().Add(2 * time.Hour)}, w.Now())
	w.Check(err)
	w.says(w.explain("orders", ""), explain.Waiting, "WAITING: the pipeline is paused, so attempt 1 does not start",
		"paused since 2026-03-04T08:10:00Z (now) by ann: migration; it ends by itself 2026-03-04T10:10:00Z (in 2h)", "`interlock resume orders`")
	w.says(w.explain("orders", "2026-03-05"), explain.NotOpened, "NOT OPENED: the pipeline is paused: nothing opens")
}

func TestRunThatNeverWasSaysWhyNot(t *testing.T) {
	w := newWorld(t, orders, stream, weekdays, downstream)
	for _, c := range []struct {
		id, date string
		want     []string
	}{
		{"orders", "2026-03-04", []string{"the schedule is not reached: it opens 2026-03-04T08:00:00Z (in 22h50m)"}},
		{"orders", "2026-03-02", []string{"its fire at 2026-03-02T08:00:00Z was before the pipeline was first accepted, 2026-03-03T09:10:00Z", "`interlock trigger orders --date 2026-03-02`"}},
		{"orders", "2026-03-03T10", []string{"the schedule has no fire for this period", "its runs are for one day each"}},
		{"weekdays", "2026-03-07", []string{"the calendar suppresses this period: weekend", "--force"}},
		{"stream", "2026-03-03", []string{"the start condition was never true", "`interlock sensor set stream landed#2026-03-03 status=ready`"}},
		{"stream", "2026-03-09", []string{"the start condition was never true; the period begins 2026-03-09T00:00:00Z"}},
		{"stream", "2026-03-01", []string{"the start condition was never true, and its deadline has passed", "`interlock trigger stream --date 2026-03-01`"}},
		{"downstream", "2026-03-03", []string{"the upstream runs are not all COMPLETED", "no run of orders for 2026-03-03", "`interlock explain orders --date 2026-03-03`"}},
	} {
		w.says(w.explain(c.id, c.date), explain.NotOpened, c.want...)
	}
}

func TestMissedFireIsFoundAgain(t *testing.T) {
	w := newWorld(t, orders)
	w.Move(w.Now().Add(72 * time.Hour)) // nobody there for three days
	w.Settle()
	w.says(w.explain("orders", "2026-03-05"), explain.NotOpened, "its fire at 2026-03-05T08:00:00Z was missed")
}

func TestStartConditionThatCameTooLateOpensNothing(t *testing.T) {
	w := newWorld(t, stream)
	w.Write("stream", "landed#2026-03-02", "status=ready")
	w.says(w.explain("stream", "2026-03-02"), explain.NotOpened,
		"the start condition became true only after its deadline", "`interlock trigger stream --date 2026-03-02`")
}

func TestRemovedPipelineOpensNothing(t *testing.T) {
	w := newWorld(t, orders, weekdays)
	w.Apply(weekdays)
	w.says(w.explain("orders", "2026-03-05"), explain.NotOpened, "orders 2026-03-05\n", "the pipeline's file was removed 2026-03-03T09:10:00Z (now): nothing opens")
	w.says(w.explain("orders", ""), explain.NotOpened, "orders\nNOT OPENED")
}

func TestRerunIsHintedAsItWouldBeAccepted(t *testing.T) {
	w := newWorld(t, weekdays)
	key, _ := run.ParseKey("weekdays/cron/2026-03-07")
	_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: "1", Pipeline: key.Pipeline, Period: key.Period, By: "ann", Reason: "audit", Force: true}, w.Now())
	w.Check(err)
	_, err = w.Router.Cancel(ctx, key, "ann", "wrong day", w.Now())
	w.Check(err)
	w.says(w.explain("weekdays", "2026-03-07"), explain.Cancelled, "`interlock rerun weekdays --date 2026-03-07 --force --reason TEXT`")
	w.Apply(orders)
	if x := w.explain("weekdays", "2026-03-07"); strings.Contains(x.Text(), "rerun") {
		t.Errorf("nothing of a removed pipeline is run again:\n%s", x.Text())
	}
}

func TestUnknownPipelineIsAnError(t *testing.T) {
	w := newWorld(t, orders)
	_, err := explain.Look(ctx, explain.Sources{Store: w.Store, Catalog: w.Catalog}, explain.Question{Pipeline: "orderz"}, w.Now())
	if !errors.Is(err, explain.ErrUnknownPipeline) {
		t.Errorf("got %v", err)
	}
}

func TestHeldStartWaitsForAnOperator(t *testing.T) {
	w := opened(t)
	key, _ := run.ParseKey("orders/cron/2026-03-04")
	r, err := w.Store.Run(ctx, key)
	w.Check(err)
	held := r
	held, err = held.Evaluated(true, w.Now())
	w.Check(err)
	held, err = held.Trigger(run.Start{Snapshot: "s"}, w.Now())
	w.Check(err)
	held, err = held.Hold("the target does not answer", w.Now())
	w.Check(err)
	var b store.Batch
	b.ID = "hold"
	b.Swap(r, held)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
	w.says(w.explain("orders", ""), explain.Held, "held since 2026-03-04T08:10:00Z (now): the target does not answer", "`interlock job complete orders/cron/2026-03-04 success` or `fail`")
}

func TestWordsOfUsersStayOnTheirLine(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-04", "status=ready\n\x1b[31mCOMPLETED: all is well")
	for line := range strings.Lines(w.explain("orders", "").Text()) {
		if strings.HasPrefix(line, "COMPLETED") || strings.Contains(line, "\x1b") {
			t.Errorf("a sensor's value broke out: %q", line)
		}
	}
}

func TestAttemptsAreNumberedEvenIfNothingIsLeftOfThem(t *testing.T) {
	got := explain.Attempts(run.Run{Attempt: 2}, []store.JobEntry{{Attempt: 9, Event: store.JobFail}}, nil)
	if diff := cmp.Diff([]int{1, 2}, []int{got[0].Number, got[1].Number}); diff != "" || len(got) != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestDryRunSaysThatItStartsNothing(t *testing.T) {
	w := newWorld(t, strings.Replace(stream, "job:", "dryRun: true\njob:", 1))
	w.Write("stream", "landed#2026-03-03", "status=ready")
	w.says(w.explain("stream", "2026-03-03"), explain.Waiting, "dry run: no job is ever started", "its rule does not hold")
	w.Write("stream", "rows#2026-03-03", "count=11")
	x := w.explain("stream", "2026-03-03")
	if !x.DryRun || x.State == explain.NotOpened || x.State == explain.Running {
		t.Errorf("got %s\n%s", x.State, x.Text())
	}
}

func TestRunThatWaitsForASlotSaysSo(t *testing.T) {
	w := newWorld(t, strings.Replace(stream, "trigger:", "maxActive: 1\n  trigger:", 1))
	for _, date := range []string{"2026-03-03", "2026-03-04"} {
		w.Write("stream", "rows#"+date, "count=11")
		w.Write("stream", "landed#"+date, "status=ready")
	}
	w.says(w.explain("stream", "2026-03-03"), explain.Running)
	w.says(w.explain("stream", "2026-03-04"), explain.Waiting, "the gate is open, but all jobs the pipeline may have at once are running", "schedule.maxActive")
}

func TestRefusedStartSaysWhenItIsTriedAgain(t *testing.T) {
	w := opened(t)
	key, _ := run.ParseKey("orders/cron/2026-03-04")
	r, err := w.Store.Run(ctx, key)
	w.Check(err)
	next, err := r.Evaluated(true, w.Now())
	w.Check(err)
	next, err = next.Trigger(run.Start{Snapshot: "s"}, w.Now())
	w.Check(err)
	next, err = next.Refused(run.Report{Category: run.Transient, Message: "503"}, w.Now())
	w.Check(err)
	b := store.Batch{ID: "refuse"}
	b.Swap(r, next)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
	w.says(w.explain("orders", ""), explain.Starting, "was refused; it is tried again 2026-03-04T08:10:30Z (in 30s)")
}
