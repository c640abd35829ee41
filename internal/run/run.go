// Package run is the state machine of a run: one pipeline, one schedule, one period of data.
//
// The life of a run. Something opens it (a cron fire, a sensor write that meets the start
// condition, an upstream, an operator) and it is PENDING: attempt 1 waits for its gate. The gate is
// evaluated at once, then each interval and whenever a sensor is written, until its window ends; if
// it stays closed, the run becomes VALIDATION_EXHAUSTED. Once the gate is open, the run becomes
// TRIGGERING, stored together with the snapshot of the gate. Then the start call is made with the
// attempt's id as idempotency key, and the run becomes RUNNING with the job's handle. The job is
// polled each poll interval until it has a result: COMPLETED, or FAILED, which becomes either
// attempt 2 (PENDING again, after a backoff) or FAILED_FINAL. An ended run continues only with a
// further attempt: by a rerun, or by the reopening of an exhausted window. Status draws the
// transitions. Package lifecycle decides what an open attempt does next, and when; package rerun
// decides whether another attempt may be opened.
//
// A Run is a plain value, one row in a store. Every change to it is a method that returns the
// changed value with a higher version, or an error and nothing changed; a store writes it by
// compare-and-swap on the version that was read. The package never reads a clock, starts or stores
// anything.
package run

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Run is the whole state of a run, and enough to decide its next step. It holds no pointers: a copy
// is independent, and two runs are the same if they are ==.
type Run struct {
	Key

	// Version grows by one with every change. A commit that makes several changes at once compares
	// with the version it read, not with the one before the last change.
	Version int64  `json:"version"`
	Status  Status `json:"status"`           // only the methods of this package change it
	Reason  string `json:"reason,omitempty"` // why it has that status, as text

	Attempt   int       `json:"attempt"` // the latest; 0 for a run that closed before any was opened
	OpenedAt  time.Time `json:"openedAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`

	Counters Counters `json:"counters"`
	Progress Progress `json:"progress"`

	// DryRun marks a run that never starts its job. It is stored apart from other runs, so that no list
	// of runs has it.
	DryRun bool `json:"dryRun,omitempty"`

	// StartDeadlinePassed marks a run that the deadline of its start condition closed: no write
	// reopens it.
	StartDeadlinePassed bool `json:"startDeadlinePassed,omitempty"`
}

// ID returns the id of the latest attempt.
func (r Run) ID() AttemptID { return r.Key.Attempt(r.Attempt) }

// Life identifies one life of a dry run's attempt: once its row is deleted, the same period may have
// another.
func (r Run) Life() string {
	return fmt.Sprintf("%s@%s", r.ID(), r.OpenedAt.UTC().Format(time.RFC3339Nano))
}

// Settled reports whether the job of attempt n needs no more calls: its result is stored, or it has
// none, and according to its target it no longer runs.
func (r Run) Settled(n int) bool {
	if r.Attempt != n {
		return r.Attempt > n
	}
	return (r.Progress.Report.Result != "" || !r.Status.Open()) && !r.Progress.Left.MayRun()
}

// MayHaveJob reports whether the latest attempt may have a job that has not ended: it runs, a start
// call had no answer, or the attempt ended without the job's result. A cancel, a reopening, a
// rerun, a trigger and the attempt's end all depend on it: while it is true, no other job of the
// run may be started automatically.
func (r Run) MayHaveJob() bool {
	p := r.Progress
	if p.Report.Result != "" && !p.Report.Refused {
		return false
	}
	return r.Status == Running || r.MayHaveStarted() || p.Left.MayRun()
}

// MayHaveStarted reports whether a start call of the latest attempt, which has not been recorded as
// started, had no answer.
func (r Run) MayHaveStarted() bool {
	return (r.Status == Triggering || r.Status == Pending) && (!r.Progress.AskedAt.IsZero() || r.Progress.Unanswered)
}

// HoldsSlot reports whether the latest attempt counts towards the pipeline's limit of jobs: it has
// a job or is about to start one, a start call had no answer, or its job is being stopped.
func (r Run) HoldsSlot() bool {
	switch r.Status {
	case Triggering, Running:
		return true
	case Pending:
		return r.MayHaveJob()
	default:
		return r.Progress.Left == JobStopping
	}
}

// EndSnapshot returns the id of the stored facts on which the end of the latest attempt was
// decided.
func (r Run) EndSnapshot() SnapshotID { return SnapshotID(r.ID() + "/end") }

// Verdict reports whether the gate was open, and whether it was evaluated in the run's last change.
func (r Run) Verdict() (open, looked bool) {
	p := r.Progress
	return p.GateOpen || r.Status == Triggering, !p.LastEvaluation.IsZero() && p.LastEvaluation.Equal(r.UpdatedAt)
}

// Opening describes why and how an attempt is opened.
type Opening struct {
	Cause  Cause  `json:"cause"`
	By     string `json:"by,omitempty"`     // who requested it, if anyone
	Reason string `json:"reason,omitempty"` // the reason they gave

	Forced       bool `json:"forced,omitempty"`       // circuit breaker and budget were skipped
	GateBypassed bool `json:"gateBypassed,omitempty"` // the gate counts as open, whatever its rules say

	ConfigVersion string    `json:"configVersion,omitempty"`
	Limits        Limits    `json:"limits"`
	At            time.Time `json:"at"`             // when it is opened
	From          time.Time `json:"from,omitzero"`  // when its window starts, if later: schedule.time, a backoff
	Until         time.Time `json:"until,omitzero"` // when it must not start any more: schedule.trigger.deadline. Zero without one, and if Requested

	// Requested means that an operator requested the attempt or it is a rerun, or that it retries one
	// of these. All others are automatic.
	Requested bool `json:"requested,omitempty"`
}

// StartBy returns at or, if that is earlier, the instant from which the attempt must not start.
func (o Opening) StartBy(at time.Time) time.Time {
	if o.Until.IsZero() {
		return at
	}
	return period.Earlier(at, o.Until)
}

// TooLate reports whether the attempt must not start at now any more.
func (o Opening) TooLate(now time.Time) bool { return !o.Until.IsZero() && !now.Before(o.Until) }

// RetryTooLate reports whether the attempt is the retry of a failed one, and must not start at now any
// more.
func (o Opening) RetryTooLate(now time.Time) bool {
	on, _ := o.Cause.on()
	return on == OnRetry && o.TooLate(now)
}

// Handle is the job type's id of a job. Only the job type interprets it.
type Handle string

// SnapshotID refers to stored facts: those on which a gate was evaluated, or those on which an
// attempt ended.
type SnapshotID string

// Held is a start call with an unknown outcome, which must not be repeated blindly.
type Held struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// Progress is the state of the latest attempt. A new attempt begins with a new one, so nothing of
// an earlier attempt affects it.
type Progress struct {
	Opening Opening `json:"opening"`

	WindowStart    time.Time `json:"windowStart,omitzero"`
	WindowEnd      time.Time `json:"windowEnd,omitzero"`
	LimitAt        time.Time `json:"limitAt,omitzero"`        // the attempt's overall time limit
	NextEvaluation time.Time `json:"nextEvaluation,omitzero"` // also the end of an open verdict; the window may end before
	LastEvaluation time.Time `json:"lastEvaluation,omitzero"`
	GateOpen       bool      `json:"gateOpen,omitempty"` // the last verdict, until a start consumes it

	// WaitingSince is set while the gate is open but no slot is free. The window and the time limit
	// stop meanwhile.
	WaitingSince time.Time `json:"waitingSince,omitzero"`

	Snapshot   SnapshotID `json:"snapshot,omitempty"`
	Degraded   string     `json:"degraded,omitempty"`   // the preferred sensors that the snapshot lacks, separated by commas
	Replica    string     `json:"replica,omitempty"`    // the only replica that may handle the job, if there is one
	StartTries int        `json:"startTries,omitempty"` // start calls made
	Postponed  int        `json:"postponed,omitempty"`  // start calls that the controller could not make for lack of its own resources
	AskedAt    time.Time  `json:"askedAt,omitzero"`     // set while a start call has no response
	CalledAt   time.Time  `json:"calledAt,omitzero"`    // when the last start call was announced, whatever its response
	NextTry    time.Time  `json:"nextTry,omitzero"`     // when a rejected start may be repeated
	Unanswered bool       `json:"unanswered,omitempty"` // an earlier start call had no response, and its job may exist
	Held       Held       `json:"held,omitzero"`
	Offer      Offer      `json:"offer,omitzero"` // set if an external worker runs the job

	Handle    Handle    `json:"handle,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	NextPoll  time.Time `json:"nextPoll,omitzero"`
	LastPoll  time.Time `json:"lastPoll,omitzero"`
	PollEnd   time.Time `json:"pollEnd,omitzero"`
	Learned   Learned   `json:"learned,omitzero"` // how long the jobs of earlier runs took, if polls may be left out
	Unread    Unread    `json:"unread,omitzero"`

	Report Report   `json:"report,omitzero"` // the job's result; zero until it has one
	Left   Leftover `json:"left,omitempty"`
}

// Unread describes a job whose status could not be read, since the first of the failed polls in a
// row. The zero Unread means that the last poll succeeded.
type Unread struct {
	Since  time.Time `json:"since"`
	Polls  int       `json:"polls"` // how many in a row
	Reason string    `json:"reason"`
}

// Leftover is the state of the job of an attempt that ended without its result.
type Leftover string

// The states of a left job. A job that was asked to stop counts as running until its target says
// otherwise: until then the stop is repeated, and the job keeps its slot.
const (
	NothingLeft Leftover = ""
	JobStopped  Leftover = "stopped"       // its target reports that it has ended
	JobStopping Leftover = "stopping"      // its target has not reported the end yet
	JobMayRun   Leftover = "may still run" // it cannot be stopped, or its target cannot be reached
)

// MayRun reports whether the job may still run: a rerun must first check its status.
func (l Leftover) MayRun() bool { return l == JobStopping || l == JobMayRun }

// shift moves the window and the time limit by the time that the attempt waited for a slot. The
// window never extends beyond the instant from which the attempt must not start.
func (p *Progress) shift(now time.Time) {
	if p.WaitingSince.IsZero() {
		return
	}
	if waited := now.Sub(p.WaitingSince); waited > 0 {
		p.WindowEnd = p.Opening.StartBy(p.WindowEnd.Add(waited))
		p.LimitAt = p.LimitAt.Add(waited)
	}
	p.WaitingSince = time.Time{}
}

// Limits are the limits of an attempt. They are copied from its config version when it opens, so
// that an edit of the file never changes an open window.
type Limits struct {
	Window        time.Duration `json:"window"`                  // how long the gate is evaluated
	Interval      time.Duration `json:"interval"`                // the interval between evaluations
	PollInterval  time.Duration `json:"pollInterval"`            // the interval between polls of the job; 0: its result is only reported
	PollWindow    time.Duration `json:"pollWindow"`              // how long the job is polled
	LearnPolls    bool          `json:"learnPolls,omitempty"`    // polls before the job usually ends are left out
	Heartbeat     time.Duration `json:"heartbeat,omitempty"`     // how long an external worker may be silent; 0: no limit
	StopOnSilence bool          `json:"stopOnSilence,omitempty"` // the worker ends its command when it cannot report
	RunTimeout    time.Duration `json:"runTimeout"`              // the server's limit for a whole attempt
	StartTries    int           `json:"startTries"`              // the most start calls, including the first
	StartBackoff  time.Duration `json:"startBackoff"`            // the wait after the first rejection, doubled after each
}

const (
	slack           = 30 * time.Minute
	maxStartBackoff = 15 * time.Minute
	leastInterval   = time.Second
	longest         = 10 * 366 * 24 * time.Hour // keeps sums of limits far from overflow
)

// TimeLimit returns how long a whole attempt may take: the server's limit or, if that is more, the
// window plus the poll window plus half an hour.
func (l Limits) TimeLimit() time.Duration {
	l = l.bounded()
	return max(l.RunTimeout, l.Window+l.PollWindow+slack)
}

// bounded clamps limits that no valid file can contain, so that every attempt ends and no loop
// spins.
func (l Limits) bounded() Limits {
	within := func(d, least time.Duration) time.Duration { return min(max(d, least), longest) }
	l.Interval = within(l.Interval, leastInterval)
	l.Window = within(l.Window, l.Interval)
	if l.PollInterval != 0 {
		l.PollInterval = within(l.PollInterval, leastInterval)
	}
	l.PollWindow = within(l.PollWindow, l.PollInterval)
	l.Heartbeat = within(l.Heartbeat, 0)
	l.RunTimeout = within(l.RunTimeout, 0)
	l.StartTries = min(max(l.StartTries, 1), 1000)
	l.StartBackoff = within(l.StartBackoff, 0)
	return l
}
