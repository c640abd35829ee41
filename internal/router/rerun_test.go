package router_test

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const plainRun = "plain/stream/2026-03-03"

// ask returns a request for another attempt of plain's run of the third of March.
func ask(w *world, id string) router.RerunRequest {
	return router.RerunRequest{ID: id, Pipeline: "plain", Period: w.Period("2026-03-03"), By: "ada", Reason: "tested"}
}

// why returns the rejection of the only RERUN_REJECTED event.
func (w *world) why() string {
	w.Helper()
	return w.only(event.RerunRejected).Detail.Extra.(event.Refusal).Why
}

func TestRerunOfACompletedRunNeedsNewInput(t *testing.T) {
	w := completed(t)
	answer := w.rerun(ask(w, "1"))
	if answer.Accepted {
		t.Errorf("accepted: %s", answer.Why)
	}
	same(t, "why", "nothing new", w.why())
	w.Put("plain", "arrival", "status=stopped", "n=2") // not late data, but new
	w.Settle()
	if answer := w.rerun(ask(w, "2")); !answer.Accepted || answer.Attempt != 2 {
		t.Errorf("%+v", answer)
	}
	w.expect(plainRun, "RUNNING 2")
	same(t, "events", 1, w.count(event.RerunAccepted))
}

func TestRerunRejections(t *testing.T) {
	for _, c := range []struct {
		why  string
		with func(w *world) router.RerunRequest
	}{
		{"no such run", func(w *world) router.RerunRequest {
			q := ask(w, "1")
			q.Period = w.Period("2026-03-01")
			return q
		}},
		{"no such run", func(w *world) router.RerunRequest {
			q := ask(w, "1")
			q.Schedule = "cron"
			return q
		}},
		{"no such run", func(w *world) router.RerunRequest {
			q := ask(w, "1")
			q.Period, q.Force = w.Period("2026-03-03T07-05:00"), true // the clock repeats no hour of that day
			return q
		}},
		{"already open", func(w *world) router.RerunRequest {
			w.Write("plain", "arrival", "status=ready", "n=2")
			return ask(w, "1")
		}},
		{"excluded period", func(w *world) router.RerunRequest {
			w.apply(`
pipeline: {id: plain, owner: data}
schedule: {trigger: {key: arrival, check: exists}, exclude: {dates: [2026-03-03]}}
job: {type: command, config: {command: "true"}}
`)
			w.Settle()
			return ask(w, "1")
		}},
		{"paused", func(w *world) router.RerunRequest {
			_, err := w.Router.Pause(ctx, "plain", store.Pause{By: "ada", Why: "tested"}, w.Now())
			w.Check(err)
			return ask(w, "1")
		}},
		{"not active", func(w *world) router.RerunRequest {
			w.remove("plain")
			q := ask(w, "1")
			q.Schedule = "stream"
			return q
		}},
		{"budget spent", func(w *world) router.RerunRequest {
			w.apply(`
pipeline: {id: plain, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}, maxManualReruns: 0, maxDriftReruns: 0}
`)
			w.Write("plain", "arrival", "status=ready", "n=2")
			return ask(w, "1")
		}},
	} {
		t.Run(c.why, func(t *testing.T) {
			w := completed(t)
			before := w.stands(plainRun)
			q := c.with(w)
			if c.why == "already open" {
				before = "RUNNING 2"
			}
			if answer := w.rerun(q); answer.Accepted {
				t.Errorf("accepted: %s", answer.Why)
			}
			same(t, "why", c.why, w.why())
			w.expect(plainRun, before)
			same(t, "accepted", 0, w.count(event.RerunAccepted))
		})
	}
}

// async is a job that cannot be stopped.
const async = `
pipeline: {id: plain, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: lambda, config: {functionName: f, async: true}}
`

// leftRunning returns a world in which plain's run was cancelled, and its job still runs.
func leftRunning(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, async)
	w.Write("plain", "arrival", "n=1")
	w.leave()
	return w
}

// leave cancels plain's run, whose job still runs.
func (w *world) leave() {
	w.Helper()
	cancelled, err := w.Router.Cancel(ctx, w.Key(plainRun), "ada", "not needed", w.Now())
	w.Check(err)
	same(w, "left", run.JobMayRun, cancelled.Progress.Left)
	w.Settle()
}

func TestRerunIsRejectedWhileALeftJobRuns(t *testing.T) {
	w := leftRunning(t)
	w.rerun(ask(w, "1"))
	same(t, "why", "job still running", w.why())

	forced := ask(w, "2")
	forced.Force = true
	if answer := w.rerun(forced); !answer.Accepted {
		t.Errorf("a forced request was rejected: %s", answer.Why)
	}
}

func TestRerunAfterTheLeftJobHasEnded(t *testing.T) {
	w := leftRunning(t)
	w.jobs.running[w.run(plainRun).ID()] = false
	w.rerun(ask(w, "1"))
	w.expect(plainRun, "RUNNING 2")
}

func TestForceSkipsBreakerAndBudgetAndIsRecorded(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: plain, owner: data}
schedule: {trigger: {key: arrival, check: exists}, exclude: {weekends: true}}
job: {type: command, config: {command: "true"}, maxManualReruns: 0}
`)
	w.Write("plain", "arrival", "n=1")
	w.succeed(plainRun)
	q := ask(w, "1")
	q.Force = true
	w.rerun(q)
	w.expect(plainRun, "RUNNING 2")
	same(t, "counters", run.Counters{Forced: 1}, w.run(plainRun).Counters)
	same(t, "event", event.Opening{Cause: run.CauseManual, RequestedBy: "ada", Reason: "tested", Forced: true},
		w.only(event.RerunAccepted).Detail.Extra.(event.Opening))

	q = ask(w, "2")
	q.Force, q.Period = true, w.Period("2026-03-02") // a Monday without a run
	w.rerun(q)
	w.expect("plain/stream/2026-03-02", "RUNNING 1")
}

func TestForcedRerunRepeatsAForcedRunButOpensNoExcludedPeriod(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: plain, owner: data}
schedule: {trigger: {key: arrival, check: exists}, exclude: {weekends: true}}
job: {type: command, config: {command: "true"}}
`)
	w.Write("plain", "arrival", "n=1")
	w.Write("plain", "arrival#2026-03-07", "n=1") // a Saturday
	const saturday = "plain/stream/2026-03-07"
	q := ask(w, "1")
	q.Force, q.Period = true, w.Period("2026-03-07")
	if answer := w.rerun(q); answer.Accepted {
		t.Errorf("accepted: %s", answer.Why)
	}
	same(t, "why", "excluded period", w.why())

	_, err := w.Router.Trigger(t.Context(), router.TriggerRequest{ID: "2", Pipeline: "plain", Period: q.Period, By: "ada", Reason: "tested", Force: true}, w.Now())
	w.Check(err)
	w.Settle()
	w.succeed(saturday)
	q.ID = "3"
	w.rerun(q)
	w.expect(saturday, "RUNNING 2")
}

func TestForceOpensNoSecondAttemptBesideAnOpenOne(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival", "status=ready")
	q := ask(w, "1")
	q.Force = true
	if answer := w.rerun(q); answer.Accepted {
		t.Errorf("accepted: %s", answer.Why)
	}
	same(t, "why", "already open", w.why())
}

func TestOnlyABypassSkipsTheGate(t *testing.T) {
	w := exhausted(t)
	q := router.RerunRequest{ID: "1", Pipeline: "orders", Period: w.Period("2026-03-03"), Force: true}
	w.rerun(q)
	w.expect(day3, "PENDING 2")
	w.Pass(2 * time.Hour)
	q.ID, q.BypassGate = "2", true
	w.rerun(q)
	w.expect(day3, "RUNNING 3")
	opening := w.run(day3).Progress.Opening
	if !opening.GateBypassed || opening.By != "ada" || opening.Reason != "tested" {
		t.Errorf("recorded: %+v", opening)
	}
}

// The waiting attempt ends in the commit that opens the next, so the run never shows as cancelled,
// and after a rejection it keeps waiting.
func TestForcedBypassStartsAWaitingRunWithoutCancellingIt(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival", "status=ready", "n=1")
	w.expect(day3, "PENDING 1")
	q := router.RerunRequest{ID: "1", Pipeline: "orders", Period: w.Period("2026-03-03"), Force: true, BypassGate: true}
	_, err := w.Router.Pause(ctx, "orders", store.Pause{By: "ada", Why: "audit"}, w.Now())
	w.Check(err)
	if answer := w.rerun(q); answer.Accepted {
		t.Errorf("accepted while paused: %+v", answer)
	}
	w.expect(day3, "PENDING 1")
	w.Check(w.Router.Resume(ctx, "orders", "ada", "done", w.Now()))
	w.Settle()
	q.ID = "2"
	if answer := w.rerun(q); !answer.Accepted || answer.Attempt != 2 {
		t.Fatalf("answered %+v", answer)
	}
	w.expect(day3, "RUNNING 2")
	if o := w.run(day3).Progress.Opening; !o.GateBypassed || !o.Forced || o.By != "ada" {
		t.Errorf("recorded: %+v", o)
	}
	same(t, "cancellations", 0, len(w.eventLines(event.RunCancelled)))
}

func TestRequestIsAnsweredOncePerID(t *testing.T) {
	w := completed(t)
	first := w.rerun(ask(w, "1"))
	w.sleep(time.Minute)
	same(t, "sent again", first, w.rerun(ask(w, "1")))
	w.rerun(ask(w, "2"))
	same(t, "answers", 2, w.count(event.RerunRejected))
	stored, err := w.Store.Reruns(ctx, []run.Key{w.Key(plainRun)})
	w.Check(err)
	same(t, "stored", 2, len(stored[w.Key(plainRun)]))
}

func TestInvalidRequestIsRefusedWithoutAnEvent(t *testing.T) {
	w := completed(t)
	for name, q := range map[string]router.RerunRequest{
		"no reason": {ID: "1", Pipeline: "plain", Period: w.Period("2026-03-03"), By: "ada"},
		"no period": {ID: "1", Pipeline: "plain", By: "ada", Reason: "tested"},
		"no id":     {Pipeline: "plain", Period: w.Period("2026-03-03"), By: "ada", Reason: "tested"},
	} {
		_, err := w.Router.Rerun(ctx, q, w.Now())
		if r := (*router.Refusal)(nil); !errors.As(err, &r) || r.Kind != router.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	q := ask(w, "1")
	q.Pipeline = "nobody"
	_, err := w.Router.Rerun(ctx, q, w.Now())
	refused(t, err, router.NotFound)
	same(t, "answers", 0, w.count(event.RerunRejected)+w.count(event.RerunAccepted))
}
