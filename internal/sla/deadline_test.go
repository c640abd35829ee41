package sla_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/sla"
)

// minute is that many minutes past noon.
func minute(n int) time.Time {
	return time.Date(2026, 3, 3, 12, n, 0, 0, time.UTC)
}

func TestCompletionClosesItsDeadline(t *testing.T) {
	armed := sla.Deadline{State: sla.Armed, BreachAt: minute(30)}
	for name, c := range map[string]struct {
		minute int
		want   sla.State
	}{
		"before":         {29, sla.Met},
		"at the instant": {30, sla.Met},
		"after, although it was not evaluated in between": {31, sla.Breached},
	} {
		if got := armed.Complete(minute(c.minute)); got.State != c.want {
			t.Errorf("%s: %s, want %s", name, got.State, c.want)
		}
	}
}

func TestClosedDeadlineStaysClosed(t *testing.T) {
	for _, state := range []sla.State{sla.Met, sla.Breached, sla.Cancelled, ""} {
		d := sla.Deadline{State: state, BreachAt: minute(30)}
		if got := d.Complete(minute(1)); got != d {
			t.Errorf("completion changed %q to %q", state, got.State)
		}
		if got := d.Cancel("removed"); got != d {
			t.Errorf("cancelling changed %q to %q", state, got.State)
		}
		if got, err := d.Breach(minute(31)); err == nil || got != d {
			t.Errorf("its instant changed %q to %q", state, got.State)
		}
	}
}

func TestArmedDeadlineBreachesOnlyAtItsInstant(t *testing.T) {
	d := sla.Deadline{State: sla.Armed, BreachAt: minute(30)}
	if _, err := d.Breach(minute(29)); err == nil {
		t.Error("breached a minute early")
	}
	if got, err := d.Breach(minute(30)); err != nil || got.State != sla.Breached {
		t.Errorf("%s, %v", got.State, err)
	}
	if got := d.Cancel("removed"); got.State != sla.Cancelled || got.Reason != "removed" {
		t.Errorf("cancelled as %+v", got)
	}
}
