package attention_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/attention"
	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var ctx = context.Background()

type world struct {
	*testing.T
	*controllertest.Controller
}

func newWorld(t *testing.T, files ...string) *world {
	t.Helper()
	w := &world{t, controllertest.New(t, memory.New(), map[string]job.Type{"command": controllertest.Idle{}})}
	w.Apply(files...)
	w.Settle()
	return w
}

func (w *world) list(only string) []attention.Item {
	w.Helper()
	items, err := attention.List(ctx, attention.Sources{Store: w.Store, Catalog: w.Catalog}, pipeline.ID(only), w.Now())
	w.Check(err)
	return items
}

// needs compares "kind pipeline date severity: action".
func (w *world) needs(want ...string) {
	w.Helper()
	got := []string{}
	for _, i := range w.list("") {
		got = append(got, fmt.Sprintf("%s %s %s %s: %s", i.Kind, i.Pipeline, i.Period, i.Severity, i.Action.Command))
	}
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("(-want +got):\n%s", diff)
	}
}

// because compares the code and parameters ("name=value") of the first reason.
func (w *world) because(code reason.Code, params ...string) {
	w.Helper()
	got := w.list("")[0].Reason
	for _, param := range params {
		if name, value, _ := strings.Cut(param, "="); got.Code != code || got.Param(name) != value {
			w.Errorf("the reason is %s %+v, want %s with %s", got.Code, got, code, param)
		}
	}
}

func (w *world) finish(key string, r run.Report) {
	w.Helper()
	_, err := w.Router.Report(ctx, run.Outcome{Key: w.Key(key), Report: r}, w.Now())
	w.Check(err)
	w.Settle()
}

const daily = `
pipeline: {id: orders, owner: data}
schedule: {cron: "0 8 * * *"}
sla: {deadline: "12:00"}
job: {type: command, maxRetries: 0, jobPollWindowSeconds: 86400, config: {command: [load]}}
`

func TestNothingNeedsAttentionIfAllIsWell(t *testing.T) {
	w := newWorld(t, daily)
	w.Pass(23 * time.Hour)
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultSuccess})
	w.needs()
}

func TestFailedRunNeedsAttentionUntilItsOwnPeriodCompletes(t *testing.T) {
	w := newWorld(t, daily)
	w.Pass(23 * time.Hour)
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultFail, Category: run.Transient, Message: "exit code 75, connection refused", Exited: true, ExitCode: 75})
	want := "failed orders 2026-03-04 critical: interlock rerun orders --date 2026-03-04 --reason TEXT"
	w.needs(want)
	item := w.list("orders")[0]
	w.because(explain.CauseFailed, "exitCode=75", "message=exit code 75, connection refused")
	if !item.Since.Equal(w.Now()) {
		t.Errorf("since %s", item.Since)
	}
	w.Pass(10 * time.Hour)
	w.needs(want) // the breach of its deadline is not a second item
	w.Pass(14 * time.Hour)
	w.finish("orders/cron/2026-03-05", run.Report{Result: run.ResultSuccess})
	w.needs("failed orders 2026-03-04 warning: interlock rerun orders --date 2026-03-04 --reason TEXT") // less urgent, but not resolved
	_, err := w.Router.Rerun(ctx, router.RerunRequest{ID: "again", Pipeline: "orders", Period: w.Period("2026-03-04"), By: "ada", Reason: "the table is there"}, w.Now())
	w.Check(err)
	w.Settle()
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultSuccess})
	w.needs()
}

func TestFailureNobodyResolvesNeedsAttentionForThirtyDays(t *testing.T) {
	w := newWorld(t, "pipeline: {id: orders, owner: data}\njob: {type: command, maxRetries: 0, config: {command: [load]}}\n")
	_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: "one", Pipeline: "orders", Period: w.Period("2026-03-03"), By: "ada"}, w.Now())
	w.Check(err)
	w.Settle()
	w.finish("orders/manual/2026-03-03", run.Report{Result: run.ResultFail, Category: run.Transient})
	for days, want := range map[int]int{0: 1, 29: 1, 30: 0} {
		items, err := attention.List(ctx, attention.Sources{Store: w.Store, Catalog: w.Catalog}, "", w.Now().Add(time.Duration(days)*24*time.Hour))
		w.Check(err)
		if len(items) != want {
			t.Errorf("after %d days: %+v", days, items)
		}
	}
}

// Without a fire nothing else lists it.
func TestPassedDeadlineWithoutARunStaysWhenALaterPeriodCompletes(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: fed, owner: data}
schedule: {trigger: {key: go, check: exists}}
sla: {deadline: "12:00"}
job: {type: command, config: {command: [load]}}
`)
	w.Pass(27 * time.Hour) // ten past twelve on Wednesday
	w.Write("fed", "go#2026-03-05", "on=true")
	w.finish("fed/stream/2026-03-05", run.Report{Result: run.ResultSuccess})
	w.needs("overdue fed 2026-03-03 warning: interlock trigger fed --date 2026-03-03", "overdue fed 2026-03-04 warning: interlock trigger fed --date 2026-03-04")
}

func TestRunningJobIsOverdueOnceItsDeadlineHasPassed(t *testing.T) {
	w := newWorld(t, daily)
	w.Pass(27 * time.Hour) // ten past twelve on Wednesday
	w.needs("overdue orders 2026-03-04 critical: interlock explain orders --date 2026-03-04")
	w.because("overdue", "deadline=2026-03-04T12:00:00Z", "phase=running")
	w.finish("orders/cron/2026-03-04", run.Report{Result: run.ResultSuccess})
	w.needs()
}

// The run is completed as soon as the controller gets to it.
func TestRunWithAnAcknowledgedSuccessIsNotOverdue(t *testing.T) {
	w := newWorld(t, daily)
	w.Pass(27 * time.Hour)
	_, err := w.Router.Report(ctx, run.Outcome{Key: w.Key("orders/cron/2026-03-04"), Report: run.Report{Result: run.ResultSuccess}}, w.Now())
	w.Check(err)
	w.needs()
}

// missSome pauses a pipeline during three fires and resumes it after the last one's window.
func (w *world) missSome(id pipeline.ID) {
	w.Helper()
	_, err := w.Router.Pause(ctx, id, store.Pause{By: "ada", Why: "migration", HoldSLA: true}, w.Now())
	w.Check(err)
	w.Pass(72*time.Hour + 10*time.Hour) // Friday, ten past seven in the evening
	w.Check(w.Router.Resume(ctx, id, "ada", "", w.Now()))
	w.Settle()
}

func TestMissingPeriodsNeedAttentionUntilEachHasARun(t *testing.T) {
	w := newWorld(t, daily)
	w.missSome("orders")
	w.needs("missing orders 2026-03-06 warning: interlock backfill orders --from 2026-03-04 --to 2026-03-06 --only-missing")
	w.Pass(13 * time.Hour)
	w.finish("orders/cron/2026-03-07", run.Report{Result: run.ResultSuccess})
	w.needs("missing orders 2026-03-06 info: interlock backfill orders --from 2026-03-04 --to 2026-03-06 --only-missing")
	w.because(explain.CauseMissing, "count=3", "first=2026-03-04", "last=2026-03-06")
	for _, date := range []string{"2026-03-04", "2026-03-06"} {
		_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: date, Pipeline: "orders", Period: w.Period(date), By: "ada"}, w.Now())
		w.Check(err)
		w.Settle()
		w.finish("orders/cron/"+date, run.Report{Result: run.ResultSuccess})
	}
	w.needs("missing orders 2026-03-05 info: interlock trigger orders --date 2026-03-05")
	later, err := attention.List(ctx, attention.Sources{Store: w.Store, Catalog: w.Catalog}, "", w.Now().Add(7*24*time.Hour))
	w.Check(err)
	for _, i := range later {
		if i.Kind == attention.Missing {
			t.Errorf("after a week: %+v", i)
		}
	}
}

func TestLaterRunMakesUpForMissingOnesWithCatchUpLatest(t *testing.T) {
	w := newWorld(t, strings.Replace(daily, "{cron: \"0 8 * * *\"}", "{cron: \"0 8 * * *\", catchUp: latest}", 1))
	w.missSome("orders")
	if items := w.list(""); len(items) != 1 || items[0].Kind != attention.Missing {
		t.Fatalf("got %+v", items)
	}
	w.Pass(13 * time.Hour)
	w.finish("orders/cron/2026-03-07", run.Report{Result: run.ResultSuccess})
	w.needs()
}

func TestClosedGateNeedsAttentionWithTheRuleThatClosedIt(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: gated, owner: data}
schedule: {trigger: {key: go, check: exists}, evaluation: {window: 1h, interval: 5m}}
validation: {rules: [{key: rows, check: gte, field: count, value: 1000}]}
`)
	w.Write("gated", "rows#2026-03-03", "count=12")
	w.Write("gated", "go#2026-03-03", "on=true")
	w.Pass(2 * time.Hour)
	w.needs("exhausted gated 2026-03-03 warning: interlock rerun gated --date 2026-03-03 --reason TEXT")
	w.because(explain.CauseExhausted, "key=rows", `value="12"`)
}

func TestRejectedFileNeedsAttention(t *testing.T) {
	w := newWorld(t, daily)
	w.Offer(strings.Replace(daily, "0 8 * * *", "0 8 * *", 1), "pipeline: {id: new, owner: data}\nschedule: {period: year}\n")
	items := w.list("")
	if len(items) != 2 || items[0].Kind != attention.Rejected || items[0].Pipeline != "new" || items[1].Kind != attention.Degraded || items[1].Pipeline != "orders" {
		t.Fatalf("got %+v", items)
	}
	if items[1].Action.Command != "interlock validate 0.yaml" || !items[1].Since.Equal(w.Now()) {
		t.Errorf("got %+v", items[1])
	}
}

func TestUndeliveredAlertsAreOneItemPerSink(t *testing.T) {
	w := newWorld(t, daily)
	for i := range 110 {
		var b store.Batch
		b.ID = fmt.Sprintf("dead/%d", i)
		b.Dead = append(b.Dead, store.DeadLetter{
			Sink: "ops", Reason: "503 Service Unavailable", Tries: 5, At: w.Now().Add(time.Duration(i) * time.Second),
			Event: event.New(event.SLABreach, event.About{Pipeline: "orders", Which: fmt.Sprint(i), At: w.Now()}, "late", nil),
		})
		w.Check(w.Store.Commit(ctx, b, w.Now()))
	}
	w.needs("undelivered   warning: interlock alerts retry --all --sink ops")
	w.because("undelivered", "alerts=110", "sink=ops", "message=503 Service Unavailable")
}

func TestPauseNeedsAttentionOnceItIsLong(t *testing.T) {
	w := newWorld(t, daily)
	_, err := w.Router.Pause(ctx, "orders", store.Pause{By: "ada", Why: "migration", HoldSLA: true}, w.Now())
	w.Check(err)
	w.Pass(23 * time.Hour)
	w.needs()
	w.Pass(2 * time.Hour)
	w.needs("paused orders  info: interlock resume orders")
	w.because("paused", "since=2026-03-03T09:10:00Z", "by=ada", "why=migration")
}
