package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
)

// Bring sends one event to its sinks, as routes and silences decide, and returns the errors of the sinks that failed.
// It is for hosts where an unordered queue redelivers an event until every sink has accepted it: sinks recognise
// duplicates. Routes that group bursts send each event separately here.
func (n *Notifier) Bring(ctx context.Context, e event.Event) error {
	quiet, err := n.silenced(ctx, e)
	if err != nil {
		return err
	}
	route, a := n.route(e), n.alert(e, 1, e.Time)
	var errs []error
	for _, s := range n.sinks {
		wanted := route != nil && slices.Contains(route.Sinks, s.Name()) && !quiet
		follower, follows := s.(sink.Follower)
		switch {
		case wanted:
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
