package router_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const dry = `
pipeline: {id: dry, owner: data}
dryRun: true
schedule:
  trigger: {key: arrival, check: equals, field: status, value: ready}
  evaluation: {window: 1h, interval: 5m}
  exclude: {weekends: true}
sla: {deadline: "12:00", expectedDuration: 30m}
validation: {rules: [{key: quality, check: equals, field: verdict, value: good}]}
job: {type: command, config: {command: "true"}}
postRun: {rules: [{key: audit, check: exists}], driftThreshold: 10}
`

// dryStands returns the status of a dry run.
func (w *world) dryStands(text string) string {
	w.Helper()
	r, err := w.Store.DryRun(ctx, w.Key(text))
	if errors.Is(err, store.ErrNotFound) {
		return "none"
	}
	w.Check(err)
	return fmt.Sprintf("%s %d", r.Status, r.Attempt)
}

const dryRun = "dry/stream/2026-03-03"

// dryDone returns a world in which the dry run is over.
func dryDone(t *testing.T) *world {
	w := newWorld(t, dry)
	w.Write("dry", "audit", "count=100")
	w.Write("dry", "arrival", "status=ready", "n=1")
	w.sleep(time.Minute)
	w.Write("dry", "quality", "verdict=good")
	w.sleep(time.Minute)
	return w
}

func TestDryRunReportsWhatARunWouldDo(t *testing.T) {
	w := dryDone(t)
	same(t, "events", []event.Type{event.DryRunWouldTrigger, event.DryRunSLAProjection, event.DryRunCompleted}, w.types("dry"))
	same(t, "dry run", "COMPLETED 1", w.dryStands(dryRun))
	w.expect(dryRun, "none")
	same(t, "jobs", 0, len(w.jobs.started))
	armed, err := w.Store.Deadlines(ctx, store.DeadlineQuery{Pipeline: "dry"})
	w.Check(err)
	same(t, "deadlines", 0, len(armed.Items))
	p := w.only(event.DryRunSLAProjection).Detail.Extra.(event.Projection)
	noon := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	want := event.Projection{Status: "met", EstimatedCompletion: controllertest.Tuesday.Add(31 * time.Minute), Deadline: noon, MarginSeconds: 8340}
	same(t, "projection", want, p)
}

func TestProjectionOfADryRun(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		want  string
	}{
		"in time":            {time.Hour, "met"},
		"too late to finish": {2*time.Hour + 30*time.Minute, "breach"},
		"already late":       {4 * time.Hour, "past"},
	} {
		w := newWorld(t, dry)
		w.sleep(c.after)
		w.Put("dry", "quality", "verdict=good")
		w.Write("dry", "arrival", "status=ready")
		same(t, name, c.want, w.only(event.DryRunSLAProjection).Detail.Extra.(event.Projection).Status)
	}
}

func TestDryRunHasTheSameWindow(t *testing.T) {
	w := newWorld(t, dry)
	w.Write("dry", "arrival", "status=ready", "n=1")
	w.Pass(59 * time.Minute)
	same(t, "inside", "PENDING 1", w.dryStands(dryRun))
	w.Pass(time.Minute)
	same(t, "after", "VALIDATION_EXHAUSTED 1", w.dryStands(dryRun))
	same(t, "events", []event.Type{event.DryRunCompleted}, w.types("dry"))
	w.sleep(time.Minute)
	w.Write("dry", "arrival", "status=ready", "n=2")
	same(t, "new data", "PENDING 2", w.dryStands(dryRun))
	w.Write("dry", "quality", "verdict=good")
	same(t, "events", []event.Type{
		event.DryRunCompleted, event.DryRunWouldTrigger, event.DryRunSLAProjection, event.DryRunCompleted,
	}, w.types("dry"))
}

func TestDryRunEndsWithItsWindowBetweenTwoEvaluations(t *testing.T) {
	w := newWorld(t, strings.Replace(dry, "interval: 5m", "interval: 25m", 1))
	w.Write("dry", "arrival", "status=ready", "n=1")
	w.Pass(59 * time.Minute)
	same(t, "inside", "PENDING 1", w.dryStands(dryRun))
	w.Pass(time.Minute)
	same(t, "after", "VALIDATION_EXHAUSTED 1", w.dryStands(dryRun))
}

func TestDryRunHonoursExclusions(t *testing.T) {
	w := newWorld(t, dry)
	w.Write("dry", "arrival#2026-03-07", "status=ready")
	same(t, "dry run", "none", w.dryStands("dry/stream/2026-03-07"))
	same(t, "events", []event.Type{event.PipelineExcluded}, w.types("dry"))
}

func TestLateDataOfADryRunIsReportedOncePerContent(t *testing.T) {
	w := dryDone(t)
	for _, n := range []string{"1", "2", "2", "3"} {
		w.Write("dry", "arrival", "status=ready", "n="+n)
		w.sleep(time.Minute)
	}
	same(t, "late data", 2, w.count(event.DryRunLateData))
	same(t, "dry run", "COMPLETED 1", w.dryStands(dryRun))
}

func TestDriftOfADryRunIsReported(t *testing.T) {
	w := dryDone(t)
	w.Write("dry", "audit", "count=105")
	same(t, "within", 0, w.count(event.DryRunDrift))
	w.Write("dry", "audit", "count=150")
	same(t, "beyond", event.Drift{Sensor: "audit", Field: "count", Baseline: "100", Current: "150", Threshold: "10"},
		w.only(event.DryRunDrift).Detail.Extra.(event.Drift))
	same(t, "dry run", "COMPLETED 1", w.dryStands(dryRun))
}

func TestDryRunUnderCron(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: dry, owner: data}
dryRun: true
schedule: {cron: "0 10 * * *", trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}}
`)
	w.Pass(time.Hour)
	same(t, "opened", "PENDING 1", w.dryStands("dry/cron/2026-03-03"))
	w.Write("dry", "arrival", "n=1")
	same(t, "done", "COMPLETED 1", w.dryStands("dry/cron/2026-03-03"))
	w.sleep(24 * time.Hour)
	w.Settle()
	same(t, "next", "PENDING 1", w.dryStands("dry/cron/2026-03-04"))
	w.sleep(24 * time.Hour) // no changes or tasks are handled
	w.Settle()
	same(t, "past its limit", "VALIDATION_EXHAUSTED 1", w.dryStands("dry/cron/2026-03-04"))
}

func TestDryRunIsTriggeredAndNotRerun(t *testing.T) {
	w := newWorld(t, dry)
	w.trigger("dry", "2026-03-02")
	same(t, "dry run", "PENDING 1", w.dryStands("dry/stream/2026-03-02"))
	answer := w.rerun(router.RerunRequest{ID: "1", Pipeline: "dry", Period: w.Period("2026-03-02")})
	if answer.Accepted {
		t.Error("accepted")
	}
	same(t, "why", "dry run", w.why())
}

func TestPipelineThatLeavesDryRunModeEndsItsDryRuns(t *testing.T) {
	w := newWorld(t, dry)
	w.Write("dry", "arrival", "status=ready", "n=1")
	w.apply(`
pipeline: {id: dry, owner: data}
schedule: {trigger: {key: arrival, check: equals, field: status, value: ready}}
job: {type: command, config: {command: "true"}}
`)
	w.Pass(2 * time.Hour)
	if _, err := w.Store.Task(ctx, "dry/"+dryRun); err == nil {
		t.Error("its dry run continues")
	}
	same(t, "events of the dry run", 0, w.count(event.DryRunCompleted))
	w.Write("dry", "arrival", "status=ready", "n=2")
	w.expect(dryRun, "RUNNING 1")
	same(t, "cause", run.CauseCondition, w.run(dryRun).Progress.Opening.Cause)
}

func TestProjectionCountsFromTheFirstReading(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: dry, owner: data}
dryRun: true
schedule: {trigger: {key: arrival, check: exists}}
sla: {maxDuration: 2h}
validation: {rules: [{key: quality, check: exists}]}
job: {type: command, config: {command: "true"}}
`)
	first := w.Now()
	w.Write("dry", "arrival", "n=1")
	w.sleep(10 * time.Minute)
	w.Write("dry", "arrival", "n=2")
	w.Write("dry", "quality", "n=1")
	same(t, "deadline", first.Add(2*time.Hour), w.only(event.DryRunSLAProjection).Detail.Extra.(event.Projection).Deadline)
}

func TestRowOfAnEndedDryRunIsTrimmed(t *testing.T) {
	for name, leave := range map[string]func(w *world){
		"in earnest": func(w *world) { w.apply(strings.Replace(dry, "dryRun: true\n", "", 1)) },
		"removed":    func(w *world) { w.remove("dry") },
	} {
		w := newWorld(t, dry)
		w.Write("dry", "arrival", "status=ready", "n=1")
		same(t, name+", before", "PENDING 1", w.dryStands(dryRun))
		leave(w)
		w.Pass(2 * time.Hour)
		w.sleep(8 * 24 * time.Hour)
		w.trim()
		same(t, name, "none", w.dryStands(dryRun))
	}
}

// trim trims the store without a retention: only rows with their own expiry are deleted.
func (w *world) trim() {
	w.Helper()
	for n := 1; n > 0; {
		var err error
		n, err = w.Store.Trim(ctx, store.Retention{}, w.Now())
		w.Check(err)
	}
}

func TestPeriodWithATrimmedDryRunHasAnother(t *testing.T) {
	w := dryDone(t)
	w.sleep(8 * 24 * time.Hour)
	w.trim()
	w.Put("dry", "quality#2026-03-03", "verdict=good")
	w.Write("dry", "arrival#2026-03-03", "status=ready", "n=2")
	same(t, "dry run", "COMPLETED 1", w.dryStands(dryRun))
	same(t, "events", 2, w.count(event.DryRunWouldTrigger))
	w.sleep(time.Minute)
	w.Write("dry", "arrival#2026-03-03", "status=ready", "n=2")
	same(t, "the same data again", 0, w.count(event.DryRunLateData))
}

func TestDryRunWithoutARerunBudgetAnnouncesNoRerun(t *testing.T) {
	w := newWorld(t, strings.Replace(dry, `job: {type: command,`, `job: {type: command, maxDriftReruns: 0,`, 1))
	w.Write("dry", "audit", "count=100")
	w.Put("dry", "quality", "verdict=good")
	w.Write("dry", "arrival", "status=ready", "n=1")
	for _, n := range []string{"2", "3"} {
		w.sleep(time.Minute)
		w.Write("dry", "arrival", "status=ready", "n="+n)
	}
	late := w.only(event.DryRunLateData)
	same(t, "late data", "budget spent", late.Detail.Extra.(event.Late).Reason)
	w.Write("dry", "audit", "count=150")
	for _, e := range []event.Event{late, w.only(event.DryRunDrift)} {
		if !strings.Contains(e.Detail.Message, "no rerun would follow") {
			t.Errorf("%s says %q", e.Type, e.Detail.Message)
		}
	}
}

func TestDriftOfAnExcludedDryRunIsNotReported(t *testing.T) {
	w := dryDone(t)
	w.apply(strings.Replace(dry, "exclude: {weekends: true}", "exclude: {dates: [2026-03-03]}", 1))
	w.Settle()
	w.Write("dry", "audit", "count=150")
	same(t, "drift", 0, w.count(event.DryRunDrift))
}

func TestBypassedDryRunDoesNotCallItsGateOpen(t *testing.T) {
	w := newWorld(t, dry)
	_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: "1", Pipeline: "dry", Period: w.Period("2026-03-03"), By: "eve", Reason: "now", BypassGate: true}, w.Now())
	w.Check(err)
	w.Settle()
	same(t, "message", "the gate is bypassed: command job would start now", w.only(event.DryRunWouldTrigger).Detail.Message)
}

func TestProjectionCountsFromTheFirstReadingWhateverItsData(t *testing.T) {
	const text = `
pipeline: {id: dry, owner: data}
dryRun: true
schedule: {trigger: {key: arrival, check: equals, field: status, value: ready}, evaluation: {window: 1h, interval: 5m}}
sla: {maxDuration: 2h}
validation: {rules: [{key: quality, check: exists}]}
job: {type: command, config: {command: "true"}}
`
	for name, sensor := range map[string]string{"undated": "arrival", "dated": "arrival#2026-03-03"} {
		w := newWorld(t, text)
		w.sleep(time.Second)
		first := w.Now()
		w.Write("dry", sensor, "status=loading")
		w.sleep(10 * time.Minute)
		w.Write("dry", sensor, "status=ready", "n=1")
		w.Pass(time.Hour)
		same(t, name+": its window", "VALIDATION_EXHAUSTED 1", w.dryStands(dryRun))
		w.sleep(time.Minute)
		w.Write("dry", sensor, "status=ready", "n=2")
		w.Write("dry", "quality", "n=1")
		same(t, name+": dry run", "COMPLETED 2", w.dryStands(dryRun))
		same(t, name, first.Add(2*time.Hour), w.only(event.DryRunSLAProjection).Detail.Extra.(event.Projection).Deadline)
	}
}

func TestDryRunWouldNotStartAfterTheStartDeadline(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: closing, owner: data}
schedule: {trigger: {key: arrival, check: exists, deadline: "10:00"}, evaluation: {window: 6h, interval: 5m}}
validation: {rules: [{key: rows, check: exists}]}
job: {type: command, config: {command: "true"}}
dryRun: true
`)
	w.Write("closing", "arrival", "n=1") // 09:10
	w.Put("closing", "rows", "n=1")
	w.sleep(time.Hour) // the controller is away
	w.Settle()
	same(t, "events", 0, w.count(event.DryRunWouldTrigger))
	same(t, "events", 1, w.count(event.DryRunCompleted))
}
