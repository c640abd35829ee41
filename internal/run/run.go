// Package run is the unit that is done or not done: one pipeline, one schedule, one period of data.
//
// The life of a run. Something opens it (a cron fire, a sensor write that meets the start condition, an
// upstream, an operator) and it is PENDING: attempt 1 waits for its gate. The gate is evaluated at once,
// then each interval and whenever a sensor is written, until its window ends; closed to the end is
// VALIDATION_EXHAUSTED. Once open, the run becomes TRIGGERING together with the snapshot it was open on,
// the start call is made with the attempt's id as idempotency key, and the run becomes RUNNING with the
// job's handle. The job is looked at each poll interval until it has a result: COMPLETED, or FAILED, which
// becomes either attempt 2 (PENDING again, after a backoff) or FAILED_FINAL. An ended run comes back only
// as a further attempt: by a rerun, or by the reopening of an exhausted window. The arrows are drawn at
// Status; what an open attempt does next, and when, is decided in package lifecycle; whether another
// attempt may be opened, in package rerun.
//
// A Run is a plain value, one row in a store. Every change to it is a method that returns the changed
// value with a higher version, or an error and nothing changed; a store writes it by compare-and-swap on
// the version that was read. The package never reads a clock, starts or stores anything.
package run

import "time"

// Run is everything that is known of a run, and enough to decide its next step. It holds no pointers: a
// copy is independent, and two runs are the same if they are ==.
type Run struct {
	Key

	// Version grows by one with every change. A commit that makes several changes at once swaps the
	// version it read, not the last but one.
	Version int64  `json:"version"`
	Status  Status `json:"status"`           // only the methods of this package change it
	Reason  string `json:"reason,omitempty"` // why it has that status, for people

	Attempt   int       `json:"attempt"` // the latest; 0 for a run closed before any was opened
	OpenedAt  time.Time `json:"openedAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	EndedAt   time.Time `json:"endedAt,omitzero"`

	Counters Counters `json:"counters"`
	Progress Progress `json:"progress"`

	// StartDeadlinePassed marks a run that its start condition's deadline closed: no write reopens it.
	StartDeadlinePassed bool `json:"startDeadlinePassed,omitempty"`
}

// ID names the latest attempt.
func (r Run) ID() AttemptID { return r.Key.Attempt(r.Attempt) }

// Settled reports whether nothing more will be asked about the job of attempt n: its result is stored, or it has none, and it
// does not run any more as far as its target says.
func (r Run) Settled(n int) bool {
	if r.Attempt != n {
		return r.Attempt > n
	}
	return (r.Progress.Report.Result != "" || !r.Status.Open()) && !r.Progress.Left.MayRun()
}

// EndSnapshot names the stored facts that the end of the latest attempt was decided on.
func (r Run) EndSnapshot() SnapshotID { return SnapshotID(r.ID() + "/end") }

// Verdict says that the gate was looked at when the run was last changed, and whether it was open.
func (r Run) Verdict() (open, looked bool) {
	p := r.Progress
	return p.GateOpen || r.Status == Triggering, !p.LastEvaluation.IsZero() && p.LastEvaluation.Equal(r.UpdatedAt)
}

// Opening is why and how an attempt is opened.
type Opening struct {
	Cause  Cause  `json:"cause"`
	By     string `json:"by,omitempty"`     // who asked, where somebody did
	Reason string `json:"reason,omitempty"` // why, in their words

	Forced       bool `json:"forced,omitempty"`       // breaker and budget were skipped
	GateBypassed bool `json:"gateBypassed,omitempty"` // the gate counts as open whatever it says

	ConfigVersion string    `json:"configVersion,omitempty"`
	Limits        Limits    `json:"limits"`
	At            time.Time `json:"at"`            // when it is opened
	From          time.Time `json:"from,omitzero"` // when its window starts, if later: schedule.time, a backoff
}

// Handle is how a job type finds its job again. Its text is the job type's own business.
type Handle string

// SnapshotID refers to stored facts: those on which a gate was open, or those on which an attempt ended.
type SnapshotID string

// Held is a start that nobody can tell the fate of and that must not be repeated blindly.
type Held struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// Progress is what the latest attempt has been given and has done. A new attempt begins with a new one, so
// nothing of an old try can judge the next.
type Progress struct {
	Opening Opening `json:"opening"`

	WindowStart    time.Time `json:"windowStart,omitzero"`
	WindowEnd      time.Time `json:"windowEnd,omitzero"`
	LimitAt        time.Time `json:"limitAt,omitzero"`        // the attempt's overall time limit
	NextEvaluation time.Time `json:"nextEvaluation,omitzero"` // and until when an open verdict holds; the window may end before
	LastEvaluation time.Time `json:"lastEvaluation,omitzero"`
	GateOpen       bool      `json:"gateOpen,omitempty"` // the last verdict, until a start uses it up

	// WaitingSince is set while the gate is open but no slot is free. Window and time limit stand still.
	WaitingSince time.Time `json:"waitingSince,omitzero"`

	Snapshot   SnapshotID `json:"snapshot,omitempty"`
	Degraded   string     `json:"degraded,omitempty"`   // the preferred sensors that the snapshot lacks, separated by commas
	Replica    string     `json:"replica,omitempty"`    // the one replica that may handle the job, where there is one
	StartTries int        `json:"startTries,omitempty"` // start calls made
	Postponed  int        `json:"postponed,omitempty"`  // start calls that the controller could not make for lack of its own resources
	AskedAt    time.Time  `json:"askedAt,omitzero"`     // a start call was made and its answer is not known
	NextTry    time.Time  `json:"nextTry,omitzero"`     // when a refused start may be repeated
	Unanswered bool       `json:"unanswered,omitempty"` // an earlier start call had no answer, and its job may exist
	Held       Held       `json:"held,omitzero"`
	Offer      Offer      `json:"offer,omitzero"` // where a worker outside runs the job

	Handle    Handle    `json:"handle,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	NextPoll  time.Time `json:"nextPoll,omitzero"`
	LastPoll  time.Time `json:"lastPoll,omitzero"`
	PollEnd   time.Time `json:"pollEnd,omitzero"`
	Unread    Unread    `json:"unread,omitzero"`

	Report Report   `json:"report,omitzero"` // the job's result, once there is one
	Left   Leftover `json:"left,omitempty"`
}

// Unread is a job whose status could not be read, since the first poll in a row that failed. The zero Unread means that the
// last poll succeeded.
type Unread struct {
	Since  time.Time `json:"since"`
	Polls  int       `json:"polls"` // how many in a row
	Reason string    `json:"reason"`
}

// Leftover says what became of the job of an attempt that ended without its result.
type Leftover string

// What may be left of a job. One that is asked to stop still runs until its target says otherwise: until then it is asked
// again, and keeps its slot.
const (
	NothingLeft Leftover = ""
	JobStopped  Leftover = "stopped"       // its target says that it has ended
	JobStopping Leftover = "stopping"      // its target has not said so yet
	JobMayRun   Leftover = "may still run" // it cannot be stopped, or its target cannot be asked
)

// MayRun says that the job may still run: a rerun must ask for its status first.
func (l Leftover) MayRun() bool { return l == JobStopping || l == JobMayRun }

// shift moves window and time limit by the time that the attempt waited for a slot.
func (p *Progress) shift(now time.Time) {
	if p.WaitingSince.IsZero() {
		return
	}
	if waited := now.Sub(p.WaitingSince); waited > 0 {
		p.WindowEnd = p.WindowEnd.Add(waited)
		p.LimitAt = p.LimitAt.Add(waited)
	}
	p.WaitingSince = time.Time{}
}
