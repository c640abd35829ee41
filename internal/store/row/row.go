// Package row is what a database offers to Interlock: rows, compared and replaced by version, in
// transactions; three indexes; a log of changes and one of events. An Engine does not know what a
// run is. Package record is the store on top of an engine, written once for all of them; rowtest is
// the suite that every engine passes, and docs/ADDING-A-STORE.md says how to write one.
//
// Keys and places are texts that sort byte by byte. Engines never read a clock for anything that a
// decision depends on: callers pass the current time. What a caller passes or receives is its own,
// except the bytes of bodies and changes: neither callers nor engines ever modify those, so that
// they may be shared.
package row

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// Engine is what a database has to offer. Every method may be called by several goroutines and,
// where the technology allows, by several processes on the same data. A method that fails with an
// error other than a *Conflict may or may not have taken effect, and is safe to repeat. Reads
// reflect every Apply that was acknowledged before; on DynamoDB a Scan of an index over all
// partitions may follow a moment later.
type Engine interface {
	// Apply makes all of tx happen or none of it. It checks every condition before it changes
	// anything; the first op whose condition does not hold is the *Conflict that it returns. A tx
	// whose ID was applied before (within store.CommitLife, by now, at least) returns nil and
	// changes nothing, whatever its conditions. It is durable when Apply returns.
	Apply(ctx context.Context, tx Tx, now time.Time) error
	// Get returns the rows of refs, in the same order. A row that does not exist has Version 0.
	Get(ctx context.Context, refs []Ref) ([]Row, error)
	// Scan answers each range with a page, in the same order. Get and Scan return the Ref, the
	// Version and the Body of a row, and Scan of a list the Place in it; the rest may be missing.
	Scan(ctx context.Context, ranges []Range) ([]Page, error)
	// Next draws n numbers in a row and returns the first. Each is larger than every number that
	// was drawn before, or, where processes draw from their clocks, that this process has drawn.
	Next(ctx context.Context, n int) (int64, error)
	// Drop deletes those rows that are still at their version, each by itself, and returns how many
	// it deleted.
	Drop(ctx context.Context, rows []Row) (int, error)

	// Receive returns up to limit changes that the group has not acknowledged and that no consumer
	// of it holds, oldest first. It waits until there is one or ctx ends. The consumer holds them
	// until Ack, as long as its Engine is open. Those of a consumer whose Engine was closed, or
	// whose process died, are given to the next that asks. The first Receive or Ack creates the
	// group, which begins at the oldest change kept.
	Receive(ctx context.Context, group, consumer string, limit int) ([]Change, error)
	// Ack says that the group has handled changes. A change is Received again until it was
	// acknowledged.
	Ack(ctx context.Context, group string, changes []Change) error
	// Backlog returns how many changes the group has not acknowledged, and the oldest of them; nil
	// if there is none. It creates no group.
	Backlog(ctx context.Context, group string) (int, *Change, error)
	// Changed returns a channel that is closed once a transaction after the call has changed what
	// the topic is about. It may be closed spuriously.
	Changed(t Topic) <-chan struct{}

	// Peers describes the processes that share the data, without asking the database.
	Peers() Peers
	// Trim deletes up to limit records of the engine's own: changes that every group has
	// acknowledged, together with all before them, and ids that were applied more than
	// store.CommitLife before now. It returns how many. Without a group it keeps all changes.
	Trim(ctx context.Context, now time.Time, limit int) (int, error)
	// Close ends what waits and releases what was received and not acknowledged. Every later call
	// fails, but closing twice is fine.
	Close() error
}

// Kind is a kind of rows: a table, or a prefix of keys. Package record names them.
type Kind string

// Ref names a row: it is unique. Part is what rows are read together by: a pipeline, or "" for rows
// that belong to none.
type Ref struct {
	Kind      Kind
	Part, Key string
}

func (r Ref) String() string { return fmt.Sprintf("%s %s/%s", r.Kind, r.Part, r.Key) }

// Row is a record as an engine keeps it.
type Row struct {
	Ref
	Version int64 // above 0
	Body    []byte
	// Places are where the row is listed, beside the order of its key; one per index.
	Places [Indexes]Place
	// Tag is what a Range may leave out rows by.
	Tag string
	// Expires, where it is set, is when the engine may delete the row by itself. Package record
	// deletes it anyway.
	Expires time.Time
	// Lock, where it is set, names the lease that the row is under, for engines that show leases to
	// operators.
	Lock Lock
	// Memo, where an engine sets it, holds the record that Body encodes, so that package record
	// decodes it once. It belongs to this Version of the row. An engine whose rows stay in memory
	// may set it; nil is always right.
	Memo *Memo
}

// Memo holds a decoded record. The methods of a nil Memo do nothing.
type Memo struct{ record atomic.Pointer[any] }

// Load returns the record; nil if none was stored.
func (m *Memo) Load() any {
	if m == nil {
		return nil
	}
	if record := m.record.Load(); record != nil {
		return *record
	}
	return nil
}

// Store keeps a record, which must share no memory with its copies that a caller could modify.
func (m *Memo) Store(record any) {
	if m != nil {
		m.record.Store(&record)
	}
}

// Lock is a lease as an operator may want to see it. Only the Body counts for decisions.
type Lock struct{ Name, Holder string }

// Index is one of the orders in which rows are listed, beside that of their keys.
type Index int

// The indexes.
const (
	Ordered Index = iota // all records of a kind, in the order in which they are shown
	Pending              // records that wait for something: open runs, armed deadlines, due tasks
	Aging                // records that retention deletes, by when. It is scanned over all partitions only
	Indexes
)

// Place is where a row stands in an index: in which list, and where. A row without List is in none.
// Lists of different kinds or indexes are different lists, whatever their names. Key is unique in
// its list.
type Place struct{ List, Key string }

// Tx is a transaction. No two of its ops name the same row.
type Tx struct {
	ID     string // names the decision, so that applying it again is recognised; "" if it need not be
	Ops    []Op
	Events []Event
}

// Op is one step of a transaction: a condition on the row that Ref names, and what to do with it.
type Op struct {
	Do  Do
	If  int64 // the version that the row must be at; 0 if it must not exist; or Any, First, Never
	Row Row   // of Delete and Check only Ref counts
	// Change, where it is set, is appended to the log of changes.
	Change []byte
	// Quiet says that no waiter needs to be woken by it.
	Quiet bool
}

// Do is what an Op does.
type Do int

// What ops do.
const (
	Put Do = iota
	Delete
	Check // only checks the condition
)

// Conditions beside a version.
const (
	Any   int64 = -1 // there is none
	First int64 = -2 // there is none, but a row that exists stays as it is: the op does nothing, not even its Change
	Never int64 = -3 // it never holds: the tx is a *Conflict unless its ID was applied before
)

// Event is an entry of the log of events. One whose ID is in the log already, or comes a second
// time in the same transaction, is passed over. It is appended as a row of kind Events whose Part
// is given here, whose Key is its position (Digits) and whose Version is 1. It is listed by that
// position in Ordered under "events" and in Pending under "events:" + Type, and in Aging under
// "events" by Nanos of At, "#" and the position. So Scan reads the log, of one partition or of all,
// and Drop deletes entries, together with the memory of their ID. Positions grow in the order of
// commits and are never used twice, not even after the technology has lost its last commits.
type Event struct {
	ID   string
	Part string
	Type string
	At   time.Time
	Body []byte
}

// Events is the kind of the rows that make the log of events, and the name of its list.
const Events Kind = "events"

// Width is how many digits a number or an instant has in keys and places.
const Width = 19

// Digits is a number, not below 0, as a text that sorts as the number does.
func Digits(n int64) string { return fmt.Sprintf("%0*d", Width, n) }

// Change is an entry of the log of changes, in the order of commits.
type Change struct {
	Position int64
	At       time.Time // now of its Apply
	Body     []byte
}

// Range is a stretch of rows.
//
// Without List it is over the rows of Kind in Part by their keys. With List it is over the places
// of an Index: those of Part, or of all partitions if Part is "". Kind must be the kind of the rows
// in the list in either case.
type Range struct {
	Kind      Kind
	Part      string
	Index     Index
	List      string
	From, To  string // From is included, To is not; "" means no bound
	Backwards bool
	Limit     int      // above 0
	Except    []string // with List: no rows with these tags
	// Names says that of each row only its Ref and its Place are wanted. The rest may be missing,
	// and a row that has left its place a moment ago may still be listed. It is not used with
	// Except.
	Names bool
}

// Page is what a range holds, up to its Limit. More says that there may be more behind the last
// row: a page with fewer rows than Limit is the last.
type Page struct {
	Rows []Row
	More bool
}

// Topic is what a waiter waits for.
type Topic int

// The topics: a row of kind Tasks was written or deleted by an op that is not Quiet; an event was
// appended.
const (
	TaskTopic Topic = iota
	EventTopic
)

// Tasks is the kind whose ops raise TaskTopic.
const Tasks Kind = "task"

// Peers are the processes that share the data.
type Peers struct {
	Self string // this process, as long as its Engine is open; no two have the same
	// Skew is how far the clock that leases go by is ahead of the clock of this process.
	Skew time.Duration
	// Alive reports whether a process runs. It is nil if the engine cannot know, or if there is
	// only one process: leases then end by time alone.
	Alive func(process string) bool
}

// Conflict is the error of a transaction whose condition did not hold: nothing of it happened. It
// is a store.ErrConflict.
type Conflict struct {
	Op  int // its index in Tx.Ops
	Ref Ref
}

func (c *Conflict) Error() string { return fmt.Sprintf("%s has changed since it was read", c.Ref) }

// Is reports whether target is store.ErrConflict.
func (c *Conflict) Is(target error) bool { return target == store.ErrConflict }

// Pause waits before a conflicting transaction is tried again. It returns the error of ctx if that
// ends first.
func Pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
