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
	Kind     string     `json:"kind" enum:"absolute,relative" doc:"relative: it counts from the first reading of the start condition."`
	State    string     `json:"state" enum:"ARMED,MET,BREACHED,CANCELLED"`
	WarnAt   *time.Time `json:"warnAt"`
	BreachAt time.Time  `json:"breachAt"`
	Warned   bool       `json:"warned"`
	Critical bool       `json:"critical"`
	ArmedAt  time.Time  `json:"armedAt"`
	ClosedAt *time.Time `json:"closedAt"`
	DoneAt   *time.Time `json:"doneAt" doc:"When the run completed, even if after the breach."`
	Reason   *string    `json:"reason" doc:"Why it was cancelled."`
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
