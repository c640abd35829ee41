package awslambda

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlock-go/interlock/internal/event"
)

// EventLog keeps events, each whole and for as long as they are kept. One whose id is there is passed over.
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

// Event is what was published. Where it did not come from here, such as an alarm of CloudWatch, it has the id that
// EventBridge gave it.
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
		e.Time = e.Detail.Timestamp // EventBridge keeps the second only
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
		return fmt.Errorf("keep event %s: %w", e.ID, err)
	}
	return nil
}
