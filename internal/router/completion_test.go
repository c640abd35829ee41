package router_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/store"
)

// claim claims the task of a run, as a worker of another process does.
func (w *world) claim(text string) store.Claim {
	w.Helper()
	claims, err := w.Store.Claim(ctx, store.ClaimQuery{Replica: "one", Task: "advance/" + text, Limit: 1, Lease: time.Minute}, w.Now())
	w.Check(err)
	if len(claims) != 1 {
		w.Fatalf("%s has no due task", text)
	}
	return claims[0]
}

// duringCommit takes the next step of a run, and calls act between the step's reads and its first
// commit.
func (w *world) duringCommit(text string, act func()) {
	w.Helper()
	m := &meddled{Store: w.Store, others: []func(){act}}
	steps := orchestrator.New(orchestrator.Deps{Store: m, Catalog: w.Catalog, Replica: "one", Jobs: map[string]job.Type{"command": stoppable{w.jobs}}})
	_, err := steps.Step(ctx, w.claim(text), w.Now)
	w.Check(err)
	if len(m.others) > 0 {
		w.Fatalf("the step committed nothing")
	}
}

// handleChanges handles the pending changes, as the router of another process does.
func (w *world) handleChanges() {
	w.Helper()
	for w.React() {
	}
}

func TestInputThatChangesWhileACompletionIsCommittedIsLateData(t *testing.T) {
	for name, handled := range map[string]bool{"handled before the commit": true, "handled after it": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, plain)
			w.Write("plain", "arrival", "status=ready", "n=1")
			w.sleep(time.Minute)
			w.report(plainRun, "success", "")
			w.duringCommit(plainRun, func() {
				w.sleep(time.Millisecond)
				w.Put("plain", "arrival", "status=ready", "n=2")
				if handled {
					w.handleChanges()
				}
			})
			w.Settle()
			w.expect(plainRun, "RUNNING 2")
			same(t, "late data", []string{"plain/arrival"}, w.only(event.LateDataArrival).Detail.Extra.(event.Late).Sensors)
		})
	}
}

func TestCompletionIsHandledByAnEditThatAnotherReplicaAccepted(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival", "status=ready", "n=1")
	w.sleep(time.Minute)
	w.Put("plain", "arrival", "status=ready", "n=2")
	w.handleChanges()
	w.report(plainRun, "success", "")
	_, err := w.Steps.Step(ctx, w.claim(plainRun), w.Now)
	w.Check(err)
	controllertest.New(t, w.Store, nil).Apply(strings.Replace(plain, "owner: data", "owner: finance", 1))
	for _, c := range w.Changes() {
		if c.Kind == store.RunMoved { // the edit's own change comes later
			w.Check(w.Router.Handle(ctx, c, w.Now()))
		}
	}
	w.expect(plainRun, "PENDING 2")
}

// dated waits for a dated reading of its own period, which alone opens nothing.
const dated = `
pipeline: {id: dated, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
validation: {rules: [{key: rows, check: exists}], lateData: rerun}
job: {type: command, config: {command: "true"}}
`

const datedRun = "dated/stream/2026-03-03"

func TestRuleThatChangesWhileACompletionIsCommittedIsLateData(t *testing.T) {
	for name, c := range map[string]struct {
		after   time.Duration // when it is written, after the end was decided
		handled bool          // before the commit
	}{
		"handled before the commit": {after: time.Millisecond, handled: true},
		"stored after the completion read its inputs, with an earlier instant": {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, dated)
			w.Put("dated", "rows#2026-03-03", "n=1")
			w.Write("dated", "arrival", "n=1")
			w.sleep(time.Minute)
			w.report(datedRun, "success", "")
			w.duringCommit(datedRun, func() {
				w.sleep(c.after)
				w.Put("dated", "rows#2026-03-03", "n=2")
				if c.handled {
					w.handleChanges()
				}
			})
			w.Settle()
			w.expect(datedRun, "RUNNING 2")
			same(t, "late data", []string{"dated/rows"}, w.only(event.LateDataArrival).Detail.Extra.(event.Late).Sensors)
		})
	}
}

func TestChangeAfterTheEndIsReportedHoweverLateTheEndIsHandled(t *testing.T) {
	w := newWorld(t, strings.Replace(dated, ", lateData: rerun", "", 1))
	w.Put("dated", "rows#2026-03-03", "n=1")
	w.Write("dated", "arrival", "n=1")
	w.sleep(time.Minute)
	w.report(datedRun, "success", "")
	for w.Work() {
	}
	w.sleep(time.Millisecond)
	w.Put("dated", "rows#2026-03-03", "n=2") // the router has not handled the completion yet
	w.Settle()
	w.expect(datedRun, "COMPLETED 1")
	same(t, "late data", "dated/rows: report", lateText(w.only(event.LateDataArrival)))
}

func TestInputChangedTwiceAroundACompletionIsLateData(t *testing.T) {
	w := newWorld(t, dated)
	w.Put("dated", "rows#2026-03-03", "n=1")
	w.Write("dated", "arrival", "n=1")
	w.sleep(time.Minute)
	w.Write("dated", "rows#2026-03-03", "n=2")
	w.sleep(time.Minute)
	w.report(datedRun, "success", "")
	for w.Work() {
	}
	w.sleep(time.Minute)
	w.Put("dated", "rows#2026-03-03", "n=3")
	w.Settle()
	w.expect(datedRun, "RUNNING 2")
}

func TestPostRunReadingDuringACompletionIsComparedOrIsTheBaseline(t *testing.T) {
	t.Run("handled after the commit", func(t *testing.T) {
		w := newWorld(t, audited(""))
		w.Write("audited", "arrival", "n=1")
		w.sleep(time.Minute)
		w.report(auditedRun, "success", "")
		w.duringCommit(auditedRun, func() { w.Put("audited", "audit", "count=100") })
		w.Settle()
		same(t, "passed", 1, w.count(event.PostRunPassed))
	})
	t.Run("handled before it", func(t *testing.T) {
		w := newWorld(t, audited(""))
		w.Write("audited", "arrival", "n=1")
		w.Write("audited", "audit", "count=100")
		w.sleep(time.Minute)
		w.report(auditedRun, "success", "")
		w.duringCommit(auditedRun, func() {
			w.sleep(time.Millisecond)
			w.Put("audited", "audit", "count=105")
			w.handleChanges()
		})
		w.Settle()
		post, err := w.Store.PostRun(ctx, w.Key(auditedRun))
		w.Check(err)
		same(t, "baseline", any("105"), post.Baseline["audit"]["count"])
		if ended := w.run(auditedRun).EndedAt; ended.Before(w.Now()) {
			t.Errorf("it ended at %s, before its baseline was written", ended)
		}
	})
}

func TestPostRunReadingFromASlowClockIsCompared(t *testing.T) {
	w := audit(t, "")
	ended := w.run(auditedRun).EndedAt
	now := w.Now()
	w.Move(ended.Add(-time.Second))
	w.Put("audited", "audit", "count=101")
	w.Move(now)
	w.Settle()
	same(t, "passed", 1, w.count(event.PostRunPassed))
}

func TestReadingIncludedInACompletionIsNotComparedAgain(t *testing.T) {
	w := newWorld(t, audited(""))
	w.Write("audited", "arrival", "n=1")
	w.sleep(time.Minute)
	w.Put("audited", "audit", "count=100")
	late := w.Changes()
	w.report(auditedRun, "success", "")
	w.Settle()
	w.expect(auditedRun, "COMPLETED 1")
	for _, c := range late {
		w.Check(w.Router.Handle(ctx, c, w.Now()))
	}
	same(t, "outcomes", 0, w.count(event.PostRunPassed)+w.count(event.PostRunFailed))
}

func TestLargestCompletionFitsIntoOneCommit(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: large, owner: data}
schedule: {trigger: {key: arrival, check: exists}, maxActive: 1}
sla: {deadline: "23:00", maxDuration: 2h}
job: {type: lambda, config: {functionName: large}}
postRun: {rules: [{key: audit, check: exists}]}
`)
	w.jobs.atOnce = true
	w.Write("large", "audit", "n=1")
	w.Write("large", "arrival", "n=1")
	w.expect("large/stream/2026-03-03", "COMPLETED 1")
	same(t, "deadlines met", 2, w.count(event.SLAMet))
}
