package explain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/period"
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

const manual = `
pipeline: {id: manual, owner: data}
job: {type: command, config: {command: [load]}}
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

// opened returns the world of orders on Wednesday, when today's run has been waiting since eight.
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
		"orders/cron/2026-03-04  WAITING\nthe gate is closed: 1 of 2 rules does not pass\n",
		`✗ source  status equals "ready": status is "pending", needs "ready"`,
		"written 2026-03-04T08:10:00Z (2m ago) by etl for 2026-03-04",
		"✓ rows", "✗ note", "(advisory: does not count)",
		"waiting since 2026-03-04T08:00:00Z (12m ago); the window is open until 2026-03-04T11:00:00Z (in 2h48m)",
		"interlock sensor set orders source#2026-03-04 status=ready",
		"absolute deadline 2026-03-04T12:00:00Z (in 3h48m): ARMED, warning 2026-03-04T11:30:00Z",
	)
}

func TestMissingSensorIsUnknownAndHinted(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-03", "status=ready")
	w.says(w.explain("orders", "2026-03-04"), explain.Waiting,
		"2 of 2 rules do not pass", "? source", "2026-03-03",
		"interlock sensor set orders source#2026-03-04 status=ready", "interlock sensor set orders rows#2026-03-04 count=1000",
	)
}

func TestRunningAndCompletedRunsShowTheirStartSnapshot(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-04", "status=ready")
	w.Write("orders", "rows#2026-03-04", "count=5000")
	w.says(w.explain("orders", ""), explain.Running, "RUNNING\nattempt 1 has been running since 2026-03-04T08:10:00Z (now)\n", "its job is polled every 30s until 2026-03-04T09:10:00Z", "its next poll is 2026-03-04T08:10:30Z", "Rules at the start, 2026-03-04T08:10:00Z")
	w.Pass(5 * time.Minute)
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultSuccess, Message: "5000 rows"})
	x := w.explain("orders", "2026-03-04")
	w.says(x, explain.Completed,
		"COMPLETED\nattempt 1 succeeded, 15m after the run opened\n", `✓ source  status equals "ready": status is "ready"`,
		"attempt 1 (cron): opened 2026-03-04T08:00:00Z, started 2026-03-04T08:10:00Z, succeeded 2026-03-04T08:15:00Z: 5000 rows",
		"absolute deadline 2026-03-04T12:00:00Z (in 3h45m): MET",
	)
	if len(x.Opens) > 0 {
		t.Errorf("a completed run needs nothing, got %q", x.Opens)
	}
}

func TestLearnedPollsAreExplained(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: hourly, owner: data}
schedule: {cron: "0 * * * *"}
job: {type: command, config: {command: [load]}, learnPolls: true}
`)
	w.Pass(50 * time.Minute)
	for hour := range 5 {
		w.Pass(10 * time.Minute)
		w.finish(fmt.Sprintf("hourly/cron/2026-03-03T%02d", 10+hour), run.Report{Result: run.ResultSuccess})
		w.Pass(50 * time.Minute)
	}
	w.says(w.explain("hourly", ""), explain.Running, "its next poll is 2026-03-03T15:00:30Z")
	w.Pass(time.Minute)
	w.says(w.explain("hourly", ""), explain.Running, "polls are left out (job.learnPolls), because the p10 duration of its last 5 completed runs is 10m")
}

func TestFailedRunListsEachAttempt(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-04", "status=ready")
	w.Write("orders", "rows#2026-03-04", "count=5000")
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultFail, Category: run.Transient, Message: "no network"})
	w.says(w.explain("orders", ""), explain.Waiting, "WAITING\nattempt 1 failed (no network); attempt 2 starts 2026-03-04T08:10:", "attempt 1 (cron)", "failed 2026-03-04T08:10:00Z (TRANSIENT): no network")
	w.Pass(time.Hour)
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultFail, Category: run.Transient, Message: "still none", Exited: true, ExitCode: 75})
	w.says(w.explain("orders", "2026-03-04"), explain.Failed, "FAILED\nfailed after 2 attempts: still none (maxRetries: 1 used up)\n", "attempt 2 (retry: transient)", "(TRANSIENT, exit code 75): still none", "interlock rerun orders --date 2026-03-04 --reason TEXT")
}

func TestExhaustedRunShowsTheGateAsItIsNow(t *testing.T) {
	w := opened(t)
	w.Pass(4 * time.Hour)
	x := w.explain("orders", "2026-03-04")
	w.says(x, explain.Exhausted, "the gate stayed closed until the window of attempt 1 ended, 2026-03-04T11:00:00Z (1h10m ago)", "interlock rerun orders", "Rules now",
		"that attempt also needs source with status equals \"ready\"")
}

func TestCancelledRunSaysByWhom(t *testing.T) {
	w := opened(t)
	key, _ := run.ParseKey("orders/cron/2026-03-04")
	_, err := w.Router.Cancel(ctx, key, "ann", "wrong day", w.Now())
	w.Check(err)
	w.says(w.explain("orders", "2026-03-04"), explain.Cancelled, "CANCELLED\ncancelled by ann: wrong day\n", "interlock rerun orders")
}

func TestPauseComesFirst(t *testing.T) {
	w := opened(t)
	_, err := w.Router.Pause(ctx, "orders", store.Pause{By: "ann", Why: "migration", Until: w.Now().Add(2 * time.Hour)}, w.Now())
	w.Check(err)
	w.says(w.explain("orders", ""), explain.Waiting, "WAITING\nthe pipeline is paused, so attempt 1 does not start\n",
		"paused since 2026-03-04T08:10:00Z (now) by ann: migration; the pause ends 2026-03-04T10:10:00Z (in 2h)", "interlock resume orders")
	_, err = w.Router.PauseAll(ctx, store.Pause{By: "bob", Why: "maintenance"}, w.Now())
	w.Check(err)
	w.says(w.explain("orders", "2026-03-05"), explain.NotOpened, "NOT OPENED\nthe pipeline is paused, so no run opens\n")
	w.says(w.explain("orders", ""), explain.Waiting, "by ann: migration", "all pipelines have been paused since 2026-03-04T08:10:00Z (now) by bob: maintenance",
		"interlock resume orders", "interlock resume --all")
}

func TestMissingRunIsExplained(t *testing.T) {
	w := newWorld(t, orders, stream, weekdays, downstream)
	for _, c := range []struct {
		id, date string
		want     []string
	}{
		{"orders", "2026-03-04", []string{"the schedule opens this run 2026-03-04T08:00:00Z (in 22h50m)"}},
		{"orders", "2026-03-02", []string{"its fire at 2026-03-02T08:00:00Z came before the pipeline was first accepted, 2026-03-03T09:10:00Z", "interlock trigger orders --date 2026-03-02"}},
		{"orders", "2026-03-03T10", []string{"the schedule has no fire for this period", "each run of this pipeline is for one day"}},
		{"weekdays", "2026-03-07", []string{"the calendar excludes this period: weekend", "--force"}},
		{"stream", "2026-03-03", []string{"the start condition is not met", "interlock sensor set stream landed#2026-03-03 status=ready"}},
		{"stream", "2026-03-09", []string{"the start condition is not met; the period begins 2026-03-09T00:00:00Z"}},
		{"stream", "2026-03-01", []string{"the start condition was not met before its deadline, 2026-03-01T18:00:00Z", "interlock trigger stream --date 2026-03-01"}},
		{"downstream", "2026-03-03", []string{"not all upstream runs are COMPLETED", "no run of orders for 2026-03-03", "for a COMPLETED run of orders for 2026-03-03:"}},
	} {
		w.says(w.explain(c.id, c.date), explain.NotOpened, c.want...)
	}
}

func TestMissedFireIsFoundAgain(t *testing.T) {
	w := newWorld(t, orders)
	w.Move(w.Now().Add(72 * time.Hour)) // down for three days
	w.Settle()
	w.says(w.explain("orders", "2026-03-05"), explain.NotOpened, "its fire at 2026-03-05T08:00:00Z was missed")
}

func TestUnopenedRunNamesTheRulesBesideItsStartCondition(t *testing.T) {
	w := newWorld(t, stream)
	x := w.explain("stream", "2026-03-03")
	w.says(x, explain.NotOpened, "the start condition is not met", "? landed", "? rows",
		"  - landed with status equals \"ready\"", "the run also needs rows with count gt 10")
	if len(x.Gate.Leaves) != 2 || x.Gate.Open() || x.LetsStart() {
		t.Errorf("gate %+v", x.Gate)
	}
	w.Write("stream", "rows#2026-03-03", "count=11")
	if x = w.explain("stream", "2026-03-03"); strings.Contains(x.Text(), "also needs") {
		t.Errorf("a rule that passes is still needed:\n%s", x.Text())
	}
	w.says(x, explain.NotOpened, "? landed", "✓ rows")
	// A run that only an operator opens does not need the start condition.
	w.says(w.explain("stream", "2026-03-02"), explain.NotOpened, "interlock trigger stream --date 2026-03-02", "that run also needs rows with count gt 10")
}

func TestLateStartConditionOpensNothing(t *testing.T) {
	w := newWorld(t, stream)
	w.Write("stream", "landed#2026-03-02", "status=ready")
	w.says(w.explain("stream", "2026-03-02"), explain.NotOpened,
		"the start condition was met only after its deadline, 2026-03-02T18:00:00Z", "interlock trigger stream --date 2026-03-02")
}

func TestRemovedPipelineOpensNothing(t *testing.T) {
	w := newWorld(t, orders, weekdays)
	w.Apply(weekdays)
	w.says(w.explain("orders", "2026-03-05"), explain.NotOpened, "orders 2026-03-05  NOT OPENED\n", "the pipeline's file was removed 2026-03-03T09:10:00Z (now), so no run opens")
	w.says(w.explain("orders", ""), explain.NotOpened, "orders  NOT OPENED\n")
}

func TestRunOfARemovedPipelineIsExplained(t *testing.T) {
	w := newWorld(t, manual, orders)
	key, _ := run.ParseKey("manual/manual/2026-03-03")
	for _, date := range []string{"2026-03-02", "2026-03-03"} {
		key.Period, _ = period.Parse(date)
		_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: date, Pipeline: key.Pipeline, Period: key.Period, By: "ann"}, w.Now())
		w.Check(err)
		w.Settle()
	}
	w.finish("manual/manual/2026-03-02", run.Report{Result: run.ResultSuccess})
	w.Apply(orders)
	for _, date := range []string{"", "2026-03-03"} {
		w.says(w.explain("manual", date), explain.Running, "manual/manual/2026-03-03  RUNNING\n", "attempt 1 has been running since",
			"the pipeline's file was removed 2026-03-03T09:10:00Z (now): this attempt finishes, and nothing new opens")
	}
	w.says(w.explain("manual", "2026-03-02"), explain.Completed, "attempt 1 succeeded", "the pipeline's file was removed", "so nothing new opens")
	w.says(w.explain("manual", "2026-03-01"), explain.NotOpened, "so no run opens")
}

func TestHintedRerunWouldBeAccepted(t *testing.T) {
	w := newWorld(t, weekdays)
	key, _ := run.ParseKey("weekdays/cron/2026-03-07")
	_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: "1", Pipeline: key.Pipeline, Period: key.Period, By: "ann", Reason: "audit", Force: true}, w.Now())
	w.Check(err)
	_, err = w.Router.Cancel(ctx, key, "ann", "wrong day", w.Now())
	w.Check(err)
	w.says(w.explain("weekdays", "2026-03-07"), explain.Cancelled, "interlock rerun weekdays --date 2026-03-07 --force --reason TEXT")
	w.Apply(orders)
	if x := w.explain("weekdays", "2026-03-07"); strings.Contains(x.Text(), "rerun") {
		t.Errorf("a removed pipeline cannot be rerun:\n%s", x.Text())
	}
}

func TestUnknownPipelineIsAnError(t *testing.T) {
	w := newWorld(t, orders)
	_, err := explain.Explain(ctx, explain.Sources{Store: w.Store, Catalog: w.Catalog}, explain.Question{Pipeline: "orderz"}, w.Now())
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
	w.says(w.explain("orders", ""), explain.Held, "the start of attempt 1 has been held since 2026-03-04T08:10:00Z (now): the target does not answer", "interlock job complete orders/cron/2026-03-04 success",
		"its time limit is 2026-03-04T12:30:00Z (in 4h20m); the run then ends as FAILED_FINAL")
}

func TestUserTextStaysOnItsLine(t *testing.T) {
	w := opened(t)
	w.Write("orders", "source#2026-03-04", "status=ready\n\x1b[31mCOMPLETED: all is well")
	for line := range strings.Lines(w.explain("orders", "").Text()) {
		if strings.HasPrefix(line, "COMPLETED") || strings.Contains(line, "\x1b") {
			t.Errorf("a sensor's value broke out: %q", line)
		}
	}
}

func TestAttemptsAreNumberedWithoutRecords(t *testing.T) {
	got := explain.Attempts(run.Run{Attempt: 2}, []store.JobEntry{{Attempt: 9, Event: store.JobFail}}, nil)
	if diff := cmp.Diff([]int{1, 2}, []int{got[0].Number, got[1].Number}); diff != "" || len(got) != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestDryRunExplainsThatItStartsNothing(t *testing.T) {
	w := newWorld(t, strings.Replace(stream, "job:", "dryRun: true\njob:", 1))
	w.Write("stream", "landed#2026-03-03", "status=ready")
	w.says(w.explain("stream", "2026-03-03"), explain.Waiting, "WAITING (dry run: no job starts)", "its rule does not pass")
	w.Write("stream", "rows#2026-03-03", "count=11")
	x := w.explain("stream", "2026-03-03")
	w.says(x, explain.WouldStart, "WOULD START (dry run: no job starts)\nthe gate was open 2026-03-03T09:10:00Z (now), and the job would have started\n")
	if text := x.Text(); strings.Contains(text, "succe") || strings.Contains(text, "COMPLETED") {
		t.Errorf("nothing succeeded:\n%s", text)
	}
}

func TestRunThatWaitsForASlotSaysSo(t *testing.T) {
	w := newWorld(t, strings.Replace(stream, "trigger:", "maxActive: 1\n  trigger:", 1))
	for _, date := range []string{"2026-03-03", "2026-03-04"} {
		w.Write("stream", "rows#"+date, "count=11")
		w.Write("stream", "landed#"+date, "status=ready")
	}
	w.says(w.explain("stream", "2026-03-03"), explain.Running)
	w.says(w.explain("stream", "2026-03-04"), explain.Waiting, "the gate is open, but as many jobs are running as schedule.maxActive allows, since 2026-03-03T09:10:00Z (now)")
}

// refuse has the first start call of a waiting run refused.
func (w *world) refuse(key string) {
	w.Helper()
	r := w.run(key)
	next, err := r.Evaluated(true, w.Now())
	w.Check(err)
	next, err = next.Trigger(run.Start{Snapshot: "s"}, w.Now())
	w.Check(err)
	next, err = next.Refused(run.Report{Category: run.Transient, Message: "503"}, w.Now())
	w.Check(err)
	b := store.Batch{ID: "refuse"}
	b.Swap(r, next)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
}

func TestRefusedStartNamesItsRetryTime(t *testing.T) {
	w := opened(t)
	w.refuse("orders/cron/2026-03-04")
	w.says(w.explain("orders", ""), explain.Starting, "start call 1 of attempt 1 was refused (no reason recorded); the next one is 2026-03-04T08:10:30Z (in 30s)")
}
