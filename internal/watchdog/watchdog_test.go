package watchdog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/watchdog"
)

var (
	ctx   = context.Background()
	eight = time.Date(2026, 3, 3, 8, 0, 0, 0, time.UTC)
)

// idle is a job side that never has a job.
type idle struct{}

func (idle) StillRuns(context.Context, run.Run, time.Time) (bool, error) { return false, nil }
func (idle) Stop(context.Context, run.Run, time.Time) (run.Leftover, error) {
	return run.JobStopped, nil
}
func (idle) Sees(run.Run) bool { return true }

// world is one active pipeline at eight, with only the watchdog running: no feed is followed, no
// task is claimed.
type world struct {
	*testing.T
	store     *memory.Store
	catalog   *catalog.Catalog
	upstreams []string // other pipelines, opened by their own sensor
	slices    string   // size of their periods
	dog       *watchdog.Watchdog
	deps      watchdog.Deps
	flaky     *flaky
}

// flaky is a store that fails on request, and counts the queries about single pipelines.
type flaky struct {
	*memory.Store
	failing  error
	poisoned pipeline.ID // a pipeline whose history cannot be read
	asked    []string
	readings int
	// meanwhile, if set, happens once while a pass reads the backlog.
	meanwhile func()
}

func (f *flaky) Backlog(ctx context.Context, group string) (int, time.Time, error) {
	if do := f.meanwhile; do != nil {
		f.meanwhile = nil
		do()
	}
	return f.Store.Backlog(ctx, group)
}

func (f *flaky) Runs(ctx context.Context, q store.RunQuery) (store.Page[run.Run], error) {
	f.asked = append(f.asked, "runs of "+string(q.Pipeline))
	return f.Store.Runs(ctx, q)
}

func (f *flaky) History(ctx context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error) {
	f.asked = append(f.asked, "history of "+string(q.Pipeline))
	if f.poisoned == q.Pipeline {
		return store.Page[*sensor.Reading]{}, errors.New("row cannot be decoded")
	}
	return f.Store.History(ctx, q)
}

func (f *flaky) Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	f.readings++
	f.asked = append(f.asked, "readings of "+string(queries[0].Pipeline))
	return f.Store.Readings(ctx, queries)
}

func (f *flaky) OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error) {
	if f.failing != nil {
		return nil, f.failing
	}
	return f.Store.OpenRuns(ctx, id)
}

// newWorld returns a world whose watchdog has no overview.
func newWorld(t *testing.T, sections string, upstreams ...string) *world {
	t.Helper()
	return worldWith(t, nil, sections, upstreams...)
}

// worldWith returns one whose watchdog has an overview.
func worldWith(t *testing.T, o *overview, sections string, upstreams ...string) *world {
	t.Helper()
	s := memory.New()
	c := catalog.New(s, all.Kinds())
	w := &world{T: t, store: s, catalog: c, upstreams: upstreams, slices: "day"}
	w.edit(sections, eight)
	monitor := slamonitor.New(s, c)
	r := router.New(router.Deps{
		Store: s, Catalog: c, Deadlines: monitor, Jobs: idle{},
		Limits: router.Limits{RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second},
	})
	f := &flaky{Store: s}
	w.flaky = f
	deps := watchdog.Deps{Store: f, Catalog: c, Router: r, Deadlines: monitor, Group: "router", Interval: time.Minute}
	if o != nil {
		o.store, deps.Overview = s, o
	}
	w.deps, w.dog = deps, watchdog.New(deps)
	w.drain()
	return w
}

// edit activates a version of the pipeline's file.
func (w *world) edit(sections string, at time.Time) {
	w.Helper()
	files := catalog.Files{Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte("pipeline: {id: orders, owner: t}\n" + sections)}}}
	for _, id := range w.upstreams {
		text := fmt.Sprintf("pipeline: {id: %s, owner: t}\nschedule: {period: %s, trigger: {key: landed, check: exists}}\n", id, w.slices)
		files.Pipelines = append(files.Pipelines, pipeline.Source{File: id + ".yaml", Data: []byte(text)})
	}
	if _, err := w.catalog.Apply(ctx, files, at); err != nil {
		w.Fatal(err)
	}
	if w.catalog.Current().Get("orders") == nil {
		w.Fatal("the pipeline is not active")
	}
}

// drain acknowledges the whole feed without handling it.
func (w *world) drain() {
	w.Helper()
	for {
		n, _, err := w.store.Backlog(ctx, "router")
		if err != nil {
			w.Fatal(err)
		}
		if n == 0 {
			return
		}
		changes, err := w.store.Receive(ctx, "router", "test", 100)
		if err != nil {
			w.Fatal(err)
		}
		if err := w.store.Done(ctx, "router", changes); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) put(fields sensor.Fields, p string, at time.Time) {
	w.Helper()
	r := sensor.Reading{Key: "landed", Fields: fields}
	if p != "" {
		r.Period = periodtest.Parse(w.T, p)
	}
	if _, err := w.store.PutReadings(ctx, []store.Write{{Pipeline: "orders", Reading: r}}, at); err != nil {
		w.Fatal(err)
	}
}

func clockAt(now time.Time) func() time.Time { return func() time.Time { return now } }

// pass runs one pass and returns the events it emitted, as "TYPE date".
func (w *world) pass(now time.Time) []string {
	w.Helper()
	return w.passWith(clockAt(now))
}

func (w *world) passWith(clock func() time.Time) []string {
	w.Helper()
	before, err := w.store.EventsAfter(ctx, 0, 500)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.dog.Pass(ctx, clock); err != nil {
		w.Fatal(err)
	}
	after, err := w.store.EventsAfter(ctx, 0, 500)
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for _, e := range after[len(before):] {
		if err := e.Event.Validate(); err != nil {
			w.Error(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s", e.Event.Type, e.Event.Detail.Date))
	}
	return lines
}

func (w *world) want(what string, want, got []string) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestL2AbsenceIsReportedOnceWithinTwoIntervals(t *testing.T) {
	w := newWorld(t, "schedule: {cron: \"0 9 * * *\", evaluation: {window: 1m, interval: 1m}}\n")
	nine := eight.Add(time.Hour)
	w.want("before its fire", nil, w.pass(nine.Add(-time.Minute)))
	w.want("not yet settled", nil, w.pass(nine.Add(30*time.Second)))
	w.want("settled", []string{"SCHEDULE_MISSED 2026-03-03"}, w.pass(nine.Add(2*time.Minute)))
	w.want("again", nil, w.pass(nine.Add(3*time.Minute)))
}

func TestFireWhoseWindowIsOpenIsOpenedInstead(t *testing.T) {
	w := newWorld(t, "schedule: {cron: \"0 9 * * *\"}\n")
	w.want("events", []string{"TRIGGER_STARTED 2026-03-03"}, w.pass(eight.Add(time.Hour+2*time.Minute)))
}

func TestFiresMissedDuringDowntimeAreReportedTogether(t *testing.T) {
	w := newWorld(t, "schedule: {cron: \"0 9 * * *\", evaluation: {window: 1m, interval: 1m}}\n")
	w.want("events", []string{"SCHEDULE_MISSED 2026-03-05"}, w.pass(eight.Add(2*24*time.Hour+2*time.Hour)))
}

func TestMissedIncludeDateIsIrregular(t *testing.T) {
	w := newWorld(t, "schedule: {include: {dates: [2026-03-03]}, time: \"09:00\", evaluation: {window: 1m, interval: 1m}}\n")
	w.want("events", []string{"IRREGULAR_SCHEDULE_MISSED 2026-03-03"}, w.pass(eight.Add(2*time.Hour)))
	w.want("again", nil, w.pass(eight.Add(3*time.Hour)))
}

func TestExcludedFireIsNotMissed(t *testing.T) {
	w := newWorld(t, "schedule: {cron: \"0 9 * * *\", exclude: {dates: [2026-03-03]}, evaluation: {window: 1m, interval: 1m}}\n")
	w.want("events", []string{"PIPELINE_EXCLUDED 2026-03-03"}, w.pass(eight.Add(2*time.Hour)))
}

const landed = "schedule: {trigger: {key: landed, check: equals, field: ok, value: true}}\n"

func TestLostChangeIsRecovered(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, landed)
		w.put(sensor.Fields{"ok": true}, "", eight.Add(time.Minute))
		w.drain() // as if it had been handled
		w.want("events", []string{"TRIGGER_STARTED 2026-03-03", "TRIGGER_RECOVERED 2026-03-03"}, w.pass(eight.Add(3*time.Minute)))
		w.want("again", nil, w.pass(eight.Add(4*time.Minute)))
	})
}

func TestEditDoesNotRecoverThePast(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, landed)
		w.put(sensor.Fields{"ok": false}, "", eight.Add(time.Minute))
		w.drain()
		w.edit(strings.Replace(landed, "value: true", "value: false", 1), eight.Add(2*time.Minute))
		w.drain()
		w.want("events", nil, w.pass(eight.Add(10*time.Minute)))
	})
}

func TestLostUpstreamIsRecovered(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, "schedule: {after: [bronze, copper]}\n", "bronze", "copper")
		w.complete("bronze", "2026-03-02", eight.Add(time.Minute))
		w.want("one of two", nil, w.pass(eight.Add(3*time.Minute)))
		w.complete("copper", "2026-03-02", eight.Add(3*time.Minute))
		w.want("not settled", nil, w.pass(eight.Add(3*time.Minute+30*time.Second)))
		w.want("events", []string{"TRIGGER_STARTED 2026-03-02", "TRIGGER_RECOVERED 2026-03-02"}, w.pass(eight.Add(5*time.Minute)))
		w.want("again", nil, w.pass(eight.Add(6*time.Minute)))
	})
}

func TestUpstreamCompletedBeforeTheFileIsNotRecovered(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, landed, "bronze")
		w.complete("bronze", "2026-03-02", eight.Add(time.Minute))
		w.edit("schedule: {after: [bronze]}\n", eight.Add(2*time.Minute))
		w.drain()
		w.want("events", nil, w.pass(eight.Add(10*time.Minute)))
	})
}

// complete completes a run of an upstream without any change being handled.
func (w *world) complete(id pipeline.ID, date string, at time.Time) {
	w.Helper()
	key := run.Key{Pipeline: id, Schedule: pipeline.ByStream, Period: periodtest.Parse(w.T, date)}
	limits := run.Limits{Window: time.Hour, Interval: time.Minute, RunTimeout: time.Hour, StartTries: 1}
	r, err := run.New(key, run.Opening{Cause: run.CauseCondition, At: at, Limits: limits})
	steps := []func() (run.Run, error){
		func() (run.Run, error) { return r.Evaluated(true, at) },
		func() (run.Run, error) { return r.Trigger(run.Start{Snapshot: "s"}, at) },
		func() (run.Run, error) {
			return r.Reported(run.Outcome{Key: key, Attempt: 1, Report: run.Report{Result: run.ResultSuccess}}, at)
		},
		func() (run.Run, error) { return r.Complete(at) },
	}
	for _, step := range steps {
		if err == nil {
			r, err = step()
		}
	}
	if err != nil {
		w.Fatal(err)
	}
	b := store.Batch{ID: "complete/" + key.String()}
	b.Create(r)
	if err := w.store.Commit(ctx, b, at); err != nil {
		w.Fatal(err)
	}
	w.drain()
}

func TestLaggingFeedRaisesNoFalseAlarm(t *testing.T) {
	w := newWorld(t, landed)
	w.put(sensor.Fields{"ok": true}, "", eight.Add(time.Minute)) // still in the feed
	w.want("events", nil, w.pass(eight.Add(time.Hour)))
}

func TestUnmetConditionOpensNothing(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, landed)
		w.put(sensor.Fields{"ok": false}, "", eight.Add(time.Minute))
		w.drain()
		w.want("events", nil, w.pass(eight.Add(time.Hour)))
	})
}

func TestStartDeadlineClosesAPeriodWithoutARun(t *testing.T) {
	w := newWorld(t, "schedule: {trigger: {key: landed, check: exists, deadline: \"10:00\"}}\n")
	w.want("before", nil, w.pass(eight.Add(2*time.Hour)))
	w.want("after", []string{"SENSOR_DEADLINE_EXPIRED 2026-03-03"}, w.pass(eight.Add(2*time.Hour+2*time.Minute)))
	w.want("again", nil, w.pass(eight.Add(3*time.Hour)))
	r, err := w.store.Run(ctx, run.Key{Pipeline: "orders", Schedule: pipeline.ByStream, Period: periodtest.Parse(t, "2026-03-03")})
	if err != nil || r.Status != run.ValidationExhausted {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
}

func TestUnarmedDeadlineIsArmedAgain(t *testing.T) {
	w := newWorld(t, landed+"sla: {deadline: \"10:00\"}\n")
	b := store.Batch{ID: "lose it", Finished: []string{"arm/orders"}}
	if err := w.store.Commit(ctx, b, eight); err != nil {
		t.Fatal(err)
	}
	w.pass(eight.Add(2 * time.Minute))
	if task, err := w.store.Task(ctx, "arm/orders"); err != nil || !task.Due.Equal(eight.Add(2*time.Minute)) {
		t.Errorf("task %+v, %v", task, err)
	}
}

func TestUnfiredDeadlineIsFired(t *testing.T) {
	w := newWorld(t, landed+"sla: {deadline: \"10:00\"}\n")
	claims, err := w.store.Claim(ctx, store.ClaimQuery{Replica: "r", Limit: 10, Lease: time.Minute}, eight)
	if err != nil {
		t.Fatal(err)
	}
	c := catalog.New(w.store, all.Kinds())
	if err := c.Load(ctx); err != nil {
		t.Fatal(err)
	}
	for _, claim := range claims {
		if claim.Task.Kind == store.Arm {
			if err := slamonitor.New(w.store, c).Arm(ctx, claim, eight); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.want("events", []string{"SLA_BREACH 2026-03-03"}, w.pass(eight.Add(2*time.Hour+2*time.Minute)))
	w.want("again", nil, w.pass(eight.Add(3*time.Hour)))
}

func TestOpenRunWithoutATaskGetsOne(t *testing.T) {
	w := newWorld(t, landed)
	w.put(sensor.Fields{"ok": true}, "", eight)
	w.drain()
	w.pass(eight.Add(2 * time.Minute)) // opens it
	task := "advance/orders/stream/2026-03-03"
	for n := range 2 { // it is lost again before the run has changed
		b := store.Batch{ID: fmt.Sprintf("lose it %d", n), Finished: []string{task}}
		if err := w.store.Commit(ctx, b, eight); err != nil {
			t.Fatal(err)
		}
		w.drain()
		w.pass(eight.Add(time.Duration(n+1) * 10 * time.Minute))
		if found, err := w.store.Task(ctx, task); err != nil || found.Kind != store.Advance {
			t.Errorf("lost %d times: task %+v, %v", n+1, found, err)
		}
	}
}

// Its change was handled, as far as the feed shows. Nothing limits the time of a failed run.
func TestFailureThatWasOverlookedIsSettled(t *testing.T) {
	w := newWorld(t, landed)
	w.endRun(run.ResultFail, eight.Add(time.Minute))
	w.drain()
	w.want("at once", nil, w.pass(eight.Add(90*time.Second)))
	w.want("a while later", []string{"RETRY_EXHAUSTED 2026-03-03"}, w.pass(eight.Add(10*time.Minute)))
	w.want("again", nil, w.pass(eight.Add(20*time.Minute)))
}

func TestMissingPostRunSensorIsReportedOncePerKey(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, landed+"postRun: {rules: [{key: landed, check: exists}, {key: out, check: exists}], sensorTimeout: 1h}\n")
		w.completeRun(eight.Add(10 * time.Minute))
		w.drain()
		w.put(sensor.Fields{"ok": true}, "2026-03-03", eight.Add(30*time.Minute)) // one of the two
		w.drain()
		w.want("in time", nil, w.pass(eight.Add(time.Hour)))
		w.want("late", []string{"POST_RUN_SENSOR_MISSING 2026-03-03"}, w.pass(eight.Add(2*time.Hour)))
		w.want("again", nil, w.pass(eight.Add(3*time.Hour)))
	})
}

func TestSensorWhoseReadingsWereTrimmedIsNotMissing(t *testing.T) {
	for name, c := range map[string]struct {
		history time.Duration
		outcome event.Type
	}{
		"the history is longer than the timeout":      {history: 3 * time.Hour},
		"it is shorter, but the rules had an outcome": {history: time.Hour, outcome: event.PostRunPassed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, landed+"postRun: {rules: [{key: landed, check: exists}], sensorTimeout: 2h}\n")
			w.deps.History = c.history
			w.completeRun(eight.Add(10 * time.Minute))
			w.put(sensor.Fields{"ok": true}, "2026-03-03", eight.Add(20*time.Minute))
			w.judge(c.outcome)
			w.put(sensor.Fields{"ok": true}, "2026-03-04", eight.Add(25*time.Hour))
			w.drain()
			now := eight.Add(30 * time.Hour)
			if n, err := w.store.Trim(ctx, store.Retention{History: c.history}, now); err != nil || n == 0 {
				t.Fatalf("trimmed %d rows, %v", n, err)
			}
			w.dog = watchdog.New(w.deps) // a restart: it checks the runs of the last days anew
			if n := count(w.pass(now), "POST_RUN_SENSOR_MISSING"); n != 0 {
				t.Errorf("%d sensors are missing", n)
			}
		})
	}
}

// judge stores an outcome of the post-run rules of the day's run; none if it is empty.
func (w *world) judge(outcome event.Type) {
	w.Helper()
	if outcome == "" {
		return
	}
	key := run.Key{Pipeline: "orders", Schedule: pipeline.ByStream, Period: periodtest.Parse(w.T, "2026-03-03")}
	b := store.Batch{ID: "judge"}
	b.SwapPostRun(store.PostRun{}, store.PostRun{Key: key, Attempt: 1, Outcome: string(outcome)})
	if err := w.store.Commit(ctx, b, eight); err != nil {
		w.Fatal(err)
	}
}

func TestReadingUnseenAtCompletionCountsAsLaterWhateverItsTime(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, landed+"postRun: {rules: [{key: landed, check: exists}], sensorTimeout: 1h}\n")
		at := eight.Add(10 * time.Minute)
		w.completeRun(at)
		end := store.Snapshot{
			ID: "orders/stream/2026-03-03/1/end", Key: run.Key{Pipeline: "orders", Schedule: pipeline.ByStream, Period: periodtest.Parse(w.T, "2026-03-03")},
			Attempt: 1, At: at, PostRun: []store.SeenSensor{{Pipeline: "orders", Key: "landed"}}, // without a reading
		}
		b := store.Batch{ID: "end", Snapshots: []store.Snapshot{end}}
		if err := w.store.Commit(ctx, b, at); err != nil {
			t.Fatal(err)
		}
		w.put(sensor.Fields{"ok": true}, "2026-03-03", at.Add(-time.Second)) // by a slow clock
		w.drain()
		w.want("late", nil, w.pass(eight.Add(2*time.Hour)))
	})
}

func TestMissingSensorsWithOneKeyFromTwoPipelinesAreBothReported(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, landed+"postRun: {rules: [{key: out, from: bronze, check: exists}, {key: out, from: copper, check: exists}], sensorTimeout: 1h}\n", "bronze", "copper")
		w.completeRun(eight.Add(10 * time.Minute))
		w.drain()
		w.want("late", []string{"POST_RUN_SENSOR_MISSING 2026-03-03", "POST_RUN_SENSOR_MISSING 2026-03-03"}, w.pass(eight.Add(2*time.Hour)))
		w.want("again", nil, w.pass(eight.Add(3*time.Hour)))
	})
}

// completeRun stores a completed run of the day.
func (w *world) completeRun(at time.Time) {
	w.Helper()
	w.endRun(run.ResultSuccess, at)
}

// endRun stores a run of the day whose job had that result.
func (w *world) endRun(result run.Result, at time.Time) {
	w.Helper()
	key := run.Key{Pipeline: "orders", Schedule: pipeline.ByStream, Period: periodtest.Parse(w.T, "2026-03-03")}
	r, err := run.New(key, run.Opening{Cause: run.CauseCondition, At: eight, Limits: run.Limits{Window: time.Hour, Interval: time.Minute}})
	for _, step := range []func(run.Run) (run.Run, error){
		func(r run.Run) (run.Run, error) { return r.Evaluated(true, eight) },
		func(r run.Run) (run.Run, error) { return r.Trigger(run.Start{Snapshot: "s"}, eight) },
		func(r run.Run) (run.Run, error) { return r.Started("", eight) },
		func(r run.Run) (run.Run, error) {
			return r.Reported(run.Outcome{Key: key, Attempt: 1, Report: run.Report{Result: result}}, at)
		},
		func(r run.Run) (run.Run, error) { return r.Complete(at) },
	} {
		if err != nil {
			w.Fatal(err)
		}
		r, err = step(r)
	}
	if err != nil {
		w.Fatal(err)
	}
	b := store.Batch{ID: "complete"}
	b.Create(r)
	if err := w.store.Commit(ctx, b, at); err != nil {
		w.Fatal(err)
	}
}

func TestFailingCheckIsNamedAndStopsNoOther(t *testing.T) {
	w := newWorld(t, "schedule: {cron: \"0 9 * * *\", evaluation: {window: 1m, interval: 1m}}\n")
	w.flaky.failing = errors.New("no answer")
	now := eight.Add(2 * time.Hour)
	report, err := w.dog.Pass(ctx, clockAt(now))
	if err == nil || !cmp.Equal(report.Failed, []string{"stale-runs"}) || report.Findings["missed-fires"] != 1 {
		t.Errorf("report %+v, %v", report, err)
	}
	events, err := w.store.EventsAfter(ctx, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	last := events[len(events)-1].Event
	if last.Type != "WATCHDOG_DEGRADED" || !strings.Contains(last.Detail.Message, "stale-runs") {
		t.Errorf("emitted %s: %s", last.Type, last.Detail.Message)
	}
	if _, err := w.dog.Pass(ctx, clockAt(now.Add(time.Minute))); err == nil {
		t.Error("the check succeeded")
	}
	if again, err := w.store.EventsAfter(ctx, 0, 100); err != nil || len(again) != len(events) {
		t.Errorf("reported again: %d events, %v", len(again), err)
	}
}

func TestPipelineThatCannotBeCheckedStopsNoOther(t *testing.T) {
	w := newWorld(t, landed, "bronze")
	w.flaky.poisoned = "bronze"
	w.put(sensor.Fields{"ok": true}, "", eight.Add(time.Minute))
	w.drain() // as if it had been handled
	report, err := w.dog.Pass(ctx, clockAt(eight.Add(3*time.Minute)))
	if err == nil || !strings.Contains(err.Error(), "pipeline bronze: ") || report.Findings["unopened-runs"] != 1 {
		t.Errorf("report %+v, %v", report, err)
	}
	events, err := w.store.EventsAfter(ctx, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	last := events[len(events)-1].Event
	want := event.Degraded{Checks: []string{"unopened-runs"}, Pipelines: []string{"bronze"}}
	if diff := cmp.Diff(event.Extra(want), last.Detail.Extra); diff != "" || !strings.Contains(last.Detail.Message, "unopened-runs (bronze)") {
		t.Errorf("%s: %s (-want +got):\n%s", last.Type, last.Detail.Message, diff)
	}
}
