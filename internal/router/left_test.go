package router_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// stopping returns a world in which a run of narrow was cancelled, its job is slow to stop, and
// another run waits for its slot.
func stopping(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, narrow)
	w.jobs.slow = true
	w.Write("narrow", "arrival#2026-03-03", "n=1")
	w.Write("narrow", "arrival#2026-03-04", "n=1")
	w.expect(narrow3, "RUNNING 1")
	w.sleep(time.Second)
	cancelled, err := w.Router.Cancel(ctx, w.Key(narrow3), "ada", "wrong input", w.Now())
	w.Check(err)
	same(t, "left", run.JobStopping, cancelled.Progress.Left)
	w.Settle()
	w.expect(narrow3, "CANCELLED 1")
	return w
}

// rerunNarrow requests another attempt of the run whose job is stopping.
func (w *world) rerunNarrow(id string) store.Rerun {
	w.Helper()
	return w.rerun(router.RerunRequest{ID: id, Pipeline: "narrow", Period: w.Period("2026-03-03")})
}

func TestJobThatIsStoppingKeepsItsSlotAndRejectsReruns(t *testing.T) {
	w := stopping(t)
	same(t, "event", event.Left{By: "ada", Reason: "wrong input"}, w.only(event.RunCancelled).Detail.Extra.(event.Left))
	w.Pass(7 * time.Second)
	w.expect(narrow4, "PENDING 1")
	w.rerunNarrow("1")
	same(t, "why", "job still running", w.why())
	same(t, "log", []store.JobEvent{store.JobStarted, store.JobStopping}, w.log(narrow3))

	w.jobs.running[w.run(narrow3).ID()] = false
	w.Pass(30 * time.Second)
	same(t, "left", run.JobStopped, w.run(narrow3).Progress.Left)
	same(t, "log", []store.JobEvent{store.JobStarted, store.JobStopping, store.JobStopped}, w.log(narrow3))
	w.expect(narrow4, "RUNNING 1")
	if answer := w.rerunNarrow("2"); !answer.Accepted {
		t.Errorf("rejected after the job has ended: %s", answer.Why)
	}
	if _, err := w.Store.Task(ctx, "left/"+narrow3); err == nil {
		t.Error("the task that checks the job still exists")
	}
}

// log lists the job log of a run.
func (w *world) log(text string) []store.JobEvent {
	w.Helper()
	logs, err := w.Store.JobLogs(ctx, []run.Key{w.Key(text)})
	w.Check(err)
	var events []store.JobEvent
	for _, e := range logs[w.Key(text)] {
		events = append(events, e.Event)
	}
	return events
}

func TestJobThatStopsAtOnceLeavesNothing(t *testing.T) {
	w := newWorld(t, narrow)
	w.Write("narrow", "arrival#2026-03-03", "n=1")
	w.Write("narrow", "arrival#2026-03-04", "n=1")
	w.sleep(time.Second)
	cancelled, err := w.Router.Cancel(ctx, w.Key(narrow3), "ada", "wrong input", w.Now())
	w.Check(err)
	same(t, "left", run.JobStopped, cancelled.Progress.Left)
	w.Settle()
	w.expect(narrow4, "RUNNING 1")
}

func TestPollWindowAndTimeLimitLeaveAJobThatIsStopping(t *testing.T) {
	w := newWorld(t, narrow)
	w.jobs.slow = true
	w.Write("narrow", "arrival#2026-03-03", "n=1")
	w.Write("narrow", "arrival#2026-03-04", "n=1")
	w.Pass(61 * time.Minute)
	w.expect(narrow3, "FAILED_FINAL 1")
	same(t, "left", run.JobStopping, w.run(narrow3).Progress.Left)
	w.expect(narrow4, "PENDING 1")
	w.jobs.running[w.run(narrow3).ID()] = false
	w.Pass(time.Minute)
	w.expect(narrow4, "RUNNING 1")
}

func TestJobThatDoesNotStopIsReportedOnce(t *testing.T) {
	w := stopping(t)
	w.Pass(14 * time.Minute)
	same(t, "reported", 0, w.count(event.InfraFailure))
	w.Pass(time.Hour)
	same(t, "reported", 1, w.count(event.InfraFailure))
	w.expect(narrow4, "PENDING 1")
	if n := len(w.jobs.stopped); n < 10 {
		t.Errorf("asked to stop %d times", n)
	}
}

func TestReportedEndOfAJobThatIsStoppingFreesItsSlot(t *testing.T) {
	w := stopping(t)
	_, err := w.Router.Report(ctx, run.Outcome{Key: w.Key(narrow3), Attempt: 1, Report: run.Report{Result: run.ResultFail, By: "ada"}}, w.Now())
	w.Check(err)
	w.Settle()
	same(t, "left", run.NothingLeft, w.run(narrow3).Progress.Left)
	w.expect(narrow4, "RUNNING 1")
}

func TestForcedAttemptDoesNotWaitForTheJobBeforeIt(t *testing.T) {
	w := stopping(t)
	q := router.RerunRequest{ID: "1", Pipeline: "narrow", Period: w.Period("2026-03-03"), Force: true}
	if answer := w.rerun(q); !answer.Accepted {
		t.Fatalf("rejected: %s", answer.Why)
	}
	w.sleep(time.Minute)
	w.Settle()
	w.expect(narrow3, "RUNNING 2")
}

func TestJobOfAControllerThatIsGoneFreesItsSlot(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: narrow, owner: data}
schedule: {trigger: {key: arrival, check: exists}, maxActive: 1, evaluation: {window: 1h, interval: 30m}}
job: {type: command, config: {command: "true"}}
`)
	w.Write("narrow", "arrival#2026-03-03", "n=1")
	w.Write("narrow", "arrival#2026-03-04", "n=1")
	w.expect(narrow3, "RUNNING 1")
	w.own(narrow3, "gone")
	cancelled, err := w.Router.Cancel(ctx, w.Key(narrow3), "ada", "wrong input", w.Now())
	w.Check(err)
	same(t, "left", run.JobStopping, cancelled.Progress.Left)
	same(t, "event", false, w.only(event.RunCancelled).Detail.Extra.(event.Left).JobMayRun)
	task, err := w.Store.Task(ctx, "left/"+narrow3)
	w.Check(err)
	same(t, "the task is for", "gone", task.Replica)
	w.Settle() // as if that controller had been gone for long
	same(t, "left", run.JobMayRun, w.run(narrow3).Progress.Left)
	w.only(event.InfraFailure)
	w.expect(narrow4, "RUNNING 1")
}

// own makes the job of a run belong to another controller.
func (w *world) own(text, replica string) {
	w.Helper()
	old := w.run(text)
	next := old
	next.Version++
	next.Progress.Replica = replica
	b := store.Batch{ID: "own/" + text}
	b.Swap(old, next)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
}
