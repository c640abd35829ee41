package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Event is one announcement. What its detail holds beyond the common fields depends on its type.
type Event struct {
	ID     string      `json:"id"`
	Source string      `json:"source"`
	Type   string      `json:"detail-type"`
	Time   time.Time   `json:"time"`
	Detail EventDetail `json:"detail"`
}

// EventDetail is what an event says.
type EventDetail struct {
	Pipeline  string    `json:"pipelineId"`
	Schedule  string    `json:"scheduleId"`
	Date      string    `json:"date"`
	Message   string    `json:"message"`
	Timestamp time.Time `json:"timestamp"`
	Severity  string    `json:"severity"`
	Attempt   int       `json:"attempt"`
	CausedBy  string    `json:"causedBy"`
	// Extra is the whole detail as it was sent.
	Extra json.RawMessage `json:"-"`
}

// UnmarshalJSON reads the common fields and keeps the whole.
func (d *EventDetail) UnmarshalJSON(text []byte) error {
	type plain EventDetail
	if err := json.Unmarshal(text, (*plain)(d)); err != nil {
		return err
	}
	d.Extra = append(json.RawMessage(nil), text...)
	return nil
}

// Events lists events, newest first; the query may hold pipeline, type, since, limit and cursor.
func (c *Client) Events(ctx context.Context, query url.Values) (Page[Event], error) {
	return get[Page[Event]](ctx, c, path("events"), query)
}

// DeadLetter is an event that a sink would not take.
type DeadLetter struct {
	Sink   string    `json:"sink"`
	Event  Event     `json:"event"`
	Reason string    `json:"reason"`
	Tries  int       `json:"tries"`
	At     time.Time `json:"at"`
}

// DeadLetters lists the events that a sink would not take, oldest first.
func (c *Client) DeadLetters(ctx context.Context, sink string) ([]DeadLetter, error) {
	p, err := get[Page[DeadLetter]](ctx, c, path("dead-letters"), url.Values{"sink": {sink}})
	return p.Items, err
}

// Deadline is an armed or closed deadline.
type Deadline struct {
	Pipeline string     `json:"pipeline"`
	Schedule string     `json:"schedule"`
	Date     string     `json:"date"`
	Kind     string     `json:"kind"`
	State    string     `json:"state"`
	WarnAt   *time.Time `json:"warnAt"`
	BreachAt time.Time  `json:"breachAt"`
	Warned   bool       `json:"warned"`
	Critical bool       `json:"critical"`
	ArmedAt  time.Time  `json:"armedAt"`
	ClosedAt *time.Time `json:"closedAt"`
	DoneAt   *time.Time `json:"doneAt"`
	Reason   *string    `json:"reason"`
}

// Deadlines lists what is armed, soonest first; the query may hold pipeline, state, limit and cursor.
func (c *Client) Deadlines(ctx context.Context, query url.Values) (Page[Deadline], error) {
	return get[Page[Deadline]](ctx, c, path("deadlines"), query)
}

// Readiness is whether the controller keeps up.
type Readiness struct {
	Status string        `json:"status"`
	Checks []HealthCheck `json:"checks"`
}

// HealthCheck is one thing that the controller needs in order to do its work.
type HealthCheck struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Ready asks whether the controller keeps up. A *Problem with status 503 says what does not.
func (c *Client) Ready(ctx context.Context) (Readiness, error) {
	return get[Readiness](ctx, c, "/readyz", nil)
}

// unavailable says that a server answered, but is not there at the moment.
func unavailable(err error) bool {
	var p *Problem
	return errors.As(err, &p) && (p.Status >= http.StatusInternalServerError || p.Status == http.StatusTooManyRequests)
}
