package store

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Task is a stored intention with a due time: something that must happen, and stays stored until it
// has. Its id says what, so that storing it twice has the effect of storing it once. Batch.Tasks
// documents what storing and finishing do to a leased task.
type Task struct {
	ID       string      `json:"id"`
	Kind     TaskKind    `json:"kind"`
	Pipeline pipeline.ID `json:"pipeline"`
	Key      run.Key     `json:"key,omitzero"` // the run it is about, if any
	Due      time.Time   `json:"due"`
	// Replica, if set, is the only one that may claim the task, until the task has been due for
	// ClaimQuery.LostAfter.
	Replica string `json:"replica,omitempty"`
	// Failures counts consecutive failures, and RetryAt is when the task may run again: see Failed.
	// Storing the task without them resets it.
	Failures int       `json:"failures,omitempty"`
	RetryAt  time.Time `json:"retryAt,omitzero"`
	// Change is the change that a task of kind HandleChange is about.
	Change Change `json:"change,omitzero"`
	// Trace is the trace that the task belongs to: see WithTrace. Only steps of attempts have one.
	Trace string `json:"trace,omitempty"`
}

// Ready returns when the task may run: its due time or, after a failure, its retry time. Wherever
// this contract says that a task is due, it means this time.
func (t Task) Ready() time.Time {
	if t.RetryAt.After(t.Due) {
		return t.RetryAt
	}
	return t.Due
}

// TaskKind determines the handler of a task.
type TaskKind string

// The kinds of tasks.
const (
	Advance       TaskKind = "advance"        // the next step of a run's open attempt
	AdvanceDry    TaskKind = "advance-dry"    // the same for a dry run
	Fire          TaskKind = "fire"           // open the next period of a cron expression or include date
	Arm           TaskKind = "arm"            // arm the deadlines of the periods to come
	FireDeadline  TaskKind = "deadline"       // warn of, or breach, a run's deadlines
	CheckPostRun  TaskKind = "post-run"       // evaluate the post-run rules of a completed run again
	CheckLeft     TaskKind = "left"           // check whether the job that an ended attempt left running has ended
	ResumePaused  TaskKind = "resume"         // the end of a pause
	RunProbe      TaskKind = "probe"          // run an evaluator
	ReopenPeriods TaskKind = "reopen-periods" // after a pause or a change of the file: open what is due
	HandleChange  TaskKind = "change"         // handle a change that was set aside
	Deliver       TaskKind = "deliver"        // deliver events to a sink; due only if no process has done so for long
	Turn          TaskKind = "turn"           // lets one of several processes do something; never due
)

// AdvanceTask returns the task for the next step of a run or dry run. If its job belongs to one
// replica, the caller says so.
func AdvanceTask(r run.Run, due time.Time) Task {
	t := Task{ID: lifecycle.TaskID(r.Key), Kind: Advance, Pipeline: r.Pipeline, Key: r.Key, Due: due.Round(0).UTC()}
	if r.DryRun {
		t.ID, t.Kind = "dry/"+r.Key.String(), AdvanceDry
	}
	return t
}

// LeftTask returns the task that repeatedly checks whether the job that r left running has ended.
// If the job belongs to one replica, so does the task.
func LeftTask(r run.Run, due time.Time) Task {
	return Task{
		ID: "left/" + r.Key.String(), Kind: CheckLeft, Pipeline: r.Pipeline, Key: r.Key, Due: due.Round(0).UTC(), Replica: r.Progress.Replica,
	}
}

// pipelineTasks are the id prefixes of the tasks that each pipeline has at most one of.
var pipelineTasks = map[TaskKind]string{
	Fire: "fire/", Arm: "arm/", ResumePaused: "resume/", ReopenPeriods: "reopen/", RunProbe: "probes/",
}

// PipelineTaskID returns the id of the task of that kind of a pipeline: Fire, Arm, ResumePaused,
// ReopenPeriods or RunProbe.
func PipelineTaskID(kind TaskKind, id pipeline.ID) string { return pipelineTasks[kind] + string(id) }

// PipelineTask returns the task with that id.
func PipelineTask(kind TaskKind, id pipeline.ID, due time.Time) Task {
	return Task{ID: PipelineTaskID(kind, id), Kind: kind, Pipeline: id, Due: due.Round(0).UTC()}
}

// Lease is the right to work on a task. Token is a fencing token: larger than every token issued
// before, for any task, so that a lease that was taken over, or was on an earlier task of that id,
// is recognised.
type Lease struct {
	Task  string
	Token int64
}

// Claim is a task and the lease on it. The holder sets Awaited: see Batch.Awaited.
type Claim struct {
	Task    Task
	Lease   Lease
	Awaited bool
}

// ClaimQuery says who claims which tasks.
type ClaimQuery struct {
	Replica   string        // the claiming replica
	Task      string        // if set, only the task with that id: due or not, of any kind and for any replica
	Kinds     []TaskKind    // only tasks of these kinds; empty: all kinds
	Except    []pipeline.ID // no tasks of these pipelines
	Limit     int           // maximum number; 0 claims none
	Lease     time.Duration // lease duration unless renewed
	LostAfter time.Duration // how long a task for another replica must have been due before any replica may claim it
}

// From returns when the query may claim t, unless t is held. It returns false if the query never
// claims t. It does not apply to a query with Task set.
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

// Tasks leases due tasks. A lease is held until, but not at, the time it was claimed or renewed
// for. An expired lease is invalid, even if no one has taken it over. A store that detects that a
// process is gone may free its leases earlier; if the process was not gone after all, it has lost
// the tasks that others have claimed since.
type Tasks interface {
	// Claim leases tasks that are due (at now or earlier) and not held, longest due first, then by
	// id; or the one that q names. It may skip a task that a concurrent call is changing, so an
	// empty result does not mean that none is due. Claiming never deletes a task: only a Batch
	// does.
	Claim(ctx context.Context, q ClaimQuery, now time.Time) ([]Claim, error)
	// Renew extends leases to now + lease. It returns those that are still held, in the same order;
	// the others have expired, were taken over or are finished.
	Renew(ctx context.Context, leases []Lease, lease time.Duration, now time.Time) ([]Lease, error)
	// Release gives tasks back before their leases expire. Leases no longer held are skipped.
	Release(ctx context.Context, leases []Lease, now time.Time) error
	// VoidLeases ends every lease. A process that runs alone calls it when it starts.
	VoidLeases(ctx context.Context) error
	// Task returns a stored task, held or not; ErrNotFound if it is finished or never existed.
	Task(ctx context.Context, id string) (Task, error)
	// NextDue returns when Claim with q would next return a task: the earliest time of q.From or,
	// for a held task, the end of its lease if that is later. It returns zero if there is no such
	// task. Only the Replica, Kinds, Except and LostAfter of q matter.
	NextDue(ctx context.Context, q ClaimQuery) (time.Time, error)
	// Overdue lists up to PageSize(limit) tasks, for any replica, that have been claimable since
	// before that time, longest due first, then by id: those of the given kinds, or all. Health
	// checks use it. A held task is left out until its lease has been expired for as long.
	Overdue(ctx context.Context, before time.Time, limit int, kinds ...TaskKind) ([]Task, error)
	// TasksChanged returns a channel that is closed when, after the call, a task is stored or
	// finished or a lease is released. It may also be closed without a reason. Waiting for it
	// avoids polling.
	TasksChanged() <-chan struct{}
}
