package router_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
)

// unmetFile is a pipeline whose rules, deadline and schedule are set by the tests.
const unmetFile = "pipeline: {id: late, owner: data}\njob: {type: command, config: {command: \"true\"}}\n"

const unmetRules = "validation: {rules: [{key: rows, check: gte, field: count, value: 1000}, {key: audit, check: exists}, {key: ok, check: exists}]}\n"

func TestAlertsNameTheRulesThatWereNotSatisfied(t *testing.T) {
	const seen = "; not satisfied: rows (count is \"12\", needs ≥ 1000), audit (no reading)"
	tests := []struct {
		name, sections string
		alert          event.Type
		want           string
	}{
		{
			"a gate that stayed closed", "schedule: {trigger: {key: arrival, check: exists}, evaluation: {window: 1h}}\n" + unmetRules,
			event.ValidationExhausted, seen,
		},
		{
			"a start condition", "schedule: {trigger: {key: rows, check: gte, field: count, value: 1000, deadline: \"10:00\"}}\n",
			event.SensorDeadlineExpired, "; not satisfied: rows (count is \"12\", needs ≥ 1000)",
		},
		{
			"a deadline of a waiting run", "schedule: {trigger: {key: arrival, check: exists}, evaluation: {window: 9h}}\nsla: {deadline: \"11:00\"}\n" + unmetRules,
			event.SLABreach, seen,
		},
		{
			"a deadline of a run that never opened", "schedule: {trigger: {key: signal, check: exists}}\nsla: {deadline: \"11:00\"}\n" + unmetRules,
			event.SLABreach, "; not satisfied: signal (no reading)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, unmetFile+tt.sections)
			w.Write("late", "rows#2026-03-03", "count=12")
			w.Write("late", "ok#2026-03-03", "n=1")
			w.Write("late", "arrival#2026-03-03", "n=1")
			w.Pass(3 * time.Hour)
			if tt.alert == event.SensorDeadlineExpired {
				_, err := w.Router.CloseStart(ctx, w.Key("late/stream/2026-03-03"), w.Now())
				w.Check(err)
			}
			if got := w.only(tt.alert).Detail.Message; !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q in it", got, tt.want)
			}
		})
	}
}

func TestMissedFireNamesTheRulesThatAreNotSatisfied(t *testing.T) {
	w := newWorld(t, unmetFile+"schedule: {cron: \"0 * * * *\", evaluation: {window: 10m}}\n"+unmetRules)
	w.Write("late", "rows", "count=12")
	w.Write("late", "ok", "n=1")
	w.sleep(110 * time.Minute)
	w.Settle()
	const want = "; not satisfied: rows (count is \"12\", needs ≥ 1000), audit (no reading)"
	if got := w.only(event.ScheduleMissed).Detail.Message; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q at its end", got, want)
	}
}
