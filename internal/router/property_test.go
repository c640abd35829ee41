package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// town is a few related pipelines: a source with a gate and retries, two downstream of it, one
// downstream of both, one under cron with a start condition, one that reads another's sensor, one
// with a calendar, and a dry run.
var town = []string{
	`
pipeline: {id: source, owner: data}
schedule: {trigger: {key: arrival, check: equals, field: status, value: ready}, evaluation: {window: 20m, interval: 5m}}
validation: {rules: [{key: quality, check: equals, field: verdict, value: good}]}
job: {type: command, config: {command: "true"}, maxRetries: 1, maxDriftReruns: 2, retryBackoff: 1m}
`,
	after("left", "source", ""), after("right", "source", ""), after("end", "left, right", ""),
	`
pipeline: {id: clock, owner: data}
schedule: {cron: "*/30 * * * *", trigger: {key: arrival, check: exists, from: source}, maxActive: 1, evaluation: {window: 20m, interval: 5m}}
job: {type: command, config: {command: "true"}}
`, `
pipeline: {id: listener, owner: data}
schedule: {trigger: {key: quality, check: exists, from: source}, exclude: {dates: [2026-03-02]}}
job: {type: command, config: {command: "true"}, maxDriftReruns: 1}
`, `
pipeline: {id: shadow, owner: data}
dryRun: true
schedule: {trigger: {key: arrival, check: exists, from: source}}
job: {type: command, config: {command: "true"}}
`,
}

// deed is one action in the town.
type deed struct {
	wait    time.Duration
	key     string // the sensor key of a reading of source; empty for a report
	value   string
	report  bool // report the results of all running jobs
	success bool
}

func deeds(t *rapid.T) []deed {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) deed {
		d := deed{wait: time.Duration(rapid.SampledFrom([]int{0, 0, 1, 7, 25}).Draw(t, "wait")) * time.Minute}
		if d.report = rapid.IntRange(0, 2).Draw(t, "report") == 0; d.report {
			d.success = rapid.IntRange(0, 3).Draw(t, "success") > 0
			return d
		}
		d.key = rapid.SampledFrom([]string{"arrival", "quality", "arrival#2026-03-02", "quality#2026-03-02", "arrival#2026-03-02T07"}).Draw(t, "key")
		d.value = rapid.SampledFrom([]string{"status=ready n=1 verdict=good", "status=ready n=2 verdict=good", "status=wait verdict=bad"}).Draw(t, "value")
		return d
	}), 1, 12).Draw(t, "deeds")
}

// do performs a deed. If the deed waits or is a report, all earlier changes are handled first;
// otherwise they accumulate.
func (w *world) do(d deed, settle func()) {
	if d.wait > 0 {
		settle()
		w.Move(w.Now().Add(d.wait))
		settle()
	}
	w.Move(w.Now().Add(time.Second))
	if !d.report {
		w.Put("source", d.key, strings.Fields(d.value)...)
		return
	}
	settle()
	open, err := w.Store.OpenRuns(ctx, "")
	w.Check(err)
	for _, r := range open {
		if r.Status != run.Running {
			continue
		}
		if d.success {
			w.report(r.Key.String(), run.ResultSuccess, "")
		} else {
			w.report(r.Key.String(), run.ResultFail, run.Transient)
		}
	}
}

// outcome returns what a user would notice: the status and counters of every run, and the events.
func (w *world) outcome() ([]string, []string) {
	var runs, ids []string
	page, err := w.Store.Runs(ctx, store.RunQuery{Limit: store.MaxPage})
	w.Check(err)
	for _, r := range page.Items {
		runs = append(runs, fmt.Sprintf("%s %s %d %+v", r.Key, r.Status, r.Attempt, r.Counters))
	}
	for _, e := range w.events() {
		ids = append(ids, fmt.Sprintf("%s %s/%s %d %s", e.Type, e.Detail.Pipeline, e.Detail.Date, e.Detail.Attempt, e.ID))
	}
	slices.Sort(ids)
	return runs, ids
}

// row returns the row that a change is about: only changes of the same row arrive in order.
func rowOf(c store.Change) string {
	switch c.Kind {
	case store.ReadingWritten:
		return fmt.Sprintf("reading %s %s %s", c.Pipeline, c.Sensor, c.Period)
	case store.RunMoved:
		return "run " + c.Run.String()
	default:
		return "pipeline " + string(c.Pipeline)
	}
}

// shuffled returns the changes, each twice, in a random order that keeps only the order per row.
func shuffled(t *rapid.T, changes []store.Change) []store.Change {
	rows := map[string][]store.Change{}
	var order []string
	for _, c := range changes {
		for range 2 {
			rows[rowOf(c)] = append(rows[rowOf(c)], c)
			order = append(order, rowOf(c))
		}
	}
	var out []store.Change
	for _, row := range rapid.Permutation(order).Draw(t, "order") {
		out = append(out, rows[row][0])
		rows[row] = rows[row][1:]
	}
	return out
}

func TestChangesMayComeTwiceAndInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		script := deeds(t)
		straight, crooked := newWorld(t, town...), newWorld(t, town...)
		for _, d := range script {
			straight.do(d, straight.Settle)
			crooked.do(d, func() { crooked.settleCrooked(t) })
		}
		straight.Settle()
		crooked.settleCrooked(t)
		runs, ids := straight.outcome()
		gotRuns, gotIDs := crooked.outcome()
		same(t, "runs", runs, gotRuns)
		same(t, "events", ids, gotIDs)
	})
}

// settleCrooked is settle with changes that arrive twice and in any order between rows.
func (w *world) settleCrooked(t *rapid.T) {
	for range 1000 {
		changes := w.Changes()
		for _, c := range shuffled(t, changes) {
			w.Check(w.Router.Handle(ctx, c, w.Now()))
		}
		if len(changes) == 0 && !w.Work() {
			return
		}
	}
	w.Fatal("it never comes to rest")
}

func TestHistoryDeliveredAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, town...)
		var history []store.Change
		settle := func() {
			for range 1000 {
				changes := w.Changes()
				history = append(history, changes...)
				for _, c := range changes {
					w.Check(w.Router.Handle(ctx, c, w.Now()))
				}
				if len(changes) == 0 && !w.Work() {
					return
				}
			}
			w.Fatal("it never comes to rest")
		}
		for _, d := range deeds(t) {
			w.do(d, settle)
		}
		settle()
		runs, ids := w.outcome()
		for _, c := range history {
			w.Check(w.Router.Handle(ctx, c, w.Now()))
		}
		settle()
		gotRuns, gotIDs := w.outcome()
		same(t, "runs", runs, gotRuns)
		same(t, "events", ids, gotIDs)
	})
}

func TestAttemptsOpenOneByOneAndWithinTheirBudgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, town...)
		for _, d := range deeds(t) {
			w.do(d, w.Settle)
		}
		w.Settle()
		opened := map[string]int{}
		for _, e := range w.events() {
			if e.Type == event.TriggerStarted {
				key := fmt.Sprintf("%s %s", e.Detail.Pipeline, e.Detail.Date)
				if opened[key]++; e.Detail.Attempt != opened[key] {
					t.Errorf("%s: attempt %d is the %dth to open", key, e.Detail.Attempt, opened[key])
				}
			}
		}
		if len(slices.Compact(slices.Sorted(slices.Values(w.jobs.started)))) != len(w.jobs.started) {
			t.Errorf("an attempt was started twice: %v", w.jobs.started)
		}
		page, err := w.Store.Runs(ctx, store.RunQuery{Pipeline: "source", Limit: store.MaxPage})
		w.Check(err)
		for _, r := range page.Items {
			if c := r.Counters; c.Retries > 1 || c.DriftReruns > 2 || c.Reopenings > 5 {
				t.Errorf("%s used %+v", r.Key, c)
			}
		}
	})
}

// watched is a pipeline with post-run rules, whose drift and late data share one budget.
const watched = `
pipeline: {id: watched, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}, maxDriftReruns: 3}
postRun: {rules: [{key: audit, check: gte, field: count, value: 100}], driftThreshold: 10}
`

func TestDriftAndLateDataLeadToTheSameRunsInAnyOrder(t *testing.T) {
	writes := rapid.SliceOfN(rapid.SampledFrom([]string{"", "audit count=100", "audit count=105", "audit count=150", "arrival n=1", "arrival n=2"}), 1, 12)
	rapid.Check(t, func(t *rapid.T) {
		straight, crooked := newWorld(t, watched), newWorld(t, watched)
		script := writes.Draw(t, "writes")
		for _, write := range script {
			for w, settle := range map[*world]func(){straight: straight.Settle, crooked: func() { crooked.settleCrooked(t) }} {
				w.sleep(time.Second)
				if write != "" {
					pair := strings.Fields(write)
					w.Put("watched", pair[0], pair[1])
					continue
				}
				settle()
				if w.run("watched/stream/2026-03-03").Status == run.Running {
					w.report("watched/stream/2026-03-03", run.ResultSuccess, "")
				}
			}
		}
		straight.Settle()
		crooked.settleCrooked(t)
		runs, _ := straight.outcome()
		gotRuns, _ := crooked.outcome()
		same(t, "runs", runs, gotRuns)
	})
}
