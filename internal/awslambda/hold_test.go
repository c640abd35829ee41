package awslambda_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
)

// tolerated ignores functions that fail: the test checks only the outcome.
func tolerated(string, error) {}

func TestLostStartOfAnExecutionIsRepeatedOnce(t *testing.T) {
	for _, trouble := range []awslambdatest.Trouble{awslambdatest.Throttled, awslambdatest.Lost} {
		t.Run(string(trouble), func(t *testing.T) {
			w := deploy(t, awslambdatest.Options{Wrong: tolerated, Fault: func(operation string, n int) awslambdatest.Trouble {
				if operation == "StartExecution" && n <= 2 {
					return trouble
				}
				return awslambdatest.NoTrouble
			}}, daily)
			w.at("06:20")
			w.wantStarts(t, "orders/cron/2026-03-03/1")
			if got := w.Executions(); len(got) != 1 || !strings.HasPrefix(got[0], "orders-cron-20260303-1-1-") {
				t.Errorf("executions: %q", got)
			}
			if r := w.run(t, today); r.Status != run.Completed {
				t.Errorf("the run is %s", r.Status)
			}
		})
	}
}

func TestAttemptWhoseEveryStartWasLostIsFoundByTheWatchdog(t *testing.T) {
	w := deploy(t, awslambdatest.Options{Wrong: tolerated, Fault: func(operation string, n int) awslambdatest.Trouble {
		if operation == "StartExecution" && n <= 10 { // more often than a stream redelivers a record
			return awslambdatest.Throttled
		}
		return awslambdatest.NoTrouble
	}}, daily)
	w.at("06:05")
	w.wantStarts(t)
	if len(w.Poison) == 0 {
		t.Error("the record was not sent to the dead-letter queue")
	}
	w.at("07:10")
	w.wantStarts(t, "orders/cron/2026-03-03/1")
	if len(w.Executions()) != 1 {
		t.Errorf("executions: %q", w.Executions())
	}
}

func TestRetryIsNotJudgedByItsPredecessor(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	w.jobs.fails["orders/cron/2026-03-03/1"] = true
	w.at("06:07")
	before := w.run(t, today)
	if before.Attempt != 2 || !before.Status.Open() {
		t.Fatalf("attempt %d is %s", before.Attempt, before.Status)
	}
	for _, mode := range []awslambda.Mode{"evaluate", "trigger", "check-job", "job-poll-exhausted", "complete-trigger", "validation-exhausted", "advance"} {
		got, err := w.Orchestrate(awslambda.OrchestratorRequest{Mode: mode, Pipeline: "orders", Schedule: "cron", Date: "2026-03-03", Attempt: 1})
		if err != nil || got.Next != lifecycle.None || got.Event != "none" {
			t.Errorf("%s for attempt 1: %+v, %v", mode, got, err)
		}
	}
	if after := w.run(t, today); after != before {
		t.Errorf("the run has changed: %+v", after)
	}
	w.at("06:30")
	if r := w.run(t, today); r.Status != run.Completed || r.Attempt != 2 {
		t.Errorf("attempt %d is %s", r.Attempt, r.Status)
	}
}

func TestLateCompletionIsNeverMet(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, strings.Replace(daily, "07:00", "06:03", 1))
	w.at("06:30")
	if r := w.run(t, today); r.Status != run.Completed {
		t.Fatalf("the run is %s", r.Status)
	}
	events := w.eventTypes(t, today)
	if !slices.Contains(events, event.SLABreach) || slices.Contains(events, event.SLAMet) {
		t.Errorf("got %q", events)
	}
}

const closed = `pipeline: {id: orders, owner: data}
schedule: {cron: "0 6 * * *", evaluation: {window: 30m, interval: 5m}}
validation: {rules: [{key: landed, check: exists}]}
job: {type: step-function, config: {stateMachineARN: "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"}}
`

func TestExhaustedRunNeverStaysOpen(t *testing.T) {
	t.Run("in its execution", func(t *testing.T) {
		w := deploy(t, awslambdatest.Options{}, closed)
		w.at("06:35")
		if r := w.run(t, today); r.Status != run.ValidationExhausted {
			t.Errorf("the run is %s", r.Status)
		}
	})
	t.Run("whose execution was ended by hand", func(t *testing.T) {
		w := deploy(t, awslambdatest.Options{}, closed)
		w.at("06:07")
		w.Abort()
		w.at("07:00")
		if r := w.run(t, today); r.Status != run.ValidationExhausted {
			t.Errorf("the run is %s", r.Status)
		}
		if got := w.Executions(); len(got) != 2 || !strings.HasPrefix(got[1], "orders-cron-20260303-1-2-") {
			t.Errorf("executions: %q", got)
		}
	})
}

func TestMalformedFileStopsNoOtherPipeline(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily, "pipeline: {id: broken, owner: data}\nschedule: {cron: \"61 6 * * *\"}\n")
	w.at("06:20")
	if r := w.run(t, today); r.Status != run.Completed {
		t.Errorf("the run is %s", r.Status)
	}
	page, err := w.Store().Pipelines(t.Context())
	if err != nil || len(page) != 2 || page[0].Problem == "" {
		t.Errorf("pipelines: %+v, %v", page, err)
	}
}

func TestEntriesOfClosedDeadlinesAreDeleted(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	w.at("06:03")
	deadlines := func() (names []string) {
		for _, name := range w.Entries() {
			if strings.HasPrefix(name, "deadline-20260303") {
				names = append(names, name)
			}
		}
		return names
	}
	if got := deadlines(); len(got) != 1 || !strings.HasPrefix(got[0], "deadline-20260303T0640-") {
		t.Errorf("before: %q", got)
	}
	w.at("06:30")
	if got := deadlines(); len(got) != 0 {
		t.Errorf("after the run has completed: %q", got)
	}
}

func TestBrokenExecutionIsReportedAndReplaced(t *testing.T) {
	table := awslambdatest.NewMemory()
	failing := false
	table.Kill = func(int) (before, after bool) { return failing, false }
	w := deploy(t, awslambdatest.Options{Wrong: tolerated, Tables: func(func() time.Time) awslambdatest.Tables { return table }}, closed)
	w.at("06:07")
	failing = true
	w.at("06:12")
	failing = false
	w.at("06:45")
	if r := w.run(t, today); r.Status != run.ValidationExhausted {
		t.Errorf("the run is %s", r.Status)
	}
	failed := 0
	for _, status := range w.Ended() {
		if status == "FAILED" {
			failed++
		}
	}
	if failed != 1 || len(w.Executions()) != 2 {
		t.Errorf("executions ended as %v", w.Ended())
	}
}

func TestFileThatNeedsLongerThanAnExecutionIsRejected(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, strings.Replace(closed, "window: 30m", "window: 4h", 1))
	rows, err := w.Store().Pipelines(t.Context())
	if err != nil || len(rows) != 1 || rows[0].Config != "" || !strings.Contains(rows[0].Problem, "sfn_timeout_seconds") {
		t.Errorf("pipelines: %+v, %v", rows, err)
	}
}
