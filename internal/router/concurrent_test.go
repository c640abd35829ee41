package router_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// meddled is a store in which another process acts between a handler's reads and its commit.
type meddled struct {
	*memory.Store
	others []func() // what the others do, one before each commit or event
	lost   error    // returned by commits that succeeded; nil: none
}

func (m *meddled) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	m.meddle()
	return cmp.Or(m.Store.Commit(ctx, b, now), m.lost)
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

// twins are two routers over one store; the second interrupts the first before each of its commits.
func twins(w *world) (*router.Router, *meddled) {
	m := &meddled{Store: w.Store}
	return router.New(router.Deps{
		Store: m, Catalog: w.Catalog, Deadlines: w.Monitor, Jobs: w.Steps,
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

// acts are the possible concurrent actions on the run, each through the given router.
func acts(t *rapid.T, w *world, asked *int) []func(*router.Router) {
	request := func(force bool) func(*router.Router) {
		*asked++
		q := router.RerunRequest{ID: fmt.Sprint("r", *asked), Pipeline: "crowd", Period: w.Period("2026-03-03"), By: "ada", Reason: "tested", Force: force}
		return func(r *router.Router) {
			_, err := r.Rerun(ctx, q, w.Now())
			w.Check(err)
		}
	}
	var pending []store.Change
	deliver := func(r *router.Router) {
		pending = append(pending, w.Changes()...)
		for _, c := range pending {
			w.Check(r.Handle(ctx, c, w.Now()))
		}
	}
	kinds := map[string]func() func(*router.Router){
		"ask":   func() func(*router.Router) { return request(false) },
		"force": func() func(*router.Router) { return request(true) },
		"same":  func() func(*router.Router) { return request(false) },
		"new input": func() func(*router.Router) {
			w.Put("crowd", "arrival", fmt.Sprintf("n=%d", w.Now().UnixNano()))
			return deliver
		},
		"new output": func() func(*router.Router) {
			w.Put("crowd", "audit", fmt.Sprintf("count=%d", w.Now().Unix()))
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
	return func(r *router.Router) { _, _ = r.Cancel(ctx, w.Key(crowdRun), "ada", "tested", w.Now()) }
}

func triggerIt(w *world) func(*router.Router) {
	return func(r *router.Router) {
		_, _ = r.Trigger(ctx, router.TriggerRequest{ID: "t", Pipeline: "crowd", Period: w.Period("2026-03-03"), By: "ada"}, w.Now())
	}
}

func reportIt(w *world) func(*router.Router) {
	return func(r *router.Router) {
		_, _ = r.Report(ctx, run.Outcome{Key: w.Key(crowdRun), Attempt: 1, Report: run.Report{Result: run.ResultFail, Category: run.Transient}}, w.Now())
	}
}

func TestBudgetsHoldAndEachRequestHasOneAnswerWhateverHappensAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, crowd)
		w.Write("crowd", "audit", "count=1")
		w.Write("crowd", "arrival", "n=1")
		first, m := twins(w)
		asked := 0
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			w.sleep(time.Minute)
			if w.run(crowdRun).Status == run.Running {
				category := rapid.SampledFrom([]run.Category{run.Transient, run.Permanent}).Draw(t, "category")
				w.report(crowdRun, rapid.SampledFrom([]run.Result{run.ResultSuccess, run.ResultFail}).Draw(t, "result"), category)
				for w.Work() {
				}
			}
			all := acts(t, w, &asked)
			for _, act := range all[1:] {
				m.others = append(m.others, func() { act(w.Router) })
			}
			all[0](first)
			for len(m.others) > 0 { // those without a commit to interrupt
				act := m.others[0]
				m.others = m.others[1:]
				act()
			}
			w.sleep(20 * time.Minute)
			w.Settle()
			w.soundCrowd(asked)
		}
	})
}

// soundCrowd checks the invariants of the crowd's run.
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
	same(w, "attempts in events", r.Attempt, w.count(event.TriggerStarted))
	same(w, "answers", asked, w.count(event.RerunAccepted)+w.count(event.RerunRejected))
	requests, err := w.Store.Reruns(ctx, []run.Key{w.Key(crowdRun)})
	w.Check(err)
	stored := requests[w.Key(crowdRun)]
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
		w.Put("plain", "arrival", "status=stopped", "n=9") // now the input is new
		var err error
		other, err = w.Router.Rerun(ctx, q, w.Now())
		w.Check(err)
	}}
	answer, err := first.Rerun(ctx, q, w.Now())
	w.Check(err)
	same(t, "answer", other, answer)
	same(t, "answers", 1, w.count(event.RerunAccepted)+w.count(event.RerunRejected))
}

func TestTwoFiresOfOneTaskOpenOneRun(t *testing.T) {
	w := newWorld(t, hourly(", evaluation: {window: 3h, interval: 5m}"))
	w.sleep(3 * time.Hour)
	first, m := twins(w)
	m.others = []func(){
		func() { w.Check(w.Router.CatchUp(ctx, "hourly", w.Now())) },
	}
	w.Check(first.CatchUp(ctx, "hourly", w.Now()))
	w.Settle()
	for _, h := range []string{"10", "11", "12"} {
		w.expect("hourly/cron/2026-03-03T"+h, "RUNNING 1")
	}
	same(t, "opened", 3, w.count(event.TriggerStarted))
}

func TestTwoReactionsToOneWriteOpenOneRunAndStartOneJob(t *testing.T) {
	w := newWorld(t, plain)
	w.Put("plain", "arrival", "status=ready")
	change := w.Changes()[0]
	first, m := twins(w)
	m.others = []func(){func() { w.Check(w.Router.Handle(ctx, change, w.Now())) }}
	w.Check(first.Handle(ctx, change, w.Now()))
	w.Settle()
	w.expect(plainRun, "RUNNING 1")
	same(t, "opened", 1, w.count(event.TriggerStarted))
	same(t, "started", 1, len(w.jobs.started))
}

func TestOpeningWhoseResponseIsLostStartsOneJob(t *testing.T) {
	w := newWorld(t, plain)
	w.Put("plain", "arrival", "status=ready")
	change := w.Changes()[0]
	first, m := twins(w)
	m.lost = errors.New("connection reset")
	if err := first.Handle(ctx, change, w.Now()); !errors.Is(err, m.lost) {
		t.Fatalf("error %v, want %v: the feed would not deliver the change again", err, m.lost)
	}
	w.expect(plainRun, "PENDING 1")
	m.lost = nil
	w.Check(first.Handle(ctx, change, w.Now()))
	w.Settle()
	w.expect(plainRun, "RUNNING 1")
	same(t, "opened", 1, w.count(event.TriggerStarted))
	same(t, "started", 1, len(w.jobs.started))
}

func TestTwoRoutersWithDifferentClocksHandleEachFireOnce(t *testing.T) {
	w := newWorld(t, hourly(", evaluation: {window: 3h, interval: 5m}"))
	w.sleep(5 * time.Hour)
	first, m := twins(w)
	for n := range 3 {
		m.others = append(m.others, func() { w.Check(w.Router.CatchUp(ctx, "hourly", w.Now().Add(time.Duration(n)*time.Hour))) })
	}
	w.Check(first.CatchUp(ctx, "hourly", w.Now()))
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
		_, err := w.Router.Pause(ctx, "hourly", store.Pause{By: "ada", Why: "tested"}, w.Now())
		w.Check(err)
	}}
	w.Check(first.CatchUp(ctx, "hourly", w.Now()))
	w.expect("hourly/cron/2026-03-03T10", "none")
}

func TestRunThatStartsWhileItIsWokenIsLeftAlone(t *testing.T) {
	w := newWorld(t, orders)
	w.Write("orders", "arrival", "status=ready")
	w.sleep(time.Second)
	w.Put("orders", "quality", "verdict=good")
	changes := w.Changes()
	first, m := twins(w)
	m.others = []func(){func() { w.sleep(5 * time.Minute); w.Settle() }}
	for _, c := range changes {
		w.Check(first.Handle(ctx, c, w.Now()))
	}
	w.expect(day3, "RUNNING 1")
}

func TestDependentsKeepTheNewerOfTwoAnnouncements(t *testing.T) {
	w := newWorld(t, source("a", ""), after("b", "a", ""))
	w.Put("a", "arrival", "n=1")
	for w.React() {
	}
	for w.Work() {
	}
	changes := w.Changes()
	first, m := twins(w)
	m.others = []func(){func() { w.succeed("a/stream/2026-03-03") }}
	w.Check(first.Handle(ctx, changes[0], w.Now())) // it read the run before the completion
	found, err := w.Store.Readings(ctx, []store.ReadingQuery{{Pipeline: "b", Key: "run/a", Period: w.Period("2026-03-03")}})
	w.Check(err)
	same(t, "shows", any("COMPLETED"), found[0][0].Fields["status"])
}

func TestOfTwoConcurrentResultsOneCountsAndTheOtherIsLate(t *testing.T) {
	w := newWorld(t, crowd)
	w.Write("crowd", "arrival", "n=1")
	say := func(r *router.Router, message string) router.Reported {
		done, err := r.Report(ctx, run.Outcome{Key: w.Key(crowdRun), Report: run.Report{Result: run.ResultFail, By: "etl", Message: message}}, w.Now())
		w.Check(err)
		return done
	}
	first, m := twins(w)
	var inside router.Reported
	m.others = append(m.others, func() { inside = say(w.Router, "disk full") })
	outside := say(first, "out of memory")
	same(t, "late", []bool{false, true}, []bool{inside.Late, outside.Late})
	same(t, "what counts", "disk full", w.run(crowdRun).Progress.Report.Message)
}

// edited is a store in which the file changes just before a handler reads the pipeline again.
type edited struct {
	*memory.Store
	reads int // of the pipeline
	edit  func()
}

func (s *edited) Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	if s.reads++; s.reads == 2 {
		s.edit()
	}
	return s.Store.Pipeline(ctx, id)
}

// The job of a version that is no longer active would start at once.
func TestAttemptOpensWithTheVersionThatIsActive(t *testing.T) {
	const gated = crowd + "validation: {rules: [{key: check, check: exists}]}\n"
	for name, c := range map[string]struct {
		completed    bool // the run, before
		sensor, pair string
		want         string
	}{
		"a run":     {false, "arrival", "n=1", "PENDING 1"},
		"late data": {true, "arrival", "n=2", "PENDING 2"},
		"drift":     {true, "audit", "count=200", "PENDING 2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, crowd)
			if c.completed {
				w.Write("crowd", "arrival", "n=1")
				w.Write("crowd", "audit", "count=100")
				w.succeed(crowdRun)
			}
			w.sleep(time.Minute)
			w.Put("crowd", c.sensor, c.pair)
			written := w.Changes()
			s := &edited{Store: w.Store, edit: func() {
				w.apply(gated)
				w.Settle()
			}}
			r := router.New(router.Deps{Store: s, Catalog: w.Catalog, Deadlines: w.Monitor, Jobs: w.Steps})
			for _, change := range written {
				w.Check(r.Handle(ctx, change, w.Now()))
			}
			w.Settle()
			w.expect(crowdRun, c.want)
		})
	}
}

func TestRunOpensWithTheVersionThatReopensItsWindow(t *testing.T) {
	w := newWorld(t, strings.Replace(crowd, "exists}}", "exists}, evaluation: {window: 1h, interval: 5m}}", 1)+
		"validation: {rules: [{key: check, check: exists}]}\n")
	w.Write("crowd", "arrival", "n=1")
	w.Pass(2 * time.Hour)
	w.expect(crowdRun, "VALIDATION_EXHAUSTED 1")
	w.Put("crowd", "arrival", "n=2")
	written := w.Changes()
	s := &edited{Store: w.Store, edit: func() {
		w.apply(crowd)
		w.Settle()
	}}
	r := router.New(router.Deps{Store: s, Catalog: w.Catalog, Deadlines: w.Monitor, Jobs: w.Steps})
	for _, change := range written {
		w.Check(r.Handle(ctx, change, w.Now()))
	}
	w.Settle()
	w.expect(crowdRun, "RUNNING 2")
}
