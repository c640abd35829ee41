package client

import (
	"context"
	"time"
)

// Timeline is what was expected of the pipelines between two instants, and what became of it.
type Timeline struct {
	From       time.Time  `json:"from"`
	To         time.Time  `json:"to"`
	At         time.Time  `json:"at"`    // the server's time
	Axis       string     `json:"axis"`  // period or execution
	Items      []Schedule `json:"items"` // one per pipeline, by id
	NextCursor string     `json:"nextCursor"`
}

// Schedule is one pipeline's part of a timeline.
type Schedule struct {
	Pipeline      string         `json:"pipeline"`
	Slots         []Slot         `json:"slots"`         // oldest first; with buckets only the open runs and the last one that ended
	Buckets       []Bucket       `json:"buckets"`       // oldest first; empty where all periods are in Slots
	BucketSeconds *int64         `json:"bucketSeconds"` // the width of a bucket; nil without
	Counts        map[string]int `json:"counts"`        // by phase, of all periods
	Truncated     bool           `json:"truncated"`     // always false
}

// Bucket counts the periods that begin in a part of the time asked for.
type Bucket struct {
	From     time.Time      `json:"from"`
	To       time.Time      `json:"to"`
	Worst    string         `json:"worst"`  // the phase that needs a person most
	Counts   map[string]int `json:"counts"` // by phase
	Total    int            `json:"total"`
	Bypassed int            `json:"bypassed"`
	Breached int            `json:"breached"`
	Schedule string         `json:"schedule"` // of the first period
	First    string         `json:"first"`    // period
	Last     string         `json:"last"`     // period
}

// Slot is one period of a timeline: upcoming, missing, excluded, or with a run.
type Slot struct {
	Date      string     `json:"date"`
	Schedule  string     `json:"schedule"`
	State     string     `json:"state"`
	Phase     string     `json:"phase"` // more specific than State and Status
	StartsAt  time.Time  `json:"startsAt"`
	EndsAt    time.Time  `json:"endsAt"`
	FireAt    *time.Time `json:"fireAt"`
	Excluded  *string    `json:"excluded"`
	Status    *Status    `json:"status"`
	Attempt   *int       `json:"attempt"`
	OpenedAt  *time.Time `json:"openedAt"`
	StartedAt *time.Time `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt"`
	RetryAt   *time.Time `json:"retryAt"` // when a failed attempt or start is tried again
	WarnAt    *time.Time `json:"warnAt"`
	BreachAt  *time.Time `json:"breachAt"`
	Deadline  *string    `json:"deadline"` // ARMED, WARNED, MET, BREACHED or CANCELLED; nil where none was ever armed

	DryRun       bool     `json:"dryRun"`
	GateBypassed bool     `json:"gateBypassed"`
	Degraded     []string `json:"degraded"` // the sensors of the preferred rules that it started without
	Cause        *Reason  `json:"cause"`    // why it stands so; nil where there is nothing to say
	Outside      bool     `json:"outside"`  // it lies outside the time asked for, and is open or the last that ended
}

// TimelineQuery is which stretch of time is asked for: a day back and a day ahead unless said.
type TimelineQuery struct {
	From, To string // RFC 3339, a period, or how long ago
	Axis     string // period (the default) or execution
	Bucket   string // count the periods of every pipeline in buckets of this width
	Pipeline string
	Paging
}

// Timeline shows what is and was expected of each pipeline, and what became of it.
func (c *Client) Timeline(ctx context.Context, q TimelineQuery, options ...CallOption) (Timeline, error) {
	return ask[Timeline](ctx, c, get(path("timeline"), query(q.with("from", q.From, "to", q.To, "axis", q.Axis, "bucket", q.Bucket, "pipeline", q.Pipeline)...)), options)
}
