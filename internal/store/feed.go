package store

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// Position is a place in the feed or among the events; the two are counted apart. Later ones are larger.
type Position int64

// Change is a record that something was written: what the router reacts to. It says what changed, not what it was: a
// handler reads the current state, which may be newer.
type Change struct {
	Position Position    `json:"position,omitzero"`
	Kind     ChangeKind  `json:"kind"`
	At       time.Time   `json:"at"` // now of the call that wrote it
	Pipeline pipeline.ID `json:"pipeline"`
	Version  int64       `json:"version"` // of the reading, the run or the pipeline's row

	// Of a reading.
	Sensor  sensor.Key    `json:"sensor,omitzero"`
	Period  period.Period `json:"date,omitzero"`
	Changed bool          `json:"changed,omitzero"` // the data differs from what was there before, as Put.Changed says

	// Of a run whose status or attempt changed.
	Run     run.Key    `json:"run,omitzero"`
	Status  run.Status `json:"status,omitzero"`
	Attempt int        `json:"attempt,omitzero"`

	// Trace is the trace that the write belongs to: see WithTrace.
	Trace string `json:"trace,omitempty"`
}

// ChangeKind says what was written.
type ChangeKind string

// The kinds of changes.
const (
	ReadingWritten ChangeKind = "reading"
	RunMoved       ChangeKind = "run"      // created, or its status or attempt changed; dry runs do not count
	PipelineMoved  ChangeKind = "pipeline" // its row was created or swapped
)

// Feed gives the changes to those who follow them. Each group has its own place, which begins at the oldest change that is
// kept. Changes of one row are given out in order; only what is given out again may come after later ones. Between rows
// nobody may rely on order.
type Feed interface {
	// Receive gives up to PageSize(limit) changes that the group has not finished and that no consumer of it holds, oldest
	// first, and waits until there is one or ctx ends, which is its error. They are held by that consumer until Done: the same
	// consumer, too, is not given them again as long as its Store is open. Those of a consumer that is gone (its Store was
	// closed, its process died) are given to the next that asks, so a change may come more than once.
	Receive(ctx context.Context, group, consumer string, limit int) ([]Change, error)
	// Done says that changes were handled, in whatever order. A group's place never passes a change that was not. Saying it
	// twice, or of a change that somebody else holds by now, is fine.
	Done(ctx context.Context, group string, changes []Change) error
	// Backlog is how many changes a group has not finished, held ones included, and when the oldest of them was written;
	// zero if there is none. To ask is not to follow: only Receive and Done make a group.
	Backlog(ctx context.Context, group string) (n int, oldest time.Time, err error)

	// Cursor and SetCursor keep the place of those who follow events by position. A cursor that was never set is 0; one may
	// be moved back. Events that a cursor which was ever set has not passed are kept: see Trim.
	Cursor(ctx context.Context, name string) (Position, error)
	SetCursor(ctx context.Context, name string, at Position) error
	// DropCursor forgets a cursor, as if it had never been set. One that is not there is fine.
	DropCursor(ctx context.Context, name string) error
	// EventsChanged is closed when an event was committed after the call, and may be closed for less.
	EventsChanged() <-chan struct{}
}
