package sla

import (
	"fmt"
	"time"
)

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
