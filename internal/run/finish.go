package run

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Reported records the job's result; Complete acts on it. The first result counts. A result of
// another attempt, or of an attempt that does not wait for one, changes nothing.
func (r Run) Reported(o Outcome, now time.Time) (Run, error) {
	if o.Key != r.Key || o.Attempt != r.Attempt {
		return r, fmt.Errorf("record the result of %s: run %s is at attempt %d", o.Key.Attempt(o.Attempt), r.Key, r.Attempt)
	}
	rep, err := o.check()
	if err != nil {
		return r, fmt.Errorf("record the result of %s: %w", r.ID(), err)
	}
	next, err := r.stay("the result", now, Triggering, Running, Pending)
	if err != nil {
		return r, err
	}
	if r.Status == Pending && !r.MayHaveJob() {
		return r, fmt.Errorf("record the result of %s: it has not started", r.ID())
	}
	if old := r.Progress.Report.Result; old != "" {
		return r, fmt.Errorf("record the result of %s: it already has one, %s", r.ID(), old)
	}
	if rep.At.IsZero() || rep.At.After(now) {
		rep.At = now
	}
	rep.At = period.Later(period.Instant(rep.At), r.Progress.Opening.At)
	next.Progress.Report = rep
	return next, nil
}

// Complete moves a run with a reported result to COMPLETED or FAILED. The commit that stores it
// also closes the run's deadlines.
func (r Run) Complete(now time.Time) (Run, error) {
	rep := r.Progress.Report
	on := OnFailed
	switch rep.Result {
	case ResultSuccess:
		on = OnSucceeded
	case ResultFail, ResultTimeout:
	default:
		return r, fmt.Errorf("complete run %s: its job has no result yet", r.ID())
	}
	next, err := r.move(on, rep.Message, now)
	if err != nil {
		return r, err
	}
	next.Progress.AskedAt, next.Progress.Held = time.Time{}, Held{}
	return next, nil
}

// SucceededAt returns when the success of the latest attempt was acknowledged, which may be long
// before the run is completed; zero without a success. Deadlines are judged by it.
func (r Run) SucceededAt() time.Time {
	rep := r.Progress.Report
	switch {
	case r.Status == Completed && (rep.At.IsZero() || rep.At.After(r.EndedAt)):
		return r.EndedAt
	case r.Status == Completed, rep.Result == ResultSuccess && r.Status.Open():
		return rep.At
	}
	return time.Time{}
}

// Exhausted ends a run whose gate stayed closed for its whole window, or whose offer no worker
// claimed. left is the state of the job of a start call without an answer.
func (r Run) Exhausted(reason string, left Leftover, now time.Time) (Run, error) {
	if r.Status == Triggering {
		if !r.Offered() {
			return r, r.refuse(OnWindowClosed)
		}
		reason = unclaimed
	}
	next, err := r.move(OnWindowClosed, reason, now)
	if err != nil {
		return r, err
	}
	next.Progress.leave(r, left)
	return next, nil
}

// EndedInPause reports whether the window of r ended during a pause: without one, the gate is
// evaluated once more at the end of the window, so the last evaluation is not before it.
func (r Run) EndedInPause() bool {
	return r.Status == ValidationExhausted && !r.StartDeadlinePassed && !r.Unclaimed() && r.Progress.WaitingSince.IsZero() && r.Progress.LastEvaluation.Before(r.Progress.WindowEnd)
}

// PollExhausted records that the job had no result within its poll window. FAILED_FINAL follows;
// see GiveUp.
func (r Run) PollExhausted(left Leftover, now time.Time) (Run, error) {
	next, err := r.move(OnPollWindow, "no result within the poll window", now)
	if err != nil {
		return r, err
	}
	next.Progress.Left = left
	return next, nil
}

// GiveUp ends a failed run that gets no further attempt automatically, or whose retry must not start
// any more.
func (r Run) GiveUp(reason string, now time.Time) (Run, error) {
	if r.Status == JobPollExhausted || r.Status == Pending || r.Offered() {
		return r.move(OnGivenUp, reason, now)
	}
	return r.move(OnBudgetSpent, reason, now)
}

const pastLimit = "past its time limit"

// TimedOut reports whether the run ended because an attempt exceeded its overall time limit.
func (r Run) TimedOut() bool { return r.Status == FailedFinal && r.Reason == pastLimit }

// TimeOut ends an attempt that has exceeded its overall time limit.
func (r Run) TimeOut(left Leftover, now time.Time) (Run, error) {
	next, err := r.move(OnTimeLimit, pastLimit, now)
	if err != nil {
		return r, err
	}
	next.Progress.leave(r, left)
	return next, nil
}

// Cancel ends an open run on an operator's request. The commit that stores it also cancels the
// run's deadlines.
func (r Run) Cancel(by, why string, left Leftover, now time.Time) (Run, error) {
	next, err := r.move(OnCancelled, fmt.Sprintf("cancelled by %s: %s", by, why), now)
	if err != nil {
		return r, err
	}
	next.Progress.leave(r, left)
	return next, nil
}

// SettleLeft records the end of a job that an ended attempt left running: its target reports that
// it has ended, or its state can no longer be read. Nothing else follows from it.
func (r Run) SettleLeft(left Leftover, now time.Time) (Run, error) {
	if !r.Progress.Left.MayRun() || left == JobStopping {
		return r, fmt.Errorf("record that the job of run %s is %q: it is %q", r.ID(), left, r.Progress.Left)
	}
	next := r.touch(now)
	next.Progress.Left = left
	return next, nil
}

// LeftStarted records the response to a start call that arrived after its attempt had ended: the
// job runs, and must be stopped. A failed run is not retried before.
func (r Run) LeftStarted(h Handle, now time.Time) (Run, error) {
	if !r.Status.Ended() && r.Status != Failed || !r.Progress.StartedAt.IsZero() || r.Progress.StartTries == 0 {
		return r, fmt.Errorf("record the start of run %s: it is %s, and no start call of it is unanswered", r.ID(), r.Status)
	}
	next := r.touch(now)
	next.Progress.Handle, next.Progress.StartedAt, next.Progress.Left = h, next.UpdatedAt, JobStopping
	return next, nil
}

// leave records the state of the job of r, whose result is no longer awaited.
func (p *Progress) leave(r Run, left Leftover) {
	if r.MayHaveJob() {
		p.Left = left
	}
}
