package store

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// Position is a position in the feed or in the event log; the two are numbered separately.
// Positions grow.
type Position int64

// Change is a record that something was written; the router reacts to it. It names what changed,
// not its contents: a handler reads the current state, which may be newer.
type Change struct {
	Position Position    `json:"position,omitzero"`
	Kind     ChangeKind  `json:"kind"`
	At       time.Time   `json:"at"` // now of the call that made the change
	Pipeline pipeline.ID `json:"pipeline"`
	Version  int64       `json:"version"` // version of the reading, the run or the pipeline's row

	// If Kind is ReadingWritten.
	Sensor  sensor.Key    `json:"sensor,omitzero"`
	Period  period.Period `json:"date,omitzero"`
	Changed bool          `json:"changed,omitzero"` // the data differs from the previous reading: see Put.Changed

	// If Kind is RunMoved.
	Run     run.Key    `json:"run,omitzero"`
	Status  run.Status `json:"status,omitzero"`
	Attempt int        `json:"attempt,omitzero"`

	// Trace is the trace that the write belongs to: see WithTrace.
	Trace string `json:"trace,omitempty"`
}

// ChangeKind is the kind of record that was written.
type ChangeKind string

// The kinds of changes.
const (
	ReadingWritten ChangeKind = "reading"
	RunMoved       ChangeKind = "run"      // created, or its status or attempt changed; dry runs do not count
	PipelineMoved  ChangeKind = "pipeline" // its row was created or swapped
)

// Feed delivers changes to consumer groups. Each group has its own position, which starts at the
// oldest change that is kept. Changes of one row are delivered in order, except for redeliveries,
// which may arrive after later ones. There is no order between rows.
type Feed interface {
	// Receive returns up to PageSize(limit) changes, oldest first, that the group has not finished
	// and no consumer of the group holds. It blocks until there is one; if ctx ends first, it
	// returns ctx's error. The consumer holds the changes until Done; they are not delivered to it
	// again while its Store is open. Changes held by a consumer that is gone (its Store was closed
	// or its process died) are delivered to the next caller, so a change may be delivered more than
	// once.
	Receive(ctx context.Context, group, consumer string, limit int) ([]Change, error)
	// Done acknowledges changes, in any order. A group's position never passes an unacknowledged
	// change. Acknowledging a change twice, or one that another consumer holds by now, is not an
	// error.
	Done(ctx context.Context, group string, changes []Change) error
	// Backlog returns how many changes a group has not finished, including held ones, and when the
	// oldest of them was written; zero if there are none. It does not create the group: only
	// Receive and Done do.
	Backlog(ctx context.Context, group string) (n int, oldest time.Time, err error)

	// Cursor and SetCursor store the positions of event readers. A cursor that was never set is 0;
	// a cursor may be moved back. Trim keeps events that a set cursor has not passed.
	Cursor(ctx context.Context, name string) (Position, error)
	SetCursor(ctx context.Context, name string, at Position) error
	// DropCursor deletes a cursor, as if it had never been set. A missing cursor is not an error.
	DropCursor(ctx context.Context, name string) error
	// EventsChanged returns a channel that is closed when an event is committed after the call. It
	// may also be closed without one.
	EventsChanged() <-chan struct{}
}

// Signal wakes all goroutines that wait for something to happen in a store. Its zero value is ready
// to use.
type Signal struct {
	mu      sync.Mutex
	waiting chan struct{}
}

// Next returns a channel that is closed when the signal is raised after this call.
func (s *Signal) Next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = make(chan struct{})
	}
	return s.waiting
}

// Raise wakes all waiting goroutines.
func (s *Signal) Raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != nil {
		close(s.waiting)
		s.waiting = nil
	}
}
