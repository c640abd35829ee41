package run

import "time"

// Phase is finer than Status: it says what an open run waits for.
type Phase string

// The phases of a run.
const (
	Waiting        Phase = "waiting"       // PENDING: for its gate
	NotDue         Phase = "not-due"       // PENDING: its window begins later, at schedule.time
	Backoff        Phase = "backoff"       // PENDING: a retry whose backoff is not over
	WaitingForSlot Phase = "max-active"    // PENDING: its gate is open, but no slot is free
	Starting       Phase = "starting"      // TRIGGERING: a start call is being made
	Offering       Phase = "offered"       // TRIGGERING: no worker has claimed it yet
	StartRefused   Phase = "start-refused" // TRIGGERING: the target rejected the start, which is repeated
	StartHeld      Phase = "held"          // TRIGGERING: it is unknown whether the job was started
	JobRunning     Phase = "running"       // RUNNING
	StatusUnread   Phase = "status-unread" // RUNNING: several polls in a row could not read the job's status
	Settling       Phase = "settling"      // FAILED, JOB_POLL_EXHAUSTED: the retry decision is pending
	Done           Phase = "completed"     // COMPLETED
	FailedForGood  Phase = "failed"        // FAILED_FINAL
	GateClosed     Phase = "exhausted"     // VALIDATION_EXHAUSTED
	CalledOff      Phase = "cancelled"     // CANCELLED
)

// UnreadPolls is how many polls in a row must fail before a job's status counts as unread.
const UnreadPolls = 3

// Phase returns the phase of r at now.
func (r Run) Phase(now time.Time) Phase {
	p := r.Progress
	switch r.Status {
	case Pending:
		return p.pending(r.Attempt, now)
	case Triggering:
		switch {
		case r.Offered():
			return Offering
		case p.Held.Reason != "":
			return StartHeld
		case !p.NextTry.IsZero():
			return StartRefused
		}
		return Starting
	case Running:
		if p.Unread.Polls >= UnreadPolls {
			return StatusUnread
		}
		return JobRunning
	case Completed:
		return Done
	case FailedFinal:
		return FailedForGood
	case ValidationExhausted:
		return GateClosed
	case Cancelled:
		return CalledOff
	case Failed, JobPollExhausted:
	}
	return Settling
}

func (p Progress) pending(attempt int, now time.Time) Phase {
	switch {
	case !p.WaitingSince.IsZero():
		return WaitingForSlot
	case !now.Before(p.WindowStart):
		return Waiting
	case attempt > 1:
		return Backoff
	}
	return NotDue
}
