package awslambda_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
)

// The execution of an attempt fails without the orchestrator, and cannot report that. The watchdog
// does, and starts another execution once the orchestrator answers.
func TestAnOrchestratorThatWasDownTakesUpItsAttempts(t *testing.T) {
	for _, how := range []awslambdatest.Outage{awslambdatest.Fails, awslambdatest.Gone} {
		t.Run(string(how), func(t *testing.T) {
			w := deploy(t, awslambdatest.Options{Wrong: tolerated}, daily)
			w.at("05:59")
			before := len(w.Entries())
			w.Down(awslambda.Orchestrator, how)
			w.at("06:10")
			w.wantStarts(t)
			if got := w.all(t, event.InfraFailure); len(got) != 1 || !strings.Contains(got[0].Detail.Message, "the orchestrator cannot continue") {
				t.Errorf("reported %+v", got)
			}
			w.Up()
			w.at("06:13")
			w.wantStarts(t, "orders/cron/2026-03-03/1")
			if n := len(w.Executions()); n > 2 {
				t.Errorf("%d executions, want the one that failed and the one that took over: %v", n, w.Executions())
			}
			w.at("06:30")
			if r := w.run(t, today); r.Status != run.Completed {
				t.Errorf("the run is %s", r.Status)
			}
			if n := len(w.Entries()); n > before {
				t.Errorf("%d schedules are left, %d were there before: %v", n, before, w.Entries())
			}
			if ended := w.Ended(); len(ended) != len(w.Executions()) {
				t.Errorf("executions %v, ended %v", w.Executions(), ended)
			}
		})
	}
}

// A call that the orchestrator does not answer once is made again a minute later.
func TestAnOrchestratorThatDoesNotAnswerOnceIsNotReported(t *testing.T) {
	w := deploy(t, awslambdatest.Options{Wrong: tolerated}, daily)
	w.at("05:59")
	w.Down(awslambda.Orchestrator, awslambdatest.Fails)
	w.at("06:02") // one pulse has found the attempt late
	w.Up()
	w.at("06:13")
	w.wantStarts(t, "orders/cron/2026-03-03/1")
	if got := w.all(t, event.InfraFailure); len(got) != 0 {
		t.Errorf("reported %+v", got)
	}
}

// Without the stream-router nothing fires. A watchdog that has just started, and knows no pipeline
// yet, does it.
func TestAColdWatchdogCarriesOutLateWork(t *testing.T) {
	w := deploy(t, awslambdatest.Options{Wrong: tolerated, Watch: time.Hour}, daily)
	w.at("05:59")
	w.Down(awslambda.StreamRouter, awslambdatest.Gone)
	w.Restart()
	w.at("06:05")
	w.wantStarts(t, "orders/cron/2026-03-03/1")
}
