package run_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

func TestPhaseSaysWhatAnOpenRunWaitsFor(t *testing.T) {
	later := noon.Add(time.Minute)
	for want, r := range map[run.Phase]run.Run{
		run.Waiting:        {Status: run.Pending, Attempt: 1, Progress: run.Progress{WindowStart: noon}},
		run.NotDue:         {Status: run.Pending, Attempt: 1, Progress: run.Progress{WindowStart: later}},
		run.Backoff:        {Status: run.Pending, Attempt: 2, Progress: run.Progress{WindowStart: later}},
		run.WaitingForSlot: {Status: run.Pending, Attempt: 1, Progress: run.Progress{WindowStart: noon, WaitingSince: noon}},
		run.Starting:       {Status: run.Triggering, Progress: run.Progress{AskedAt: noon}},
		run.StartRefused:   {Status: run.Triggering, Progress: run.Progress{NextTry: later}},
		run.StartHeld:      {Status: run.Triggering, Progress: run.Progress{AskedAt: noon, Held: run.Held{Reason: "no answer", Since: noon}}},
		run.JobRunning:     {Status: run.Running, Progress: run.Progress{Unread: run.Unread{Polls: run.UnreadPolls - 1}}},
		run.StatusUnread:   {Status: run.Running, Progress: run.Progress{Unread: run.Unread{Polls: run.UnreadPolls}}},
		run.Settling:       {Status: run.Failed},
		run.Done:           {Status: run.Completed},
		run.FailedForGood:  {Status: run.FailedFinal},
		run.GateClosed:     {Status: run.ValidationExhausted},
		run.CalledOff:      {Status: run.Cancelled},
	} {
		if got := r.Phase(noon); got != want {
			t.Errorf("%s: got %s, want %s", r.Status, got, want)
		}
	}
}
