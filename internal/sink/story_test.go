package sink_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
)

func TestStorySaysWhatWhyAndWhatToDo(t *testing.T) {
	e := newEvent(event.ValidationExhausted, event.Gate{Rules: []event.RuleOutcome{
		{Key: "landed", Check: "exists", Outcome: "pass", Reason: "is there"},
		{Key: "rows", Check: "gte", Outcome: "fail", Value: "950", Reason: "count is 950, needs ≥ 1000"},
		{Key: "hold", Check: "exists", Outcome: "fail", EffectiveOutcome: "pass", Reason: "no reading"},
		{Key: "stop", Check: "exists", Outcome: "pass", EffectiveOutcome: "fail", Reason: "a reading is there"},
		{Key: "note", Check: "exists", Outcome: "fail", Reason: "no reading", Advisory: true},
		{Key: "audit", Check: "matches", Outcome: "fail", Value: "bad", Reason: "does not match ^ok"},
	}})
	got := sink.Alert{Event: e, Count: 3, Since: noon.Add(-time.Hour)}.Story()
	want := sink.Story{
		Title: "VALIDATION_EXHAUSTED: orders, cron, 2026-03-03, attempt 1",
		What:  "message",
		Why:   []string{"rows gte is closed: count is 950, needs ≥ 1000", "stop exists is closed: a reading is there", "audit matches is closed: does not match ^ok (seen: bad)"},
		Todo:  e.Remedy(),
		Burst: "3 events of this group since 2026-03-03 11:00:00 UTC; this is the latest",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStorySaysWhenItContinuesByItself(t *testing.T) {
	got := sink.Alert{Event: newEvent(event.RetryScheduled, event.Budget{Cause: "transient", Used: 1, Max: 3, NextAttemptAt: noon})}.Story()
	if got.Heals != "next attempt at 2026-03-03 12:00:00 UTC" || len(got.Why) != 1 || !strings.Contains(got.Why[0], "1 of 3") {
		t.Errorf("got %+v", got)
	}
	if got := (sink.Alert{Event: newEvent(event.JobFailed, event.Finished{NextAttemptAt: noon})}).Story(); got.Heals != "next attempt at about 2026-03-03 12:00:00 UTC" {
		t.Errorf("a failure with a retry says %q", got.Heals)
	}
	if got := (sink.Alert{Event: newEvent(event.JobFailed, event.Finished{})}).Story(); got.Heals != "" {
		t.Errorf("a failure without a retry says %q", got.Heals)
	}
	if got := (sink.Alert{Event: newEvent(event.RetryExhausted, event.Budget{Used: 3, Max: 3})}).Story(); got.Heals != "" {
		t.Errorf("a spent budget goes on: %q", got.Heals)
	}
	if got := (sink.Alert{Event: newEvent(event.PipelinePaused, event.Pause{By: "ann", Until: noon})}).Story(); got.Heals == "" {
		t.Error("a pause with an end does not say when")
	}
}

// Every kind of detail has its text, so that a new one is not forgotten here.
func TestEveryDetailHasItsFacts(t *testing.T) {
	code := 3
	seen := map[reflect.Type]bool{nil: true}
	for name, extra := range map[string]event.Extra{
		"finished": event.Finished{Category: "TRANSIENT", ExitCode: &code, DurationSeconds: 90},
		"infra":    event.Infra{Held: true, Error: "no answer"}, "left": event.Left{JobMayRun: true}, "deadline": event.Deadline{Deadline: noon, LateSeconds: 60},
		"missed": event.Missed{Dates: []string{"2026-03-01"}}, "degraded": event.Degraded{Checks: []string{"stale runs"}}, "pause": event.Pause{By: "ann"},
		"opening": event.Opening{Cause: "cron"}, "refusal": event.Refusal{Why: "budget"}, "started": event.Started{JobType: "http"}, "alarm": event.Alarm{Alarm: "errors"},
		"late": event.Late{Sensors: []string{"rows"}}, "exclusion": event.Exclusion{Rule: "weekend"}, "drift": event.Drift{Sensor: "rows", Current: "7", Threshold: "5"},
		"sensors": event.Sensors{Sensors: []string{"rows"}}, "config": event.Config{File: "orders.yaml", Problems: []string{"1:1: wrong"}}, "projection": event.Projection{Status: "met"},
		"audited": event.Audited{Actor: "deploy", Action: "trigger", Outcome: "done"},
		"gate":    event.Gate{Rules: []event.RuleOutcome{{Key: "rows", Outcome: "fail"}}}, "budget": event.Budget{Max: 1},
	} {
		if why := (sink.Alert{Event: newEvent(event.JobFailed, extra)}).Story().Why; len(why) == 0 {
			t.Errorf("%s: nothing is said", name)
		}
		seen[reflect.TypeOf(extra)] = true
	}
	for _, group := range event.Catalogue() {
		for _, entry := range group.Entries {
			if !seen[reflect.TypeOf(entry.Extra)] {
				t.Errorf("%s carries %T, which is not tried here", entry.Type, entry.Extra)
			}
		}
	}
}

func TestLateDataSaysWhatWasUsedWhatCameAndWhatIsAffected(t *testing.T) {
	late := event.Late{
		Sensors: []string{"orders/rows"}, Reason: "report", Was: map[string]any{"count": float64(1200000), "status": "final"},
		Now: map[string]any{"count": int64(80), "status": nil}, Downstream: []string{"gold", "report"},
	}
	got := sink.Alert{Event: newEvent(event.LateDataArrival, late)}.Story().Why
	want := []string{"changed: orders/rows", `used: count 1200000, status "final"`, "came: count 80, status missing", "what follows: report", "affected downstream: gold, report"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLongListsAreCutWithTheirCount(t *testing.T) {
	dates := strings.Split(strings.Repeat("x ", 11)+"y", " ")
	got := sink.Alert{Event: newEvent(event.ScheduleMissed, event.Missed{Dates: dates})}.Story()
	if len(got.Why) != 1 || !strings.HasSuffix(got.Why[0], "x and 2 more") {
		t.Errorf("got %q", got.Why)
	}
}

func TestEventAboutNoPipelineHasAShortTitle(t *testing.T) {
	e := event.New(event.WatchdogDegraded, event.About{At: noon}, "m", event.Degraded{})
	if got := sink.Title(e); got != "WATCHDOG_DEGRADED" {
		t.Errorf("got %q", got)
	}
}
