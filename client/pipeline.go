package client

import (
	"context"
	"net/url"
	"time"
)

// Pipeline is a pipeline and how it stands: ok, paused, degraded, rejected or removed.
type Pipeline struct {
	ID          string            `json:"id"`
	State       string            `json:"state"`
	Owner       string            `json:"owner"`
	Description string            `json:"description"`
	Tags        map[string]string `json:"tags"`
	File        *string           `json:"file"`
	Version     *string           `json:"version"`
	Problem     *string           `json:"problem"`
	Schedule    *string           `json:"schedule"`
	Period      *string           `json:"period"`
	Timezone    *string           `json:"timezone"`
	After       []string          `json:"after"`
	JobType     *string           `json:"jobType"`
	DryRun      bool              `json:"dryRun"`
	MaxActive   int               `json:"maxActive"`
	Pause       Pause             `json:"pause"`
	Horizon     *time.Time        `json:"horizon"`
	AcceptedAt  *time.Time        `json:"acceptedAt"`
	RemovedAt   *time.Time        `json:"removedAt"`
	OpenRuns    int               `json:"openRuns"`
	LastRun     *Run              `json:"lastRun"`
	Next        NextFire          `json:"next"`
}

// Pause is an operator's stop of a pipeline.
type Pause struct {
	Paused  bool       `json:"paused"`
	By      *string    `json:"by"`
	Why     *string    `json:"why"`
	Since   *time.Time `json:"since"`
	Until   *time.Time `json:"until"`
	HoldSLA bool       `json:"holdSla"`
}

// NextFire is what a schedule opens next by itself; all of it is nil where it opens nothing.
type NextFire struct {
	Date     *string    `json:"date"`
	FireAt   *time.Time `json:"fireAt"`
	WarnAt   *time.Time `json:"warnAt"`
	BreachAt *time.Time `json:"breachAt"`
}

// Pipelines lists the pipelines by id; the query may hold removed, limit and cursor.
func (c *Client) Pipelines(ctx context.Context, query url.Values) (Page[Pipeline], error) {
	return get[Page[Pipeline]](ctx, c, path("pipelines"), query)
}

// Pipeline gives one pipeline.
func (c *Client) Pipeline(ctx context.Context, id string) (Pipeline, error) {
	return get[Pipeline](ctx, c, path("pipelines", id), nil)
}

// Version is one accepted version of a pipeline's file. A list holds no texts.
type Version struct {
	Version    string    `json:"version"`
	At         time.Time `json:"at"`
	File       string    `json:"file"`
	InForce    bool      `json:"inForce"`
	Text       string    `json:"text"`
	Calendars  []Source  `json:"calendars"`
	Archetypes []Source  `json:"archetypes"`
}

// Source is a file that belongs to a version.
type Source struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// Versions lists the accepted versions of a pipeline's file, newest first.
func (c *Client) Versions(ctx context.Context, id string) ([]Version, error) {
	p, err := get[Page[Version]](ctx, c, path("pipelines", id, "versions"), nil)
	return p.Items, err
}

// Version gives one version with its text.
func (c *Client) Version(ctx context.Context, id, version string) (Version, error) {
	return get[Version](ctx, c, path("pipelines", id, "versions", version), nil)
}

// Gate is a verdict on a pipeline's gate.
type Gate struct {
	Pipeline          string    `json:"pipeline"`
	Date              string    `json:"date"`
	At                time.Time `json:"at"`
	Open              bool      `json:"open"`
	Outcome           string    `json:"outcome"`
	BlockedBy         *string   `json:"blockedBy"`
	Rules             []Rule    `json:"rules"`
	RetryAfterSeconds *int64    `json:"retryAfterSeconds"`
}

// Rule is the report on one rule.
type Rule struct {
	Key       string     `json:"key"`
	Check     string     `json:"check"`
	Field     *string    `json:"field"`
	Needs     any        `json:"needs"`
	From      *string    `json:"from"`
	Level     string     `json:"level"`
	Group     *string    `json:"group"`
	Outcome   string     `json:"outcome"`
	Value     any        `json:"value"`
	Reason    string     `json:"reason"`
	Version   *int64     `json:"version"`
	UpdatedAt *time.Time `json:"updatedAt"`
	Source    *string    `json:"source"`
}

// Gate asks whether a pipeline's gate is open for a period; an empty date means that of a fire now.
func (c *Client) Gate(ctx context.Context, id, date string) (Gate, error) {
	return get[Gate](ctx, c, path("pipelines", id, "gate"), ofDate(date))
}

func ofDate(date string) url.Values {
	if date == "" {
		return nil
	}
	return url.Values{"date": {date}}
}

// Explanation is why a run stands as it does, or why there is none.
type Explanation struct {
	Pipeline  string     `json:"pipeline"`
	Schedule  *string    `json:"schedule"`
	Date      *string    `json:"date"`
	At        time.Time  `json:"at"`
	State     string     `json:"state"`
	Summary   string     `json:"summary"`
	Reasons   []string   `json:"reasons"`
	Opens     []string   `json:"opens"`
	DryRun    bool       `json:"dryRun"`
	Run       *Run       `json:"run"`
	Gate      *Shown     `json:"gate"`
	Attempts  []Attempt  `json:"attempts"`
	JobLog    []JobEntry `json:"jobLog"`
	Reruns    []Rerun    `json:"reruns"`
	Deadlines []Deadline `json:"deadlines"`
	Text      string     `json:"text"` // all of it, for people
}

// Shown is what the rules of a gate showed at some moment.
type Shown struct {
	Live     bool      `json:"live"` // as they stand now, rather than what the run started on
	At       time.Time `json:"at"`
	Open     bool      `json:"open"`
	Outcome  string    `json:"outcome"`
	Bypassed bool      `json:"bypassed"`
	Rules    []Rule    `json:"rules"`
}

// Explain says why a run stands as it does, or why there is none; an empty date means the newest open run, or the period
// of a fire now.
func (c *Client) Explain(ctx context.Context, id, date string) (Explanation, error) {
	return get[Explanation](ctx, c, path("pipelines", id, "explain"), ofDate(date))
}

// Pausing is a stop of a pipeline.
type Pausing struct {
	Reason      string     `json:"reason,omitempty"`
	RequestedBy string     `json:"requestedBy,omitempty"`
	Until       *time.Time `json:"until,omitempty"`
	HoldSLA     bool       `json:"holdSla,omitempty"`
}

// Pause stops a pipeline, or all of them for "".
func (c *Client) Pause(ctx context.Context, id string, p Pausing) error {
	_, err := post[map[string]any](ctx, c, pausePath(id, "pause"), p)
	return err
}

// Resume ends a pause, or all of them for "".
func (c *Client) Resume(ctx context.Context, id, reason string) error {
	_, err := post[map[string]any](ctx, c, pausePath(id, "resume"), asked{Reason: reason})
	return err
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
	RequestedBy string `json:"requestedBy,omitempty"`
}

// Backfilled is what became of one period: open, rerun or skip, and why it is left alone.
type Backfilled struct {
	Date   string `json:"date"`
	Action string `json:"action"`
	Reason string `json:"reason"`
}

// Backfill opens the runs of all expected periods of a stretch of time.
func (c *Client) Backfill(ctx context.Context, id string, b Backfilling) (Page[Backfilled], error) {
	return post[Page[Backfilled]](ctx, c, path("pipelines", id, "backfill"), b)
}
