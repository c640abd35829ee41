package run

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/period"
)

// Evaluated records a verdict of the gate. Before a start is repeated, a closed gate sends the run
// back to PENDING, in the same attempt, with the rest of its window. A bypassed gate counts as
// open: it is still evaluated, so that the record shows what was bypassed.
func (r Run) Evaluated(open bool, now time.Time) (Run, error) {
	open = open || r.Progress.Opening.GateBypassed
	next, err := r.stay("an evaluation", now, Pending, Triggering)
	if err != nil {
		return r, err
	}
	if r.Status == Triggering {
		if p := r.Progress; !p.AskedAt.IsZero() || p.Held.Reason != "" {
			return r, fmt.Errorf("record an evaluation of run %s: its start is not settled, so none may be repeated", r.ID())
		}
		if !open {
			reason := "gate closed before the start was repeated"
			if r.Offered() {
				reason = "gate closed before a worker claimed it"
			}
			if next, err = r.move(OnGateClosed, reason, now); err != nil {
				return r, err
			}
			next.Progress.Offer = Offer{}
		}
	}
	p := &next.Progress
	if !open {
		p.shift(next.UpdatedAt)
	}
	p.LastEvaluation, p.GateOpen = next.UpdatedAt, open
	p.NextEvaluation = next.UpdatedAt.Add(p.Opening.Limits.Interval)
	return next, nil
}

// EvaluateBy moves the next evaluation of a closed gate forward to at, when time alone opens the
// gate. It does nothing if at is zero or later than the next evaluation.
func (r Run) EvaluateBy(at time.Time) Run {
	if !at.IsZero() && at.Before(r.Progress.NextEvaluation) {
		r.Progress.NextEvaluation = at.Round(0).UTC()
	}
	return r
}

// Wake raises the version of an attempt because something that it depends on has changed: a sensor
// was written, a slot became free, a pause ended. A decision based on the previous version then
// fails its compare-and-swap and is made again. A PENDING or offered attempt is evaluated now, but
// never before the end of a backoff or before schedule.time.
func (r Run) Wake(now time.Time) (Run, error) {
	if !r.Offered() && (r.Status == Triggering || r.Status == Running) {
		r.Version++
		return r, nil
	}
	next, err := r.stay("a wake-up", now, Pending, Triggering)
	if err != nil {
		return r, err
	}
	p := &next.Progress
	p.NextEvaluation = period.Earlier(p.NextEvaluation, period.Later(next.UpdatedAt, p.WindowStart))
	return next, nil
}

// Repeats reports whether the gate must be evaluated again before the job is started: a start was
// rejected and not repeated yet, or the attempt is offered.
func (r Run) Repeats() bool {
	return r.Status == Triggering && r.Progress.AskedAt.IsZero() && r.Progress.Held.Reason == ""
}

// WaitForSlot records that the gate is open but the pipeline has no free slot. The window and the
// time limit stop until the attempt starts, or until the gate is found closed.
func (r Run) WaitForSlot(now time.Time) (Run, error) {
	next, err := r.stay("the wait for a slot", now, Pending)
	if err != nil {
		return r, err
	}
	p := &next.Progress
	if !p.GateOpen {
		return r, fmt.Errorf("record the wait for a slot of run %s: its gate is not open", r.ID())
	}
	if p.WaitingSince.IsZero() {
		p.WaitingSince = next.UpdatedAt
	}
	p.GateOpen = false
	p.NextEvaluation = next.UpdatedAt.Add(p.Opening.Limits.Interval)
	return next, nil
}

// LeaveQueue records that an attempt which cannot be evaluated no longer waits for a slot. Its
// window and time limit continue.
func (r Run) LeaveQueue(now time.Time) (Run, error) {
	next, err := r.stay("the end of the wait for a slot", now, Pending)
	if err != nil {
		return r, err
	}
	next.Progress.shift(next.UpdatedAt)
	next.Progress.NextEvaluation = next.UpdatedAt.Add(next.Progress.Opening.Limits.Interval)
	return next, nil
}

// Start is stored before a start call is made.
type Start struct {
	Snapshot SnapshotID // the facts that the gate was evaluated on
	Degraded string     // the preferred sensors that the gate is open without, separated by commas
	Replica  string     // the replica that owns the job, if one does
	Learned  Learned    // how long the jobs of earlier runs took
}

// Trigger records that a start call is about to be made, the first or a repeated one. It consumes
// the open verdict: each start call needs its own evaluation. Without an open verdict or a snapshot
// it returns an error.
func (r Run) Trigger(s Start, now time.Time) (Run, error) {
	p := r.Progress
	if !p.GateOpen {
		return r, fmt.Errorf("start run %s: no evaluation has found its gate open since the last start call", r.ID())
	}
	if s.Snapshot == "" {
		return r, fmt.Errorf("start run %s: the snapshot its gate is open on is missing", r.ID())
	}
	var next Run
	var err error
	if r.Status == Triggering {
		next, err = r.stay("a repeated start", now, Triggering)
	} else {
		next, err = r.move(OnGateOpen, "gate open", now)
	}
	if err != nil {
		return r, err
	}
	p.shift(next.UpdatedAt)
	p.GateOpen = false
	p.Snapshot, p.Degraded, p.Replica, p.Learned = s.Snapshot, s.Degraded, s.Replica, s.Learned
	p.AskedAt, p.CalledAt, p.NextTry = next.UpdatedAt, next.UpdatedAt, time.Time{}
	p.StartTries++
	next.Progress = p
	return next, nil
}

// Refused records that the target rejected the start call, or certainly never received it. The call
// is repeated after a backoff, unless the failure is permanent or the tries are used up: then the
// attempt has failed.
func (r Run) Refused(why Report, now time.Time) (Run, error) {
	why.Result = ResultFail
	why, err := why.check()
	if err != nil {
		return r, fmt.Errorf("record a refused start of run %s: %w", r.ID(), err)
	}
	next, err := r.stay("a refused start", now, Triggering)
	if err != nil {
		return r, err
	}
	if r.Progress.AskedAt.IsZero() {
		return r, fmt.Errorf("record a refused start of run %s: no start call is unanswered", r.ID())
	}
	limits := r.Progress.Opening.Limits
	tries := r.Progress.StartTries - r.Progress.Postponed
	if why.Category == Permanent || tries >= limits.StartTries {
		if next, err = r.move(OnStartFailed, why.Message, now); err != nil {
			return r, err
		}
		why.At, why.Refused = next.UpdatedAt, true
		next.Progress.Report = why
	} else {
		next.Progress.NextTry = next.UpdatedAt.Add(backoff.Doubling{First: limits.StartBackoff, Most: maxStartBackoff}.After(tries))
	}
	next.Progress.AskedAt, next.Progress.Held = time.Time{}, Held{}
	return next, nil
}

// postponing is the backoff of a postponed start.
var postponing = backoff.Doubling{First: time.Second, Most: time.Minute}

// Postpone records that the controller could not make the start call for lack of its own resources.
// It is retried with a backoff until the attempt's time limit, and counts neither as a try nor
// against any budget.
func (r Run) Postpone(now time.Time) (Run, error) {
	next, err := r.stay("a postponed start", now, Triggering)
	if err != nil {
		return r, err
	}
	if r.Progress.AskedAt.IsZero() {
		return r, fmt.Errorf("postpone the start of run %s: no start call is unanswered", r.ID())
	}
	next.Progress.Postponed++
	next.Progress.NextTry = next.UpdatedAt.Add(postponing.After(next.Progress.Postponed))
	next.Progress.AskedAt, next.Progress.Held = time.Time{}, Held{}
	return next, nil
}

// Hold records a start call without a response that must not be repeated: an operator decides.
func (r Run) Hold(reason string, now time.Time) (Run, error) {
	next, err := r.stay("a held start", now, Triggering)
	if err != nil {
		return r, err
	}
	if reason == "" || r.Progress.AskedAt.IsZero() {
		return r, fmt.Errorf("hold run %s: want an unanswered start call and a reason, got %q", r.ID(), reason)
	}
	if r.Progress.Held.Reason == "" {
		next.Progress.Held = Held{Reason: reason, Since: next.UpdatedAt}
	}
	return next, nil
}

// AskedInFuture reports whether the clock was set back since the start call was made: then the stored
// instant says nothing about how long ago that was.
func (r Run) AskedInFuture(now time.Time) bool {
	return r.Progress.AskedAt.After(now) || r.Progress.CalledAt.After(now)
}

// AskedNow makes every wait for the start call count from now. See AskedInFuture.
func (r Run) AskedNow(now time.Time) (Run, error) {
	if !r.AskedInFuture(now) {
		return r, fmt.Errorf("move the start call of run %s: it was made at %s", r.ID(), period.Stamp(r.Progress.CalledAt))
	}
	next := r.touch(now)
	next.Progress.CalledAt = next.UpdatedAt
	if !r.Progress.AskedAt.IsZero() {
		next.Progress.AskedAt = next.UpdatedAt
	}
	return next, nil
}

// Started records that the target accepted the job: it answered a start call of this attempt, or
// the job was found after the response was lost. The answer may come late, when the start is about
// to be repeated or the gate has closed again. A pipeline without a job has no handle.
func (r Run) Started(h Handle, now time.Time) (Run, error) {
	if r.Progress.StartTries == 0 || r.Offered() {
		return r, fmt.Errorf("record the start of run %s: no start call was made", r.ID())
	}
	next, err := r.move(OnStarted, "job started", now)
	if err != nil {
		return r, err
	}
	p, limits := &next.Progress, r.Progress.Opening.Limits
	p.shift(next.UpdatedAt)
	p.GateOpen, p.NextTry = false, time.Time{}
	p.AskedAt, p.Held, p.Unanswered = time.Time{}, Held{}, false
	p.Handle, p.StartedAt = h, next.UpdatedAt
	p.NextPoll = next.UpdatedAt.Add(limits.PollInterval)
	p.PollEnd = next.UpdatedAt.Add(limits.PollWindow)
	return next, nil
}

// Polled records a poll that found the job running.
func (r Run) Polled(now time.Time) (Run, error) {
	next, err := r.polled(now)
	if err != nil {
		return r, err
	}
	next.Reason, next.Progress.Unread = "the job is running", Unread{}
	return next, nil
}

// PollFailed records a poll that could not read the job's status. The job may still be running.
func (r Run) PollFailed(reason string, now time.Time) (Run, error) {
	next, err := r.polled(now)
	if err != nil {
		return r, err
	}
	u := &next.Progress.Unread
	if u.Polls == 0 {
		u.Since = next.UpdatedAt
	}
	u.Polls++
	u.Reason = reason
	next.Reason = "the job's status could not be read: " + reason
	return next, nil
}

func (r Run) polled(now time.Time) (Run, error) {
	next, err := r.stay("a poll", now, Running)
	if err != nil {
		return r, err
	}
	next.Progress.LastPoll = next.UpdatedAt
	next.Progress.NextPoll = next.UpdatedAt.Add(max(r.Progress.Opening.Limits.PollInterval, leastInterval))
	return next, nil
}
