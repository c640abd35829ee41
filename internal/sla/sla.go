// Package sla decides the instants of a deadline. A deadline is a function of configuration and
// period only: it is never computed from the current time. Arming, firing and closing deadlines is
// package slamonitor's work.
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

// Instants are when a deadline warns and breaches. A zero Warn means no warning; a zero Breach
// means no deadline.
type Instants struct{ Warn, Breach time.Time }

// For returns the absolute deadline of period p, which opens at fire, on that schedule. It is zero
// without a Deadline, for a period that does not have the schedule's size, and under cron for a
// period without a fire.
//
// The search for a day's deadline begins at its cron fire or, without cron, at its first instant,
// even if a listed day opens later. For a period of any other size it begins at the end. Minutes
// have only relative deadlines.
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

// warning returns the last instant at which a run can start and meet the deadline: expectedDuration
// before the breach.
func (s Spec) warning(breach time.Time) time.Time {
	if s.Expected <= 0 {
		return time.Time{}
	}
	return breach.Add(-s.Expected)
}

// Relative returns the deadline that the first reading of the start condition, written at arrived,
// sets.
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

// Close returns when a start condition with that deadline closes the automatic window of p on that
// schedule. The search begins as for a deadline, but never before p can open, since there would be
// no window otherwise.
func Close(c schedule.Clock, p period.Period, on *schedule.Schedule) time.Time {
	if p.IsZero() {
		return time.Time{}
	}
	return c.After(period.Later(base(c, p, on.Zone()), on.OpensFrom(p)), on.Zone())
}

// base returns the instant at which the search for a deadline of p begins: the start of a day if
// the deadline is a time of day, otherwise the end of p, when its data can be complete.
func base(c schedule.Clock, p period.Period, zone *time.Location) time.Time {
	if p.Size() == period.Day && !c.Hourly() {
		return p.Start(zone)
	}
	return p.End(zone)
}

// State is the state of a deadline. An armed one ends in exactly one of the other three.
type State string

// The states of a deadline. Empty means that none was armed.
const (
	Armed     State = "ARMED"
	Met       State = "MET"
	Breached  State = "BREACHED"
	Cancelled State = "CANCELLED"
)

// Deadline is a deadline that was armed, with its state.
type Deadline struct {
	State    State     `json:"state"`
	WarnAt   time.Time `json:"warnAt,omitzero"`
	BreachAt time.Time `json:"breachAt"`
	Warned   bool      `json:"warned,omitempty"`
	Reason   string    `json:"reason,omitempty"` // why it was cancelled
}

// Complete closes an armed deadline for a completion at that instant: met up to and including the
// breach instant, breached after it, even if no check ran in between. A closed deadline is
// unchanged.
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

// Breach closes an armed deadline that has passed.
func (d Deadline) Breach(now time.Time) (Deadline, error) {
	if d.State != Armed {
		return d, fmt.Errorf("breach deadline of %s: it is %s, want ARMED", period.Stamp(d.BreachAt), d.State)
	}
	if now.Before(d.BreachAt) {
		return d, fmt.Errorf("breach deadline of %s: it is only %s", period.Stamp(d.BreachAt), period.Stamp(now))
	}
	d.State = Breached
	return d, nil
}

// Cancel closes an armed deadline for a reason. A closed deadline is unchanged.
func (d Deadline) Cancel(reason string) Deadline {
	if d.State == Armed {
		d.State, d.Reason = Cancelled, reason
	}
	return d
}
