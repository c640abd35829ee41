package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// move is the only place where a status changes: it follows a transition of the table or returns an
// error.
func (r Run) move(on On, reason string, now time.Time) (Run, error) {
	to, ok := target(r.Status, on)
	if !ok {
		return r, r.refuse(on)
	}
	r = r.touch(now)
	r.Status, r.Reason = to, reason
	r.EndedAt = time.Time{}
	if to.Ended() {
		r.EndedAt = r.UpdatedAt
	}
	return r, nil
}

// refuse returns the error for a transition that does not exist; it lists those that do.
func (r Run) refuse(on On) error {
	var to Status
	var possible []string
	for _, t := range transitions {
		if t.On == on {
			to = t.To // each event has one target, from any state
		}
		if t.From == r.Status {
			possible = append(possible, string(t.On))
		}
	}
	return fmt.Errorf("move run %s from %s to %s on %q: possible there: %s",
		r.Key, cmp.Or(string(r.Status), "(no run)"), to, on, cmp.Or(strings.Join(possible, ", "), "nothing"))
}

// stay returns the run for a change that keeps its status; an error if the status is not in the
// list.
func (r Run) stay(what string, now time.Time, in ...Status) (Run, error) {
	if slices.Contains(in, r.Status) {
		return r.touch(now), nil
	}
	return r, fmt.Errorf("record %s of run %s: it is %s, want %v", what, r.ID(), r.Status, in)
}

func (r Run) touch(now time.Time) Run {
	r.Version++
	r.UpdatedAt = period.Instant(now)
	return r
}

// New opens a run with its first attempt.
func New(key Key, o Opening) (Run, error) {
	p, err := begin(o)
	if err != nil {
		return Run{}, fmt.Errorf("open run %s: %w", key, err)
	}
	r, err := Run{Key: key}.move(OnOpened, string(o.Cause), o.At)
	if err != nil {
		return Run{}, err
	}
	r.OpenedAt, r.Attempt, r.Progress = r.UpdatedAt, 1, p
	return r, nil
}

// Closed returns a run whose start condition was not met before its deadline: it ends without an
// attempt, and only an operator's trigger or rerun opens one.
func Closed(key Key, now time.Time) (Run, error) {
	r, err := Run{Key: key}.move(OnStartDeadline, "start deadline", now)
	if err != nil {
		return Run{}, err
	}
	r.OpenedAt, r.StartDeadlinePassed = r.UpdatedAt, true
	return r, nil
}

// NextAttempt opens attempt+1 and uses the budget of its cause, unless it is the first of a run
// that ended without one. Package rerun decides beforehand whether the budget allows it; both
// belong in one commit.
func (r Run) NextAttempt(o Opening) (Run, error) {
	on, ok := o.Cause.on()
	if !ok {
		return r, fmt.Errorf("open another attempt of run %s: cause %q only opens a first one", r.Key, o.Cause)
	}
	p, err := begin(o)
	if err != nil {
		return r, fmt.Errorf("open another attempt of run %s: %w", r.Key, err)
	}
	next, err := r.move(on, string(o.Cause), o.At)
	if err != nil {
		return r, err
	}
	next.Attempt++
	next.Progress = p
	if on == OnReopened {
		next.Counters.ReopenedUntil = p.WindowEnd
	}
	switch n := next.Counters.of(o.Cause); {
	case r.Attempt == 0:
	case o.Forced:
		next.Counters.Forced++
	case n != nil:
		*n++
	}
	return next, nil
}

// begin returns the progress of a new attempt. The window and the time limit count from the first
// possible evaluation.
func begin(o Opening) (Progress, error) {
	if (o.Forced || o.GateBypassed) && (o.By == "" || o.Reason == "") {
		return Progress{}, fmt.Errorf("a forced or bypassed attempt needs who and why, got %q and %q", o.By, o.Reason)
	}
	o.At, o.Limits = period.Instant(o.At), o.Limits.bounded()
	from := period.Later(o.At, period.Instant(o.From))
	o.From = from
	return Progress{
		Opening:        o,
		WindowStart:    from,
		WindowEnd:      from.Add(o.Limits.Window),
		LimitAt:        from.Add(o.Limits.TimeLimit()),
		NextEvaluation: from,
	}, nil
}
