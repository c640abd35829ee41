// Package sink is the contract of alert destinations. Each kind lives in a folder named after its
// technology. Package notify decides which events go where, in which order, and what happens to
// those that a sink rejects.
package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
)

// Sink sends alerts to one destination. It stores what it must remember between alerts in Threads.
type Sink interface {
	// Name identifies the sink in routes, cursors and dead letters.
	Name() string
	// Send delivers one alert. It may be called again if an answer was lost, and concurrently. Its errors:
	//   - *Refused: the destination will never accept this alert.
	//   - *Busy: send nothing for the given time.
	//   - *Misconfigured: the destination accepts nothing until an operator fixes the settings.
	//   - Any other: the destination could not be reached, and a retry makes sense.
	//
	// No error contains a secret.
	Send(ctx context.Context, a Alert) error
}

// Follower is a sink whose messages show the state of a matter. In addition to its routed alerts it
// gets every event that may change the state of a matter (Settles), so that it can update its
// messages. It ignores matters that it has sent nothing about.
type Follower interface {
	Sink
	// Follow fails as Send does.
	Follow(ctx context.Context, a Alert) error
}

// Repeater is a sink whose receiver forgets an alert unless it is sent again.
type Repeater interface {
	Sink
	// Repeat sends all open alerts again. One process calls it every minute. It fails as Send does.
	Repeat(ctx context.Context) error
}

// Alert is one event, or a burst of events of one group as one message.
type Alert struct {
	Event event.Event // the last one of a burst
	Count int         // number of events: 1 without a burst
	Since time.Time   // of the first one
	Owner string      // of the pipeline, if its file names one
	Links Links
	// Settled means that the alert is late: its matter has been settled since. A Follower gets the
	// event that settled it right after the alert.
	Settled bool
}

// Links are pages about an alert; they are empty if the server's public address is not configured.
type Links struct{ Run, Pipeline string }

// Threads stores the state of conversations, shared by all dispatchers.
type Threads interface {
	// Thread returns the thread that was saved last under key, or the zero value with that key.
	Thread(ctx context.Context, key string) (Thread, error)
	// SaveThread replaces the version of t that was read, and returns t with its new version. It
	// returns ErrTaken if another process has changed the thread since.
	SaveThread(ctx context.Context, t Thread, now time.Time) (Thread, error)
}

// Thread is the stored state of one conversation; Data is the sink's own.
type Thread struct {
	Key     string
	Version int64 // 0: nothing is stored
	Data    []byte
}

// LoadThread reads the thread of a key, and decodes its data into state, which stays as it is if
// nothing is stored.
func LoadThread(ctx context.Context, from Threads, key string, state any) (Thread, error) {
	t, err := from.Thread(ctx, key)
	if err != nil || len(t.Data) == 0 {
		return t, err
	}
	if err := json.Unmarshal(t.Data, state); err != nil {
		return t, fmt.Errorf("read thread %s: %w", key, err)
	}
	return t, nil
}

// SaveThread saves state as the data of t. It fails as Threads.SaveThread does.
func SaveThread(ctx context.Context, to Threads, t Thread, state any, now time.Time) (Thread, error) {
	data, err := json.Marshal(state)
	if err != nil {
		return t, fmt.Errorf("write thread %s: %w", t.Key, err)
	}
	t.Data = data
	return to.SaveThread(ctx, t, now)
}

// ErrTaken means that another process has changed the thread: read it again.
var ErrTaken = errors.New("another process has changed this thread")

// Refused is an alert that the destination will never accept.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

// Busy is a destination that asks for a pause.
type Busy struct {
	After  time.Duration
	Reason string
}

func (b *Busy) Error() string { return fmt.Sprintf("%s; try again in %s", b.Reason, b.After) }

// Misconfigured is a sink that fails until an operator fixes its settings, such as an invalid token
// or a missing channel. It is reported once; waiting alerts are delivered afterwards.
type Misconfigured struct{ Reason string }

func (m *Misconfigured) Error() string { return m.Reason }
