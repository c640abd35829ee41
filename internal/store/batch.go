package store

import (
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// MaxRows is how many rows one Batch may touch: what one DynamoDB transaction takes everywhere.
const MaxRows = 10

// Batch is everything one decision changes. Its zero value is ready to use; give it an ID that names the decision, so
// that sending it again is recognised. All its events travel in one row with the record that it was taken; everything
// else is a row of its own.
type Batch struct {
	ID string

	// Lease, where it is set, must still be held: otherwise the Batch is ErrConflict. Storing or finishing the leased
	// task itself ends the lease: a step of several Batches leaves its task alone until the last.
	Lease *Lease

	// Expected are pipelines' rows that must still be at the version that was read: otherwise the Batch is ErrConflict. They
	// stay as they are, and nothing is appended to the feed. A row that the Batch swaps is not among them.
	Expected []PipelineVersion

	Runs      []Swap[run.Run]
	DryRuns   []Swap[run.Run]
	Pipelines []Swap[Pipeline]
	Deadlines []Swap[Deadline] // by key and kind
	PostRuns  []Swap[PostRun]
	Notes     []Swap[Note] // by kind and key

	Configs   []Config   // stored if the version is new; the first stays as it was
	Log       []JobEntry // appended; one with the same run, attempt, event and try is the same one, and the first stays
	Snapshots []Snapshot // stored if the id is new; the first stays as it was
	Reruns    []Rerun    // appended; one of the same run with the same id is the same one, and the first stays
	Marks     []Mark     // each is set by one Batch only: a second is ErrConflict

	Events []event.Event // in this order; one whose id was announced before, or twice here, is passed over

	// Tasks are created, or replace the one with their id: that is how a task is moved to another due time. A lease that
	// somebody holds on it stays theirs. Finished are the ids of tasks that are done; one that is not there is fine, and the
	// lease of one that is taken away is lost.
	//
	// What others ask of a task while it is held is never lost to its holder: where another Batch has stored the leased
	// task since it was claimed, finishing it under the lease leaves it as they stored it, and storing it leaves whichever is
	// due sooner, theirs if both are. The lease ends all the same.
	Tasks    []Task
	Finished []string

	// Awaited says that the caller comes back by itself when the leased task is due. Storing that task then wakes no waiter,
	// unless another Batch has stored it since it was claimed.
	Awaited bool

	Dead   []DeadLetter // stored; one with the same sink and event id is replaced
	Buried []DeadLetter // taken out again, by sink and event id; one that is not there is fine
}

// Swap replaces a record that was read at version Read (0: that was not there) by Next, whose version is higher. A record
// that is not at that version any more, or is there although it should not be, or the reverse, is ErrConflict.
type Swap[T any] struct {
	Read int64
	Next T
}

// PipelineVersion is the version of a pipeline's row; 0 if there is none.
type PipelineVersion struct {
	ID      pipeline.ID
	Version int64
}

// Mark is a note that something has been dealt with. It may be forgotten, by Trim or by the store itself, after Until;
// whether it still counts then is open. Without Until it stays for ever.
type Mark struct {
	ID    string    `json:"id"`
	Until time.Time `json:"until,omitzero"`
}

// Create adds a run that must not be there yet.
func (b *Batch) Create(r run.Run) { b.Runs = append(b.Runs, Swap[run.Run]{Next: r}) }

// Swap replaces the run that was read.
func (b *Batch) Swap(read, next run.Run) {
	b.Runs = append(b.Runs, Swap[run.Run]{Read: read.Version, Next: next})
}

// SwapDryRun replaces the dry run that was read, or creates it if that is the zero Run.
func (b *Batch) SwapDryRun(read, next run.Run) {
	b.DryRuns = append(b.DryRuns, Swap[run.Run]{Read: read.Version, Next: next})
}

// SwapPipeline replaces a pipeline's row; its version is counted up here.
func (b *Batch) SwapPipeline(read, next Pipeline) {
	next.Version = read.Version + 1
	b.Pipelines = append(b.Pipelines, Swap[Pipeline]{Read: read.Version, Next: next})
}

// ExpectPipeline makes b depend on the pipeline's row that was read.
func (b *Batch) ExpectPipeline(id pipeline.ID, read Pipeline) {
	b.Expected = append(b.Expected, PipelineVersion{ID: id, Version: read.Version})
}

// SwapDeadline replaces a ledger row, or creates it if read is the zero Deadline; its version is counted up here.
func (b *Batch) SwapDeadline(read, next Deadline) {
	next.Version = read.Version + 1
	b.Deadlines = append(b.Deadlines, Swap[Deadline]{Read: read.Version, Next: next})
}

// SwapPostRun replaces what is remembered after a run, or creates it; its version is counted up here.
func (b *Batch) SwapPostRun(read, next PostRun) {
	next.Version = read.Version + 1
	b.PostRuns = append(b.PostRuns, Swap[PostRun]{Read: read.Version, Next: next})
}

// SwapNote replaces a note, or creates it if read is the zero Note; its version is counted up here.
func (b *Batch) SwapNote(read, next Note) {
	next.Version = read.Version + 1
	b.Notes = append(b.Notes, Swap[Note]{Read: read.Version, Next: next})
}

// Append adds a line to a run's job log.
func (b *Batch) Append(e JobEntry) { b.Log = append(b.Log, e) }

// Emit announces events.
func (b *Batch) Emit(events ...event.Event) { b.Events = append(b.Events, events...) }

// Schedule stores a task, or moves the one with its id.
func (b *Batch) Schedule(t Task) { b.Tasks = append(b.Tasks, t) }

// Finish takes a task away.
func (b *Batch) Finish(id string) { b.Finished = append(b.Finished, id) }

// SetMark sets a mark that must not be set yet.
func (b *Batch) SetMark(id string, until time.Time) {
	b.Marks = append(b.Marks, Mark{ID: id, Until: until})
}
