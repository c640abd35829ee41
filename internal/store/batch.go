package store

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
)

// MaxRows is how many rows one Batch may touch: what one DynamoDB transaction takes everywhere.
const MaxRows = 10

// Batch is everything one decision changes. Its zero value is ready to use; give it an ID that names the decision, so
// that deciding the same again is recognised. Events and tasks travel with the rest in one outbox row.
type Batch struct {
	ID string

	// Lease, where it is set, must still be held: otherwise the Batch is ErrConflict.
	Lease *Lease

	Runs      []Swap[run.Run]
	DryRuns   []Swap[run.Run]
	Pipelines []Swap[Pipeline]
	Deadlines []Swap[Deadline]
	PostRuns  []Swap[PostRun]

	Configs   []Config   // stored if the version is new
	Log       []JobEntry // appended; one with the same run, attempt, event and try is the same one
	Snapshots []Snapshot // stored if the id is new
	Reruns    []Rerun    // appended
	Marks     []Mark     // each is set by one Batch only: a second is ErrConflict

	Events   []event.Event // one whose id was announced before is passed over
	Tasks    []Task        // created, or moved to another due time if the id is there
	Finished []string      // tasks that are done; one that is not there is fine

	Dead   []DeadLetter // appended
	Buried []DeadLetter // taken out again, by sink and event id
}

// Swap replaces a record that was read at version Read (0: that was not there) by Next, whose version is higher.
type Swap[T any] struct {
	Read int64
	Next T
}

// Mark is a note that something has been dealt with. It may be forgotten after Until.
type Mark struct {
	ID    string
	Until time.Time
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

// Empty says that b changes nothing.
func (b *Batch) Empty() bool { return b.rows() == 0 }

// rows counts what a store would have to touch. Every task row counts; events and the commit's own record share one.
func (b *Batch) rows() int {
	n := len(b.Runs) + len(b.DryRuns) + len(b.Pipelines) + len(b.Deadlines) + len(b.PostRuns) + len(b.Configs) +
		len(b.Log) + len(b.Snapshots) + len(b.Reruns) + len(b.Marks) + len(b.Dead) + len(b.Buried)
	if len(b.Events)+len(b.Tasks)+len(b.Finished) > 0 {
		n++
	}
	return n
}

// Check refuses a Batch that no store takes: without an id, too large, or with one record twice. Adapters call it first.
func (b *Batch) Check() error {
	if b.ID == "" {
		return fmt.Errorf("commit: the batch has no id")
	}
	if n := b.rows(); n > MaxRows {
		return fmt.Errorf("commit %s: %d rows are more than %d: %w", b.ID, n, MaxRows, ErrTooLarge)
	}
	return b.checkTwice()
}

func (b *Batch) checkTwice() error {
	seen := map[string]bool{}
	once := func(kind, id string) error {
		if seen[kind+" "+id] {
			return fmt.Errorf("commit %s: %s %s is in it twice", b.ID, kind, id)
		}
		seen[kind+" "+id] = true
		return nil
	}
	var errs []error
	for _, s := range b.Runs {
		errs = append(errs, once("run", s.Next.Key.String()))
	}
	for _, s := range b.DryRuns {
		errs = append(errs, once("dry run", s.Next.Key.String()))
	}
	for _, s := range b.Pipelines {
		errs = append(errs, once("pipeline", string(s.Next.ID)))
	}
	for _, s := range b.Deadlines {
		errs = append(errs, once("deadline", s.Next.Key.String()+" "+string(s.Next.Kind)))
	}
	for _, s := range b.PostRuns {
		errs = append(errs, once("post-run", s.Next.Key.String()))
	}
	for _, m := range b.Marks {
		errs = append(errs, once("mark", m.ID))
	}
	for _, t := range b.Tasks {
		errs = append(errs, once("task", t.ID))
	}
	for _, id := range b.Finished {
		errs = append(errs, once("task", id))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
