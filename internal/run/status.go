package run

import (
	"time"
)

// Status is the state of a run. Every arrow below is a row of transitions, and no other is
// possible:
//
//	(no run) ──opened──> PENDING ──gate open──> TRIGGERING ──started──> RUNNING ──succeeded──> COMPLETED
//	                     PENDING ──started──> RUNNING
//	                     PENDING ──succeeded──> COMPLETED
//	                     PENDING ──failed──> FAILED
//	(no run) ──start deadline──> VALIDATION_EXHAUSTED
//
//	PENDING ──window closed──> VALIDATION_EXHAUSTED ──reopened──> PENDING
//	PENDING ──given up──> FAILED_FINAL
//	TRIGGERING ──given up──> FAILED_FINAL
//	TRIGGERING ──gate closed──> PENDING
//	TRIGGERING ──window closed──> VALIDATION_EXHAUSTED
//	TRIGGERING ──succeeded──> COMPLETED
//	TRIGGERING ──start failed──> FAILED
//	TRIGGERING ──failed──> FAILED
//	RUNNING ──failed──> FAILED ──retry──> PENDING
//	FAILED ──budget spent──> FAILED_FINAL
//	RUNNING ──poll window over──> JOB_POLL_EXHAUSTED ──given up──> FAILED_FINAL
//
//	any open state ──cancelled──> CANCELLED
//	PENDING ──time limit──> FAILED_FINAL
//	TRIGGERING ──time limit──> FAILED_FINAL
//	RUNNING ──time limit──> FAILED_FINAL
//	JOB_POLL_EXHAUSTED ──time limit──> FAILED_FINAL
//	any ended state ──rerun──> PENDING
//
// retry, rerun and reopened begin attempt+1; gate closed stays in the same attempt, because the
// gate is evaluated again before a start is repeated. TRIGGERING reaches a result directly if the
// start call is the job itself, or if an operator reports one for a held start. PENDING reaches
// RUNNING or a result directly if a start call of the attempt had no answer (see MayHaveJob) and
// its job turns up after the gate has closed. A window closes on TRIGGERING if the attempt was
// offered and no worker claimed it.
type Status string

// The states of a run. COMPLETED, FAILED_FINAL, VALIDATION_EXHAUSTED and CANCELLED end it.
const (
	Pending             Status = "PENDING"              // waiting for its gate
	Triggering          Status = "TRIGGERING"           // its job is being started, or waits for a worker to claim it
	Running             Status = "RUNNING"              // its job runs
	Completed           Status = "COMPLETED"            // its job succeeded
	Failed              Status = "FAILED"               // its job failed; the retry decision is pending
	FailedFinal         Status = "FAILED_FINAL"         // failed, and no budget allows another attempt
	JobPollExhausted    Status = "JOB_POLL_EXHAUSTED"   // its job had no result within the poll window
	ValidationExhausted Status = "VALIDATION_EXHAUSTED" // its gate did not open within the window
	Cancelled           Status = "CANCELLED"            // an operator ended it
)

// noRun is the status of the zero Run: there is no such run yet.
const noRun Status = ""

// Ended reports whether the run has ended: nothing more happens to it automatically.
func (s Status) Ended() bool {
	switch s {
	case Completed, FailedFinal, ValidationExhausted, Cancelled:
		return true
	default:
		return false
	}
}

// Open reports whether the run exists and has not ended.
func (s Status) Open() bool {
	switch s {
	case Pending, Triggering, Running, Failed, JobPollExhausted:
		return true
	default:
		return false
	}
}

// Statuses lists every state, in the order in which a run may pass through them.
func Statuses() []Status {
	return []Status{
		Pending, Triggering, Running, Completed, Failed, FailedFinal,
		JobPollExhausted, ValidationExhausted, Cancelled,
	}
}

// On is an event in the life of a run.
type On string

// The events. Each leads to one target state, from any state.
const (
	OnOpened        On = "opened"           // a fire, a start condition, an upstream or an operator
	OnStartDeadline On = "start deadline"   // the start condition was not met in time: closed without an attempt
	OnGateOpen      On = "gate open"        // the gate is open and the start call is about to be made
	OnGateClosed    On = "gate closed"      // it closed again before the start was repeated
	OnWindowClosed  On = "window closed"    // the last evaluation of the window found it closed, or no worker claimed the offer
	OnStarted       On = "started"          // the target accepted the job, or a worker claimed it
	OnStartFailed   On = "start failed"     // the target rejected it permanently, or too often
	OnSucceeded     On = "succeeded"        // the job's result
	OnFailed        On = "failed"           // the job's result
	OnPollWindow    On = "poll window over" // no result in time
	OnGivenUp       On = "given up"         // follows poll window over, or a retry is too late to start
	OnRetry         On = "retry"            // the failure's budget allows another attempt
	OnBudgetSpent   On = "budget spent"     // it does not
	OnCancelled     On = "cancelled"        // an operator
	OnTimeLimit     On = "time limit"       // the attempt's overall limit
	OnRerun         On = "rerun"            // a request, drift, late data, an upstream
	OnReopened      On = "reopened"         // a changed write met the start condition after the window
)

// Transition is one arrow of the state machine. From is empty for a run that does not exist yet.
type Transition struct {
	From, To Status
	On       On
}

// transitions is the whole state machine.
var transitions = []Transition{
	{noRun, Pending, OnOpened},
	{noRun, ValidationExhausted, OnStartDeadline},

	{Pending, Triggering, OnGateOpen},
	{Pending, ValidationExhausted, OnWindowClosed},
	{Pending, FailedFinal, OnGivenUp},
	{Pending, Running, OnStarted},
	{Pending, Completed, OnSucceeded},
	{Pending, Failed, OnFailed},
	{Triggering, FailedFinal, OnGivenUp},
	{Triggering, Pending, OnGateClosed},
	{Triggering, ValidationExhausted, OnWindowClosed},
	{Triggering, Running, OnStarted},
	{Triggering, Failed, OnStartFailed},
	{Triggering, Completed, OnSucceeded},
	{Triggering, Failed, OnFailed},
	{Running, Completed, OnSucceeded},
	{Running, Failed, OnFailed},
	{Running, JobPollExhausted, OnPollWindow},
	{Failed, Pending, OnRetry},
	{Failed, FailedFinal, OnBudgetSpent},
	{JobPollExhausted, FailedFinal, OnGivenUp},

	{Pending, Cancelled, OnCancelled},
	{Triggering, Cancelled, OnCancelled},
	{Running, Cancelled, OnCancelled},
	{Failed, Cancelled, OnCancelled},
	{JobPollExhausted, Cancelled, OnCancelled},

	{Pending, FailedFinal, OnTimeLimit},
	{Triggering, FailedFinal, OnTimeLimit},
	{Running, FailedFinal, OnTimeLimit},
	{JobPollExhausted, FailedFinal, OnTimeLimit},

	{Completed, Pending, OnRerun},
	{FailedFinal, Pending, OnRerun},
	{ValidationExhausted, Pending, OnRerun},
	{Cancelled, Pending, OnRerun},
	{ValidationExhausted, Pending, OnReopened},
}

// target returns the state that on leads to from a state.
func target(from Status, on On) (Status, bool) {
	for _, t := range transitions {
		if t.From == from && t.On == on {
			return t.To, true
		}
	}
	return "", false
}

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
