// Package sla decides the instants of a deadline. A deadline is a function of configuration and period only:
// it is never computed from the current time. Arming, firing and closing deadlines is package slamonitor's work.
package sla

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/schedule"
)

// Spec is a pipeline's SLA, already resolved and checked.
type Spec struct {
	Deadline  *schedule.Clock // nil without an absolute deadline
	Expected  time.Duration   // expectedDuration; 0 without
	Max       time.Duration   // maxDuration; 0 without a relative deadline
	Zone      *time.Location  // of Deadline
	DayOffset int
	Critical  bool
}

// Instants are when a deadline warns and breaches. A zero Warn means no warning; a zero Breach means no deadline.
type Instants struct{ Warn, Breach time.Time }

// For gives the absolute deadline of period p, which opens at fire, on that schedule. Without a Deadline, for a period that
// is not of the schedule's size, and for one that no fire of its cron is for, it is zero.
//
// A day's deadline is looked for from its cron fire on or, without cron, from its first instant, also where a listed day
// opens later; that of an hour, week or month from its end, with or without cron. Minutes have none: a relative deadline
// is for them.
func (s Spec) For(p period.Period, fire time.Time, on *schedule.Schedule) Instants {
	if s.Deadline == nil || p.IsZero() || p.Size() != on.Size() || p.Size() == period.Minute {
		return Instants{}
	}
	if on.Cron() != nil && fire.IsZero() {
		return Instants{}
	}
	from, days := base(*s.Deadline, p, on.Zone()), 0
	if p.Size() >= period.Day {
		days = s.DayOffset
	}
	if p.Size() == period.Day && on.Cron() != nil {
		from = fire
	}
	breach := s.Deadline.AfterDays(from, days, s.Zone)
	if breach.IsZero() {
		return Instants{}
	}
	return Instants{Warn: s.warning(breach), Breach: breach}
}

// warning is expectedDuration before the breach: the last moment to start and still be in time.
func (s Spec) warning(breach time.Time) time.Time {
	if s.Expected <= 0 {
		return time.Time{}
	}
	return breach.Add(-s.Expected)
}

// Relative gives the deadline that the first reading of the start condition, written at arrived, sets.
func (s Spec) Relative(arrived time.Time) Instants {
	if s.Max <= 0 {
		return Instants{}
	}
	breach := arrived.Add(s.Max)
	if s.Expected > 0 && s.Expected < s.Max {
		return Instants{Warn: s.warning(breach), Breach: breach}
	}
	return Instants{Warn: breach.Add(-s.Max / 4), Breach: breach}
}

// Close gives the instant at which the automatic window of a start condition with that deadline closes for p on that
// schedule. It is looked for as a deadline is, but never before p can open: a window that closes first would be none.
func Close(c schedule.Clock, p period.Period, on *schedule.Schedule) time.Time {
	if p.IsZero() {
		return time.Time{}
	}
	return c.After(period.Later(base(c, p, on.Zone()), on.OpensFrom(p)), on.Zone())
}

// base is the instant from which a deadline of p is looked for: for a day, a time of day is one of that day; in all other
// cases the deadline comes when the data of p can be complete.
func base(c schedule.Clock, p period.Period, zone *time.Location) time.Time {
	if p.Size() == period.Day && !c.Hourly() {
		return p.Start(zone)
	}
	return p.End(zone)
}

// State is where a deadline stands. An armed one ends in exactly one of the other three.
type State string

// The states of a deadline. Empty means that none was armed.
const (
	Armed     State = "ARMED"
	Met       State = "MET"
	Breached  State = "BREACHED"
	Cancelled State = "CANCELLED"
)

// Deadline is an armed deadline and how it stands.
type Deadline struct {
	State    State     `json:"state"`
	WarnAt   time.Time `json:"warnAt,omitzero"`
	BreachAt time.Time `json:"breachAt"`
	Warned   bool      `json:"warned,omitempty"`
	Reason   string    `json:"reason,omitempty"` // why it was cancelled
}

// Complete closes an armed deadline for a completion at that instant: met up to and including the breach
// instant, breached after it, even if nobody has looked in between. A closed deadline stays as it is.
func (d Deadline) Complete(at time.Time) Deadline {
	if d.State != Armed {
		return d
	}
	d.State = Met
	if at.After(d.BreachAt) {
		d.State = Breached
	}
	return d
}

// Breach closes an armed deadline whose instant has come.
func (d Deadline) Breach(now time.Time) (Deadline, error) {
	if d.State != Armed {
		return d, fmt.Errorf("breach deadline of %s: it is %s, want ARMED", d.BreachAt.Format(time.RFC3339), d.State)
	}
	if now.Before(d.BreachAt) {
		return d, fmt.Errorf("breach deadline of %s: it is only %s", d.BreachAt.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	d.State = Breached
	return d, nil
}

// Cancel closes an armed deadline for a reason. A closed deadline stays as it is.
func (d Deadline) Cancel(reason string) Deadline {
	if d.State == Armed {
		d.State, d.Reason = Cancelled, reason
	}
	return d
}
