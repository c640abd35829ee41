package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Event is an announcement of something that happened.
type Event struct {
	ID     string      `json:"id"`
	Source string      `json:"source"`
	Type   string      `json:"detail-type"`
	Time   time.Time   `json:"time"`
	Detail EventDetail `json:"detail"`

	SilencedBy *string `json:"silencedBy"` // the silence that kept the alert about it back

	Raw      json.RawMessage `json:"-"` // as the server sent it, with what only its type has
	Position string          `json:"-"` // where it stands in a stream that is followed, to go on after it later
}

// EventDetail is what the details of all events have in common. What more there is depends on the type.
type EventDetail struct {
	Pipeline  string    `json:"pipelineId"` // empty for events about the platform
	Schedule  string    `json:"scheduleId"`
	Date      string    `json:"date"`
	Message   string    `json:"message"`
	Timestamp time.Time `json:"timestamp"`
	Severity  string    `json:"severity"` // info, warning or critical
	Attempt   int       `json:"attempt"`
	CausedBy  string    `json:"causedBy"`
}

// UnmarshalJSON keeps the event as it was sent, too.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	e.Raw = slices.Clone(data)
	return nil
}

// EventQuery is which events are asked for; what is empty may be anything.
type EventQuery struct {
	Pipeline string
	Schedule string // with Pipeline and Date: the events of one run
	Date     string
	Type     string
	Since    string // RFC 3339, a period, or how long ago, such as 2h
	Paging
}

// Events lists events, newest first.
func (c *Client) Events(ctx context.Context, q EventQuery, options ...CallOption) (Page[Event], error) {
	return ask[Page[Event]](ctx, c, get(path("events"), query(q.with("pipeline", q.Pipeline, "schedule", q.Schedule, "date", q.Date, "type", q.Type, "since", q.Since)...)), options)
}
