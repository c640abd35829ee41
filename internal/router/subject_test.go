package router_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
)

// fired has fires that are further apart than its periods are long, and a post-run count.
func fired(cron, more string) string {
	return fmt.Sprintf(`
pipeline: {id: fired, owner: data}
schedule: {cron: "%s"}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400, maxDriftReruns: 3}
postRun:
  rules: [{key: audit, check: gte, field: count, value: 1}]
  driftThreshold: 10
%s`, cron, more)
}

const (
	quarters = "*/15 * * * *"
	first    = "fired/cron/2026-03-03T09:15"
	second   = "fired/cron/2026-03-03T09:30"
)

// fire returns a world in which the first of the quarters has completed, with a count of 100 at
// completion.
func fire(t *testing.T, more string) *world {
	w := newWorld(t, fired(quarters, more))
	w.Write("fired", "audit", "count=100")
	w.Pass(6 * time.Minute) // 09:16
	w.succeed(first)
	w.Pass(2 * time.Minute)
	return w
}

func TestUndatedReadingIsAboutTheLastCompletedRun(t *testing.T) {
	w := fire(t, "") // 09:18
	w.Write("fired", "audit", "count=105")
	same(t, "passed", 1, w.count(event.PostRunPassed))
	w.Write("fired", "audit", "count=5")
	w.expect(first, "RUNNING 2")
	same(t, "drift", 1, w.count(event.PostRunDrift))
}

func TestUndatedReadingTwoHoursAfterItsRunIsAboutIt(t *testing.T) {
	w := newWorld(t, fired("0 6,18 * * *", ""))
	w.Write("fired", "audit", "count=100")
	w.Pass(9 * time.Hour)
	w.succeed("fired/cron/2026-03-03T18")
	w.Pass(2*time.Hour + 30*time.Minute)
	w.Write("fired", "audit", "count=5")
	w.expect("fired/cron/2026-03-03T18", "RUNNING 2")
}

func TestUndatedReadingOfSeveralCompletedRunsIsAboutTheLast(t *testing.T) {
	w := fire(t, "")
	w.Pass(13 * time.Minute) // 09:31
	w.succeed(second)
	w.Pass(3 * time.Minute)
	w.Write("fired", "audit", "count=5")
	w.expect(first, "COMPLETED 1")
	w.expect(second, "RUNNING 2")
}

func TestUndatedReadingWhileAJobRunsIsAboutThatRun(t *testing.T) {
	w := fire(t, "validation: {rules: [{key: audit, check: exists}]}\n")
	w.Pass(15 * time.Minute) // 09:33
	w.expect(second, "RUNNING 1")
	w.Write("fired", "audit", "count=5")
	w.expect(first, "COMPLETED 1")
	same(t, "about", second, run.Key{Pipeline: "fired", Schedule: "cron", Period: w.only(event.PostRunDriftInflight).Detail.Date}.String())
}

// A run that waits for its gate, or whose window ended closed, has no output to check.
func TestUndatedReadingIsNotAboutARunThatHasNotStarted(t *testing.T) {
	w := fire(t, "")
	w.apply(fired(quarters, "validation: {rules: [{key: never, check: exists}]}\n"))
	w.Pass(13 * time.Minute) // 09:31
	w.expect(second, "PENDING 1")
	w.Write("fired", "audit", "count=5")
	w.expect(first, "PENDING 2")
	same(t, "drift", 1, w.count(event.PostRunDrift))
}

func TestFailedRunsDoNotHideTheOneThatCompleted(t *testing.T) {
	w := fire(t, "")
	w.apply(fired(quarters, "validation: {rules: [{key: never, check: exists}]}\n"))
	w.Pass(20 * time.Hour) // 80 windows end with the gate closed
	w.Write("fired", "audit", "count=5")
	w.expect(first, "PENDING 2")
}

func TestUndatedReadingOutsideAllPostRunWindowsIsIgnored(t *testing.T) {
	w := newWorld(t, fired("0 6,18 * * *", "  evaluation: {window: 1h}\n"))
	w.Write("fired", "audit", "count=100")
	w.Pass(9 * time.Hour)
	w.succeed("fired/cron/2026-03-03T18")
	w.Pass(2 * time.Hour)
	w.Write("fired", "audit", "count=5")
	same(t, "events", 0, w.count(event.PostRunDrift)+w.count(event.PostRunPassed)+w.count(event.PostRunFailed))
}

func TestUndatedReadingIsAboutALateRunOfAnOldPeriod(t *testing.T) {
	w := newWorld(t, fired("0 6 * * 1", ""))
	w.Write("fired", "audit", "count=100")
	w.trigger("fired", "2026-02-23")
	w.sleep(time.Minute)
	w.succeed("fired/cron/2026-02-23")
	w.sleep(time.Hour)
	w.Write("fired", "audit", "count=5")
	w.expect("fired/cron/2026-02-23", "RUNNING 2")
}

// The next run has completed when the reading is handled.
func TestReadingHandledLateIsAboutARunThatExistedThen(t *testing.T) {
	w := fire(t, "")
	w.Put("fired", "audit", "count=5")
	late := w.Changes()
	w.Pass(13 * time.Minute) // 09:31
	w.succeed(second)
	for _, c := range late {
		w.Check(w.Router.Handle(ctx, c, w.Now()))
	}
	w.Settle()
	w.expect(first, "RUNNING 2")
	w.expect(second, "COMPLETED 1")
}

// As a start condition the sensor belongs to its own period.
func TestSensorThatOpensRunsIsAboutNoneBeforeThePreviousPeriod(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: both, owner: data}
schedule: {trigger: {key: audit, check: exists}, period: hour}
job: {type: command, config: {command: "true"}}
postRun: {rules: [{key: audit, check: gte, field: count, value: 1}], driftThreshold: 10}
`)
	w.Write("both", "audit", "count=100")
	w.sleep(time.Minute)
	w.succeed("both/stream/2026-03-03T09")
	w.Pass(3 * time.Hour)
	w.Write("both", "audit", "count=500")
	w.expect("both/stream/2026-03-03T09", "COMPLETED 1")
	w.expect("both/stream/2026-03-03T12", "RUNNING 1")
}

func TestUndatedReadingIsAboutTheLastDryRun(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: dry, owner: data}
dryRun: true
schedule: {cron: "*/15 * * * *", trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}}
postRun: {rules: [{key: audit, check: exists}], driftThreshold: 10}
`)
	w.Write("dry", "audit", "count=100")
	w.Pass(5 * time.Minute) // 09:15
	w.Write("dry", "arrival", "n=1")
	same(t, "dry run", "COMPLETED 1", w.dryStands("dry/cron/2026-03-03T09:15"))
	w.Pass(3 * time.Minute)
	w.Write("dry", "audit", "count=5")
	same(t, "about", "2026-03-03T09:15", w.only(event.DryRunDrift).Detail.Date.String())
}
