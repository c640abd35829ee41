package store

import (
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// MaxRows is how many rows one Batch may touch. Every store, including DynamoDB, can commit that
// many in one transaction.
const MaxRows = 10

// Batch is everything one decision changes. Its zero value is ready to use; set an ID that names
// the decision, so that a repeated Batch is recognised. All its events are stored in one row, with
// the record that the Batch was committed; every other record is a row of its own.
type Batch struct {
	ID string

	// Lease, if set, must still be held: otherwise Commit returns ErrConflict. Storing or finishing
	// the leased task ends the lease, so a step of several Batches must not touch its task before
	// the last one.
	Lease *Lease

	// Expected are pipeline rows that must still be at the version that was read: otherwise Commit
	// returns ErrConflict. They are not changed, and nothing is appended to the feed. They must not
	// include rows that the Batch swaps.
	Expected []PipelineVersion

	Runs      []Swap[run.Run]
	DryRuns   []Swap[run.Run]
	Pipelines []Swap[Pipeline]
	Deadlines []Swap[Deadline] // by key and kind
	PostRuns  []Swap[PostRun]
	Notes     []Swap[Note] // by kind and key

	Configs   []Config   // stored if the version is new; an existing one stays unchanged
	Log       []JobEntry // appended; an existing entry with the same run, attempt, event and try stays unchanged
	Snapshots []Snapshot // stored if the id is new; an existing one stays unchanged
	Reruns    []Rerun    // appended; an existing one with the same run and id stays unchanged
	Marks     []Mark     // each can be set only once: setting it again is ErrConflict

	Events []event.Event // in this order; an event whose id is a duplicate is skipped

	// Tasks are created, or replace the task with the same id; that is how a task is moved to
	// another due time. A lease on the replaced task stays with its holder. Finished are the ids of
	// tasks to delete; a missing one is not an error, and a lease on a deleted task is lost.
	//
	// A task of kind HandleChange is about one change, which never differs: an existing one stays
	// unchanged, with its failures and its lease, unless its holder stores it.
	//
	// A holder never overwrites a request made while it held the task. If another Batch has stored
	// the leased task since it was claimed, then finishing it under the lease leaves it as stored,
	// and storing it keeps whichever is due sooner, the other Batch's if both are equal. The lease
	// ends in any case.
	Tasks    []Task
	Finished []string

	// Awaited means that the caller will return to the leased task by itself when it is due.
	// Storing that task then wakes no waiter, unless another Batch has stored it since it was
	// claimed. Without a lease it means every task of the Batch that no caller holds.
	Awaited bool

	Dead   []DeadLetter // stored; replaces one with the same sink and event id
	Buried []DeadLetter // deleted, by sink and event id; a missing one is not an error
}

// Swap replaces a record that was read at version Read (0: it did not exist) with Next, which has a
// higher version. If the stored record is not at version Read, Commit returns ErrConflict.
type Swap[T any] struct {
	Read int64
	Next T
}

// PipelineVersion is the version of a pipeline's row; 0 if there is none.
type PipelineVersion struct {
	ID      pipeline.ID
	Version int64
}

// Mark records that something has been handled. After Until, Trim or the store itself may delete
// it; whether it still counts then is undefined. Without Until it is kept forever.
type Mark struct {
	ID    string    `json:"id"`
	Until time.Time `json:"until,omitzero"`
	Of    string    `json:"of,omitempty"` // what has been handled, if the ID alone does not say it: see Write.Once
	// Rank, if not 0, orders what has been handled: see Write.Once.
	Rank int64 `json:"rank,omitempty"`
}

// Unmarked is the Rank of a write that is skipped if its mark is set, and does not set it.
const Unmarked int64 = -1

// Create adds a run that must not exist yet.
func (b *Batch) Create(r run.Run) { b.Runs = append(b.Runs, Swap[run.Run]{Next: r}) }

// Swap replaces a run or dry run that was read, or creates it if read has no version.
func (b *Batch) Swap(read, next run.Run) {
	runs := &b.Runs
	if next.DryRun {
		runs = &b.DryRuns
	}
	*runs = append(*runs, Swap[run.Run]{Read: read.Version, Next: next})
}

// SwapPipeline replaces a pipeline's row and increments its version.
func (b *Batch) SwapPipeline(read, next Pipeline) {
	next.Version = read.Version + 1
	b.Pipelines = append(b.Pipelines, Swap[Pipeline]{Read: read.Version, Next: next})
}

// ExpectPipeline makes b depend on the pipeline's row that was read.
func (b *Batch) ExpectPipeline(id pipeline.ID, read Pipeline) {
	b.Expected = append(b.Expected, PipelineVersion{ID: id, Version: read.Version})
}

// SwapDeadline replaces a ledger row, or creates it if read is the zero Deadline. It increments the
// version.
func (b *Batch) SwapDeadline(read, next Deadline) {
	next.Version = read.Version + 1
	b.Deadlines = append(b.Deadlines, Swap[Deadline]{Read: read.Version, Next: next})
}

// SwapPostRun replaces a post-run record, or creates it if read is the zero PostRun. It increments
// the version.
func (b *Batch) SwapPostRun(read, next PostRun) {
	next.Version = read.Version + 1
	b.PostRuns = append(b.PostRuns, Swap[PostRun]{Read: read.Version, Next: next})
}

// SwapNote replaces a note, or creates it if read is the zero Note. It increments the version.
func (b *Batch) SwapNote(read, next Note) {
	next.Version = read.Version + 1
	b.Notes = append(b.Notes, Swap[Note]{Read: read.Version, Next: next})
}

// Append adds an entry to a run's job log.
func (b *Batch) Append(e JobEntry) { b.Log = append(b.Log, e) }

// Emit adds events.
func (b *Batch) Emit(events ...event.Event) { b.Events = append(b.Events, events...) }

// Schedule stores a task, replacing the one with its id.
func (b *Batch) Schedule(t Task) { b.Tasks = append(b.Tasks, t) }

// Finish deletes a task.
func (b *Batch) Finish(id string) { b.Finished = append(b.Finished, id) }

// SetMark sets a mark that must not be set yet.
func (b *Batch) SetMark(id string, until time.Time) {
	b.Marks = append(b.Marks, Mark{ID: id, Until: until})
}
