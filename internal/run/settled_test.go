package run_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/run"
)

func TestSettledAttemptNeedsNoMoreCalls(t *testing.T) {
	reported := run.Progress{Report: run.Report{Result: "success"}}
	for name, tt := range map[string]struct {
		run  run.Run
		n    int
		want bool
	}{
		"it runs":                       {run.Run{Status: run.Running, Attempt: 1}, 1, false},
		"it starts":                     {run.Run{Status: run.Triggering, Attempt: 2}, 2, false},
		"completed":                     {run.Run{Status: run.Completed, Attempt: 1, Progress: reported}, 1, true},
		"failed, to be decided":         {run.Run{Status: run.Failed, Attempt: 1, Progress: reported}, 1, true},
		"the attempt before":            {run.Run{Status: run.Running, Attempt: 2}, 1, true},
		"one that is not known yet":     {run.Run{Status: run.Completed, Attempt: 1, Progress: reported}, 2, false},
		"cancelled, and it has stopped": {run.Run{Status: run.Cancelled, Attempt: 1, Progress: run.Progress{Left: run.JobStopped}}, 1, true},
		"cancelled, and it stops":       {run.Run{Status: run.Cancelled, Attempt: 1, Progress: run.Progress{Left: run.JobStopping}}, 1, false},
		"timed out, and it may run":     {run.Run{Status: run.JobPollExhausted, Attempt: 1, Progress: run.Progress{Left: run.JobMayRun}}, 1, false},
	} {
		if got := tt.run.Settled(tt.n); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
