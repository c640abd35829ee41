package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
)

// Bring sends one event to the sinks that routes and silences leave for it, and returns the errors of those that did not
// take it. It is for a host in which a queue, in no particular order, delivers an event again until every sink took it: sinks
// recognise repeats. Routes that group bursts send each event by itself here.
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

// silenced says whether somebody wants to hear nothing of e; silences are read only where it would be heard.
func (n *Notifier) silenced(ctx context.Context, e event.Event) (bool, error) {
	if !n.alerts(e) {
		return false, nil
	}
	silences, err := n.silences(ctx)
	return err == nil && covering(silences, e) != "", err
}
