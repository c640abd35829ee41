package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// sendLate sends an alert that may arrive after later events: a dead letter, a burst that had to
// wait, or a message from an unordered queue. If the problem has been resolved since, a sink that
// displays open problems must not show it as open forever: the alert is marked settled, and the
// sink then gets the event that settled it.
func (n *Notifier) sendLate(ctx context.Context, s sink.Sink, a sink.Alert) error {
	follower, follows := s.(sink.Follower)
	if !follows {
		return s.Send(ctx, a)
	}
	settling, err := n.settledBy(ctx, a.Event)
	if err != nil {
		return err
	}
	a.Settled = settling != nil
	if err := s.Send(ctx, a); err != nil || settling == nil {
		return err
	}
	return follower.Follow(ctx, n.alert(*settling, 1, settling.Time))
}

// clockSkew is how far the order of events by time and by commit may differ.
const clockSkew = time.Hour

// settledBy returns the event that settled the problem e opened, or nil if it is still open or e
// did not open one.
func (n *Notifier) settledBy(ctx context.Context, e event.Event) (*event.Event, error) {
	if sink.State("").After(e) != sink.Opened {
		return nil, nil
	}
	q := laterEvents(e)
	state, matter := sink.Opened, sink.Matter(e)
	var by *event.Event
	for {
		page, err := n.store.Events(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read the events after %s: %w", e.ID, err)
		}
		for _, later := range page.Items {
			switch next := state.After(later); {
			case later.ID == e.ID:
				state, by = sink.Opened, nil // earlier events do not count
			case sink.Matter(later) != matter:
			case next == sink.Opened:
				state, by = next, nil
			case next != state:
				state, by = next, &later
			}
		}
		if page.Next == "" {
			return by, nil
		}
		q.Cursor = page.Next
	}
}

// laterEvents returns a query for the events after e that may be about the same problem.
func laterEvents(e event.Event) store.EventQuery {
	q := store.EventQuery{Since: e.Time.Add(-clockSkew), Ascending: true, Limit: store.MaxPage}
	d := e.Detail
	switch {
	case sink.AboutRun(e):
		q.Key = run.Key{Pipeline: d.Pipeline, Schedule: d.Schedule, Period: d.Date}
	case d.Pipeline != "":
		q.Pipeline = d.Pipeline
	default:
		q.Type = e.Type
	}
	return q
}

// Bring sends one event to its sinks, as routes and silences decide, and returns the errors of the
// sinks that failed. It is for hosts where an unordered queue redelivers an event until every sink
// has accepted it: sinks recognise duplicates. Routes that group bursts send each event separately
// here.
func (n *Notifier) Bring(ctx context.Context, e event.Event) error {
	quiet, err := n.silenced(ctx, e)
	if err != nil {
		return err
	}
	a := n.alert(e, 1, e.Time)
	var errs []error
	for _, s := range n.sinks {
		follower, follows := s.(sink.Follower)
		switch {
		case !quiet && n.Wants(s.Name(), e):
			err = n.sendLate(ctx, s, a)
		case follows && sink.Settles(e):
			err = follower.Follow(ctx, a)
		default:
			err = nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("deliver event %s to sink %s: %w", e.ID, s.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// silenced reports whether a silence covers e. It reads silences only if e would be sent at all.
func (n *Notifier) silenced(ctx context.Context, e event.Event) (bool, error) {
	if !n.alerts(e) {
		return false, nil
	}
	silences, err := n.silences(ctx)
	return err == nil && covering(silences, e) != "", err
}
