package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Run is one run.
type Run struct {
	Pipeline       string     `json:"pipeline"`
	Schedule       string     `json:"schedule"`
	Date           string     `json:"date"`
	Status         string     `json:"status"`
	Attempt        int        `json:"attempt"`
	Reason         *string    `json:"reason"`
	Cause          *string    `json:"cause"`
	RequestedBy    *string    `json:"requestedBy"`
	RequestReason  *string    `json:"requestReason"`
	Forced         bool       `json:"forced"`
	GateBypassed   bool       `json:"gateBypassed"`
	OpenedAt       *time.Time `json:"openedAt"`
	UpdatedAt      *time.Time `json:"updatedAt"`
	StartedAt      *time.Time `json:"startedAt"`
	EndedAt        *time.Time `json:"endedAt"`
	WindowStart    *time.Time `json:"windowStart"`
	WindowEnd      *time.Time `json:"windowEnd"`
	LastEvaluation *time.Time `json:"lastEvaluation"`
	NextEvaluation *time.Time `json:"nextEvaluation"`
	WaitingForSlot bool       `json:"waitingForSlot"`
	Held           *string    `json:"held"`
	Handle         *string    `json:"handle"`
	Result         *string    `json:"result"`
	Category       *string    `json:"category"`
	Message        *string    `json:"message"`
	ExitCode       *int       `json:"exitCode"`
	JobMayRun      bool       `json:"jobMayRun"`
	ConfigVersion  *string    `json:"configVersion"`
	Counters       Counters   `json:"counters"`
	Version        int64      `json:"version"`
}

// Key names the run.
func (r Run) Key() RunKey { return RunKey{r.Pipeline, r.Schedule, r.Date} }

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
	Attempts  []Attempt  `json:"attempts"`
	JobLog    []JobEntry `json:"jobLog"`
	Gate      *Shown     `json:"gate"`
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
	Snapshot     *string    `json:"snapshot"`
	Handle       *string    `json:"handle"`
	Result       *string    `json:"result"`
	Category     *string    `json:"category"`
	Message      *string    `json:"message"`
	ExitCode     *int       `json:"exitCode"`
	Output       *string    `json:"output"`
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

// String is "pipeline/schedule/date".
func (k RunKey) String() string { return k.Pipeline + "/" + k.Schedule + "/" + k.Date }

// ParseRunKey reads "pipeline/schedule/date", or an attempt's id, which has a number behind.
func ParseRunKey(text string) (RunKey, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 3 || len(parts) > 4 {
		return RunKey{}, fmt.Errorf("%q is not a run; write PIPELINE/SCHEDULE/DATE, such as orders/cron/2026-03-03", text)
	}
	return RunKey{parts[0], parts[1], parts[2]}, nil
}

func (k RunKey) path(more ...string) string {
	return path(append([]string{"runs", k.Pipeline, k.Schedule, k.Date}, more...)...)
}

// Runs lists runs, latest period first; the query may hold pipeline, date, from, to, status, limit and cursor.
func (c *Client) Runs(ctx context.Context, query url.Values) (Page[Run], error) {
	return get[Page[Run]](ctx, c, path("runs"), query)
}

// Run gives one run with everything that is kept of it.
func (c *Client) Run(ctx context.Context, key RunKey) (RunDetail, error) {
	return get[RunDetail](ctx, c, key.path(), nil)
}

// Wish is what an operator asks for, and why.
type Wish struct {
	Pipeline    string `json:"pipeline,omitempty"`
	Date        string `json:"date,omitempty"`
	Force       bool   `json:"force,omitempty"`
	BypassGate  bool   `json:"bypassGate,omitempty"`
	Reason      string `json:"reason,omitempty"`
	RequestedBy string `json:"requestedBy,omitempty"`
}

// asked is the part of a wish that says who and why.
type asked struct {
	Reason      string `json:"reason,omitempty"`
	RequestedBy string `json:"requestedBy,omitempty"`
}

// Trigger opens the run of a period.
func (c *Client) Trigger(ctx context.Context, w Wish) (Run, error) {
	return post[Run](ctx, c, path("runs"), w)
}

// Rerun is a request for another attempt and its answer.
type Rerun struct {
	ID          string    `json:"id"`
	Pipeline    string    `json:"pipeline"`
	Schedule    string    `json:"schedule"`
	Date        string    `json:"date"`
	Reason      string    `json:"reason"`
	RequestedBy string    `json:"requestedBy"`
	Force       bool      `json:"force"`
	BypassGate  bool      `json:"bypassGate"`
	At          time.Time `json:"at"`
	Accepted    bool      `json:"accepted"`
	Why         string    `json:"why"`
	Attempt     *int      `json:"attempt"`
}

// Rerun asks for another attempt of a run. One that is not granted is a *Problem with status 409.
func (c *Client) Rerun(ctx context.Context, key RunKey, w Wish) (Rerun, error) {
	w.Pipeline, w.Date = "", "" // the path says so
	return post[Rerun](ctx, c, key.path("reruns"), w)
}

// Cancel ends an open run.
func (c *Client) Cancel(ctx context.Context, key RunKey, w Wish) (Run, error) {
	return post[Run](ctx, c, key.path("cancel"), asked{w.Reason, w.RequestedBy})
}

// JobResult is the result of a run's job, reported from outside.
type JobResult struct {
	Result      string `json:"result"` // success, fail or timeout
	Message     string `json:"message,omitempty"`
	Category    string `json:"category,omitempty"` // of a failure: PERMANENT, TRANSIENT or TIMEOUT
	ExitCode    *int   `json:"exitCode,omitempty"`
	Attempt     int    `json:"attempt,omitempty"` // that of the callback token, else the latest, unless said
	RequestedBy string `json:"requestedBy,omitempty"`
}

// ErrLate says that a result came for an attempt that no longer waits for one: it was logged and changes nothing.
var ErrLate = errors.New("the attempt no longer waits for a result; this one is logged and changes nothing")

// Report tells the result of a run's job. One that came too late is ErrLate.
func (c *Client) Report(ctx context.Context, key RunKey, r JobResult) error {
	done, err := post[struct {
		Run  Run  `json:"run"`
		Late bool `json:"late"`
	}](ctx, c, key.path("job"), r)
	if err == nil && done.Late {
		return fmt.Errorf("report %s of %s: %w", r.Result, key, ErrLate)
	}
	return err
}

// Timeline is what was expected of the pipelines between two instants, and what became of it.
type Timeline struct {
	From       time.Time  `json:"from"`
	To         time.Time  `json:"to"`
	Items      []Schedule `json:"items"`
	NextCursor string     `json:"nextCursor"`
}

// Schedule is one pipeline's part of a timeline.
type Schedule struct {
	Pipeline  string `json:"pipeline"`
	Slots     []Slot `json:"slots"`
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
	Status    *string    `json:"status"`
	Attempt   *int       `json:"attempt"`
	OpenedAt  *time.Time `json:"openedAt"`
	StartedAt *time.Time `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt"`
	WarnAt    *time.Time `json:"warnAt"`
	BreachAt  *time.Time `json:"breachAt"`
}

// Timeline shows what is and was expected; the query may hold from, to, pipeline, limit and cursor.
func (c *Client) Timeline(ctx context.Context, query url.Values) (Timeline, error) {
	return get[Timeline](ctx, c, path("timeline"), query)
}
