package client

import (
	"context"
	"time"
)

// Timeline lists the runs expected between two instants, and what became of each.
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
	Slots         []Slot         `json:"slots" doc:"Its periods, oldest first. With buckets only the open runs and the last one that ended."`
	Buckets       []Bucket       `json:"buckets" doc:"Its periods counted, oldest first, if there are too many to list; empty otherwise."`
	BucketSeconds *int64         `json:"bucketSeconds" doc:"The width of a bucket; null without buckets."`
	Counts        map[string]int `json:"counts" doc:"How many of its periods have each phase: all of them, each once."`
	Truncated     bool           `json:"truncated" doc:"Always false: what does not fit is counted in buckets."`
}

// Bucket counts the periods that begin in a part of the timeline.
type Bucket struct {
	From     time.Time      `json:"from"`
	To       time.Time      `json:"to"`
	Worst    string         `json:"worst" doc:"The phase among its periods that needs a person most."`
	Counts   map[string]int `json:"counts" doc:"How many of its periods have each phase."`
	Total    int            `json:"total"`
	Bypassed int            `json:"bypassed" doc:"Completed runs whose gate an operator had skipped."`
	Breached int            `json:"breached" doc:"Periods whose deadline was breached."`
	Schedule string         `json:"schedule" doc:"Of the first period."`
	First    string         `json:"first" doc:"Its first period."`
	Last     string         `json:"last" doc:"Its last period."`
}

// Slot is one period of a timeline: upcoming, missing, excluded, or with a run.
type Slot struct {
	Date         string     `json:"date"`
	Schedule     string     `json:"schedule"`
	State        string     `json:"state" enum:"upcoming,missing,excluded,run" doc:"missing: there is no run although its time is over, and its deadline if a sensor or an upstream opens it."`
	Phase        string     `json:"phase" enum:"upcoming,due,missing,excluded,paused,waiting,not-due,backoff,max-active,starting,start-refused,held,offered,running,status-unread,settling,completed,would-start,failed,exhausted,cancelled" doc:"More specific than state. due: its time has come and it may still open. paused: the pipeline is paused. backoff: it failed and is retried at retryAt. would-start: a dry run whose gate was open."`
	StartsAt     time.Time  `json:"startsAt" doc:"The period's first instant."`
	EndsAt       time.Time  `json:"endsAt" doc:"The first instant after the period."`
	FireAt       *time.Time `json:"fireAt" doc:"When it opens automatically."`
	Excluded     *string    `json:"excluded" doc:"Why the calendar suppresses it."`
	Status       *Status    `json:"status" doc:"The run's; null without a run, and of a dry run."`
	Attempt      *int       `json:"attempt"`
	OpenedAt     *time.Time `json:"openedAt"`
	StartedAt    *time.Time `json:"startedAt" doc:"When the latest attempt's job was started."`
	EndedAt      *time.Time `json:"endedAt"`
	RetryAt      *time.Time `json:"retryAt" doc:"When the next attempt, or the next start call, is made after a failure."`
	WarnAt       *time.Time `json:"warnAt" doc:"When its deadline warns."`
	BreachAt     *time.Time `json:"breachAt" doc:"Its deadline."`
	Deadline     *string    `json:"deadline" enum:"ARMED,WARNED,MET,BREACHED,CANCELLED" doc:"The state of the deadline, including the relative one; null if none was ever armed."`
	DryRun       bool       `json:"dryRun" doc:"No job is started."`
	GateBypassed bool       `json:"gateBypassed" doc:"An operator had the gate skipped."`
	Degraded     []string   `json:"degraded" doc:"The sensors of the preferred rules that it started without; usually empty."`
	Cause        *Reason    `json:"cause" doc:"Why it stands so: the first rule that does not hold with the value seen, the exit code and last line of output of a failed job, or when it is retried; null if there is nothing to say."`
	Outside      bool       `json:"outside" doc:"It lies outside the time asked for, and is shown because it is open, or the last that ended."`
}

// TimelineQuery selects a range of time; the default is one day back to one day ahead.
type TimelineQuery struct {
	From, To string // RFC 3339, a period, or how long ago
	Axis     string // period (the default) or execution
	Bucket   string // count the periods of every pipeline in buckets of this width
	Pipeline string
	Paging
}

// Timeline shows the expected runs of each pipeline, and what became of each.
func (c *Client) Timeline(ctx context.Context, q TimelineQuery, options ...CallOption) (Timeline, error) {
	return ask[Timeline](ctx, c, get(path("timeline"), query(q.with("from", q.From, "to", q.To, "axis", q.Axis, "bucket", q.Bucket, "pipeline", q.Pipeline)...)), options)
}

// Deadline is one entry of the deadline ledger.
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

// DeadlineQuery selects deadlines.
type DeadlineQuery struct {
	Pipeline string
	State    string // default ARMED; "all" for any
	From, To string // range of their instants, To excluded: RFC 3339, a period, or how long ago
	Paging
}

// Deadlines lists deadlines, soonest first.
func (c *Client) Deadlines(ctx context.Context, q DeadlineQuery, options ...CallOption) (Page[Deadline], error) {
	return ask[Page[Deadline]](ctx, c, get(path("deadlines"), query(q.with("pipeline", q.Pipeline, "state", q.State, "from", q.From, "to", q.To)...)), options)
}
