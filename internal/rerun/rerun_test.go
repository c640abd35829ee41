package rerun_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
)

var (
	noon      = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	failed    = state(run.Failed, 1)
	completed = state(run.Completed, 1)
	exhausted = state(run.ValidationExhausted, 1)
)

// state returns a run with that status and those counters.
func state(s run.Status, attempt int) run.Run {
	p, err := period.Parse("2026-03-03")
	if err != nil {
		panic(err) // only a broken test gets here
	}
	return run.Run{Key: run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: p}, Status: s, Attempt: attempt, Version: 7}
}

var (
	retries = []run.Cause{run.CauseTransient, run.CauseTimeout, run.CauseUnknown, run.CauseCode}
	proven  = []run.Cause{run.CauseDrift, run.CauseLateData, run.CauseUpstream}
)

func TestSpentBudgetEndsTheRun(t *testing.T) {
	got := rerun.Next(failed, run.CauseTransient, rerun.Budget{Used: 2, Max: 2}, noon)
	if got.Open || got.Rejection != rerun.BudgetSpent {
		t.Errorf("opened attempt 2, or rejected for %q: %s", got.Rejection, got.Reason)
	}
}

func TestZeroBudgetDisablesACause(t *testing.T) {
	for _, cause := range retries {
		if got := rerun.Next(failed, cause, rerun.Budget{}, noon); got.Open {
			t.Errorf("%s: %s", cause, got.Reason)
		}
	}
	for _, cause := range proven {
		if got := rerun.Next(completed, cause, rerun.Budget{}, noon); got.Open {
			t.Errorf("%s: %s", cause, got.Reason)
		}
	}
}

func TestEachCauseHasItsBudget(t *testing.T) {
	r := failed
	r.Counters = run.Counters{Retries: 1, CodeRetries: 2, DriftReruns: 3, ManualReruns: 4, Reopenings: 5}
	j := &pipeline.Job{MaxRetries: 10, MaxCodeRetries: 20, MaxDriftReruns: 30, MaxManualReruns: 40, RetryBackoff: time.Second}
	for cause, want := range map[run.Cause]rerun.Budget{
		run.CauseTransient: {Key: "maxRetries", Used: 1, Max: 10},
		run.CauseTimeout:   {Key: "maxRetries", Used: 1, Max: 10},
		run.CauseUnknown:   {Key: "maxRetries", Used: 1, Max: 10},
		run.CauseCode:      {Key: "maxCodeRetries", Used: 2, Max: 20},
		run.CauseDrift:     {Key: "maxDriftReruns", Used: 3, Max: 30},
		run.CauseLateData:  {Key: "maxDriftReruns", Used: 3, Max: 30},
		run.CauseUpstream:  {Key: "maxDriftReruns", Used: 3, Max: 30},
		run.CauseManual:    {Key: "maxManualReruns", Used: 4, Max: 40},
		run.CauseReopened:  {Used: 5, Max: rerun.MaxReopenings},
		run.CauseCron:      {},
		"whim":             {},
	} {
		want.Backoff = time.Second
		if got := rerun.BudgetOf(j, r, cause); got != want {
			t.Errorf("%s: %+v, want %+v", cause, got, want)
		}
	}
}

func TestRetryBackoffDoublesUpToFifteenMinutes(t *testing.T) {
	for used, full := range []time.Duration{
		30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute,
	} {
		for attempt := range 20 {
			r := state(run.Failed, attempt+1)
			got := rerun.Next(r, run.CauseTransient, rerun.Budget{Used: used, Max: 10, Backoff: 30 * time.Second}, noon)
			if wait := got.At.Sub(noon); !got.Open || wait > full || wait < full*4/5 {
				t.Errorf("retry %d of %s waits %s, want %s less at most a fifth", used+1, r.ID(), wait, full)
			}
		}
	}
}

func TestBackoffsOfSimultaneousFailuresAreSpread(t *testing.T) {
	var quarters [4]int // of the fifth by which a wait is shortened
	for attempt := range 20 {
		got := rerun.Next(state(run.Failed, attempt+1), run.CauseTransient, rerun.Budget{Max: 1, Backoff: time.Minute}, noon)
		quarters[min(3, int(noon.Add(time.Minute).Sub(got.At)/(3*time.Second)))]++
	}
	if slices.Contains(quarters[:], 0) {
		t.Errorf("the backoffs of 20 attempts are not spread: %v", quarters)
	}
}

func TestDecisionIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := state(rapid.SampledFrom(append(run.Statuses(), "", "ODD")).Draw(t, "status"), rapid.Int().Draw(t, "attempt"))
		cause := rapid.SampledFrom(append(append([]run.Cause{run.CauseManual, run.CauseReopened, "whim"}, retries...), proven...)).Draw(t, "cause")
		b := rerun.Budget{
			Used: rapid.Int().Draw(t, "used"), Max: rapid.Int().Draw(t, "max"),
			Backoff: time.Duration(rapid.Int64().Draw(t, "backoff")),
		}
		first := rerun.Next(r, cause, b, noon)
		if again := rerun.Next(r, cause, b, noon); again != first {
			t.Fatalf("%+v, then %+v", first, again)
		}
		if first.Open != (first.Rejection == "") || first.Reason == "" {
			t.Fatalf("neither accepted nor rejected with a reason: %+v", first)
		}
		if first.Open && (first.At.Before(noon) || first.At.Sub(noon) > 15*time.Minute) {
			t.Fatalf("opens at %s, asked at %s", first.At, noon)
		}
		if first.Open && b.Used >= b.Max {
			t.Fatalf("a spent budget opened an attempt: %+v", b)
		}
	})
}

func TestCauseAppliesOnlyToItsState(t *testing.T) {
	plenty := rerun.Budget{Max: 9}
	for _, s := range run.Statuses() {
		for _, cause := range append(append([]run.Cause{}, retries...), proven...) {
			want := s == run.Failed
			if cause.Counter() == run.DriftReruns {
				want = s == run.Completed
			}
			got := rerun.Next(state(s, 1), cause, plenty, noon)
			if got.Open != want {
				t.Errorf("%s of a %s run: open %v (%s)", cause, s, got.Open, got.Reason)
			}
			if !want && s.Open() != (got.Rejection == rerun.AlreadyOpen) {
				t.Errorf("%s of a %s run: %q", cause, s, got.Rejection)
			}
		}
	}
}

func TestRerunForNewInputOpensAtOnce(t *testing.T) {
	for _, cause := range proven {
		got := rerun.Next(completed, cause, rerun.Budget{Max: 1, Backoff: time.Hour}, noon)
		if !got.Open || !got.At.Equal(noon) {
			t.Errorf("%s: open %v at %s", cause, got.Open, got.At)
		}
	}
}

func TestReopeningIsBounded(t *testing.T) {
	reopened := func(n int, until time.Time) run.Run {
		r := exhausted
		r.Counters = run.Counters{Reopenings: n, ReopenedUntil: until}
		return r
	}
	closed := exhausted
	closed.StartDeadlinePassed = true
	for name, c := range map[string]struct {
		run  run.Run
		want rerun.Rejection
	}{
		"first":                        {exhausted, ""},
		"after the last one's window":  {reopened(1, noon), ""},
		"fifth":                        {reopened(4, noon), ""},
		"within the last one's window": {reopened(1, noon.Add(time.Second)), rerun.AlreadyReopened},
		"sixth":                        {reopened(5, noon), rerun.BudgetSpent},
		"closed by the start deadline": {closed, rerun.StartDeadline},
		"still open":                   {state(run.Pending, 1), rerun.AlreadyOpen},
		"completed":                    {completed, rerun.WrongState},
		"cancelled":                    {state(run.Cancelled, 1), rerun.WrongState},
	} {
		got := rerun.Reopen(c.run, noon)
		if got.Rejection != c.want || got.Open != (c.want == "") || got.Reason == "" {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

func TestReasonCountsTheAttempts(t *testing.T) {
	once := exhausted
	once.Counters.Reopenings = 1
	for want, got := range map[string]rerun.Verdict{
		"timeout retry 2 of 3 in 0s": rerun.Next(failed, run.CauseTimeout, rerun.Budget{Used: 1, Max: 3}, noon),
		"late data rerun 1 of 2":     rerun.Next(completed, run.CauseLateData, rerun.Budget{Max: 2}, noon),
		"manual rerun 3 of 5":        rerun.Decide(rerun.Request{}, rerun.Facts{Run: exhausted}, rerun.Budget{Used: 2, Max: 5}, noon),
		"reopening 2 of 5":           rerun.Reopen(once, noon),
	} {
		if got.Reason != want {
			t.Errorf("got %q, want %q", got.Reason, want)
		}
	}
}

// The reason names the key of the file that sets the used budget.
func TestReasonNamesTheKeyOfAUsedBudget(t *testing.T) {
	spent := func(r run.Run, cause run.Cause) rerun.Budget {
		r.Counters = run.Counters{Retries: 3, CodeRetries: 1, DriftReruns: 2, ManualReruns: 1}
		return rerun.BudgetOf(&pipeline.Job{MaxRetries: 3, MaxCodeRetries: 1, MaxDriftReruns: 2, MaxManualReruns: 1}, r, cause)
	}
	for want, got := range map[string]rerun.Verdict{
		"maxRetries: 3 used up":                                      rerun.Next(failed, run.CauseTransient, spent(failed, run.CauseTransient), noon),
		"maxCodeRetries: 1 used up":                                  rerun.Next(failed, run.CauseCode, spent(failed, run.CauseCode), noon),
		"maxDriftReruns: 2 used up":                                  rerun.Next(completed, run.CauseLateData, spent(completed, run.CauseLateData), noon),
		"maxManualReruns: 1 used up; use --force to skip this limit": rerun.Decide(rerun.Request{}, rerun.Facts{Run: exhausted}, spent(exhausted, run.CauseManual), noon),
		"maxRetries: 0":                                              rerun.Next(failed, run.CauseUnknown, rerun.BudgetOf(&pipeline.Job{}, failed, run.CauseUnknown), noon),
	} {
		if got.Reason != want || got.Rejection != rerun.BudgetSpent {
			t.Errorf("got %q (%s), want %q", got.Reason, got.Rejection, want)
		}
	}
}

func TestFinalFailureSaysWhatTheJobReported(t *testing.T) {
	fourth := state(run.Failed, 4)
	fourth.Progress.Report.Message = "exit code 75, connection refused"
	for want, got := range map[string]string{
		"failed after 4 attempts: exit code 75, connection refused (maxRetries: 3 used up)": rerun.Final(fourth, "maxRetries: 3 used up"),
		"failed after 1 attempt (maxRetries: 0)":                                            rerun.Final(state(run.Failed, 1), "maxRetries: 0"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
