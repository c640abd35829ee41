package client

import (
	"context"
	"time"
)

// Deadline is one row of the ledger of deadlines.
type Deadline struct {
	Pipeline string     `json:"pipeline"`
	Schedule string     `json:"schedule"`
	Date     string     `json:"date"`
	Kind     string     `json:"kind"`  // absolute or relative
	State    string     `json:"state"` // ARMED, MET, BREACHED or CANCELLED
	WarnAt   *time.Time `json:"warnAt"`
	BreachAt time.Time  `json:"breachAt"`
	Warned   bool       `json:"warned"`
	Critical bool       `json:"critical"`
	ArmedAt  time.Time  `json:"armedAt"`
	ClosedAt *time.Time `json:"closedAt"`
	DoneAt   *time.Time `json:"doneAt"`
	Reason   *string    `json:"reason"`
}

// DeadlineQuery is which deadlines are asked for.
type DeadlineQuery struct {
	Pipeline string
	State    string // ARMED unless said; all is any
	From, To string // by their instant, To not included: RFC 3339, a period, or how long ago
	Paging
}

// Deadlines lists deadlines, soonest first.
func (c *Client) Deadlines(ctx context.Context, q DeadlineQuery, options ...CallOption) (Page[Deadline], error) {
	return ask[Page[Deadline]](ctx, c, get(path("deadlines"), query(q.with("pipeline", q.Pipeline, "state", q.State, "from", q.From, "to", q.To)...)), options)
}
