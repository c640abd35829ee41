// Package notify brings events to sinks. Each sink follows the events at its own pace, by a cursor of its own: a sink that
// is slow or away delays nobody else, and finds everything in order when it is back. Which events a sink gets is decided
// by routes (route.go). What a sink will never take is kept as a dead letter.
package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	page     = 100
	minWait  = time.Second
	maxWait  = 5 * time.Minute
	patience = 24 * time.Hour // an event that could not be delivered for so long becomes a dead letter
)

// storage is what delivery needs of the store.
type storage interface {
	EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error)
	Cursor(ctx context.Context, name string) (store.Position, error)
	SetCursor(ctx context.Context, name string, at store.Position) error
	Commit(ctx context.Context, b store.Batch, now time.Time) error
	Dead(ctx context.Context, sink string) ([]store.DeadLetter, error)
}

// Notifier delivers events by routes.
type Notifier struct {
	store  storage
	routes Routes
}

// New is a notifier over s.
func New(s storage, routes Routes) *Notifier { return &Notifier{store: s, routes: routes} }

// Progress is how far one call of Deliver came. The host keeps it and hands it back.
type Progress struct {
	Tries int           // in a row without success, for the event at hand
	Wait  time.Duration // before the next call; 0: there may be more at once
	Sent  int
	Idle  bool // there was nothing to do
}

// Deliver sends the events after the sink's cursor, oldest first, until there are none, one page is sent, or the sink
// does not answer. The error says why it stopped, where that was not for lack of events; the next call goes on there.
func (n *Notifier) Deliver(ctx context.Context, s sink.Sink, before Progress, now time.Time) (Progress, error) {
	cursor, err := n.store.Cursor(ctx, cursorName(s))
	if err != nil {
		return before, fmt.Errorf("read the cursor of sink %s: %w", s.Name(), err)
	}
	events, err := n.store.EventsAfter(ctx, cursor, page)
	if err != nil {
		return before, fmt.Errorf("read events for sink %s: %w", s.Name(), err)
	}
	progress := Progress{Idle: len(events) == 0}
	tries := before.Tries
	for _, e := range events {
		if n.routes.Wants(s.Name(), e.Event) {
			if err := n.send(ctx, s, e.Event, tries+1, now); err != nil {
				progress.Tries, progress.Wait = tries+1, waitAfter(err, tries+1)
				return progress, errors.Join(err, n.advance(ctx, s, cursor))
			}
			progress.Sent++
		}
		cursor, tries = e.Position, 0
	}
	return progress, n.advance(ctx, s, cursor)
}

// advance remembers how far a sink has come. A crash before it means that some events are sent again.
func (n *Notifier) advance(ctx context.Context, s sink.Sink, at store.Position) error {
	if err := n.store.SetCursor(ctx, cursorName(s), at); err != nil {
		return fmt.Errorf("move the cursor of sink %s: %w", s.Name(), err)
	}
	return nil
}

// send delivers one event; one that will never be taken, or not in time, is buried and counts as dealt with.
func (n *Notifier) send(ctx context.Context, s sink.Sink, e event.Event, tries int, now time.Time) error {
	err := s.Send(ctx, sink.Alert{Event: e, Count: 1, Since: e.Time})
	var refused *sink.Refused
	if err == nil || (!errors.As(err, &refused) && now.Sub(e.Time) < patience) {
		return err
	}
	b := store.Batch{ID: fmt.Sprintf("bury/%s/%s", s.Name(), e.ID)}
	b.Dead = append(b.Dead, store.DeadLetter{Sink: s.Name(), Event: e, Reason: err.Error(), Tries: tries, At: now})
	if err := n.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("bury event %s of sink %s: %w", e.ID, s.Name(), err)
	}
	return nil
}

// Retry sends a sink's dead letters once more, oldest first, and takes out those that it takes now.
func (n *Notifier) Retry(ctx context.Context, s sink.Sink, now time.Time) (sent int, err error) {
	letters, err := n.store.Dead(ctx, s.Name())
	if err != nil {
		return 0, fmt.Errorf("list the dead letters of sink %s: %w", s.Name(), err)
	}
	for _, letter := range letters {
		if err := s.Send(ctx, sink.Alert{Event: letter.Event, Count: 1, Since: letter.Event.Time}); err != nil {
			return sent, fmt.Errorf("send event %s again: %w", letter.Event.ID, err)
		}
		b := store.Batch{ID: fmt.Sprintf("unbury/%s/%s/%d", s.Name(), letter.Event.ID, letter.At.UnixNano()), Buried: []store.DeadLetter{letter}}
		if err := n.store.Commit(ctx, b, now); err != nil {
			return sent, fmt.Errorf("take out dead letter %s: %w", letter.Event.ID, err)
		}
		sent++
	}
	return sent, nil
}

func cursorName(s sink.Sink) string { return "sink/" + s.Name() }

// waitAfter is how long to leave a sink alone after so many failures in a row.
func waitAfter(err error, tries int) time.Duration {
	var busy *sink.Busy
	if errors.As(err, &busy) && busy.After > 0 {
		return busy.After
	}
	wait := minWait
	for n := 1; n < tries && wait < maxWait; n++ {
		wait *= 2
	}
	return min(wait, maxWait)
}
