package router_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const narrow = `
pipeline: {id: narrow, owner: data}
schedule: {trigger: {key: arrival, check: exists}, maxActive: 1, evaluation: {window: 1h, interval: 30m}}
job: {type: command, config: {command: "true"}}
`

// crowded returns a world in which one job runs and three wait for its slot.
func crowded(t *testing.T) *world {
	w := newWorld(t, narrow)
	for _, day := range []string{"04", "03", "02", "01"} {
		w.Write("narrow", "arrival#2026-03-"+day, "n=1")
	}
	w.expect("narrow/stream/2026-03-04", "RUNNING 1")
	return w
}

func TestFreedSlotGoesToTheOldestRunAtOnce(t *testing.T) {
	w := crowded(t)
	for _, day := range []string{"04", "01", "02", "03"} {
		w.expect("narrow/stream/2026-03-"+day, "RUNNING 1")
		w.sleep(time.Minute)
		w.succeed("narrow/stream/2026-03-" + day)
	}
}

func TestFailedAndCancelledJobsFreeTheirSlots(t *testing.T) {
	w := crowded(t)
	w.sleep(time.Minute)
	w.finish("narrow/stream/2026-03-04", run.ResultFail, run.Transient)
	w.expect("narrow/stream/2026-03-01", "RUNNING 1")
	w.sleep(time.Minute)
	_, err := w.Router.Cancel(ctx, w.Key("narrow/stream/2026-03-01"), "ada", "not needed", w.Now())
	w.Check(err)
	w.Settle()
	w.expect("narrow/stream/2026-03-01", "CANCELLED 1")
	w.expect("narrow/stream/2026-03-02", "RUNNING 1")
}

// An attempt keeps the limit that it opened with, whatever the file says later.
func TestFreedSlotGoesToTheOldestRunAtOnceAlsoAfterAnEdit(t *testing.T) {
	const two, one = "maxActive: 2", "maxActive: 1"
	for name, edit := range map[string]func(w *world){
		"removed":         func(w *world) { w.remove("narrow") },
		"without limit":   func(w *world) { w.apply(strings.Replace(narrow, one+", ", "", 1)) },
		"narrower":        func(w *world) { w.apply(narrow) },
		"dry from now on": func(w *world) { w.apply(narrow + "dryRun: true\n") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, strings.Replace(narrow, one, two, 1))
			for _, day := range []string{"04", "03", "02", "01"} {
				w.Write("narrow", "arrival#2026-03-"+day, "n=1")
			}
			edit(w)
			w.Settle()
			for _, next := range [][2]string{{"04", "01"}, {"03", "02"}} {
				w.sleep(time.Minute)
				w.succeed("narrow/stream/2026-03-" + next[0])
				w.expect("narrow/stream/2026-03-"+next[1], "RUNNING 1")
			}
		})
	}
}

func TestRaisedLimitWakesWaitingRuns(t *testing.T) {
	w := crowded(t)
	w.sleep(time.Minute)
	w.apply(`
pipeline: {id: narrow, owner: data}
schedule: {trigger: {key: arrival, check: exists}, maxActive: 3, evaluation: {window: 1h, interval: 30m}}
job: {type: command, config: {command: "true"}}
`)
	w.Settle()
	// An attempt keeps the limit it opened with, but waiting attempts evaluate again, and time
	// passes.
	w.sleep(time.Minute)
	w.succeed("narrow/stream/2026-03-04")
	w.expect("narrow/stream/2026-03-01", "RUNNING 1")
}

func TestAsManyRunsAreWokenAsSlotsAreFree(t *testing.T) {
	w := crowded(t)
	w.sleep(time.Minute)
	changes, woken := w.Changes(), func() int {
		n := 0
		for _, day := range []string{"01", "02", "03"} {
			if !w.run("narrow/stream/2026-03-" + day).Progress.NextEvaluation.After(w.Now()) {
				n++
			}
		}
		return n
	}
	w.Check(w.Router.Handle(ctx, store.Change{Kind: store.PipelineMoved, Pipeline: "narrow"}, w.Now()))
	same(t, "with none free", 0, woken())
	w.report("narrow/stream/2026-03-04", run.ResultSuccess, "")
	w.Work()
	changes = append(changes, w.Changes()...)
	for _, c := range changes {
		w.Check(w.Router.Handle(ctx, c, w.Now()))
	}
	same(t, "with one free", 1, woken())
	w.expect("narrow/stream/2026-03-01", "PENDING 1")
	if w.run("narrow/stream/2026-03-01").Progress.NextEvaluation.After(w.Now()) {
		t.Error("not the oldest run was woken")
	}
}

func TestRunWithAClosedGateBlocksNoSlot(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: narrow, owner: data}
schedule: {trigger: {key: arrival, check: exists}, maxActive: 1, evaluation: {window: 1h, interval: 30m}}
validation: {rules: [{key: quality, check: exists}]}
job: {type: command, config: {command: "true"}}
`)
	w.Write("narrow", "quality#2026-03-04", "n=1")
	w.Write("narrow", "quality#2026-03-02", "n=1")
	for _, day := range []string{"04", "02", "01"} {
		w.Write("narrow", "arrival#2026-03-"+day, "n=1")
	}
	w.expect("narrow/stream/2026-03-04", "RUNNING 1")
	w.sleep(time.Minute)
	w.succeed("narrow/stream/2026-03-04")
	w.expect("narrow/stream/2026-03-01", "PENDING 1")
	w.expect("narrow/stream/2026-03-02", "RUNNING 1")
}

func TestSlotGoesToTheNextRunIfTheOldestCannotUseIt(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: gated, owner: data}
schedule: {trigger: {key: arrival, check: exists}, maxActive: 1, evaluation: {window: 1h, interval: 30m}}
validation: {rules: [{key: rows, check: exists}]}
job: {type: command, config: {command: "true"}}
`)
	w.Put("gated", "rows#2026-03-02", "n=1")
	w.Put("gated", "arrival#2026-03-01", "n=1")
	w.Put("gated", "arrival#2026-03-02", "n=1")
	w.React()
	claims, err := w.Store.Claim(ctx, store.ClaimQuery{Replica: "one", Limit: 2, Lease: time.Minute}, w.Now())
	w.Check(err)
	for _, n := range []int{1, 0} { // the younger run's worker is faster, and yields to the older run
		w.Check(w.Perform(claims[n]))
	}
	w.Settle()
	w.expect("gated/stream/2026-03-01", "PENDING 1")
	w.expect("gated/stream/2026-03-02", "RUNNING 1")
}
