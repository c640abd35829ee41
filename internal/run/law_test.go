package run_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/run"
)

// change is one random change of a run.
type change struct {
	name string
	do   func(r run.Run, now time.Time) (run.Run, error)
}

func anyChange(t *rapid.T) change {
	flag := rapid.Bool().Draw(t, "flag")
	left := rapid.SampledFrom([]run.Leftover{run.NothingLeft, run.JobStopped, run.JobMayRun}).Draw(t, "left")
	rep := run.Report{
		Result:   rapid.SampledFrom([]run.Result{run.ResultSuccess, run.ResultFail, run.ResultTimeout, ""}).Draw(t, "result"),
		Category: rapid.SampledFrom([]run.Category{run.Permanent, run.Transient, run.Timeout, run.Unknown}).Draw(t, "category"),
	}
	opening := run.Opening{
		Cause: rapid.SampledFrom([]run.Cause{
			run.CauseCron, run.CauseTransient, run.CauseCode, run.CauseDrift, run.CauseManual, run.CauseReopened, "",
		}).Draw(t, "cause"),
		Forced: flag, By: "ada", Reason: "because", Limits: limits,
	}
	return rapid.SampledFrom([]change{
		{"evaluated", func(r run.Run, now time.Time) (run.Run, error) { return r.Evaluated(flag, now) }},
		{"wake", func(r run.Run, now time.Time) (run.Run, error) { return r.Wake(now) }},
		{"wait for slot", func(r run.Run, now time.Time) (run.Run, error) { return r.WaitForSlot(now) }},
		{"trigger", func(r run.Run, now time.Time) (run.Run, error) { return r.Trigger(run.Start{Snapshot: "s"}, now) }},
		{"refused", func(r run.Run, now time.Time) (run.Run, error) { return r.Refused(rep, now) }},
		{"hold", func(r run.Run, now time.Time) (run.Run, error) { return r.Hold("no answer", now) }},
		{"started", func(r run.Run, now time.Time) (run.Run, error) { return r.Started("h", now) }},
		{"polled", func(r run.Run, now time.Time) (run.Run, error) { return r.Polled(now) }},
		{"poll failed", func(r run.Run, now time.Time) (run.Run, error) { return r.PollFailed("no answer", now) }},
		{"reported", func(r run.Run, now time.Time) (run.Run, error) {
			return r.Reported(run.Outcome{Key: r.Key, Attempt: r.Attempt, Report: rep}, now)
		}},
		{"complete", func(r run.Run, now time.Time) (run.Run, error) { return r.Complete(now) }},
		{"exhausted", func(r run.Run, now time.Time) (run.Run, error) { return r.Exhausted("closed", run.NothingLeft, now) }},
		{"poll exhausted", func(r run.Run, now time.Time) (run.Run, error) { return r.PollExhausted(left, now) }},
		{"give up", func(r run.Run, now time.Time) (run.Run, error) { return r.GiveUp("spent", now) }},
		{"time out", func(r run.Run, now time.Time) (run.Run, error) { return r.TimeOut(left, now) }},
		{"cancel", func(r run.Run, now time.Time) (run.Run, error) { return r.Cancel("ada", "why", left, now) }},
		{"next attempt", func(r run.Run, now time.Time) (run.Run, error) {
			opening.At = now
			return r.NextAttempt(opening)
		}},
	}).Draw(t, "change")
}

// Any changes, in any order, with a clock that may jump back.
func TestInvariantsHoldInAnyHistory(t *testing.T) {
	arrows := map[[2]run.Status]bool{}
	for _, tr := range run.Transitions() {
		arrows[[2]run.Status{tr.From, tr.To}] = true
	}
	start := opened(t)
	rapid.Check(t, func(t *rapid.T) {
		r, now, verdict := start, noon, false
		for range rapid.IntRange(1, 60).Draw(t, "length") {
			now = now.Add(time.Duration(rapid.IntRange(-600, 3600).Draw(t, "seconds")) * time.Second)
			c := anyChange(t)
			next, err := c.do(r, now)
			if err != nil {
				if next != r {
					t.Fatalf("%s returned an error (%v) and still changed the run", c.name, err)
				}
				continue
			}
			obey(t, c.name, arrows, r, next)
			switch c.name {
			case "evaluated":
				verdict = next.Progress.GateOpen
			case "trigger":
				if !verdict {
					t.Fatalf("start %d of attempt %d without an open verdict of its own", next.Progress.StartTries, next.Attempt)
				}
				verdict = false
			case "refused", "next attempt", "wait for slot":
				verdict = false
			}
			r = next
		}
	})
}

// obey checks the invariants between a run and its next version.
func obey(t *rapid.T, name string, arrows map[[2]run.Status]bool, r, next run.Run) {
	if next.Version <= r.Version {
		t.Fatalf("%s took version %d to %d", name, r.Version, next.Version)
	}
	if r.Status != next.Status && !arrows[[2]run.Status{r.Status, next.Status}] {
		t.Fatalf("%s took %s to %s, which is no transition", name, r.Status, next.Status)
	}
	if r.Status.Ended() && next.Status != r.Status && (name != "next attempt" || next.Attempt != r.Attempt+1) {
		t.Fatalf("%s left the ended state %s for %s, attempt %d", name, r.Status, next.Status, next.Attempt)
	}
	if next.Attempt != r.Attempt && name != "next attempt" {
		t.Fatalf("%s changed the attempt from %d to %d", name, r.Attempt, next.Attempt)
	}
	if next.Status.Ended() == next.EndedAt.IsZero() {
		t.Fatalf("%s is %s and ended at %s", name, next.Status, next.EndedAt)
	}
	if next.Key != r.Key || !next.OpenedAt.Equal(r.OpenedAt) {
		t.Fatalf("%s changed the key of the run", name)
	}
	c := next.Counters
	spent := c.Retries + c.CodeRetries + c.DriftReruns + c.ManualReruns + c.Reopenings + c.Forced
	if spent != next.Attempt-1 {
		t.Fatalf("%d further attempts, %d counted: %+v", next.Attempt-1, spent, c)
	}
	if next.Progress.StartTries > next.Progress.Opening.Limits.StartTries {
		t.Fatalf("%d start calls, limit %d", next.Progress.StartTries, next.Progress.Opening.Limits.StartTries)
	}
}
