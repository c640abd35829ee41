package timeline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/timeline"
)

var ctx = context.Background()

type world struct {
	*testing.T
	*controllertest.Controller
}

func newWorld(t *testing.T, files ...string) *world {
	t.Helper()
	w := &world{t, controllertest.New(t, memory.New(), map[string]job.Type{"command": controllertest.Idle{}})}
	w.Apply(files...)
	w.Settle()
	return w
}

// lane returns what is shown of a pipeline between two instants.
func (w *world) lane(id string, q timeline.Query) timeline.Lane {
	w.Helper()
	reader, err := timeline.New(ctx, timeline.Sources{Store: w.Store, Catalog: w.Catalog}, q, w.Now())
	w.Check(err)
	lane, err := reader.Lane(ctx, w.Catalog.Current().Get(pipeline.ID(id)))
	w.Check(err)
	return lane
}

// around returns the range around now.
func (w *world) around(back, ahead time.Duration) timeline.Query {
	return timeline.Query{From: w.Now().Add(-back), To: w.Now().Add(ahead), Axis: timeline.ByPeriod}
}

// shown lists "date phase", with "*" for slots outside the range.
func shown(l timeline.Lane) []string {
	out := []string{}
	for _, s := range l.Slots {
		text := fmt.Sprintf("%s %s", s.Key.Period, s.Phase)
		if s.Outside {
			text += " *"
		}
		out = append(out, text)
	}
	return out
}

func (w *world) finish(key string, r run.Report) {
	w.Helper()
	_, err := w.Router.Report(ctx, run.Outcome{Key: w.Key(key), Report: r}, w.Now())
	w.Check(err)
	w.Settle()
}

func (w *world) shows(l timeline.Lane, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, shown(l)); diff != "" {
		w.Errorf("(-want +got):\n%s", diff)
	}
}

const nightly = `
pipeline: {id: nightly, owner: data}
schedule: {cron: "0 1 * * *", offset: -1}
job: {type: command, maxRetries: 0, config: {command: [load]}}
`

func TestFailedRunOfLastNightIsShownAndCounted(t *testing.T) {
	w := newWorld(t, nightly)
	w.Pass(16 * time.Hour) // ten past one on Wednesday: the run for Tuesday is running
	w.finish("nightly/cron/2026-03-03", run.Report{Result: run.ResultFail, Message: "exit code 75, connection refused", Category: run.Transient, Exited: true, ExitCode: 75})
	w.Pass(8 * time.Hour)
	l := w.lane("nightly", w.around(12*time.Hour, 12*time.Hour))
	w.shows(l, "2026-03-03 failed", "2026-03-04 upcoming")
	if l.Counts["failed"] != 1 {
		t.Errorf("counts are %v", l.Counts)
	}
	cause := l.Slots[0].Cause
	if cause.Code != "failed" || cause.Param("exitCode") != "75" || cause.Param("message") != "exit code 75, connection refused" {
		t.Errorf("the cause is %s: %+v", cause, cause)
	}
}

func TestOpenAndLastEndedRunsAreShownForAnyRange(t *testing.T) {
	w := newWorld(t, nightly)
	w.Pass(16 * time.Hour)
	w.finish("nightly/cron/2026-03-03", run.Report{Result: run.ResultSuccess})
	w.Pass(24 * time.Hour) // Thursday, ten past one: the run for Wednesday is running
	at := w.Now().Add(-100 * 24 * time.Hour)
	w.shows(w.lane("nightly", timeline.Query{From: at, To: at.Add(time.Hour), Axis: timeline.ByPeriod}), "2026-03-03 completed *", "2026-03-04 running *")
	w.shows(w.lane("nightly", timeline.Query{From: at, To: at.Add(90 * 24 * time.Hour), Axis: timeline.ByPeriod}), "2026-03-03 completed *", "2026-03-04 running *")
	w.shows(w.lane("nightly", timeline.Query{From: w.Now().Add(-30 * time.Minute), To: w.Now(), Axis: timeline.ByPeriod}),
		"2026-03-03 completed *", "2026-03-04 running", "2026-03-05 upcoming")
}

func TestLastHourOfADayIsShown(t *testing.T) {
	w := newWorld(t, "pipeline: {id: hourly, owner: data}\nschedule: {cron: \"5 * * * *\", offset: -1}\n")
	q := timeline.Query{From: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC), Axis: timeline.ByPeriod}
	got := shown(w.lane("hourly", q))
	if len(got) != 25 || got[1] != "2026-03-04T00 upcoming" || got[24] != "2026-03-04T23 upcoming" {
		t.Errorf("got %d: %v", len(got), got)
	}
}

func TestLongRangesAreNotTruncated(t *testing.T) {
	w := newWorld(t, "pipeline: {id: hourly, owner: data}\nschedule: {cron: \"5 * * * *\", offset: -1}\njob: {type: command, config: {command: [load]}}\n")
	w.Pass(time.Second)
	w.past("hourly", 30*24)
	l := w.lane("hourly", w.around(30*24*time.Hour, 0))
	total, failed := 0, 0
	for _, b := range l.Buckets {
		total += b.Total
		failed += b.Counts["failed"]
		if (b.Counts["failed"] > 0) != (b.Worst == "failed") {
			t.Errorf("bucket from %s: worst is %s of %v", b.From, b.Worst, b.Counts)
		}
		if !b.From.Before(b.To) {
			t.Errorf("bucket from %s to %s", b.From, b.To)
		}
	}
	if total < 720 || failed != 72 || len(l.Buckets) > 128 {
		t.Errorf("%d buckets count %d periods, %d of them failed", len(l.Buckets), total, failed)
	}
	if l.Counts["failed"] != 72 {
		t.Errorf("counts are %v", l.Counts)
	}
	one := w.lane("hourly", timeline.Query{From: l.Buckets[3].From, To: l.Buckets[3].To, Axis: timeline.ByPeriod})
	inside := 0
	for _, s := range one.Slots {
		if !s.Outside && s.Start.Before(one.Slots[len(one.Slots)-1].Start.Add(time.Hour)) {
			inside++
		}
	}
	if len(one.Buckets) != 0 || inside < l.Buckets[3].Total {
		t.Errorf("zoomed in there are %v, but the bucket counted %d", shown(one), l.Buckets[3].Total)
	}
	if l := w.lane("hourly", w.around(90*24*time.Hour, 0)); l.Counts["failed"] != 72 || l.Width != 24*time.Hour {
		t.Errorf("90 days count %v in buckets of %s", l.Counts, l.Width)
	}
}

// A week is shown as a week, however long the range is: a bucket would show one of its days.
func TestWeeksAreListedOneByOneOverNinetyDays(t *testing.T) {
	w := newWorld(t, "pipeline: {id: weekly, owner: data}\nschedule: {cron: \"0 6 * * 1\", offset: -1, period: week}\n")
	w.past("weekly", 12)
	l := w.lane("weekly", w.around(90*24*time.Hour, 0))
	if len(l.Buckets) != 0 || len(l.Slots) < 12 || l.Counts["failed"] != 2 {
		t.Errorf("got %d buckets and %v, counted %v", len(l.Buckets), shown(l), l.Counts)
	}
}

// past writes that many periods before the current one, of which every tenth failed.
func (w *world) past(id string, n int) {
	w.Helper()
	e := w.Catalog.Current().Get(pipeline.ID(id))
	p := e.Schedule.PeriodAt(w.Now())
	for i := range n {
		p = p.Add(-1, time.UTC)
		end := p.End(time.UTC)
		r := run.Run{
			Key: e.Key(p), Version: 1, Status: run.Completed, Attempt: 1, OpenedAt: end, UpdatedAt: end, EndedAt: end.Add(time.Minute),
			Progress: run.Progress{StartedAt: end, Report: run.Report{Result: run.ResultSuccess}},
		}
		if i%10 == 0 {
			r.Status = run.FailedFinal
		}
		var b store.Batch
		b.ID = "past/" + r.Key.String()
		b.Create(r)
		w.Check(w.Store.Commit(ctx, b, end))
	}
}

func TestRetryHoldAndPauseAreDistinguished(t *testing.T) {
	w := newWorld(t, strings.Replace(nightly, "maxRetries: 0", "maxRetries: 2, retryBackoff: 10m", 1))
	w.Pass(16 * time.Hour)
	w.finish("nightly/cron/2026-03-03", run.Report{Result: run.ResultFail, Message: "exit code 75, connection refused", Category: run.Transient})
	l := w.lane("nightly", w.around(24*time.Hour, 24*time.Hour))
	s := l.Slots[0]
	if s.Phase != "backoff" || !s.RetryAt.After(w.Now()) || l.Counts["backoff"] != 1 {
		t.Errorf("it is %s, retried at %s, counted %v", s.Phase, s.RetryAt, l.Counts)
	}
	if s.Cause.Code != explain.CauseRetrying || s.Cause.Param("message") != "exit code 75, connection refused" {
		t.Errorf("the cause is %s: %+v", s.Cause, s.Cause)
	}
	_, err := w.Router.Pause(ctx, "nightly", store.Pause{By: "ada", Why: "migration"}, w.Now())
	w.Check(err)
	l = w.lane("nightly", w.around(24*time.Hour, 24*time.Hour))
	if s := l.Slots[len(l.Slots)-1]; s.Phase != timeline.Paused || s.Cause.Code != "paused" || s.Cause.Param("by") != "ada" || s.Cause.Param("why") != "migration" {
		t.Errorf("it is %s: %s", s.Phase, s.Cause)
	}
}

func TestFirstClosedRuleIsNamedWithItsValue(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: gated, owner: data}
schedule: {trigger: {key: go, check: exists}, evaluation: {window: 1h, interval: 5m}}
validation: {rules: [{key: rows, check: gte, field: count, value: 1000}]}
`)
	w.Write("gated", "rows#2026-03-03", "count=12")
	w.Write("gated", "go#2026-03-03", "on=true")
	cause := w.lane("gated", w.around(time.Hour, time.Hour)).Slots[0].Cause
	if cause.Code != "rule" || cause.Param("key") != "rows" || cause.Param("value") != `"12"` || cause.Param("needs") != "1000" {
		t.Errorf("waiting: %+v", cause)
	}
	w.Pass(2 * time.Hour)
	s := w.lane("gated", w.around(4*time.Hour, time.Hour)).Slots[0]
	if s.Phase != "exhausted" || s.Cause.Code != "gate-closed" || s.Cause.Param("key") != "rows" || !strings.Contains(s.Cause.Param("value"), "12") {
		t.Errorf("exhausted: %s %+v", s.Phase, s.Cause)
	}
}

func TestDryRunsAreNotCompletedRuns(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: dry, owner: data}
schedule: {trigger: {key: go, check: exists}}
job: {type: command, config: {command: [load]}}
dryRun: true
`)
	w.Write("dry", "go#2026-03-03", "on=true")
	w.Pass(25 * time.Hour)
	l := w.lane("dry", w.around(48*time.Hour, 0))
	if got := shown(l); len(got) == 0 || got[0] != "2026-03-03 would-start" || !l.Slots[0].DryRun {
		t.Errorf("got %v", got)
	}
	if l.Counts["completed"] != 0 || l.Counts["missing"] != 0 {
		t.Errorf("counts are %v", l.Counts)
	}
}

func TestPeriodOfAStreamIsMissingOnlyAfterItsDeadline(t *testing.T) {
	w := newWorld(t,
		"pipeline: {id: stream, owner: data}\nschedule: {period: minute, trigger: {key: go, check: exists}}\n",
		"pipeline: {id: bound, owner: data}\nschedule: {period: hour, trigger: {key: go, check: exists}}\nsla: {deadline: \":30\"}\n")
	w.Pass(150 * time.Second)
	w.shows(w.lane("stream", w.around(time.Minute, 30*time.Second)), "2026-03-03T09:11 due", "2026-03-03T09:12 due")
	w.Pass(135 * time.Minute) // not yet half past eleven
	// The deadline of the hour in which the file was accepted counts, too: its breach was reported.
	w.shows(w.lane("bound", w.around(80*time.Minute, 0)), "2026-03-03T09 missing", "2026-03-03T10 due", "2026-03-03T11 due")
	w.Pass(10 * time.Minute)
	w.shows(w.lane("bound", w.around(90*time.Minute, 0)), "2026-03-03T09 missing", "2026-03-03T10 missing", "2026-03-03T11 due")
}

func TestRunOfAnOldPeriodIsShownWhereItRan(t *testing.T) {
	w := newWorld(t, "pipeline: {id: stream, owner: data}\nschedule: {trigger: {key: go, check: exists}}\njob: {type: command, config: {command: [load]}}\n")
	w.Write("stream", "go#2025-12-24", "on=true")
	w.finish("stream/stream/2025-12-24", run.Report{Result: run.ResultSuccess})
	w.Write("stream", "go#2026-03-03", "on=true")
	w.finish("stream/stream/2026-03-03", run.Report{Result: run.ResultSuccess})
	w.Pass(30 * time.Hour)
	q := timeline.Query{From: controllertest.Tuesday.Add(-time.Hour), To: controllertest.Tuesday.Add(time.Hour), Axis: timeline.ByExecution}
	w.shows(w.lane("stream", q), "2025-12-24 completed", "2026-03-03 completed")
}

func TestPeriodWithOnlyADeadlineIsShown(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: fed, owner: data}
schedule: {trigger: {key: go, check: equals, field: status, value: ready}, period: day}
sla: {maxDuration: 2h}
job: {type: command, config: {command: [load]}}
`, `
pipeline: {id: noon, owner: data}
schedule: {trigger: {key: go, check: exists}, period: day}
sla: {deadline: "12:00"}
job: {type: command, config: {command: [load]}}
`) // accepted 2026-03-03T09:10:00Z
	w.shows(w.lane("noon", w.around(12*time.Hour, 12*time.Hour)), "2026-03-03 due")
	if got := shown(w.lane("fed", w.around(12*time.Hour, 12*time.Hour))); len(got) != 0 { // it has no deadline yet
		t.Errorf("shown: %v", got)
	}
	for _, date := range []string{"2026-02-27", "2026-03-03"} {
		w.Write("fed", "go#"+date, "status=loading")
	}
	lane := w.lane("fed", w.around(12*time.Hour, 12*time.Hour))
	w.shows(lane, "2026-02-27 due", "2026-03-03 due")
	for _, s := range lane.Slots {
		if s.Deadline != "ARMED" || !s.Breach.Equal(w.Now().Add(2*time.Hour)) {
			t.Errorf("%s: deadline %s, due %s", s.Key.Period, s.Deadline, s.Breach)
		}
	}
	w.Pass(3 * time.Hour)
	w.shows(w.lane("fed", w.around(12*time.Hour, 8*time.Hour)), "2026-02-27 missing", "2026-03-03 due")
	counted := w.around(12*time.Hour, 8*time.Hour)
	counted.Width = 4 * time.Hour
	if got := w.lane("fed", counted); got.Counts[timeline.Due] != 1 || got.Buckets[0].Breached != 1 {
		t.Errorf("counted: %v", got)
	}
}
