package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Pipeline is a pipeline as the server shows it.
type Pipeline struct {
	ID       string  `json:"id"`
	State    string  `json:"state"`
	Owner    string  `json:"owner"`
	Problem  *string `json:"problem"`
	Schedule *string `json:"schedule"`
	Period   *string `json:"period"`
	OpenRuns int     `json:"openRuns"`
	LastRun  *Run    `json:"lastRun"`
	Next     struct {
		Date     *string    `json:"date"`
		FireAt   *time.Time `json:"fireAt"`
		BreachAt *time.Time `json:"breachAt"`
	} `json:"next"`
}

// Run is one run.
type Run struct {
	Pipeline string     `json:"pipeline"`
	Schedule string     `json:"schedule"`
	Date     string     `json:"date"`
	Status   string     `json:"status"`
	Attempt  int        `json:"attempt"`
	Reason   *string    `json:"reason"`
	Message  *string    `json:"message"`
	Held     *string    `json:"held"`
	OpenedAt *time.Time `json:"openedAt"`
	EndedAt  *time.Time `json:"endedAt"`
}

// RunKey names a run: pipeline, schedule and date.
type RunKey struct{ Pipeline, Schedule, Date string }

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

// Pipelines lists the pipelines.
func (c *Client) Pipelines(ctx context.Context, query url.Values) (Page[Pipeline], error) {
	var p Page[Pipeline]
	return p, c.Get(ctx, path("pipelines"), query, &p)
}

// Pipeline gives one pipeline.
func (c *Client) Pipeline(ctx context.Context, id string) (Pipeline, error) {
	var p Pipeline
	return p, c.Get(ctx, path("pipelines", id), nil, &p)
}

// Gate is a verdict on a pipeline's gate.
type Gate struct {
	Open              bool   `json:"open"`
	Outcome           string `json:"outcome"`
	RetryAfterSeconds *int64 `json:"retryAfterSeconds"`
	Rules             []Rule `json:"rules"`
}

// Rule is the report on one rule.
type Rule struct {
	Key     string `json:"key"`
	Check   string `json:"check"`
	Outcome string `json:"outcome"`
	Value   any    `json:"value"`
	Reason  string `json:"reason"`
}

// Gate asks whether a pipeline's gate is open for a period; an empty date means that of a fire now.
func (c *Client) Gate(ctx context.Context, id, date string) (Gate, error) {
	var g Gate
	return g, c.Get(ctx, path("pipelines", id, "gate"), ofDate(date), &g)
}

func ofDate(date string) url.Values {
	if date == "" {
		return nil
	}
	return url.Values{"date": {date}}
}

// Explain says in words why a run stands as it does, or why there is none.
func (c *Client) Explain(ctx context.Context, id, date string) (string, error) {
	var e struct {
		Text string `json:"text"`
	}
	return e.Text, c.getExplain(ctx, id, date, &e)
}

func (c *Client) getExplain(ctx context.Context, id, date string, into any) error {
	return c.Get(ctx, path("pipelines", id, "explain"), ofDate(date), into)
}

// Runs lists runs; the query may hold pipeline, date, status, limit and cursor.
func (c *Client) Runs(ctx context.Context, query url.Values) (Page[Run], error) {
	var p Page[Run]
	return p, c.Get(ctx, path("runs"), query, &p)
}

// Run gives one run.
func (c *Client) Run(ctx context.Context, key RunKey) (Run, error) {
	var r Run
	return r, c.Get(ctx, key.path(), nil, &r)
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

// Trigger opens the run of a period.
func (c *Client) Trigger(ctx context.Context, w Wish) (Run, error) {
	var r Run
	return r, c.do(ctx, http.MethodPost, path("runs"), nil, w, &r)
}

// Rerun is the answer to a request for another attempt.
type Rerun struct {
	ID       string `json:"id"`
	Accepted bool   `json:"accepted"`
	Why      string `json:"why"`
	Attempt  *int   `json:"attempt"`
}

// Rerun asks for another attempt of a run.
func (c *Client) Rerun(ctx context.Context, key RunKey, w Wish) (Rerun, error) {
	var r Rerun
	w.Pipeline, w.Date = "", "" // the path says so
	return r, c.do(ctx, http.MethodPost, key.path("reruns"), nil, w, &r)
}

// Cancel ends an open run.
func (c *Client) Cancel(ctx context.Context, key RunKey, w Wish) (Run, error) {
	var r Run
	return r, c.do(ctx, http.MethodPost, key.path("cancel"), nil, asked(w), &r)
}

// JobResult is the result of a run's job, reported from outside.
type JobResult struct {
	Result   string `json:"result"` // success, fail or timeout
	Message  string `json:"message,omitempty"`
	Category string `json:"category,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
}

// Report tells the result of a run's job.
func (c *Client) Report(ctx context.Context, key RunKey, r JobResult) error {
	return c.do(ctx, http.MethodPost, key.path("job"), nil, r, nil)
}

// asked is the part of a wish that says who and why.
func asked(w Wish) map[string]string {
	return map[string]string{"reason": w.Reason, "requestedBy": w.RequestedBy}
}

// Pausing is a stop of a pipeline.
type Pausing struct {
	Reason  string     `json:"reason,omitempty"`
	Until   *time.Time `json:"until,omitempty"`
	HoldSLA bool       `json:"holdSla,omitempty"`
}

// Pause stops a pipeline, or all of them for "".
func (c *Client) Pause(ctx context.Context, id string, p Pausing) error {
	return c.do(ctx, http.MethodPost, pausePath(id, "pause"), nil, p, nil)
}

// Resume ends a pause, or all of them for "".
func (c *Client) Resume(ctx context.Context, id, reason string) error {
	return c.do(ctx, http.MethodPost, pausePath(id, "resume"), nil, map[string]string{"reason": reason}, nil)
}

func pausePath(id, what string) string {
	if id == "" {
		return path(what)
	}
	return path("pipelines", id, what)
}

// Backfilling asks for the runs of a stretch of time.
type Backfilling struct {
	From        string `json:"from"`
	To          string `json:"to"`
	OnlyMissing bool   `json:"onlyMissing,omitempty"`
	DryRun      bool   `json:"dryRun,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// Backfilled is what became of one period.
type Backfilled struct {
	Date   string `json:"date"`
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// Backfill opens the runs of all expected periods of a stretch of time.
func (c *Client) Backfill(ctx context.Context, id string, b Backfilling) (Page[Backfilled], error) {
	var p Page[Backfilled]
	return p, c.do(ctx, http.MethodPost, path("pipelines", id, "backfill"), nil, b, &p)
}
