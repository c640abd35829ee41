package store

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Task is a stored intention with a due time: something that must happen, and stays written down until it has. Its id
// says what, so that storing it twice is storing it once. What storing and finishing do to a task that somebody holds is
// said at Batch.Tasks.
type Task struct {
	ID       string      `json:"id"`
	Kind     TaskKind    `json:"kind"`
	Pipeline pipeline.ID `json:"pipeline"`
	Key      run.Key     `json:"key,omitzero"` // the run it is about, where there is one
	Due      time.Time   `json:"due"`
	// Replica, where it is set, is the only one that may claim the task; others only once it has been due for as long as
	// the claim says.
	Replica string `json:"replica,omitempty"`
	// Failures counts how often the task has failed in a row, and RetryAt is when it may be carried out again: see Failed.
	// Storing the task without them starts it afresh.
	Failures int       `json:"failures,omitempty"`
	RetryAt  time.Time `json:"retryAt,omitzero"`
	// Change is the change that a task of kind HandleChange is about.
	Change Change `json:"change,omitzero"`
	// Trace is the trace that the task belongs to: see WithTrace. Only steps of attempts have one.
	Trace string `json:"trace,omitempty"`
}

// Ready returns the instant from which the task may be carried out: its due time or, after a failure, the time of its
// next try. Wherever the contract says when a task is due, it means this instant.
func (t Task) Ready() time.Time {
	if t.RetryAt.After(t.Due) {
		return t.RetryAt
	}
	return t.Due
}

// TaskKind says which handler a task is for.
type TaskKind string

// The kinds of tasks.
const (
	Advance       TaskKind = "advance"        // the next step of a run's open attempt
	AdvanceDry    TaskKind = "advance-dry"    // the same for a dry run
	Fire          TaskKind = "fire"           // open the next period of a cron expression or include date
	Arm           TaskKind = "arm"            // arm the deadlines of the periods to come
	FireDeadline  TaskKind = "deadline"       // warn of, or breach, a run's deadlines
	CheckPostRun  TaskKind = "post-run"       // evaluate the post-run rules of a completed run again
	CheckLeft     TaskKind = "left"           // ask whether the job that an ended attempt left behind has ended
	ResumePaused  TaskKind = "resume"         // the end of a pause
	RunProbe      TaskKind = "probe"          // run an evaluator
	ReopenPeriods TaskKind = "reopen-periods" // after a pause or a change of the file: open what is due
	HandleChange  TaskKind = "change"         // handle a change that was set aside
	Deliver       TaskKind = "deliver"        // bring events to a sink; it is due once nobody has done so for long
	Turn          TaskKind = "turn"           // be the one process of several that does something; it is never due
)

// LeftTask asks again and again whether the job that r has left behind has ended. If the job belongs to one replica, so does the
// task.
func LeftTask(r run.Run, due time.Time) Task {
	return Task{
		ID: "left/" + r.Key.String(), Kind: CheckLeft, Pipeline: r.Pipeline, Key: r.Key, Due: due.Round(0).UTC(), Replica: r.Progress.Replica,
	}
}

// Lease is the right to work on a task. Token is larger than every token given out before, on whatever task, so that a
// lease which was taken over, or was on an earlier task of that name, is recognised.
type Lease struct {
	Task  string
	Token int64
}

// Claim is a task and the lease on it. Awaited is for the holder to set: see Batch.Awaited.
type Claim struct {
	Task    Task
	Lease   Lease
	Awaited bool
}

// ClaimQuery says who claims what.
type ClaimQuery struct {
	Replica   string        // who asks
	Task      string        // if it is set, only the task of that id: due or not, of any kind and for any replica
	Kinds     []TaskKind    // only tasks of these kinds; of every kind if empty
	Except    []pipeline.ID // no tasks of these pipelines
	Limit     int           // how many at most; none for 0
	Lease     time.Duration // how long they are held unless renewed
	LostAfter time.Duration // how long a task for another replica must have been due before anybody may have it
}

// From returns the instant from which the query may claim t, unless t is held. It returns false if the query never
// claims t. It does not apply to a query that names its task.
func (q ClaimQuery) From(t Task) (time.Time, bool) {
	switch {
	case len(q.Kinds) > 0 && !slices.Contains(q.Kinds, t.Kind), slices.Contains(q.Except, t.Pipeline):
		return time.Time{}, false
	case t.Replica != "" && t.Replica != q.Replica:
		return t.Ready().Add(q.LostAfter), true
	default:
		return t.Ready(), true
	}
}

// Tasks hands out what is due. A lease is held until the instant it was claimed or renewed for: at that instant it has
// lapsed, and a lease that has lapsed is nobody's, even if nobody has taken it over. A store that can tell that a process is
// gone may let others have its leases sooner; whoever was taken for gone has lost what others have claimed since.
type Tasks interface {
	// Claim leases due tasks (also those due just now) that are not held, longest due first, then by id; or the one that q
	// names. It may leave out a task that a concurrent call is changing, so an empty answer does not mean that none is due.
	// Claiming never removes a task: only a Batch does.
	Claim(ctx context.Context, q ClaimQuery, now time.Time) ([]Claim, error)
	// Renew extends leases to now + lease. It gives back those that are still held, in the same order; the others have lapsed,
	// were taken over or are done.
	Renew(ctx context.Context, leases []Lease, lease time.Duration, now time.Time) ([]Lease, error)
	// Release gives tasks back before their leases lapse. One that is no longer held is passed over.
	Release(ctx context.Context, leases []Lease, now time.Time) error
	// VoidLeases makes every lease lapse: what a process does when it starts and knows that it is alone.
	VoidLeases(ctx context.Context) error
	// Task gives a stored task, held or not; ErrNotFound if it is done or never was.
	Task(ctx context.Context, id string) (Task, error)
	// NextDue returns the instant from which Claim with q would return a task: the earliest instant of q.From or, if the task
	// is held, of the end of its lease, if that is later. It returns zero if there is no such task. Only the Replica, Kinds,
	// Except and LostAfter of q matter.
	NextDue(ctx context.Context, q ClaimQuery) (time.Time, error)
	// Overdue lists up to PageSize(limit) tasks that could be claimed, by whomever they are for, since before that instant,
	// longest due first, then by id: what the watchdog looks at. One that is held is left out until its lease has lapsed for
	// as long.
	Overdue(ctx context.Context, before time.Time, limit int) ([]Task, error)
	// TasksChanged is closed when, after the call, a task was stored or finished or a lease was given back; it may be
	// closed for less. Waiting for it beats polling.
	TasksChanged() <-chan struct{}
}
