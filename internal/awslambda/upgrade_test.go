package awslambda_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sensor"
)

// A run that began under the state machine of the last release ends as without the upgrade, wherever
// its execution is at that moment.
func TestRunsUnderWayEndAfterAnUpgrade(t *testing.T) {
	gated := strings.Replace(daily, "job:", "validation: {rules: [{key: checked, check: exists}]}\njob:", 1)
	play := func(t *testing.T, upgrade string) []event.Type {
		t.Helper()
		w := deploy(t, awslambdatest.Options{Machine: awslambdatest.Previous(t)}, gated)
		w.jobs.fails["orders/cron/2026-03-03/1"] = true
		for _, clock := range []string{"05:50", "06:03", "06:10", "06:12", "06:16", "06:18", "06:22", "06:40"} {
			w.at(clock)
			if clock == upgrade {
				w.Upgrade()
			}
			if clock == "06:10" {
				if err := w.PutSensor("orders", "checked", sensor.Fields{"status": "fine"}, w.Now()); err != nil {
					t.Fatal(err)
				}
				w.Settle()
			}
		}
		for name, status := range w.Ended() {
			if status != "SUCCEEDED" {
				t.Errorf("%s: %s", name, status)
			}
		}
		if n := len(w.Executions()); n != len(w.Ended()) || n != 2 {
			t.Errorf("executions %v ended as %v; want one for each attempt", w.Executions(), w.Ended())
		}
		w.wantStarts(t, "orders/cron/2026-03-03/1", "orders/cron/2026-03-03/2")
		return w.eventTypes(t, today)
	}
	want := play(t, "05:50")
	for _, upgrade := range []string{"06:03", "06:10", "06:12", "06:16", "06:18", "06:22"} {
		t.Run(upgrade, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, play(t, upgrade)); diff != "" {
				t.Errorf("the events differ from those of an upgrade before the run (-want +got):\n%s", diff)
			}
		})
	}
}

// A rollback leaves the state machine as it is: it asks of the functions only what it asked of those
// of the last release.
func TestFunctionsOfTheLastReleaseUnderstandTheStateMachine(t *testing.T) {
	asked := func(definition []byte) map[string]bool {
		all := map[string]bool{}
		for _, found := range asks.FindAll(definition, -1) {
			all[string(found)] = true
		}
		return all
	}
	_, current := machine(t)
	before := asked(awslambdatest.Previous(t))
	if len(before) < 10 {
		t.Fatalf("found only %v", before)
	}
	for what := range asked(current) {
		if !before[what] {
			t.Errorf("the functions of the last release do not know %s", what)
		}
	}
}

// asks matches the modes in which the state machine calls functions, the fields that it passes, and
// those of their answers that it reads.
var asks = regexp.MustCompile(`"mode": "[a-z-]+"|"[A-Za-z]+\.\$": "\$\.(?:pipelineId|scheduleId|date|attempt|generation|error)"|\$\.(?:step|recorded|slaEntries)\.[a-z]+`)
