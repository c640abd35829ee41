package store

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Task is a stored intention with a due time: something that must happen, and stays written down until it has. Its id
// says what, so that storing it twice is storing it once.
type Task struct {
	ID       string      `json:"id"`
	Kind     TaskKind    `json:"kind"`
	Pipeline pipeline.ID `json:"pipeline"`
	Key      run.Key     `json:"key,omitzero"` // the run it is about, where there is one
	Due      time.Time   `json:"due"`
	// Replica, where it is set, is the only one that may claim the task; others only once it has been due for as long as
	// the claim says.
	Replica string `json:"replica,omitempty"`
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
	CloseStart    TaskKind = "close-start"    // the deadline of a start condition
	CheckPostRun  TaskKind = "post-run"       // evaluate the post-run rules of a completed run again
	ResumePaused  TaskKind = "resume"         // the end of a pause
	RunProbe      TaskKind = "probe"          // run an evaluator
	ReopenPeriods TaskKind = "reopen-periods" // after a pause or a change of the file: open what is due
)

// Lease is the right to work on a task. Token grows with every claim, so that a claim which was taken over is recognised.
type Lease struct {
	Task  string
	Token int64
}

// Claim is a task and the lease on it.
type Claim struct {
	Task  Task
	Lease Lease
}

// ClaimQuery says who claims what.
type ClaimQuery struct {
	Replica   string        // who asks
	Limit     int           // how many at most
	Lease     time.Duration // how long they are held unless renewed
	LostAfter time.Duration // how long a task for another replica must have been due before anybody may have it
}

// Tasks hands out what is due.
type Tasks interface {
	// Claim gives due tasks that nobody holds, longest due first. A lease that has lapsed is nobody's. Claiming never
	// removes a task: only a Batch does.
	Claim(ctx context.Context, q ClaimQuery, now time.Time) ([]Claim, error)
	// Renew extends leases. It gives back those that are still held; the others were taken over or are done.
	Renew(ctx context.Context, leases []Lease, lease time.Duration, now time.Time) ([]Lease, error)
	// Release gives tasks back before their leases lapse. One that is no longer held is passed over.
	Release(ctx context.Context, leases []Lease, now time.Time) error
	// VoidLeases makes every lease lapse: what a process does when it starts and knows that it is alone.
	VoidLeases(ctx context.Context) error
	// Task gives a stored task; ErrNotFound if it is done or never was.
	Task(ctx context.Context, id string) (Task, error)
	// NextDue is the due time of the soonest task that nobody holds; zero if there is none.
	NextDue(ctx context.Context) (time.Time, error)
	// Overdue lists tasks that have been due since before, longest first: what the watchdog looks at.
	Overdue(ctx context.Context, before time.Time, limit int) ([]Task, error)
	// TasksChanged is closed when a task was stored or moved after the call; waiting for it beats polling.
	TasksChanged() <-chan struct{}
}
