package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Run is one pipeline, one schedule, one period of data, and how it stands.
type Run struct {
	Pipeline       string     `json:"pipeline"`
	Schedule       string     `json:"schedule"`
	Date           string     `json:"date"`
	Status         Status     `json:"status"`
	Phase          string     `json:"phase"`  // finer than Status: what an open run waits for
	DryRun         bool       `json:"dryRun"` // no job is started
	Attempt        int        `json:"attempt"`
	Reason         *string    `json:"reason"`
	Cause          *string    `json:"cause"` // why the latest attempt was opened
	RequestedBy    *string    `json:"requestedBy"`
	RequestReason  *string    `json:"requestReason"`
	Forced         bool       `json:"forced"`
	GateBypassed   bool       `json:"gateBypassed"`
	Degraded       []string   `json:"degraded"` // the sensors of the preferred rules that the latest attempt started without
	OpenedAt       *time.Time `json:"openedAt"`
	UpdatedAt      *time.Time `json:"updatedAt"`
	StartedAt      *time.Time `json:"startedAt"`
	EndedAt        *time.Time `json:"endedAt"`
	WindowStart    *time.Time `json:"windowStart"`
	WindowEnd      *time.Time `json:"windowEnd"`
	LastEvaluation *time.Time `json:"lastEvaluation"`
	NextEvaluation *time.Time `json:"nextEvaluation"`
	WaitingForSlot bool       `json:"waitingForSlot"`
	Held           *string    `json:"held"` // why the start is held: it is not known whether the job was started
	HeldSince      *time.Time `json:"heldSince"`
	Unread         *string    `json:"unread"`      // why the job's status could not be read; nil if the last poll succeeded
	UnreadSince    *time.Time `json:"unreadSince"` // the first of the polls in a row that failed
	Handle         *string    `json:"handle"`
	OfferedSince   *time.Time `json:"offeredSince"`  // since when the attempt has been offered to workers outside
	Worker         *string    `json:"worker"`        // who claimed it
	ClaimedAt      *time.Time `json:"claimedAt"`     // when
	LastHeartbeat  *time.Time `json:"lastHeartbeat"` // when the worker was last heard of
	Result         *string    `json:"result"`
	Category       *string    `json:"category"`
	Message        *string    `json:"message"`
	ExitCode       *int       `json:"exitCode"`
	JobMayRun      bool       `json:"jobMayRun"`   // its job could not be stopped
	JobStopping    bool       `json:"jobStopping"` // its job was asked to stop and has not ended yet
	ConfigVersion  *string    `json:"configVersion"`
	Counters       Counters   `json:"counters"`
	Version        int64      `json:"version"`
}

// Key names the run.
func (r Run) Key() RunKey { return RunKey{r.Pipeline, r.Schedule, r.Date} }

// Status is how a run stands.
type Status string

// The statuses of a run. COMPLETED, FAILED_FINAL, VALIDATION_EXHAUSTED and CANCELLED end it.
const (
	Pending             Status = "PENDING"
	Triggering          Status = "TRIGGERING"
	Running             Status = "RUNNING"
	Completed           Status = "COMPLETED"
	Failed              Status = "FAILED"
	FailedFinal         Status = "FAILED_FINAL"
	JobPollExhausted    Status = "JOB_POLL_EXHAUSTED"
	ValidationExhausted Status = "VALIDATION_EXHAUSTED"
	Cancelled           Status = "CANCELLED"
)

// Counters are the attempts that each cause has opened.
type Counters struct {
	Retries      int `json:"retries"`
	CodeRetries  int `json:"codeRetries"`
	DriftReruns  int `json:"driftReruns"`
	ManualReruns int `json:"manualReruns"`
	Reopenings   int `json:"reopenings"`
	Forced       int `json:"forced"`
}

// RunDetail is a run with everything that is kept of it.
type RunDetail struct {
	Run
	Why       *Reason    `json:"why"`      // the cause in one line, with its parameters; nil if there is nothing to say
	Output    *string    `json:"output"`   // the end of the latest attempt's output, as far as it is known
	Attempts  []Attempt  `json:"attempts"` // oldest first
	JobLog    []JobEntry `json:"jobLog"`
	Gate      *Shown     `json:"gate"` // what the latest attempt started on, or what its gate shows while it waits
	Deadlines []Deadline `json:"deadlines"`
	Reruns    []Rerun    `json:"reruns"`
}

// Attempt is one try to bring a run to COMPLETED.
type Attempt struct {
	Attempt      int        `json:"attempt"`
	Cause        *string    `json:"cause"`
	RequestedBy  *string    `json:"requestedBy"`
	Reason       *string    `json:"reason"`
	Forced       bool       `json:"forced"`
	GateBypassed bool       `json:"gateBypassed"`
	OpenedAt     *time.Time `json:"openedAt"`
	StartedAt    *time.Time `json:"startedAt"`
	EndedAt      *time.Time `json:"endedAt"`
	Snapshot     *string    `json:"snapshot"` // the stored facts it started on
	Handle       *string    `json:"handle"`
	Result       *string    `json:"result"`
	Category     *string    `json:"category"`
	Message      *string    `json:"message"`
	ExitCode     *int       `json:"exitCode"`
	Output       *string    `json:"output"` // the end of what its job printed
}

// JobEntry is one thing that happened to a run's job.
type JobEntry struct {
	Attempt  int       `json:"attempt"`
	At       time.Time `json:"at"`
	Event    string    `json:"event"`
	Try      int       `json:"try"`
	Handle   *string   `json:"handle"`
	Category *string   `json:"category"`
	Message  *string   `json:"message"`
	Output   *string   `json:"output"`
	By       *string   `json:"by"`
}

// RunKey names a run: pipeline, schedule and date.
type RunKey struct{ Pipeline, Schedule, Date string }

// ParseRunKey reads "pipeline/schedule/date", or an attempt's id, which has a number behind.
func ParseRunKey(text string) (RunKey, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 4 {
		if n, err := strconv.Atoi(parts[3]); err == nil && n > 0 {
			parts = parts[:3]
		}
	}
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return RunKey{}, fmt.Errorf("%q is not a run; write PIPELINE/SCHEDULE/DATE, such as orders/cron/2026-03-03", text)
	}
	return RunKey{parts[0], parts[1], parts[2]}, nil
}

func (k RunKey) String() string { return k.Pipeline + "/" + k.Schedule + "/" + k.Date }

func (k RunKey) path(more ...string) string {
	return path(append([]string{"runs", k.Pipeline, k.Schedule, k.Date}, more...)...)
}

// RunQuery is which runs are asked for; what is empty may be anything.
type RunQuery struct {
	Pipeline string
	Date     string
	From, To string // periods, both included
	Status   Status
	Paging
}

// Runs lists runs, latest period first.
func (c *Client) Runs(ctx context.Context, q RunQuery, options ...CallOption) (Page[Run], error) {
	parameters := q.with("pipeline", q.Pipeline, "date", q.Date, "from", q.From, "to", q.To, "status", string(q.Status))
	return ask[Page[Run]](ctx, c, get(path("runs"), query(parameters...)), options)
}

// Run gives one run with everything that is kept of it.
func (c *Client) Run(ctx context.Context, key RunKey, options ...CallOption) (RunDetail, error) {
	return ask[RunDetail](ctx, c, get(key.path(), nil), options)
}
