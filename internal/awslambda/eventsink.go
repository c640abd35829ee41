package awslambda

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlock-go/interlock/internal/event"
)

// EventLog stores whole events until they expire. It skips an event whose id is already stored.
type EventLog interface {
	AppendEvents(ctx context.Context, events []event.Event) error
}

// Sink is the event-sink.
type Sink struct{ Log EventLog }

// Delivered is an event as EventBridge delivers it.
type Delivered struct {
	ID        string          `json:"id"`
	Source    string          `json:"source"`
	Type      string          `json:"detail-type"`
	Time      string          `json:"time"`
	Resources []string        `json:"resources"`
	Detail    json.RawMessage `json:"detail"`
}

// Event decodes the published event. One from elsewhere, such as a CloudWatch alarm, gets the id
// that EventBridge assigned.
func (d Delivered) Event() (event.Event, error) {
	if id := event.FromResources(d.Resources); id != "" {
		d.ID = id
	}
	text, err := json.Marshal(d)
	if err != nil {
		return event.Event{}, err
	}
	var e event.Event
	if err := json.Unmarshal(text, &e); err != nil {
		return event.Event{}, err
	}
	if !e.Detail.Timestamp.IsZero() {
		e.Time = e.Detail.Timestamp // EventBridge truncates to the second
	}
	return e, nil
}

// Keep writes one event to the events table.
func (s *Sink) Keep(ctx context.Context, d Delivered) error {
	e, err := d.Event()
	if err != nil {
		return err
	}
	if err := s.Log.AppendEvents(ctx, []event.Event{e}); err != nil {
		return fmt.Errorf("store event %s: %w", e.ID, err)
	}
	return nil
}
