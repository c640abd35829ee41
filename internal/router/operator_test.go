package router_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func TestTriggerOpensThePipelinesOwnRun(t *testing.T) {
	for _, c := range []struct{ file, id, date, want string }{
		{plain, "plain", "", "plain/stream/2026-03-03"},
		{hourly(", offset: -1"), "hourly", "", "hourly/cron/2026-03-03T08"},
		{hourly(""), "hourly", "2026-03-01T07", "hourly/cron/2026-03-01T07"},
		{`
pipeline: {id: byhand, owner: data}
job: {type: command, config: {command: "true"}}
`, "byhand", "2026-03-01", "byhand/manual/2026-03-01"},
	} {
		w := newWorld(t, c.file)
		w.trigger(c.id, c.date)
		w.expect(c.want, "RUNNING 1")
		same(t, "event", "ada", w.only(event.TriggerStarted).Detail.Extra.(event.Opening).RequestedBy)
	}
}

// The command that a refused trigger names would be accepted: only a COMPLETED run can be rerun.
func TestRefusedTriggerNamesTheCommandToUse(t *testing.T) {
	w := newWorld(t, plain, bounded)
	names := func(id, command string) {
		t.Helper()
		q := router.TriggerRequest{ID: "2", Pipeline: pipeline.ID(id), By: "ada", Reason: "tested", Force: true}
		_, err := w.Router.Trigger(ctx, q, w.Now())
		refused(t, err, router.Conflict)
		if !strings.Contains(err.Error(), command) || strings.Contains(err.Error(), "rerun") != strings.Contains(command, "rerun") {
			t.Errorf("got %q, want it to name %q", err, command)
		}
	}
	w.trigger("plain", "")
	names("plain", "`interlock cancel plain/stream/2026-03-03`")
	w.succeed(plainRun)
	names("plain", "`interlock rerun plain --date 2026-03-03 --reason WHY`")
	w.expect(plainRun, "COMPLETED 1")
	w.Write("bounded", "arrival", "status=ready")
	w.expect("bounded/stream/2026-03-03", "PENDING 1")
	names("bounded", "`interlock explain bounded --date 2026-03-03`")
}

func TestTriggerGivesAnEndedRunAnotherAttemptWithinItsBudget(t *testing.T) {
	w := newWorld(t, closing)
	w.sleep(time.Hour)
	w.Write("closing", "arrival", "n=1")
	w.expect("closing/stream/2026-03-03", "VALIDATION_EXHAUSTED 0")
	w.trigger("closing", "2026-03-03")
	w.expect("closing/stream/2026-03-03", "RUNNING 1")
	w.finish("closing/stream/2026-03-03", run.ResultFail, run.Transient)
	w.expect("closing/stream/2026-03-03", "FAILED_FINAL 1")
	w.trigger("closing", "2026-03-03")
	w.expect("closing/stream/2026-03-03", "RUNNING 2")
	w.finish("closing/stream/2026-03-03", run.ResultFail, run.Transient)
	w.expect("closing/stream/2026-03-03", "FAILED_FINAL 2")
	_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: "2", Pipeline: "closing", Period: w.Period("2026-03-03"), By: "ada"}, w.Now())
	refused(t, err, router.Conflict) // maxManualReruns is 1
}

func TestTriggerIsRefusedWhileALeftJobRuns(t *testing.T) {
	w := leftRunning(t)
	rejected := w.rerun(ask(w, "1"))
	q := router.TriggerRequest{ID: "2", Pipeline: "plain", Period: w.Period("2026-03-03"), By: "ada", Reason: "tested"}
	_, err := w.Router.Trigger(ctx, q, w.Now())
	refused(t, err, router.Conflict)
	same(t, "reported like a rerun", rejected.Why, err.Error())
	w.Settle()
	w.expect(plainRun, "CANCELLED 1")

	q.Force = true
	_, err = w.Router.Trigger(ctx, q, w.Now())
	w.Check(err)
	w.Settle()
	w.expect(plainRun, "RUNNING 2")
}

func TestTriggerAfterTheLeftJobHasEnded(t *testing.T) {
	w := leftRunning(t)
	w.jobs.running[w.run(plainRun).ID()] = false
	w.trigger("plain", "2026-03-03")
	w.expect(plainRun, "RUNNING 2")
}

func TestTriggerRefusals(t *testing.T) {
	w := newWorld(t, plain)
	_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: "1", Pipeline: "nobody"}, w.Now())
	refused(t, err, router.NotFound)
	for _, why := range []string{"", " "} {
		_, err = w.Router.Trigger(ctx, router.TriggerRequest{ID: "1", Pipeline: "plain", BypassGate: true, By: "ada", Reason: why}, w.Now())
		refused(t, err, router.Invalid)
	}
	_, err = w.Router.Pause(ctx, "plain", store.Pause{By: "ada", Why: "tested"}, w.Now())
	w.Check(err)
	_, err = w.Router.Trigger(ctx, router.TriggerRequest{ID: "1", Pipeline: "plain", By: "ada", Reason: "tested", Force: true}, w.Now())
	refused(t, err, router.Conflict)
	w.expect(plainRun, "none")
}

func TestCancelStopsTheJobAndEndsTheRun(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival", "status=ready")
	_, err := w.Router.Cancel(ctx, w.Key(plainRun), "ada", "not needed", w.Now())
	w.Check(err)
	w.Settle()
	w.expect(plainRun, "CANCELLED 1")
	same(t, "stopped", []run.AttemptID{"plain/stream/2026-03-03/1"}, w.jobs.stopped)
	same(t, "event", event.Left{By: "ada", Reason: "not needed"}, w.only(event.RunCancelled).Detail.Extra.(event.Left))
	if _, err := w.Store.Task(ctx, "advance/"+plainRun); err == nil {
		t.Error("its task still exists")
	}
	_, err = w.Router.Cancel(ctx, w.Key(plainRun), "ada", "again", w.Now())
	refused(t, err, router.Conflict)
	_, err = w.Router.Cancel(ctx, w.Key("plain/stream/2026-01-01"), "ada", "again", w.Now())
	refused(t, err, router.NotFound)
}

func TestCancelOfAWaitingRunStopsNothing(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival", "status=ready")
	_, err := w.Router.Cancel(ctx, w.Key(day3), "ada", "not needed", w.Now())
	w.Check(err)
	w.Settle()
	w.expect(day3, "CANCELLED 1")
	w.sleep(time.Minute)
	w.Write("orders", "quality", "verdict=good")
	w.expect(day3, "CANCELLED 1")
}

func TestFirstResultCountsAndTheSameAgainIsFine(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival", "status=ready")
	o := run.Outcome{Key: w.Key(plainRun), Attempt: 1, Report: run.Report{Result: run.ResultSuccess, By: "etl"}}
	for range 2 {
		done, err := w.Router.Report(ctx, o, w.Now())
		w.Check(err)
		if done.Late {
			t.Error("the repeated result is late")
		}
		w.Settle()
	}
	w.expect(plainRun, "COMPLETED 1")
	same(t, "completions", 1, w.count(event.JobCompleted))
}

func TestLateResultIsLoggedAndChangesNothing(t *testing.T) {
	w := completed(t)
	w.Write("plain", "arrival", "status=ready", "n=2")
	w.expect(plainRun, "RUNNING 2")
	done, err := w.Router.Report(ctx, run.Outcome{Key: w.Key(plainRun), Attempt: 1, Report: run.Report{Result: run.ResultFail, By: "etl"}}, w.Now())
	w.Check(err)
	if !done.Late {
		t.Error("an old failure affected a new attempt")
	}
	w.Settle()
	w.expect(plainRun, "RUNNING 2")
	key := w.Key(plainRun)
	logs, err := w.Store.JobLogs(ctx, []run.Key{key})
	w.Check(err)
	log := logs[key]
	same(t, "logged", store.JobLate, log[len(log)-1].Event)
	same(t, "message", "fail, while the run is RUNNING in attempt 2", log[len(log)-1].Message)
}

func TestInvalidResultsAreRefused(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival", "status=ready")
	report := func(key string, attempt int, result run.Result) error {
		_, err := w.Router.Report(ctx, run.Outcome{Key: w.Key(key), Attempt: attempt, Report: run.Report{Result: result}}, w.Now())
		return err
	}
	refused(t, report(day3, 1, run.ResultSuccess), router.Conflict)
	refused(t, report(day3, 2, run.ResultSuccess), router.NotFound)
	refused(t, report("orders/stream/2026-01-01", 0, run.ResultSuccess), router.NotFound)
	w.Write("orders", "quality", "verdict=good")
	refused(t, report(day3, 1, "splendid"), router.Invalid)
}

func TestReportedFailureIsClassifiedByTheFile(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: plain, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}, classify: [{match: schema, category: PERMANENT}]}
`)
	w.Write("plain", "arrival", "n=1")
	_, err := w.Router.Report(ctx, run.Outcome{Key: w.Key(plainRun), Report: run.Report{Result: run.ResultFail, Message: "schema changed", Category: run.Transient}}, w.Now())
	w.Check(err)
	w.Settle()
	w.expect(plainRun, "PENDING 2")
	same(t, "cause", run.CauseCode, w.run(plainRun).Progress.Opening.Cause)
}

func TestRecoverOpensAnOverlookedRun(t *testing.T) {
	w := newWorld(t, plain)
	w.Put("plain", "arrival", "status=ready")
	overlooked := w.Changes()[0]
	w.sleep(time.Minute)
	w.Check(w.Router.Recover(ctx, "plain", overlooked, w.Now()))
	w.Settle()
	w.expect(plainRun, "RUNNING 1")
	same(t, "events", 1, w.count(event.TriggerRecovered))
	w.Check(w.Router.Recover(ctx, "plain", overlooked, w.Now()))
	w.Check(w.Router.Recover(ctx, "gone", overlooked, w.Now()))
	w.Settle()
	same(t, "events after another pass", 1, w.count(event.TriggerRecovered))
}

func TestTriggerDoesNotWaitForTheEarliestStart(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: late, owner: data}
schedule: {cron: "0 12 * * *", time: "14:00"}
job: {type: command, config: {command: "true"}}
`)
	w.trigger("late", "")
	w.expect("late/cron/2026-03-03", "RUNNING 1")
}

func TestRecoverOpensNothingWhilePaused(t *testing.T) {
	w := newWorld(t, plain)
	w.Put("plain", "arrival", "status=ready")
	overlooked := w.Changes()[0]
	w.pause("plain", store.Pause{})
	w.Check(w.Router.Recover(ctx, "plain", overlooked, w.Now()))
	w.expect(plainRun, "none")
}

func TestResultOfAJobThatBelongsToAReplicaIsCompletedThere(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: plain, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: http, config: {url: "https://example.com/run"}}
`)
	w.Write("plain", "arrival", "n=1")
	w.report(plainRun, run.ResultSuccess, "")
	task, err := w.Store.Task(ctx, "advance/"+plainRun)
	w.Check(err)
	same(t, "replica", "one", task.Replica)
}
