// Package sink is the contract of a place that alerts are sent to. Each kind lives in a folder named for its technology;
// package notify decides which events go where, in which order, and what becomes of those that a sink will not take.
package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
)

// Sink sends alerts to one place. What it must remember between two of them it keeps in Threads.
type Sink interface {
	// Name tells sinks apart in routes, cursors and dead letters.
	Name() string
	// Send delivers one alert, possibly again after an answer was lost. A *Refused error means that this one will
	// never be taken, a *Busy one for how long to leave the sink alone, a *Misconfigured one that nothing will be taken
	// until somebody mends the settings; any other that the sink could not be reached, so that it is worth trying again.
	// No error holds a secret. Several may be under way at once.
	Send(ctx context.Context, a Alert) error
}

// Follower is a sink whose messages show how a matter stands. Beside what routes send it, it is given every event after
// which a matter may stand otherwise (Settles), so that it can bring what it said up to date. About a matter that it never
// spoke of it says nothing.
type Follower interface {
	Sink
	// Follow fails as Send does.
	Follow(ctx context.Context, a Alert) error
}

// Repeater is a sink whose receiver forgets an alert that is not sent again.
type Repeater interface {
	Sink
	// Repeat sends again what is open. It is called every minute, by one process, and fails as Send does.
	Repeat(ctx context.Context) error
}

// Alert is one event, or a burst of events of one group as one message.
type Alert struct {
	Event event.Event // the last one of a burst
	Count int         // how many events it stands for: 1 without a burst
	Since time.Time   // of the first one
	Owner string      // of the pipeline, if its file names one
	Links Links
	// Settled says that the alert is late: its matter has been settled since. A Follower is sent the event that settled it
	// right after the alert.
	Settled bool
}

// Links lead to pages about an alert; they are empty where nobody said under which address people reach the server.
type Links struct{ Run, Pipeline string }

// Threads keeps what a sink remembers about a conversation, so that several dispatchers hold one.
type Threads interface {
	// Thread is what was saved last under key, or the zero value with that key.
	Thread(ctx context.Context, key string) (Thread, error)
	// SaveThread stores t in the place of the version it was read as, and returns it as it is now. It answers ErrTaken
	// where somebody else was faster.
	SaveThread(ctx context.Context, t Thread, now time.Time) (Thread, error)
}

// Thread is what a sink remembers under one key; Data is its own.
type Thread struct {
	Key     string
	Version int64 // 0: nothing is stored
	Data    []byte
}

// ErrTaken says that a thread was changed by somebody else meanwhile: read it again.
var ErrTaken = errors.New("another process has changed this thread")

// Refused is an alert that the sink will never take.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

// Busy is a sink that asks to be left alone for a while.
type Busy struct {
	After  time.Duration
	Reason string
}

func (b *Busy) Error() string { return fmt.Sprintf("%s; try again in %s", b.Reason, b.After) }

// Misconfigured is a sink that takes nothing until somebody mends its settings: a token that is not valid, a channel that
// is not there. It is told once; what waits is delivered afterwards.
type Misconfigured struct{ Reason string }

func (m *Misconfigured) Error() string { return m.Reason }
