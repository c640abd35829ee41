package router_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// The jobs here report their own end; their target says that they run.

// reportEnd reports the end of a job that is no longer awaited.
func (w *world) reportEnd(attempt int, result run.Result) {
	w.Helper()
	done, err := w.Router.Report(ctx, said(w, attempt, result), w.Now())
	w.Check(err)
	if !done.Late {
		w.Fatalf("the result %s was still awaited", result)
	}
}

func said(w *world, attempt int, result run.Result) run.Outcome {
	w.Helper()
	return run.Outcome{Key: w.Key(plainRun), Attempt: attempt, Report: run.Report{Result: result, By: "etl"}}
}

// pollsExhausted returns a world in which plain's job had no result in time, and the run is about
// to end.
func pollsExhausted(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, async)
	w.Write("plain", "arrival", "n=1")
	w.sleep(61 * time.Minute)
	for w.run(plainRun).Status == run.Running && w.Work() {
	}
	w.expect(plainRun, "JOB_POLL_EXHAUSTED 1")
	same(t, "left", run.JobMayRun, w.run(plainRun).Progress.Left)
	return w
}

func TestRerunAfterTheLeftJobHasReportedItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		left   func(*testing.T) *world
		result run.Result
		stands string
	}{
		"cancelled, success":         {leftRunning, run.ResultSuccess, "CANCELLED 1"},
		"cancelled, failure":         {leftRunning, run.ResultFail, "CANCELLED 1"},
		"cancelled, timeout":         {leftRunning, run.ResultTimeout, "CANCELLED 1"},
		"between two steps, success": {pollsExhausted, run.ResultSuccess, "FAILED_FINAL 1"},
		"polled in vain, failure": {func(t *testing.T) *world {
			w := pollsExhausted(t)
			w.Settle()
			return w
		}, run.ResultFail, "FAILED_FINAL 1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.left(t)
			w.reportEnd(1, c.result)
			w.Settle()
			w.expect(plainRun, c.stands)
			w.rerun(ask(w, "1"))
			w.expect(plainRun, "RUNNING 2")
		})
	}
}

func TestEndOfALeftJobIsRecordedOnceAndChangesNothingElse(t *testing.T) {
	w := leftRunning(t)
	want := w.run(plainRun)
	events := w.eventLines()
	w.sleep(time.Minute)
	w.reportEnd(1, run.ResultSuccess)
	want.Version, want.UpdatedAt, want.Progress.Left = want.Version+1, w.Now(), run.NothingLeft
	for range 2 {
		same(t, "run", want, w.run(plainRun))
		w.sleep(time.Minute)
		w.reportEnd(1, run.ResultSuccess)
		w.reportEnd(1, run.ResultFail)
		w.Settle()
	}
	same(t, "event", events, w.eventLines())
	logs, err := w.Store.JobLogs(ctx, []run.Key{want.Key})
	w.Check(err)
	late := 0
	for _, entry := range logs[want.Key] {
		if entry.Event == store.JobLate {
			late++
		}
	}
	same(t, "logged", 1, late)
}

func TestOnlyTheEndOfTheLeftJobItselfCounts(t *testing.T) {
	w := leftRunning(t)
	forced := ask(w, "1")
	forced.Force = true
	w.rerun(forced)
	w.leave()
	w.expect(plainRun, "CANCELLED 2")
	w.reportEnd(1, run.ResultSuccess)
	w.reportEnd(2, "splendid")
	w.rerun(ask(w, "2"))
	same(t, "why", "job still running", w.why())
	w.reportEnd(2, run.ResultSuccess)
	w.rerun(ask(w, "3"))
	w.expect(plainRun, "RUNNING 3")
}

func TestEndOfALeftJobIsRecordedDespiteConcurrentChanges(t *testing.T) {
	w := pollsExhausted(t)
	first, m := twins(w)
	m.others = []func(){w.Settle} // which ends the run
	done, err := first.Report(ctx, said(w, 1, run.ResultSuccess), w.Now())
	w.Check(err)
	w.expect(plainRun, "FAILED_FINAL 1")
	same(t, "run", w.run(plainRun), done.Run)
	same(t, "left", run.NothingLeft, done.Run.Progress.Left)
}

func TestEndOfALeftJobDoesNotAffectAConcurrentNewAttempt(t *testing.T) {
	w := leftRunning(t)
	first, m := twins(w)
	m.others = []func(){func() {
		forced := ask(w, "1")
		forced.Force = true
		w.rerun(forced)
	}}
	done, err := first.Report(ctx, said(w, 1, run.ResultFail), w.Now())
	w.Check(err)
	same(t, "late", true, done.Late)
	w.expect(plainRun, "RUNNING 2")
}

func TestRerunAfterACancelBeforeTheResultWasHandled(t *testing.T) {
	w := newWorld(t, async)
	w.Write("plain", "arrival", "n=1")
	_, err := w.Router.Report(ctx, said(w, 1, run.ResultSuccess), w.Now())
	w.Check(err)
	cancelled, err := w.Router.Cancel(ctx, w.Key(plainRun), "ada", "not needed", w.Now())
	w.Check(err)
	same(t, "left", run.NothingLeft, cancelled.Progress.Left) // its job has ended
	w.Settle()
	w.expect(plainRun, "CANCELLED 1")
	w.rerun(ask(w, "1"))
	w.expect(plainRun, "RUNNING 2")
}

// A row from outside names no attempt and may be handled again, much later: it is about the attempt
// it was written in.
func TestResultWithoutAnAttemptNeverAffectsALaterOne(t *testing.T) {
	w := newWorld(t, async)
	w.Write("plain", "arrival", "n=1")
	o := said(w, 0, run.ResultFail)
	o.At = w.Now()
	_, err := w.Router.Report(ctx, o, w.Now())
	w.Check(err)
	w.Settle()
	w.sleep(time.Hour)
	forced := ask(w, "1")
	forced.Force = true
	w.rerun(forced)
	w.expect(plainRun, "RUNNING 2")
	again, err := w.Router.Report(ctx, o, w.Now())
	w.Check(err)
	same(t, "late", true, again.Late)
	w.expect(plainRun, "RUNNING 2")
	o.At = w.Now().Truncate(time.Second)
	_, err = w.Router.Report(ctx, o, w.Now())
	w.Check(err)
	w.Settle()
	w.expect(plainRun, "FAILED_FINAL 2")
}
