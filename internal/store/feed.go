package store

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// Position is a place in the feed or among the events. Later ones are larger.
type Position int64

// Change is a record that something was written: what the router reacts to. It says what changed, not what it was: a
// handler reads the current state, which may be newer.
type Change struct {
	Position Position
	Kind     ChangeKind
	At       time.Time
	Pipeline pipeline.ID

	// Of a reading.
	Sensor  sensor.Key
	Period  period.Period
	Version int64
	Changed bool // the data differs from what was there before

	// Of a run whose status or attempt changed.
	Run     run.Key
	Status  run.Status
	Attempt int
}

// ChangeKind says what was written.
type ChangeKind string

// The kinds of changes.
const (
	ReadingWritten ChangeKind = "reading"
	RunMoved       ChangeKind = "run" // created, or its status or attempt changed; dry runs do not count
	PipelineMoved  ChangeKind = "pipeline"
)

// Feed gives the changes to those who follow them. Each group has its own place. Changes of one row come in order;
// between rows nobody may rely on it.
type Feed interface {
	// Receive gives up to limit changes that the group has not finished and that no consumer of it holds, oldest first,
	// and waits until there is one or ctx ends. They are held by that consumer until Done; those of a consumer that is
	// gone are given to another, so a change may come more than once.
	Receive(ctx context.Context, group, consumer string, limit int) ([]Change, error)
	// Done says that changes were handled. A group's place never passes a change that was not.
	Done(ctx context.Context, group string, changes []Change) error
	// Backlog is how many changes a group has not finished, and when the oldest of them was written.
	Backlog(ctx context.Context, group string) (n int, oldest time.Time, err error)

	// Cursor and SetCursor keep the place of those who follow events by position. A cursor that was never set is 0.
	Cursor(ctx context.Context, name string) (Position, error)
	SetCursor(ctx context.Context, name string, at Position) error
	// EventsChanged is closed when an event was committed after the call.
	EventsChanged() <-chan struct{}
}
