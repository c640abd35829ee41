package promise_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate/gatetest"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// witness is called by the target before a start takes effect. By then the decision must be in the
// store: the run TRIGGERING, and a snapshot on whose facts alone the gate is open, or a bypass with
// who and why.
func (w *world) witness(a job.Attempt) {
	key := run.Key{Pipeline: a.Pipeline, Schedule: a.Schedule, Period: a.Period}
	r, err := w.data().Run(w.Context(), key)
	if err != nil {
		w.Errorf("start of %s: %v", a.ID, err)
		return
	}
	if r.ID() != a.ID {
		return // a start that outlived its attempt: it was checked while the attempt was open
	}
	if r.Status != run.Triggering || r.Progress.Snapshot == "" {
		w.Errorf("start of %s while the run is %s with snapshot %q", a.ID, r.Status, r.Progress.Snapshot)
		return
	}
	w.judge(r)
}

// judge checks the snapshot of a run's latest start.
func (w *world) judge(r run.Run) {
	s, err := w.data().Snapshot(w.Context(), r.Progress.Snapshot)
	if err != nil {
		w.Errorf("start of %s has no snapshot: %v", r.ID(), err)
		return
	}
	config, err := w.data().Config(w.Context(), r.Pipeline, s.Config)
	if err != nil {
		w.Errorf("snapshot %s rests on config %s: %v", s.ID, s.Config, err)
		return
	}
	if s.Config != r.Progress.Opening.ConfigVersion || s.Attempt != r.Attempt || s.At.IsZero() {
		w.Errorf("snapshot %s is of attempt %d, config %s, instant %s", s.ID, s.Attempt, s.Config, s.At)
	}
	o := r.Progress.Opening
	if s.Bypassed && o.GateBypassed && o.By != "" && o.Reason != "" {
		return
	}
	if got := verdict(w, config, s); got != rule.Pass {
		w.Errorf("start of %s rests on a gate that is %s", r.ID(), got)
	}
	w.checkFacts(s)
}

// gates caches the compiled gates of config versions.
var gates sync.Map

func gateOf(w *world, c store.Config) *rule.Gate {
	if g, there := gates.Load(c.Version); there {
		return g.(*rule.Gate)
	}
	set := pipeline.Load([]pipeline.Source{c.File}, pipeline.Options{Jobs: kinds, Calendars: c.Calendars, Archetypes: c.Archetypes})
	if len(set.Definitions) != 1 {
		w.Errorf("config %s: %v", c.Version, set.Problems)
		return nil
	}
	gates.Store(c.Version, set.Definitions[0].Gate)
	return set.Definitions[0].Gate
}

// verdict evaluates the gate only on the facts of a snapshot.
func verdict(w *world, c store.Config, s store.Snapshot) rule.Outcome {
	compiled := gateOf(w, c)
	if compiled == nil {
		return rule.Fail
	}
	return gatetest.Judge(compiled, s)
}

// checkFacts compares a snapshot with the readings that were written.
func (w *world) checkFacts(s store.Snapshot) {
	for _, seen := range s.Sensors {
		if seen.Version == 0 || len(seen.Key) > 4 && seen.Key[:4] == "run/" {
			continue
		}
		page, err := w.data().History(w.Context(), store.HistoryQuery{Pipeline: seen.Pipeline, Key: seen.Key, Limit: store.MaxPage})
		if err != nil {
			w.Error(err)
			return
		}
		found := false
		for _, written := range page.Items {
			found = found || written.Version == seen.Version && sensor.SameData(written.Fields, seen.Fields)
		}
		if !found {
			w.Errorf("snapshot %s saw %s in version %d, which was never written: %v", s.ID, seen.Key, seen.Version, seen.Fields)
		}
	}
}

// checkStarts checks promise S2 on the targets: no attempt has two jobs.
func (w *world) checkStarts() {
	w.Helper()
	for id, n := range w.target.starts() {
		if n > 1 {
			w.Errorf("attempt %s was started %d times\n%s", id, n, w.eventLog())
		}
	}
	opened := map[string]int{}
	for _, e := range w.events(event.TriggerStarted, event.JobTriggered) {
		opened[fmt.Sprintf("%s %s/%s/%s/%d", e.Type, e.Detail.Pipeline, e.Detail.Schedule, e.Detail.Date, e.Detail.Attempt)]++
	}
	for what, n := range opened {
		if n > 1 {
			w.Errorf("%s was emitted %d times", what, n)
		}
	}
}

// budgets are the limits in the test's files, by counter.
type budgets map[run.Counter]int

// checkBudgets checks promise S3 on the events: no run had more further attempts of a cause than
// its budget.
func (w *world) checkBudgets(id string, allowed budgets) {
	w.Helper()
	used := map[string]map[run.Counter]int{}
	for _, e := range w.events(event.TriggerStarted) {
		o := e.Detail.Extra.(event.Opening)
		if string(e.Detail.Pipeline) != id || e.Detail.Attempt == 1 || o.Forced {
			continue
		}
		date := e.Detail.Date.String()
		if used[date] == nil {
			used[date] = map[run.Counter]int{}
		}
		used[date][o.Cause.Counter()]++
	}
	for date, counters := range used {
		for counter, n := range counters {
			if n > allowed[counter] {
				w.Errorf("%s %s had %d further attempts on %s, its budget is %d\n%s", id, date, n, counter, allowed[counter], w.eventLog())
			}
		}
	}
}

// checkDeadlines checks promise S4 on the stored deadlines: every deadline whose instant has passed
// is closed, and each instant that was ever armed has exactly one event of MET, BREACHED and
// CANCELLED.
func (w *world) checkDeadlines() {
	w.Helper()
	ends := map[string]int{}
	for _, e := range w.events(event.SLAMet, event.SLABreach, event.RelativeSLABreach, event.SLACancelled) {
		ends[instantOf(e.Detail.Pipeline, e.Detail.Schedule, e.Detail.Date.String(), e.Detail.Extra.(event.Deadline).Deadline)]++
	}
	for _, d := range w.deadlines() {
		id := instantOf(d.Key.Pipeline, d.Key.Schedule, d.Key.Period.String(), d.BreachAt)
		want := 1
		if d.State == sla.Armed {
			want = 0
			if !d.BreachAt.After(time.Now()) {
				w.Errorf("the deadline of %s is still armed at %s\n%s", id, time.Now(), w.eventLog())
			}
		}
		if ends[id] != want {
			w.Errorf("%s is %s and its end was emitted %d times\n%s", id, d.State, ends[id], w.eventLog())
		}
		delete(ends, id)
	}
	for id, n := range ends {
		if n != 1 { // of an instant that an edit replaced
			w.Errorf("the end of %s was reported %d times\n%s", id, n, w.eventLog())
		}
	}
}

func instantOf(id pipeline.ID, schedule pipeline.ScheduleID, date string, breach time.Time) string {
	return fmt.Sprintf("%s/%s/%s by %s", id, schedule, date, breach.UTC().Format(time.DateTime))
}

// deadlines lists all deadlines.
func (w *world) deadlines() []store.Deadline {
	w.Helper()
	var all []store.Deadline
	q := store.DeadlineQuery{Limit: store.MaxPage}
	for {
		page, err := w.data().Deadlines(w.Context(), q)
		w.check(err)
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		q.Cursor = page.Next
	}
}

// ledger returns the states of a pipeline's deadlines, as "date STATE" with the reason of a
// cancelled one, soonest first.
func (w *world) ledger(id string) []string {
	w.Helper()
	var lines []string
	for _, d := range w.deadlines() {
		if string(d.Key.Pipeline) == id && d.Kind == store.Absolute {
			line := fmt.Sprintf("%s %s", d.Key.Period, d.State)
			if d.Reason != "" {
				line += " " + d.Reason
			}
			lines = append(lines, line)
		}
	}
	return lines
}
