package awslambda_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
)

func TestMonitorSaysWhatTheDeadlineOfAPeriodIs(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily, report)
	for _, c := range []struct {
		pipeline, date, state string
		deadlines             int
	}{
		{"orders", "2026-03-03", "ARMED", 1}, // armed ahead
		{"orders", "2026-05-05", "", 1},
		{"report", "2026-03-03", "", 0},
	} {
		got, err := w.Deadlines(awslambda.SLARequest{Mode: awslambda.Calculate, Pipeline: c.pipeline, Schedule: "cron", Date: c.date})
		if err != nil || len(got.Deadlines) != c.deadlines {
			t.Errorf("%s %s: %+v, %v", c.pipeline, c.date, got, err)
			continue
		}
		for _, d := range got.Deadlines {
			day, _ := time.Parse(time.DateOnly, c.date)
			warn, breach := day.Add(6*time.Hour+40*time.Minute), day.Add(7*time.Hour)
			want := awslambda.SLADeadline{Kind: "absolute", State: c.state, WarnAt: &warn, BreachAt: &breach}
			if diff := cmp.Diff(want, d); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", c.pipeline, c.date, diff)
			}
		}
	}
	if _, err := w.Deadlines(awslambda.SLARequest{Mode: awslambda.Calculate, Pipeline: "nobody", Schedule: "cron", Date: "2026-03-03"}); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("an unknown pipeline: %v", err)
	}
}

func TestReconcileArmsMissingDeadlines(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	before := w.Called("CreateSchedule")
	for range 2 {
		if _, err := w.Deadlines(awslambda.SLARequest{Mode: awslambda.Reconcile, Pipeline: "orders"}); err != nil {
			t.Fatal(err)
		}
	}
	if w.Called("CreateSchedule") == before {
		t.Error("no schedule was created")
	}
}

// The sla-monitor has no permission to start or stop anything, so it rejects other tasks.
func TestMonitorAcceptsOnlyDeadlineTasks(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	if _, err := w.Deadlines(awslambda.SLARequest{Mode: awslambda.FireAlert, Task: "fire/orders"}); err == nil || !strings.Contains(err.Error(), "stream-router") {
		t.Errorf("it fires a schedule: %v", err)
	}
	w.wantStarts(t)
	if _, err := w.Deadlines(awslambda.SLARequest{Mode: awslambda.FireAlert, Task: "deadline/nobody"}); err != nil {
		t.Errorf("a task that is done: %v", err)
	}
	if _, err := w.Deadlines(awslambda.SLARequest{Mode: "guess"}); err == nil || !strings.Contains(err.Error(), "reconcile") {
		t.Errorf("an unknown mode: %v", err)
	}
}
