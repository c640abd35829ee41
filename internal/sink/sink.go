// Package sink is the contract of a place that alerts are sent to. Each kind lives in a folder named for its technology;
// package notify decides which events go where, in which order, and what becomes of those that a sink will not take.
package sink

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
)

// Sink sends events to one place. It keeps no state: what was sent is remembered by the cursor of its Name.
type Sink interface {
	// Name tells sinks apart in routes, cursors and dead letters.
	Name() string
	// Send delivers one event, possibly again after an answer was lost. A *Refused error means that this event will
	// never be taken; any other that the sink could not be reached, so that it is worth trying again.
	// No error holds a secret.
	Send(ctx context.Context, e event.Event) error
}

// Refused is an event that the sink will never take.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

// Busy is a sink that asks to be left alone for a while.
type Busy struct {
	After  time.Duration
	Reason string
}

func (b *Busy) Error() string { return fmt.Sprintf("%s; try again in %s", b.Reason, b.After) }
