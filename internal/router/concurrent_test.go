package router_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// meddled is a store in which somebody else acts between what a handler reads and what it commits.
type meddled struct {
	*memory.Store
	others []func() // what they do, one before each commit or announcement
}

func (m *meddled) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	m.meddle()
	return m.Store.Commit(ctx, b, now)
}

func (m *meddled) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	m.meddle()
	return m.Store.PutReadings(ctx, writes, now)
}

func (m *meddled) meddle() {
	if len(m.others) > 0 {
		act := m.others[0]
		m.others = m.others[1:]
		act()
	}
}

// twins are two routers over one store; the first is interrupted by the second before each of its commits.
func twins(w *world) (*router.Router, *meddled) {
	m := &meddled{Store: w.store}
	return router.New(router.Deps{
		Store: m, Catalog: w.catalog, Deadlines: w.monitor, Jobs: w.steps,
		Limits: router.Limits{RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second},
	}), m
}

// crowd is a pipeline with small budgets of every kind.
const crowd = `
pipeline: {id: crowd, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}, maxRetries: 1, maxCodeRetries: 1, maxDriftReruns: 2, maxManualReruns: 2}
postRun: {rules: [{key: audit, check: exists}], driftThreshold: 1}
`

const crowdRun = "crowd/stream/2026-03-03"

// acts are what may happen to the run at the same time, each through the router it is given.
func acts(t *rapid.T, w *world, asked *int) []func(*router.Router) {
	request := func(force bool) func(*router.Router) {
		*asked++
		q := router.RerunRequest{ID: fmt.Sprint("r", *asked), Pipeline: "crowd", Period: w.period("2026-03-03"), By: "ada", Reason: "tested", Force: force}
		return func(r *router.Router) {
			_, err := r.Rerun(ctx, q, w.now)
			w.check(err)
		}
	}
	var pending []store.Change
	deliver := func(r *router.Router) {
		pending = append(pending, w.changes()...)
		for _, c := range pending {
			w.check(r.Handle(ctx, c, w.now))
		}
	}
	kinds := map[string]func() func(*router.Router){
		"ask":   func() func(*router.Router) { return request(false) },
		"force": func() func(*router.Router) { return request(true) },
		"same":  func() func(*router.Router) { return request(false) },
		"new input": func() func(*router.Router) {
			w.put("crowd", "arrival", fmt.Sprintf("n=%d", w.now.UnixNano()))
			return deliver
		},
		"new output": func() func(*router.Router) {
			w.put("crowd", "audit", fmt.Sprintf("count=%d", w.now.Unix()))
			return deliver
		},
		"changes":     func() func(*router.Router) { return deliver },
		"cancel":      func() func(*router.Router) { return cancelIt(w) },
		"trigger":     func() func(*router.Router) { return triggerIt(w) },
		"late result": func() func(*router.Router) { return reportIt(w) },
	}
	names := []string{"ask", "force", "same", "new input", "new output", "changes", "cancel", "trigger", "late result"}
	var all []func(*router.Router)
	for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(t, "acts") {
		all = append(all, kinds[name]())
	}
	return all
}

func cancelIt(w *world) func(*router.Router) {
	return func(r *router.Router) { _, _ = r.Cancel(ctx, w.key(crowdRun), "ada", "tested", w.now) }
}

func triggerIt(w *world) func(*router.Router) {
	return func(r *router.Router) {
		_, _ = r.Trigger(ctx, router.TriggerRequest{ID: "t", Pipeline: "crowd", Period: w.period("2026-03-03"), By: "ada"}, w.now)
	}
}

func reportIt(w *world) func(*router.Router) {
	return func(r *router.Router) {
		_, _ = r.Report(ctx, run.Outcome{Key: w.key(crowdRun), Attempt: 1, Report: run.Report{Result: run.ResultFail, Category: run.Transient}}, w.now)
	}
}

func TestBudgetsHoldAndEachRequestHasOneAnswerWhateverHappensAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, crowd)
		w.write("crowd", "audit", "count=1")
		w.write("crowd", "arrival", "n=1")
		first, m := twins(w)
		asked := 0
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			w.sleep(time.Minute)
			if w.run(crowdRun).Status == run.Running {
				category := rapid.SampledFrom([]run.Category{run.Transient, run.Permanent}).Draw(t, "category")
				w.report(crowdRun, rapid.SampledFrom([]run.Result{run.ResultSuccess, run.ResultFail}).Draw(t, "result"), category)
				for w.work() {
				}
			}
			all := acts(t, w, &asked)
			for _, act := range all[1:] {
				m.others = append(m.others, func() { act(w.router) })
			}
			all[0](first)
			for len(m.others) > 0 { // those for whom there was no commit to meddle with
				act := m.others[0]
				m.others = m.others[1:]
				act()
			}
			w.sleep(20 * time.Minute)
			w.settle()
			w.soundCrowd(asked)
		}
	})
}

// soundCrowd checks what must hold of the crowd's run at any time.
func (w *world) soundCrowd(asked int) {
	w.Helper()
	r := w.run(crowdRun)
	c := r.Counters
	if c.Retries > 1 || c.CodeRetries > 1 || c.DriftReruns > 2 || c.ManualReruns > 2 {
		w.Errorf("spent %+v", c)
	}
	if opened := 1 + c.Retries + c.CodeRetries + c.DriftReruns + c.ManualReruns + c.Forced + c.Reopenings; opened != r.Attempt {
		w.Errorf("attempt %d is not the sum of %+v", r.Attempt, c)
	}
	same(w, "attempts told", r.Attempt, w.count(event.TriggerStarted))
	same(w, "answers", asked, w.count(event.RerunAccepted)+w.count(event.RerunRejected))
	requests, err := w.store.Reruns(ctx, []run.Key{w.key(crowdRun)})
	w.check(err)
	stored := requests[w.key(crowdRun)]
	same(w, "answers stored", asked, len(stored))
	accepted := 0
	for _, a := range stored {
		if a.Accepted {
			accepted++
		}
	}
	same(w, "accepted", accepted, w.count(event.RerunAccepted))
	if len(w.jobs.started) > r.Attempt {
		w.Errorf("%d starts of %d attempts", len(w.jobs.started), r.Attempt)
	}
}

func TestOneRequestSentThroughTwoRoutersIsAnsweredOnce(t *testing.T) {
	w := completed(t)
	first, m := twins(w)
	q := ask(w, "1")
	var other store.Rerun
	m.others = []func(){func() {
		w.put("plain", "arrival", "status=stopped", "n=9") // what was nothing new is something new by now
		var err error
		other, err = w.router.Rerun(ctx, q, w.now)
		w.check(err)
	}}
	answer, err := first.Rerun(ctx, q, w.now)
	w.check(err)
	same(t, "answer", other, answer)
	same(t, "answers", 1, w.count(event.RerunAccepted)+w.count(event.RerunRejected))
}

func TestTwoFiresOfOneTaskOpenOneRun(t *testing.T) {
	w := newWorld(t, hourly(", evaluation: {window: 3h, interval: 5m}"))
	w.sleep(3 * time.Hour)
	first, m := twins(w)
	m.others = []func(){
		func() { w.check(w.router.CatchUp(ctx, "hourly", w.now)) },
	}
	w.check(first.CatchUp(ctx, "hourly", w.now))
	w.settle()
	for _, h := range []string{"10", "11", "12"} {
		w.expect("hourly/cron/2026-03-03T"+h, "RUNNING 1")
	}
	same(t, "opened", 3, w.count(event.TriggerStarted))
}

func TestEveryFireIsDealtWithOnceByTwoWhoseClocksDiffer(t *testing.T) {
	w := newWorld(t, hourly(", evaluation: {window: 3h, interval: 5m}"))
	w.sleep(5 * time.Hour)
	first, m := twins(w)
	for n := range 3 {
		m.others = append(m.others, func() { w.check(w.router.CatchUp(ctx, "hourly", w.now.Add(time.Duration(n)*time.Hour))) })
	}
	w.check(first.CatchUp(ctx, "hourly", w.now))
	dealt := map[string]int{}
	for _, e := range w.events() {
		switch extra := e.Detail.Extra.(type) {
		case event.Opening:
			dealt[e.Detail.Date.String()]++
		case event.Missed:
			for _, date := range extra.Dates {
				dealt[date]++
			}
		}
	}
	want := map[string]int{}
	for h := 10; h <= 16; h++ {
		want[fmt.Sprintf("2026-03-03T%02d", h)] = 1
	}
	same(t, "dealt with", want, dealt)
}

func TestPauseBetweenReadingAndCommittingIsSeen(t *testing.T) {
	w := newWorld(t, hourly(""))
	w.sleep(time.Hour)
	first, m := twins(w)
	m.others = []func(){func() {
		_, err := w.router.Pause(ctx, "hourly", store.Pause{By: "ada", Why: "tested"}, w.now)
		w.check(err)
	}}
	w.check(first.CatchUp(ctx, "hourly", w.now))
	w.expect("hourly/cron/2026-03-03T10", "none")
}

func TestRunThatStartsWhileItIsWokenIsLeftAlone(t *testing.T) {
	w := newWorld(t, orders)
	w.write("orders", "arrival", "status=ready")
	w.sleep(time.Second)
	w.put("orders", "quality", "verdict=good")
	changes := w.changes()
	first, m := twins(w)
	m.others = []func(){func() { w.sleep(5 * time.Minute); w.settle() }}
	for _, c := range changes {
		w.check(first.Handle(ctx, c, w.now))
	}
	w.expect(day3, "RUNNING 1")
}

func TestDependentsKeepTheNewerOfTwoAnnouncements(t *testing.T) {
	w := newWorld(t, source("a", ""), after("b", "a", ""))
	w.put("a", "arrival", "n=1")
	for w.handle() {
	}
	for w.work() {
	}
	changes := w.changes()
	first, m := twins(w)
	m.others = []func(){func() { w.succeed("a/stream/2026-03-03") }}
	w.check(first.Handle(ctx, changes[0], w.now)) // it has read the run before that completed
	found, err := w.store.Readings(ctx, []store.ReadingQuery{{Pipeline: "b", Key: "run/a", Period: w.period("2026-03-03")}})
	w.check(err)
	same(t, "shows", any("COMPLETED"), found[0][0].Fields["status"])
}

func TestOfTwoResultsAtOnceOneCountsAndTheOtherIsLate(t *testing.T) {
	w := newWorld(t, crowd)
	w.write("crowd", "arrival", "n=1")
	say := func(r *router.Router, message string) router.Reported {
		done, err := r.Report(ctx, run.Outcome{Key: w.key(crowdRun), Report: run.Report{Result: run.ResultFail, By: "etl", Message: message}}, w.now)
		w.check(err)
		return done
	}
	first, m := twins(w)
	var inside router.Reported
	m.others = append(m.others, func() { inside = say(w.router, "disk full") })
	outside := say(first, "out of memory")
	same(t, "late", []bool{false, true}, []bool{inside.Late, outside.Late})
	same(t, "what counts", "disk full", w.run(crowdRun).Progress.Report.Message)
}
