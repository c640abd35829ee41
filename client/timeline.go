package client

import (
	"context"
	"time"
)

// Timeline is what was expected of the pipelines between two instants, and what became of it.
type Timeline struct {
	From       time.Time  `json:"from"`
	To         time.Time  `json:"to"`
	Items      []Schedule `json:"items"` // one per pipeline, by id
	NextCursor string     `json:"nextCursor"`
}

// Schedule is one pipeline's part of a timeline.
type Schedule struct {
	Pipeline  string `json:"pipeline"`
	Slots     []Slot `json:"slots"` // oldest first
	Truncated bool   `json:"truncated"`
}

// Slot is one period of a timeline: upcoming, missing, excluded, or with a run.
type Slot struct {
	Date      string     `json:"date"`
	Schedule  string     `json:"schedule"`
	State     string     `json:"state"`
	StartsAt  time.Time  `json:"startsAt"`
	FireAt    *time.Time `json:"fireAt"`
	Excluded  *string    `json:"excluded"`
	Status    *Status    `json:"status"`
	Attempt   *int       `json:"attempt"`
	OpenedAt  *time.Time `json:"openedAt"`
	StartedAt *time.Time `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt"`
	WarnAt    *time.Time `json:"warnAt"`
	BreachAt  *time.Time `json:"breachAt"`
	Deadline  *string    `json:"deadline"` // ARMED, WARNED, MET, BREACHED or CANCELLED; nil where none was ever armed
}

// TimelineQuery is which stretch of time is asked for: a day back and a day ahead unless said.
type TimelineQuery struct {
	From, To string // RFC 3339, a period, or how long ago
	Pipeline string
	Paging
}

// Timeline shows what is and was expected of each pipeline, and what became of it.
func (c *Client) Timeline(ctx context.Context, q TimelineQuery, options ...CallOption) (Timeline, error) {
	return ask[Timeline](ctx, c, get(path("timeline"), query(q.with("from", q.From, "to", q.To, "pipeline", q.Pipeline)...)), options)
}
