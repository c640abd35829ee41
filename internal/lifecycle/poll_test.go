package lifecycle_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
)

// learning returns a run that started at noon, is polled each minute for an hour, and may leave out
// polls: the p10 of what its job took is that.
func learning(t testing.TB, known int, p10 time.Duration) run.Run {
	l := limits
	l.LearnPolls, l.PollInterval = true, time.Minute
	return history(t, l, evaluated(true, 0), func(r run.Run) (run.Run, error) {
		return r.Trigger(run.Start{Snapshot: "s", Learned: run.Learned{Runs: known, P10: p10}}, at(0))
	}, started(0))
}

func polledAt(t testing.TB, r run.Run, when time.Time, deadlines ...sla.Deadline) run.Run {
	t.Helper()
	next, err := r.Polled(when)
	if err != nil {
		t.Fatal(err)
	}
	return lifecycle.AfterPoll(next, deadlines)
}

func armed(warn, breach int) sla.Deadline {
	return sla.Deadline{State: sla.Armed, WarnAt: at(warn), BreachAt: at(breach)}
}

func TestPollsBeforeAJobUsuallyEndsAreLeftOut(t *testing.T) {
	met := armed(0, 3)
	met.State = sla.Met
	for name, c := range map[string]struct {
		known     int
		p10       time.Duration
		polled    int
		deadlines []sla.Deadline
		want      time.Time
	}{
		"until 0.8 of the p10":                                 {5, 10 * time.Minute, 1, nil, at(8)},
		"afterwards the interval holds":                        {5, 10 * time.Minute, 8, nil, at(9)},
		"nothing is left out of a short job":                   {20, 2 * time.Minute, 1, nil, at(2)},
		"nor without durations":                                {0, 0, 1, nil, at(2)},
		"for ten minutes at most":                              {5, 50 * time.Minute, 1, nil, at(11)},
		"and again":                                            {5, 50 * time.Minute, 11, nil, at(21)},
		"for a tenth of the time to the breach at most":        {5, 50 * time.Minute, 1, []sla.Deadline{armed(40, 51)}, at(6)},
		"of the first of two":                                  {5, 50 * time.Minute, 1, []sla.Deadline{armed(55, 101), armed(40, 51)}, at(6)},
		"the interval holds if that is longer":                 {5, 50 * time.Minute, 1, []sla.Deadline{armed(3, 4)}, at(2)},
		"not past a warning":                                   {5, 50 * time.Minute, 1, []sla.Deadline{armed(5, 101)}, at(5)},
		"a deadline that is over or met does not count":        {5, 10 * time.Minute, 4, []sla.Deadline{armed(1, 2), met}, at(8)},
		"not past the end of the poll window":                  {5, 100 * time.Minute, 55, nil, at(60)},
		"the first poll counts from the start, however it ran": {5, 10 * time.Minute, 3, nil, at(8)},
	} {
		if r := polledAt(t, learning(t, c.known, c.p10), at(c.polled), c.deadlines...); !r.Progress.NextPoll.Equal(c.want) {
			t.Errorf("%s: the next poll is at %s, want %s", name, r.Progress.NextPoll.Format(time.TimeOnly), c.want.Format(time.TimeOnly))
		}
	}
}

func TestFirstPollIsOneIntervalAfterTheStart(t *testing.T) {
	if r := learning(t, 20, 30*time.Minute); !r.Progress.NextPoll.Equal(at(1)) {
		t.Errorf("the first poll is at %s", r.Progress.NextPoll)
	}
}

func TestFailedPollIsRepeatedAfterTheInterval(t *testing.T) {
	r, err := polledAt(t, learning(t, 20, 30*time.Minute), at(1)).PollFailed("no answer", at(11))
	if err != nil || !r.Progress.NextPoll.Equal(at(12)) {
		t.Errorf("the next poll is at %s, %v", r.Progress.NextPoll, err)
	}
}

// However a job is polled, the limits on what is left out hold.
func TestNoMoreIsLeftOutThanAllowed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		second := func(from, to int, what string) time.Duration {
			return time.Duration(rapid.IntRange(from, to).Draw(rt, what)) * time.Second
		}
		r := learning(t, 5, second(0, 7200, "p10"))
		last := noon.Add(second(60, 3599, "polled"))
		breach := noon.Add(second(0, 9000, "breach"))
		d := sla.Deadline{State: sla.Armed, WarnAt: breach.Add(-second(0, 600, "warning")), BreachAt: breach}
		next := polledAt(t, r, last, d).Progress.NextPoll
		usual := last.Add(time.Minute)
		switch end := r.Progress.PollEnd; {
		case next.After(end), next.Before(usual) && !next.Equal(end):
			rt.Fatalf("polled at %s, next at %s", last, next)
		case !next.After(usual):
			return
		case next.Sub(last) > 10*time.Minute, next.After(lifecycle.PollsFrom(r.Progress)):
			rt.Fatalf("polls are left out from %s to %s", last, next)
		case breach.After(last) && next.Sub(last) > breach.Sub(last)/10, d.WarnAt.After(last) && next.After(d.WarnAt):
			rt.Fatalf("polls are left out from %s to %s, with a deadline at %s", last, next, breach)
		}
	})
}
