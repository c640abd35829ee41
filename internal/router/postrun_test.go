package router_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// audited has a post-run sensor with a count.
func audited(more string) string {
	return fmt.Sprintf(`
pipeline: {id: audited, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
postRun:
  rules: [{key: audit, check: gte, field: count, value: 100}]
  driftThreshold: 10
%s`, more)
}

const auditedRun = "audited/stream/2026-03-03"

// audit returns a world in which audited has completed, with a count of 100 at completion.
func audit(t *testing.T, more string) *world {
	w := newWorld(t, audited(more))
	w.Write("audited", "arrival", "n=1")
	w.Write("audited", "audit", "count=100")
	w.sleep(time.Minute)
	w.succeed(auditedRun)
	w.sleep(time.Minute)
	return w
}

func TestPostRunValueBeyondTheThresholdIsDriftAndRerunsTheRun(t *testing.T) {
	w := audit(t, "")
	w.Write("audited", "audit", "count=111")
	w.expect(auditedRun, "RUNNING 2")
	same(t, "event", event.Drift{Sensor: "audit", Field: "count", Baseline: "100", Current: "111", Threshold: "10"},
		w.only(event.PostRunDrift).Detail.Extra.(event.Drift))
	same(t, "cause", run.CauseDrift, w.run(auditedRun).Progress.Opening.Cause)
}

func TestPostRunValueWithinTheThresholdIsEvaluatedByTheRules(t *testing.T) {
	w := audit(t, "")
	w.Write("audited", "audit", "count=110")
	w.Write("audited", "audit", "count=109")
	w.expect(auditedRun, "COMPLETED 1")
	same(t, "passed", 1, w.count(event.PostRunPassed))
	w.Write("audited", "audit", "count=95")
	same(t, "failed", 1, w.count(event.PostRunFailed))
	w.Write("audited", "audit", "count=105")
	same(t, "passed again", 2, w.count(event.PostRunPassed))
	same(t, "drift", 0, w.count(event.PostRunDrift))
}

func TestUsedDriftBudgetIsReportedOncePerAttempt(t *testing.T) {
	w := audit(t, "")
	w.Write("audited", "audit", "count=200")
	w.sleep(time.Minute)
	w.succeed(auditedRun)
	w.expect(auditedRun, "COMPLETED 2")
	for _, n := range []string{"300", "400", "500"} {
		w.sleep(time.Minute)
		w.Write("audited", "audit", "count="+n)
	}
	w.expect(auditedRun, "COMPLETED 2")
	same(t, "drift", 2, w.count(event.PostRunDrift))
}

func TestRulesAreJudgedWhereDriftRerunsNothing(t *testing.T) {
	const spent = "{type: command, config: {command: \"true\"}, maxDriftReruns: 0"
	for name, change := range map[string]func(w *world){
		"no budget": func(w *world) {
			w.apply(strings.Replace(audited(""), "{type: command, config: {command: \"true\"}", spent, 1))
		},
		"excluded": func(w *world) {
			w.apply(strings.Replace(audited(""), "exists}}", "exists}, exclude: {dates: [2026-03-03]}}", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := audit(t, "")
			change(w)
			w.Settle()
			w.Write("audited", "audit", "count=130")
			w.Write("audited", "audit", "count=70")
			w.Write("audited", "audit", "count=60")
			w.expect(auditedRun, "COMPLETED 1")
			same(t, "events", []string{
				"POST_RUN_DRIFT", "POST_RUN_PASSED", "POST_RUN_FAILED",
			}, w.postRunTypes())
			w.Write("audited", "audit", "count=100")
			same(t, "it recovers", 2, w.count(event.PostRunPassed))
		})
	}
}

func TestDriftThatFailsTheRulesReportsBoth(t *testing.T) {
	w := audit(t, "")
	w.Write("audited", "audit", "count=5")
	w.expect(auditedRun, "RUNNING 2")
	same(t, "events", []string{"POST_RUN_DRIFT", "POST_RUN_FAILED"}, w.postRunTypes())
	same(t, "of attempt", 1, w.only(event.PostRunFailed).Detail.Attempt)
	w.sleep(time.Minute)
	w.succeed(auditedRun)
	w.sleep(time.Minute)
	w.Write("audited", "audit", "count=4")
	same(t, "the next attempt is judged anew", 2, w.count(event.PostRunFailed))
}

func TestRulesAreJudgedDuringAPauseAndDriftAfterIt(t *testing.T) {
	w := audit(t, "")
	w.pause("audited", store.Pause{})
	w.Write("audited", "audit", "count=5")
	w.expect(auditedRun, "COMPLETED 1")
	same(t, "in the pause", []string{"POST_RUN_FAILED"}, w.postRunTypes())
	w.resume("audited")
	w.expect(auditedRun, "RUNNING 2")
	same(t, "after it", []string{"POST_RUN_FAILED", "POST_RUN_DRIFT"}, w.postRunTypes())
}

// postRunTypes lists the types of the events about the checks after completion.
func (w *world) postRunTypes() []string {
	w.Helper()
	types := []string{}
	for _, e := range w.events() {
		switch e.Type {
		case event.PostRunDrift, event.PostRunPassed, event.PostRunFailed:
			types = append(types, string(e.Type))
		}
	}
	return types
}

func TestFirstReadingAfterCompletionIsTheBaselineOfASensorWithoutOne(t *testing.T) {
	w := newWorld(t, audited(""))
	w.Write("audited", "arrival", "n=1")
	w.sleep(time.Minute)
	w.succeed(auditedRun)
	w.sleep(time.Minute)
	w.Write("audited", "audit", "count=500")
	w.expect(auditedRun, "COMPLETED 1")
	same(t, "passed", 1, w.count(event.PostRunPassed))
	w.Write("audited", "audit", "count=511")
	w.expect(auditedRun, "RUNNING 2")
}

func TestIncomparableValueIsReportedAndRerunsNothing(t *testing.T) {
	for _, pairs := range [][]string{{"total=1"}, {"count=many"}} {
		w := audit(t, "")
		for range 2 {
			w.Write("audited", "audit", pairs...)
			w.sleep(time.Minute)
		}
		w.expect(auditedRun, "COMPLETED 1")
		same(t, "drift", 1, w.count(event.PostRunDrift))
		same(t, "failed", 1, w.count(event.PostRunFailed))
	}
}

func TestTimeOfAnAgeRuleIsNotDrift(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: audited, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
postRun:
  rules:
    - {key: audit, check: gte, field: count, value: 100}
    - {key: audit, check: age_lt, field: updatedAt, value: 1h}
    - {key: audit, check: age_gt, field: newest, value: 1s}
`)
	w.Write("audited", "arrival", "n=1")
	w.Write("audited", "audit", "count=100", "newest=1700000000")
	w.sleep(time.Minute)
	w.succeed(auditedRun)
	w.sleep(time.Minute)
	w.Write("audited", "audit", "count=100", "newest=1700000060")
	w.expect(auditedRun, "COMPLETED 1")
	same(t, "drift", 0, w.count(event.PostRunDrift))
	same(t, "passed", 1, w.count(event.PostRunPassed))
	w.Write("audited", "audit", "count=101", "newest=1700000120")
	w.expect(auditedRun, "RUNNING 2")
}

func TestFailedPostRunRulesNameTheRuleThatFails(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: audited, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
postRun:
  rules:
    - any: [{key: audit, check: gte, field: count, value: 100}, {key: audit, check: gte, field: count, value: 1}]
    - not: {key: audit, check: equals, field: state, value: broken}
`)
	w.Write("audited", "arrival", "n=1")
	w.sleep(time.Minute)
	w.succeed(auditedRun)
	w.sleep(time.Minute)
	w.Write("audited", "audit", "count=5", "state=broken")
	same(t, "message", `the post-run rules do not pass; not satisfied: audit (state is "broken")`, w.only(event.PostRunFailed).Detail.Message)
}

func TestReadingOutsideThePostRunWindowIsIgnored(t *testing.T) {
	w := audit(t, "  evaluation: {window: 1h}\n")
	w.Pass(time.Hour)
	w.Write("audited", "audit", "count=500")
	w.expect(auditedRun, "COMPLETED 1")
	same(t, "events", 0, w.count(event.PostRunDrift)+w.count(event.PostRunPassed))
}

func TestUndatedReadingAfterMidnightIsAboutTheRunOfTheDayBefore(t *testing.T) {
	w := audit(t, "")
	w.Pass(16 * time.Hour)
	w.Write("audited", "audit", "count=500")
	w.expect(auditedRun, "RUNNING 2")
}

func TestDatedReadingIsAboutThePeriodItNames(t *testing.T) {
	w := audit(t, "")
	w.Write("audited", "arrival#2026-03-01", "n=1")
	w.succeed("audited/stream/2026-03-01")
	w.Write("audited", "audit#2026-03-01", "count=500")
	w.expect("audited/stream/2026-03-01", "RUNNING 2")
	w.expect(auditedRun, "COMPLETED 1")
}

func TestDriftWhileTheRunIsOpenIsReported(t *testing.T) {
	w := audit(t, "")
	w.Write("audited", "audit", "count=200")
	w.expect(auditedRun, "RUNNING 2")
	w.Write("audited", "audit", "count=300")
	w.Write("audited", "audit", "count=300")
	inflight := w.only(event.PostRunDriftInflight)
	same(t, "from the last baseline", "100", inflight.Detail.Extra.(event.Drift).Baseline)
	same(t, "attempt", 2, inflight.Detail.Attempt)
}

func TestSensorsWithTheSameKeyOfTwoPipelinesAreReportedSeparately(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: audited, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
postRun: {rules: [{key: audit, from: left, check: exists, field: count}, {key: audit, from: right, check: exists, field: count}]}
`, "pipeline: {id: left, owner: data}", "pipeline: {id: right, owner: data}")
	w.Write("audited", "arrival", "n=1")
	w.Write("left", "audit", "count=100")
	w.Write("right", "audit", "count=100")
	w.sleep(time.Minute)
	w.succeed(auditedRun)
	w.sleep(time.Minute)
	w.Write("left", "audit", "count=many")
	w.Write("right", "audit", "count=many")
	var incomparable []string
	for _, e := range w.events() {
		if e.Type == event.PostRunDrift {
			incomparable = append(incomparable, e.Detail.Extra.(event.Drift).Sensor)
		}
	}
	same(t, "incomparable", []string{"left/audit", "right/audit"}, incomparable)
	w.Write("left", "audit", "count=200")
	w.expect(auditedRun, "RUNNING 2")
	w.Write("left", "audit", "count=300")
	w.Write("right", "audit", "count=300")
	same(t, "moved while the run is open", 2, w.count(event.PostRunDriftInflight))
}

func TestSensorThatOnlyPostRunRulesReadMovesInFlight(t *testing.T) {
	w := newWorld(t, audited(""))
	w.Write("audited", "audit", "count=100")
	w.Write("audited", "arrival", "n=1")
	w.expect(auditedRun, "RUNNING 1")
	w.sleep(time.Minute)
	w.Write("audited", "audit", "count=105")
	same(t, "within the threshold", 0, w.count(event.PostRunDriftInflight))
	w.Write("audited", "audit", "count=111")
	inflight := w.only(event.PostRunDriftInflight)
	same(t, "from what the attempt started on", "100", inflight.Detail.Extra.(event.Drift).Baseline)
	same(t, "attempt", 1, inflight.Detail.Attempt)
}

func TestValueBackAtTheBaselineHasMovedSinceTheAttemptStarted(t *testing.T) {
	w := audit(t, "")
	w.Write("audited", "audit", "count=200")
	w.expect(auditedRun, "RUNNING 2")
	w.sleep(time.Minute)
	w.Write("audited", "audit", "count=100")
	same(t, "from", "200", w.only(event.PostRunDriftInflight).Detail.Extra.(event.Drift).Baseline)
}

func TestRulesAreEvaluatedEachIntervalAndChangedOutcomesReported(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: audited, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}}
postRun:
  rules: [{key: audit, check: age_lt, value: 90m}]
  evaluation: {window: 6h, interval: 30m}
`)
	w.Write("audited", "arrival", "n=1")
	w.Write("audited", "audit", "n=1")
	w.succeed(auditedRun)
	w.Pass(time.Hour)
	same(t, "passed", 1, w.count(event.PostRunPassed))
	w.Pass(10 * time.Hour)
	same(t, "failed", 1, w.count(event.PostRunFailed))
	if _, err := w.Store.Task(ctx, "post-run/"+auditedRun); err == nil {
		t.Error("the window is over and the task still exists")
	}
}

func TestSensorMayBeStartConditionAndPostRun(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: both, owner: data}
schedule: {trigger: {key: audit, check: exists}}
job: {type: command, config: {command: "true"}, maxDriftReruns: 3}
postRun: {rules: [{key: audit, check: gte, field: count, value: 1}], driftThreshold: 10}
`)
	w.Write("both", "audit", "count=100")
	w.sleep(time.Minute)
	w.succeed("both/stream/2026-03-03")
	w.sleep(time.Minute)
	w.Write("both", "audit", "count=105")
	w.expect("both/stream/2026-03-03", "RUNNING 2") // within the threshold, but still late data
	same(t, "late data", 1, w.count(event.LateDataArrival))
}

func TestDottedDriftField(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: audited, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}}
postRun: {rules: [{key: audit, check: exists}], driftField: total}
`)
	w.Write("audited", "arrival", "n=1")
	w.Write("audited", "audit", "total=7")
	w.succeed(auditedRun)
	w.sleep(time.Minute)
	w.Write("audited", "audit", "total=8")
	w.expect(auditedRun, "RUNNING 2")
}

func TestDriftOfAPausedPipelineWaitsForTheEndOfThePause(t *testing.T) {
	w := audit(t, "")
	w.pause("audited", store.Pause{})
	w.Write("audited", "audit", "count=500")
	w.expect(auditedRun, "COMPLETED 1")
	w.resume("audited")
	w.expect(auditedRun, "RUNNING 2")
}

func TestDriftOfAnExcludedPeriodRerunsNothing(t *testing.T) {
	w := audit(t, "")
	w.apply(strings.Replace(audited(""), "exists}}", "exists}, exclude: {dates: [2026-03-03]}}", 1))
	w.Settle()
	w.Write("audited", "audit", "count=500")
	w.expect(auditedRun, "COMPLETED 1")
}

func TestReadingFromBeforeCompletionIsNotDriftOfItsOwnBaseline(t *testing.T) {
	w := newWorld(t, audited(""))
	w.Write("audited", "arrival", "n=1")
	w.Put("audited", "audit", "count=500")
	pending := w.Changes()
	w.sleep(time.Minute)
	w.succeed(auditedRun)
	for _, c := range pending { // the feed lags behind the job
		w.Check(w.Router.Handle(ctx, c, w.Now()))
	}
	w.Settle()
	w.expect(auditedRun, "COMPLETED 1")
	same(t, "events", 0, w.count(event.PostRunDrift)+w.count(event.PostRunPassed))
}

func TestUndatedReadingIsAboutTheNewestRunOnly(t *testing.T) {
	w := audit(t, "")
	w.Pass(16 * time.Hour)
	w.Write("audited", "arrival", "n=1")
	w.expect("audited/stream/2026-03-04", "RUNNING 1")
	w.Write("audited", "audit", "count=500")
	w.expect(auditedRun, "COMPLETED 1")
}

func TestUnchangedTextHasNotMoved(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: audited, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}}
postRun: {rules: [{key: audit, check: equals, field: verdict, value: good}]}
`)
	w.Write("audited", "arrival", "n=1")
	w.Write("audited", "audit", "verdict=good")
	w.succeed(auditedRun)
	w.sleep(time.Minute)
	w.Write("audited", "audit", "verdict=good", "n=2")
	same(t, "events", 0, w.count(event.PostRunDrift))
	same(t, "passed", 1, w.count(event.PostRunPassed))
	w.Write("audited", "audit", "verdict=bad")
	same(t, "drift that cannot be measured", 1, w.count(event.PostRunDrift))
	same(t, "failed", 1, w.count(event.PostRunFailed))
}

func TestPostRunAddedLaterStartsWithTheNextReading(t *testing.T) {
	w := newWorld(t, source("audited", ""))
	w.Write("audited", "arrival", "n=1")
	w.succeed(auditedRun)
	w.apply(audited(""))
	w.Settle()
	w.sleep(time.Minute)
	w.Write("audited", "audit", "count=500")
	same(t, "passed", 1, w.count(event.PostRunPassed))
	w.Write("audited", "audit", "count=600")
	w.expect(auditedRun, "RUNNING 2")
}
