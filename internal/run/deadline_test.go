package run_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/run"
)

func TestCompletionClosesItsDeadline(t *testing.T) {
	armed := run.Deadline{State: run.Armed, BreachAt: at(30)}
	for name, c := range map[string]struct {
		minute int
		want   run.DeadlineState
	}{
		"before":                                 {29, run.Met},
		"at the instant":                         {30, run.Met},
		"after, though nobody looked in between": {31, run.Breached},
	} {
		r, err := running(t).SetDeadlines(armed, run.Deadline{}, at(1))
		r = must(t, r, err)
		r, err = r.Reported(run.Outcome{Key: r.Key, Attempt: 1, Report: run.Report{Result: run.ResultSuccess}}, at(c.minute))
		r, err = must(t, r, err).Complete(at(c.minute))
		if r = must(t, r, err); r.SLA.State != c.want || r.RelativeSLA.State != "" {
			t.Errorf("%s: %s and %q, want %s and none", name, r.SLA.State, r.RelativeSLA.State, c.want)
		}
	}
}

func TestFailureLeavesTheDeadlineArmed(t *testing.T) {
	r, err := running(t).SetDeadlines(run.Deadline{State: run.Armed, BreachAt: at(30)}, run.Deadline{}, at(1))
	r, err = must(t, r, err).TimeOut(run.JobStopped, at(2))
	if r = must(t, r, err); r.SLA.State != run.Armed {
		t.Errorf("%s, want ARMED: a rerun may still meet it", r.SLA.State)
	}
}

func TestClosedDeadlineStaysClosed(t *testing.T) {
	for _, state := range []run.DeadlineState{run.Met, run.Breached, run.DeadlineCancelled, ""} {
		d := run.Deadline{State: state, BreachAt: at(30)}
		if got := d.Complete(at(1)); got != d {
			t.Errorf("completion changed %q to %q", state, got.State)
		}
		if got := d.Cancel("removed"); got != d {
			t.Errorf("cancelling changed %q to %q", state, got.State)
		}
		if got, err := d.Breach(at(31)); err == nil || got != d {
			t.Errorf("its instant changed %q to %q", state, got.State)
		}
	}
}

func TestArmedDeadlineBreachesOnlyAtItsInstant(t *testing.T) {
	d := run.Deadline{State: run.Armed, BreachAt: at(30)}
	if _, err := d.Breach(at(29)); err == nil {
		t.Error("breached a minute early")
	}
	if got, err := d.Breach(at(30)); err != nil || got.State != run.Breached {
		t.Errorf("%s, %v", got.State, err)
	}
	if got := d.Cancel("removed"); got.State != run.DeadlineCancelled || got.Reason != "removed" {
		t.Errorf("cancelled as %+v", got)
	}
}
