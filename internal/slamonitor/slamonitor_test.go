package slamonitor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var ctx = context.Background()

// at returns a time on 3 March 2026, or on a later day: "10:00", "1d 10:00".
func at(t *testing.T, text string) time.Time {
	t.Helper()
	day, clock := 0, text
	if d, rest, ok := strings.Cut(text, "d "); ok {
		fmt.Sscan(d, &day)
		clock = rest
	}
	parsed, err := time.Parse("15:04", clock)
	if err != nil {
		t.Fatal(err)
	}
	return time.Date(2026, 3, 3+day, parsed.Hour(), parsed.Minute(), 0, 0, time.UTC)
}

// world is a store with one active pipeline and the monitor over it.
type world struct {
	*testing.T
	store   *memory.Store
	catalog *catalog.Catalog
	monitor *slamonitor.Monitor
}

func newWorld(t *testing.T, accepted string, sections string) *world {
	s := memory.New()
	c := catalog.New(s, all.Kinds())
	w := &world{T: t, store: s, catalog: c, monitor: slamonitor.New(s, c)}
	w.edit(accepted, sections)
	return w
}

// edit activates a new version of the pipeline's file.
func (w *world) edit(when, sections string) {
	w.Helper()
	var files catalog.Files
	if sections != "" {
		files.Pipelines = []pipeline.Source{{File: "orders.yaml", Data: []byte("pipeline: {id: orders, owner: t}\n" + sections)}}
	}
	if _, err := w.catalog.Apply(ctx, files, at(w.T, when)); err != nil {
		w.Fatal(err)
	}
}

// basis is the pipeline as its store has it.
func (w *world) basis() slamonitor.Basis {
	w.Helper()
	e, row, err := w.catalog.Active(ctx, "orders")
	if err != nil {
		w.Fatal(err)
	}
	return slamonitor.Basis{Entry: e, Row: row}
}

// advance runs every arm and deadline task that is due up to then, each at its own time.
func (w *world) advance(until string) {
	w.Helper()
	end := at(w.T, until)
	for range 1000 {
		due, err := w.store.NextDue(ctx, store.ClaimQuery{})
		if err != nil {
			w.Fatal(err)
		}
		if due.IsZero() || due.After(end) {
			return
		}
		claims, err := w.store.Claim(ctx, store.ClaimQuery{Replica: "r", Limit: 1, Lease: time.Minute}, due)
		if err != nil || len(claims) != 1 {
			w.Fatalf("claim at %s: %v, %v", due, claims, err)
		}
		w.perform(claims[0], due)
	}
	w.Fatal("the tasks never end")
}

func (w *world) perform(c store.Claim, now time.Time) {
	w.Helper()
	var err error
	switch c.Task.Kind {
	case store.Arm:
		err = w.monitor.Arm(ctx, c, now)
	case store.FireDeadline:
		err = w.monitor.Fire(ctx, c, now)
	default: // opening periods is the router's work
		b := store.Batch{ID: "drop " + c.Task.ID + now.String(), Finished: []string{c.Task.ID}}
		err = w.store.Commit(ctx, b, now)
	}
	if err != nil {
		w.Fatalf("%s: %v", c.Task.ID, err)
	}
}

// ledger lists every deadline as "date kind state breach".
func (w *world) ledger() []string {
	w.Helper()
	page, err := w.store.Deadlines(ctx, store.DeadlineQuery{Pipeline: "orders", Limit: 100})
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for _, d := range page.Items {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", d.Key.Period, d.Kind, d.State, d.BreachAt.Format("02T15:04")))
	}
	return lines
}

// emitted lists every SLA event as "time type date", oldest first.
func (w *world) emitted() []string {
	w.Helper()
	events, err := w.store.EventsAfter(ctx, 0, 1000)
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for _, e := range events {
		if strings.Contains(string(e.Event.Type), "SLA") {
			lines = append(lines, fmt.Sprintf("%s %s %s", e.Event.Time.Format("02T15:04"), e.Event.Type, e.Event.Detail.Date))
		}
	}
	return lines
}

func (w *world) want(what string, want, got []string) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const daily = "schedule: {cron: \"0 8 * * *\"}\nsla: {deadline: \"10:00\", expectedDuration: 30m}\n"

func TestRunningAndNextPeriodAreArmedWhetherOrNotDataArrives(t *testing.T) {
	w := newWorld(t, "07:00", daily)
	w.advance("09:00")
	w.want("ledger", []string{
		"2026-03-03 absolute ARMED 03T10:00",
		"2026-03-04 absolute ARMED 04T10:00",
	}, w.ledger())
	w.advance("1d 11:00")
	w.want("events", []string{
		"03T09:30 SLA_WARNING 2026-03-03", "03T10:00 SLA_BREACH 2026-03-03",
		"04T09:30 SLA_WARNING 2026-03-04", "04T10:00 SLA_BREACH 2026-03-04",
	}, w.emitted())
}

func TestNothingBeforeTheHorizonIsArmed(t *testing.T) {
	w := newWorld(t, "08:30", daily) // after today's fire
	w.advance("09:00")
	w.want("ledger", []string{"2026-03-04 absolute ARMED 04T10:00"}, w.ledger())
}

func TestPeriodOfTheHorizonCountsWhereNothingFires(t *testing.T) {
	w := newWorld(t, "08:30", "schedule: {trigger: {key: a, check: exists}}\nsla: {deadline: \"10:00\"}\n")
	w.advance("08:30")
	w.want("ledger", []string{"2026-03-03 absolute ARMED 03T10:00", "2026-03-04 absolute ARMED 04T10:00"}, w.ledger())
}

func TestPeriodFirstSeenAfterItsBreachIsNotArmed(t *testing.T) {
	w := newWorld(t, "10:30", "schedule: {trigger: {key: a, check: exists}}\nsla: {deadline: \"10:00\"}\n")
	w.advance("11:00")
	w.want("ledger", []string{"2026-03-04 absolute ARMED 04T10:00"}, w.ledger())
}

func TestExcludedPeriodsAndDryRunsAreNotArmed(t *testing.T) {
	w := newWorld(t, "07:00", "schedule: {cron: \"0 8 * * *\", exclude: {dates: [2026-03-03]}}\nsla: {deadline: \"10:00\"}\n")
	w.advance("07:00")
	w.want("ledger", []string{"2026-03-04 absolute ARMED 04T10:00"}, w.ledger())
	w = newWorld(t, "07:00", "dryRun: true\nschedule: {trigger: {key: a, check: exists}}\nsla: {deadline: \"10:00\"}\njob: {type: command, config: {command: x}}\n")
	w.advance("1d 11:00")
	w.want("ledger of a dry run", nil, w.ledger())
}

func TestEditMovesComingDeadlines(t *testing.T) {
	w := newWorld(t, "07:00", daily)
	w.advance("08:15")
	w.edit("08:20", strings.Replace(daily, "10:00", "11:00", 1))
	w.advance("08:20")
	w.want("ledger", []string{"2026-03-03 absolute ARMED 03T11:00", "2026-03-04 absolute ARMED 04T11:00"}, w.ledger())
	w.advance("11:00")
	w.want("events", []string{
		"03T08:20 SLA_CANCELLED 2026-03-03", "03T08:20 SLA_CANCELLED 2026-03-04",
		"03T10:30 SLA_WARNING 2026-03-03", "03T11:00 SLA_BREACH 2026-03-03",
	}, w.emitted())
}

// The task may run before this controller has loaded the version that scheduled it: another
// controller accepted it, or this one is about to.
func TestVersionNotLoadedYetIsArmed(t *testing.T) {
	w := newWorld(t, "07:00", daily)
	w.advance("07:00")
	w.catalog = catalog.New(w.store, all.Kinds()) // another controller's; the monitor keeps its own
	w.edit("07:30", strings.Replace(daily, "10:00", "11:00", 1))
	w.advance("07:30")
	w.want("ledger", []string{"2026-03-03 absolute ARMED 03T11:00"}, w.ledger())
	w.monitor = slamonitor.New(w.store, catalog.New(w.store, all.Kinds())) // nothing is loaded
	w.edit("07:40", daily)
	w.advance("07:40")
	w.want("ledger", []string{"2026-03-03 absolute ARMED 03T10:00"}, w.ledger())
}

func TestEditThatDoesNotAffectTheDeadlineLeavesItAlone(t *testing.T) {
	w := newWorld(t, "07:00", daily)
	w.advance("08:15")
	w.edit("08:20", daily+"validation: {rules: [{key: a, check: exists}]}\n")
	w.advance("08:30")
	w.want("events", nil, w.emitted())
}

func TestRemovalCancels(t *testing.T) {
	w := newWorld(t, "07:00", daily)
	w.advance("08:15")
	w.edit("08:20", "")
	if err := w.monitor.CancelAll(ctx, "orders", at(t, "08:20")); err != nil {
		t.Fatal(err)
	}
	w.advance("1d 12:00")
	w.want("events", []string{"03T08:20 SLA_CANCELLED 2026-03-03", "03T08:20 SLA_CANCELLED 2026-03-04"}, sorted(w.emitted()))
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

func TestPauseThatHoldsDeadlinesArmsNothing(t *testing.T) {
	w := newWorld(t, "07:00", daily)
	row, err := w.store.Pipeline(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	paused := row
	paused.Pause = store.Pause{By: "ada", Why: "maintenance", Since: at(t, "07:00"), HoldSLA: true}
	b := store.Batch{ID: "pause"}
	b.SwapPipeline(row, paused)
	if err := w.store.Commit(ctx, b, at(t, "07:00")); err != nil {
		t.Fatal(err)
	}
	w.advance("1d 12:00")
	w.want("ledger", nil, w.ledger())
}

func TestPauseThatShouldHaveEndedIsNotAskedAboutAgainAndAgain(t *testing.T) {
	w := newWorld(t, "07:00", daily)
	row, err := w.store.Pipeline(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	paused := row
	paused.Pause = store.Pause{By: "ada", Why: "maintenance", Since: at(t, "05:00"), Until: at(t, "06:00"), HoldSLA: true}
	b := store.Batch{ID: "pause"}
	b.SwapPipeline(row, paused)
	if err := w.store.Commit(ctx, b, at(t, "07:00")); err != nil {
		t.Fatal(err)
	}
	claims, err := w.store.Claim(ctx, store.ClaimQuery{Replica: "here", Limit: 10, Lease: time.Minute}, at(t, "07:00"))
	if err != nil {
		t.Fatal(err)
	}
	armed := 0
	for _, c := range claims {
		if c.Task.Kind == store.Arm {
			armed++
			if err := w.monitor.Arm(ctx, c, at(t, "07:00")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if task, err := w.store.Task(ctx, "arm/orders"); armed != 1 || err == nil && !task.Due.After(at(t, "07:00")) {
		t.Errorf("%d tasks to arm; then it is due again at %s", armed, task.Due)
	}
}

// complete stores a run of the day that completed at that time.
func (w *world) complete(when string) run.Run {
	w.Helper()
	day, err := period.Parse("2026-03-03")
	if err != nil {
		w.Fatal(err)
	}
	key := run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: day}
	r, err := run.New(key, run.Opening{Cause: run.CauseCron, At: at(w.T, "08:00"), Limits: run.Limits{Window: time.Hour, Interval: time.Minute, PollInterval: time.Minute, PollWindow: time.Hour}})
	for _, step := range []func(run.Run) (run.Run, error){
		func(r run.Run) (run.Run, error) { return r.Evaluated(true, at(w.T, "08:00")) },
		func(r run.Run) (run.Run, error) { return r.Trigger(run.Start{Snapshot: "s"}, at(w.T, "08:00")) },
		func(r run.Run) (run.Run, error) { return r.Started("h", at(w.T, "08:00")) },
		func(r run.Run) (run.Run, error) {
			return r.Reported(run.Outcome{Key: key, Attempt: 1, Report: run.Report{Result: run.ResultSuccess}}, at(w.T, when))
		},
		func(r run.Run) (run.Run, error) { return r.Complete(at(w.T, when)) },
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
	if err := w.store.Commit(ctx, b, at(w.T, when)); err != nil {
		w.Fatal(err)
	}
	return r
}

func TestDeadlineOfACompletedRunIsMetEvenIfItsCommitLeftItArmed(t *testing.T) {
	w := newWorld(t, "07:00", daily)
	w.advance("08:00")
	w.complete("08:45")
	w.advance("10:30")
	w.want("events", []string{"03T09:30 SLA_MET 2026-03-03"}, w.emitted())
}

func TestLateCompletionIsNeverMet(t *testing.T) {
	w := newWorld(t, "07:00", "schedule: {cron: \"0 8 * * *\"}\nsla: {deadline: \"10:00\"}\n")
	w.advance("09:00")
	r := w.complete("10:20") // nothing fired at ten
	page, err := w.store.Deadlines(ctx, store.DeadlineQuery{Key: r.Key})
	if err != nil || len(page.Items) != 1 {
		t.Fatal(page, err)
	}
	var b store.Batch
	slamonitor.Close(page.Items, r, w.basis()).Put(&b)
	if d := b.Deadlines; len(d) != 1 || d[0].Next.State != "BREACHED" || len(b.Events) != 1 || b.Events[0].Type != "SLA_BREACH" {
		t.Errorf("%v, %v", d, b.Events)
	}
}

func TestRelativeDeadlineCountsFromTheFirstReading(t *testing.T) {
	w := newWorld(t, "07:00", "schedule: {trigger: {key: a, check: exists}}\nsla: {maxDuration: 2h}\n")
	w.advance("07:00")
	day, err := period.Parse("2026-03-03")
	if err != nil {
		t.Fatal(err)
	}
	for _, arrived := range []string{"09:00", "09:45"} { // the second does not move it
		if err := w.monitor.ArmRelative(ctx, w.basis(), day, at(t, arrived), at(t, arrived)); err != nil {
			t.Fatal(err)
		}
	}
	w.advance("12:00")
	w.want("events", []string{"03T10:30 RELATIVE_SLA_WARNING 2026-03-03", "03T11:00 RELATIVE_SLA_BREACH 2026-03-03"}, w.emitted())
}

// The controller was down between the reading and its deadline. That is no backfill: the reading
// arrived in time.
func TestRelativeDeadlineThatPassedUnseenIsBreached(t *testing.T) {
	w := newWorld(t, "07:00", "schedule: {trigger: {key: a, check: exists}}\nsla: {maxDuration: 2h}\n")
	w.advance("07:00")
	day, err := period.Parse("2026-03-03")
	if err != nil {
		t.Fatal(err)
	}
	noon := at(t, "12:00")
	if err := w.monitor.ArmRelative(ctx, w.basis(), day, at(t, "08:00"), noon); err != nil {
		t.Fatal(err)
	}
	claims, err := w.store.Claim(ctx, store.ClaimQuery{Replica: "r", Limit: 1, Lease: time.Minute}, noon)
	if err != nil || len(claims) != 1 {
		t.Fatalf("claim: %v, %v", claims, err)
	}
	w.perform(claims[0], noon)
	w.want("ledger", []string{"2026-03-03 relative BREACHED 03T10:00"}, w.ledger())
	w.want("events", []string{"03T12:00 RELATIVE_SLA_BREACH 2026-03-03"}, w.emitted())
}

func TestRestartDuringTheInstantFiresOnce(t *testing.T) {
	w := newWorld(t, "07:00", daily)
	w.advance("09:00")
	late := at(t, "10:05") // down during warning and breach
	for range 2 {
		claims, err := w.store.Claim(ctx, store.ClaimQuery{Replica: "r", Limit: 10, Lease: time.Minute}, late)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range claims {
			w.perform(c, late)
		}
	}
	w.want("events", []string{"03T10:05 SLA_BREACH 2026-03-03"}, w.emitted())
}

// A run that the deadline of its start condition closed has no attempt.
func TestBreachOfARunThatNeverOpenedNamesItsStartDeadline(t *testing.T) {
	w := newWorld(t, "07:00", "schedule: {trigger: {key: a, check: exists, deadline: \"09:00\"}}\nsla: {deadline: \"10:00\"}\n")
	w.advance("08:00")
	day, err := period.Parse("2026-03-03")
	if err != nil {
		t.Fatal(err)
	}
	closed, err := run.Closed(run.Key{Pipeline: "orders", Schedule: pipeline.ByStream, Period: day}, at(t, "09:00"))
	if err != nil {
		t.Fatal(err)
	}
	b := store.Batch{ID: "close"}
	b.Create(closed)
	if err := w.store.Commit(ctx, b, at(t, "09:00")); err != nil {
		t.Fatal(err)
	}
	w.advance("10:00")
	page, err := w.store.Events(ctx, store.EventQuery{Pipeline: "orders", Type: event.SLABreach, Limit: 1})
	if err != nil || len(page.Items) != 1 {
		t.Fatal(page.Items, err)
	}
	want := "not completed by 2026-03-03T10:00:00Z: its start condition was not met before its own deadline; not satisfied: a (no reading)"
	if got := page.Items[0].Detail.Message; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
