package lifecycle_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
)

// lawful checks the invariants of every step.
func lawful(t *rapid.T, r run.Run, now time.Time, step lifecycle.Step) {
	if again := lifecycle.Next(r, now); again != step {
		t.Fatalf("called twice: %+v, then %+v", step, again)
	}
	stepless := r.Status.Ended() || !r.Status.Open() || r.Status == run.Failed // the router handles a failure
	if step.Reason == "" || (step.Kind == lifecycle.None) != stepless {
		t.Fatalf("%q: %+v", r.Status, step)
	}
	switch step.Kind {
	case lifecycle.None:
		if !step.Due.IsZero() {
			t.Fatalf("nothing to do, but due: %+v", step)
		}
	case lifecycle.Wait:
		stable(t, r, now, step)
	case lifecycle.Trigger:
		p := r.Progress
		if !p.GateOpen || p.LastEvaluation.IsZero() || !now.Before(p.NextEvaluation) || !p.AskedAt.IsZero() && r.Status == run.Triggering {
			t.Fatalf("start without a fresh verdict of its own: %+v", p)
		}
	case lifecycle.ValidationExhausted:
		if r.Progress.LastEvaluation.IsZero() {
			t.Fatalf("exhausted without an evaluation of the gate: %+v", r.Progress)
		}
	case lifecycle.JobPollExhausted:
		if r.Progress.LastPoll.IsZero() {
			t.Fatalf("exhausted without a poll of the job: %+v", r.Progress)
		}
	}
	if step.Kind != lifecycle.Wait && step.Due.After(now) {
		t.Fatalf("%s is returned at %s though due at %s", step.Kind, now, step.Due)
	}
}

// stable checks that a wait is for the future, stays the same until it is due, and is over then.
func stable(t *rapid.T, r run.Run, now time.Time, step lifecycle.Step) {
	span := step.Due.Sub(now)
	if span <= 0 {
		t.Fatalf("waits at %s until %s", now, step.Due)
	}
	between := now.Add(time.Duration(rapid.Int64Range(0, int64(span)-1).Draw(t, "between")))
	for _, when := range []time.Time{between, step.Due.Add(-1)} {
		if got := lifecycle.Next(r, when); got != step {
			t.Fatalf("at %s %+v, at %s %+v", now, step, when, got)
		}
	}
	if got := lifecycle.Next(r, step.Due); got.Kind == lifecycle.Wait || got.Kind == lifecycle.None {
		t.Fatalf("the wait until %s ends in %+v", step.Due, got)
	}
}

func anyLimits(t *rapid.T) run.Limits {
	minutes := func(from, to int, what string) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(t, what)) * time.Minute
	}
	l := run.Limits{
		Window: minutes(10, 120, "window"), Interval: minutes(5, 10, "interval"),
		PollInterval: minutes(5, 10, "poll interval"), PollWindow: minutes(10, 120, "poll window"),
		RunTimeout: minutes(0, 240, "run timeout"), StartTries: rapid.IntRange(1, 4).Draw(t, "tries"),
		StartBackoff: minutes(0, 20, "start backoff"),
	}
	if rapid.IntRange(1, 5).Draw(t, "reports only") == 1 {
		l.PollInterval, l.PollWindow = 0, 0
	}
	return l
}

func TestEveryAttemptEndsWithinItsLimits(t *testing.T) {
	key := history(t, limits).Key
	ends := map[run.Status]int{}
	rapid.Check(t, func(t *rapid.T) {
		r, err := run.New(key, run.Opening{Cause: run.CauseCron, Limits: anyLimits(t), At: noon})
		h := &host{t: t, r: r, now: noon}
		if err != nil {
			t.Fatal(err)
		}
		for h.take() {
		}
		ends[h.r.Status]++
	})
	for _, s := range []run.Status{run.Completed, run.FailedFinal, run.ValidationExhausted} {
		if ends[s] == 0 {
			t.Errorf("no history ended %s, so this test shows too little: %v", s, ends)
		}
	}
}

// A row may be damaged, or written by a later version: Next always returns one step and never
// panics.
func TestNextHandlesAnyRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 30 {
			r := anyRun(t)
			now := anyInstant(t, "now")
			lawful(t, r, now, lifecycle.Next(r, now))
		}
	})
}

func anyInstant(t *rapid.T, what string) time.Time {
	if rapid.IntRange(1, 4).Draw(t, what+" is set") == 1 {
		return time.Time{}
	}
	return at(rapid.IntRange(-30, 30).Draw(t, what))
}

func anyRun(t *rapid.T) run.Run {
	instant := func(what string) time.Time { return anyInstant(t, what) }
	r := run.Run{
		Status: rapid.SampledFrom(append(run.Statuses(),
			"", "ODD", run.Pending, run.Triggering, run.Running)).Draw(t, "status"),
		Attempt:   rapid.Int().Draw(t, "attempt"),
		UpdatedAt: instant("updated"),
		Progress: run.Progress{
			WindowStart: instant("window start"), WindowEnd: instant("window end"), LimitAt: instant("limit"),
			NextEvaluation: instant("next evaluation"), LastEvaluation: instant("last evaluation"),
			GateOpen: rapid.Bool().Draw(t, "open"), NextTry: instant("next try"),
			NextPoll: instant("next poll"), LastPoll: instant("last poll"), PollEnd: instant("poll end"),
		},
	}
	if rapid.Bool().Draw(t, "in between") {
		r.Progress.WaitingSince, r.Progress.AskedAt = instant("waiting since"), instant("asked")
	}
	r.Progress.Held.Reason = rapid.SampledFrom([]string{"", "no answer"}).Draw(t, "held")
	r.Progress.Report = run.Report{Result: rapid.SampledFrom([]run.Result{"", "", run.ResultFail, "odd"}).Draw(t, "result"), At: instant("reported")}
	r.Progress.Opening.Limits.PollInterval = time.Duration(rapid.Int64Range(-1, 1).Draw(t, "poll interval"))
	return r
}
