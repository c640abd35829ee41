package awscall

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/interlock-go/interlock/internal/event"
)

// Bus publishes on one EventBridge bus.
type Bus struct {
	client *eventbridge.Client
	name   string
}

// NewBus returns a Bus for the bus with the given name.
func NewBus(c aws.Config, name string) *Bus {
	return &Bus{client: eventbridge.NewFromConfig(c), name: name}
}

// maxEntries is the EventBridge limit of events per call.
const maxEntries = 10

// Publish puts all events on the bus, or returns an error that names the first rejected one. Some
// may have been published by then: consumers recognise a repeat by the event's id.
func (b *Bus) Publish(ctx context.Context, events []event.Event) error {
	for len(events) > 0 {
		n := min(len(events), maxEntries)
		if err := b.publish(ctx, events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

func (b *Bus) publish(ctx context.Context, events []event.Event) error {
	entries := make([]types.PutEventsRequestEntry, len(events))
	for i, e := range events {
		var err error
		if entries[i], err = b.entry(e); err != nil {
			return err
		}
	}
	out, err := b.client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
	if err != nil {
		return fmt.Errorf("publish %d events on bus %s: %w", len(events), b.name, err)
	}
	if out.FailedEntryCount == 0 {
		return nil
	}
	for i, e := range out.Entries {
		if e.ErrorCode != nil {
			return fmt.Errorf("publish event %s on bus %s: %d of %d were rejected: %s: %s",
				events[i].ID, b.name, out.FailedEntryCount, len(events), *e.ErrorCode, aws.ToString(e.ErrorMessage))
		}
	}
	return fmt.Errorf("publish on bus %s: %d of %d events were rejected", b.name, out.FailedEntryCount, len(events))
}

// entry converts an event. EventBridge assigns its own id; our id, by which consumers recognise a
// repeat, is a resource.
func (b *Bus) entry(e event.Event) (types.PutEventsRequestEntry, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return types.PutEventsRequestEntry{}, err
	}
	var sent struct {
		Detail json.RawMessage `json:"detail"`
	}
	if err := json.Unmarshal(text, &sent); err != nil {
		return types.PutEventsRequestEntry{}, err
	}
	return types.PutEventsRequestEntry{
		EventBusName: &b.name, Source: aws.String(event.Source), DetailType: aws.String(string(e.Type)),
		Time: &e.Time, Detail: aws.String(string(sent.Detail)), Resources: []string{event.Resource(e.ID)},
	}, nil
}
