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
	Slots         []Slot         `json:"slots" doc:"The periods, oldest first. With buckets, only the open runs and the last ended run."`
	Buckets       []Bucket       `json:"buckets" doc:"Counts of periods, oldest first, if there are too many to list; empty otherwise."`
	BucketSeconds *int64         `json:"bucketSeconds" doc:"The width of a bucket; null without buckets."`
	Counts        map[string]int `json:"counts" doc:"Number of periods by phase; each period counts once."`
	Truncated     bool           `json:"truncated" doc:"Always false; periods that do not fit are counted in buckets."`
}

// Bucket counts the periods that begin in a part of the timeline.
type Bucket struct {
	From     time.Time      `json:"from"`
	To       time.Time      `json:"to"`
	Worst    string         `json:"worst" doc:"The most urgent phase in the bucket."`
	Counts   map[string]int `json:"counts" doc:"Number of periods by phase."`
	Total    int            `json:"total"`
	Bypassed int            `json:"bypassed" doc:"Number of completed runs whose gate an operator bypassed."`
	Breached int            `json:"breached" doc:"Number of periods whose deadline was breached."`
	Schedule string         `json:"schedule" doc:"The schedule of the first period."`
	First    string         `json:"first" doc:"The first period."`
	Last     string         `json:"last" doc:"The last period."`
}

// Slot is one period of a timeline: upcoming, missing, excluded, or with a run.
type Slot struct {
	Date         string     `json:"date"`
	Schedule     string     `json:"schedule"`
	State        string     `json:"state" enum:"upcoming,missing,excluded,run" doc:"missing: the period has no run and its time has passed; if a sensor or an upstream opens the run, its deadline has passed too."`
	Phase        string     `json:"phase" enum:"upcoming,due,missing,excluded,paused,waiting,not-due,backoff,max-active,starting,start-refused,held,offered,running,status-unread,settling,completed,would-start,failed,exhausted,cancelled" doc:"More specific than state. due: the run may open any time now. paused: the pipeline is paused. backoff: the run failed and is retried at retryAt. would-start: a dry run whose gate was open."`
	StartsAt     time.Time  `json:"startsAt" doc:"The start of the period."`
	EndsAt       time.Time  `json:"endsAt" doc:"The end of the period, exclusive."`
	FireAt       *time.Time `json:"fireAt" doc:"When the run opens automatically."`
	Excluded     *string    `json:"excluded" doc:"Why the calendar excludes the period."`
	Status       *Status    `json:"status" doc:"The status of the run; null if there is no run, or only a dry run."`
	Attempt      *int       `json:"attempt"`
	OpenedAt     *time.Time `json:"openedAt"`
	StartedAt    *time.Time `json:"startedAt" doc:"When the latest attempt's job was started."`
	EndedAt      *time.Time `json:"endedAt"`
	RetryAt      *time.Time `json:"retryAt" doc:"When the next attempt or start call is made after a failure."`
	WarnAt       *time.Time `json:"warnAt" doc:"When the warning is sent."`
	BreachAt     *time.Time `json:"breachAt" doc:"When the deadline is breached: the absolute one or, without it, the relative one."`
	Deadline     *string    `json:"deadline" enum:"ARMED,WARNED,MET,BREACHED,CANCELLED" doc:"The state of the deadline, absolute or relative; null if none was ever armed."`
	DryRun       bool       `json:"dryRun" doc:"Whether this is a dry run, which starts no job."`
	GateBypassed bool       `json:"gateBypassed" doc:"Whether an operator bypassed the gate."`
	Degraded     []string   `json:"degraded" doc:"The sensors of the preferred rules that it started without; usually empty."`
	Cause        *Reason    `json:"cause" doc:"Why the period has this phase: the first rule that does not pass and its value, the exit code and last output line of a failed job, or the time of the retry; null if there is no cause."`
	Outside      bool       `json:"outside" doc:"Whether the period is outside the requested range and is listed because its run is open or is the last that ended."`
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
	Kind     string     `json:"kind" enum:"absolute,relative" doc:"relative: the deadline counts from the first reading of the start condition."`
	State    string     `json:"state" enum:"ARMED,MET,BREACHED,CANCELLED"`
	WarnAt   *time.Time `json:"warnAt"`
	BreachAt time.Time  `json:"breachAt"`
	Warned   bool       `json:"warned"`
	Critical bool       `json:"critical"`
	ArmedAt  time.Time  `json:"armedAt"`
	ClosedAt *time.Time `json:"closedAt"`
	DoneAt   *time.Time `json:"doneAt" doc:"When the success of the run was acknowledged, even if after the breach."`
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
