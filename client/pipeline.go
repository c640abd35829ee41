package client

import (
	"context"
	"time"
)

// Pipeline is a pipeline and its state.
type Pipeline struct {
	ID          string            `json:"id"`
	State       State             `json:"state" enum:"ok,paused,degraded,rejected,removed" doc:"degraded: the newest file has errors or cannot be read, and an older version is active. rejected: no version has ever been active."`
	Owner       string            `json:"owner"`
	Description string            `json:"description"`
	Tags        map[string]string `json:"tags"`
	File        *string           `json:"file" doc:"The path of the active version's file."`
	Version     *string           `json:"version" doc:"The active version."`
	Problems    []string          `json:"problems" doc:"Why the newest file is not active; empty if it is."`
	Schedule    *string           `json:"schedule" enum:"cron,stream,manual" doc:"The schedule id of its runs."`
	Period      *string           `json:"period" enum:"quarter,month,week,day,hour,minute" doc:"The slice of data that a run is for."`
	Timezone    *string           `json:"timezone"`
	Slice       *Slice            `json:"slice" doc:"The slice of that size, in that time zone, that holds the current instant; no offset is applied. null if the pipeline is not active."`
	After       []string          `json:"after" doc:"Its upstream pipelines."`
	JobType     *string           `json:"jobType" doc:"null if the pipeline has no job."`
	DryRun      bool              `json:"dryRun"`
	MaxActive   int               `json:"maxActive" doc:"Maximum number of jobs at once; 0 is no limit."`
	Pause       Pause             `json:"pause" doc:"Its own pause."`
	PauseAll    Pause             `json:"pauseAll" doc:"The pause of all pipelines, if it covers this one. The pipeline is paused while either pause lasts."`
	Horizon     *time.Time        `json:"horizon" doc:"When the pipeline was first accepted. Earlier periods are neither opened nor reported as missed."`
	AcceptedAt  *time.Time        `json:"acceptedAt" doc:"When the active version was accepted."`
	RemovedAt   *time.Time        `json:"removedAt"`
	OpenRuns    int               `json:"openRuns" doc:"Number of runs that have not ended."`
	LastRun     *Run              `json:"lastRun" doc:"The run of its latest period; null if there is none."`
	Attention   []Attention       `json:"attention" doc:"What needs attention, most urgent first."`
	Next        NextFire          `json:"next" doc:"The period that opens next; all fields are null during a pause without an end."`
	Current     *Current          `json:"current" doc:"The most relevant period now; null if the pipeline is not active."`
	Probes      []Probe           `json:"probes" doc:"The probes in file order."`
}

// Current is the period of a pipeline whose gate is most relevant now.
type Current struct {
	Date    string `json:"date"`
	OpenRun bool   `json:"openRun" doc:"Whether the period has an open run."`
	Turn
}

// Slice is a slice of time.
type Slice struct {
	StartsAt time.Time `json:"startsAt" doc:"The start of the slice."`
	EndsAt   time.Time `json:"endsAt" doc:"The end of the slice, exclusive."`
}

// State is the state of a pipeline.
type State string

// The states of a pipeline.
const (
	StateOK       State = "ok"
	StatePaused   State = "paused"
	StateDegraded State = "degraded" // its newest file has problems; an older version is active
	StateRejected State = "rejected" // its newest file has problems; no version is active
	StateRemoved  State = "removed"
)

// Pause is an operator's pause of a pipeline, or of all.
type Pause struct {
	Paused  bool       `json:"paused"`
	By      *string    `json:"by"`
	Why     *string    `json:"why"`
	Since   *time.Time `json:"since"`
	Until   *time.Time `json:"until" doc:"When the pause ends automatically; null if never."`
	HoldSLA bool       `json:"holdSla" doc:"Whether deadlines are cancelled during the pause."`
}

// NextFire is the next period that a schedule opens automatically.
type NextFire struct {
	Date     *string    `json:"date"`
	FireAt   *time.Time `json:"fireAt"`
	WarnAt   *time.Time `json:"warnAt" doc:"When the warning is sent."`
	BreachAt *time.Time `json:"breachAt" doc:"When the deadline is breached."`
}

// Pipelines lists the pipelines, by id.
func (c *Client) Pipelines(ctx context.Context, p Paging, options ...CallOption) (Page[Pipeline], error) {
	return ask[Page[Pipeline]](ctx, c, get(path("pipelines"), query(p.with()...)), options)
}

// Pipeline returns one pipeline.
func (c *Client) Pipeline(ctx context.Context, id string, options ...CallOption) (Pipeline, error) {
	return ask[Pipeline](ctx, c, get(path("pipelines", id), nil), options)
}

// Version is one accepted version of a pipeline's file.
type Version struct {
	Version string    `json:"version"`
	At      time.Time `json:"at" doc:"When it was accepted."`
	File    string    `json:"file" doc:"The path of the file."`
	InForce bool      `json:"inForce"`
}

// VersionText is a version with its text.
type VersionText struct {
	Version
	Text       string       `json:"text" doc:"The text of the file."`
	Calendars  []SourceText `json:"calendars" doc:"The calendars that it used."`
	Archetypes []SourceText `json:"archetypes" doc:"The archetypes that it used."`
}

// SourceText is a file of a version.
type SourceText struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// Versions lists the accepted versions of a pipeline's file, newest first.
func (c *Client) Versions(ctx context.Context, id string, options ...CallOption) ([]Version, error) {
	return allPages[Version](ctx, c, get(path("pipelines", id, "versions"), nil), options)
}

// Version returns one version with its text.
func (c *Client) Version(ctx context.Context, id, version string, options ...CallOption) (VersionText, error) {
	return ask[VersionText](ctx, c, get(path("pipelines", id, "versions", version), nil), options)
}

// PauseRequest asks to pause a pipeline.
type PauseRequest struct {
	Until   string `json:"until,omitempty" doc:"When the pause ends automatically: RFC 3339, or a duration such as 2h."`
	HoldSLA bool   `json:"holdSla,omitempty" doc:"Cancel deadlines during the pause."`
	Asked
}

// Pause pauses a pipeline: readings are stored, but nothing opens or starts.
func (c *Client) Pause(ctx context.Context, id string, q PauseRequest, options ...CallOption) (Pause, error) {
	return ask[Pause](ctx, c, post(path("pipelines", id, "pause"), q), options)
}

// PauseAll pauses all pipelines, including those added later, and returns the ids of the active
// ones. It does not change the pipelines' own pauses. It needs a reason.
func (c *Client) PauseAll(ctx context.Context, q PauseRequest, options ...CallOption) ([]string, error) {
	return items[string](ctx, c, postLong(path("pause"), q), options)
}

// Resume ends a pipeline's own pause. It returns the pause of all pipelines, if that still covers
// the pipeline.
func (c *Client) Resume(ctx context.Context, id string, q Asked, options ...CallOption) (Pause, error) {
	return ask[Pause](ctx, c, post(path("pipelines", id, "resume"), q), options)
}

// ResumeAll ends the pause of all pipelines and returns the ids of those that are no longer paused:
// a pipeline with its own pause stays paused.
func (c *Client) ResumeAll(ctx context.Context, q Asked, options ...CallOption) ([]string, error) {
	return items[string](ctx, c, postLong(path("resume"), q), options)
}

// Probe is an evaluator of a pipeline, with its recent results.
type Probe struct {
	Pipeline string        `json:"pipeline" doc:"The pipeline of the probe."`
	Key      string        `json:"key" doc:"The sensor that the probe writes."`
	Kind     string        `json:"kind" enum:"command,url,builtin"`
	Builtin  *string       `json:"builtin" doc:"The built-in check; null for other probes."`
	Interval *string       `json:"interval" doc:"How often the probe runs; null if it runs when its answer has expired and a gate needs it."`
	TTL      string        `json:"ttl" doc:"How long an answer is valid."`
	Timeout  string        `json:"timeout"`
	State    string        `json:"state" enum:"new,ok,failing,open" doc:"new: the probe has not run yet. failing: the last run failed. open: it failed so often that it now runs rarely."`
	Answer   ProbeAnswer   `json:"answer" doc:"The last answer; all fields are null if there is none."`
	Failures ProbeFailures `json:"failures" doc:"The failures since the last answer."`
}

// ProbeAnswer is the last answer of a probe; all fields are nil if it never answered.
type ProbeAnswer struct {
	At           *time.Time `json:"at"`
	Date         *string    `json:"date" doc:"The period of the answer."`
	Status       *string    `json:"status" enum:"PASS,FAIL,UNKNOWN" doc:"UNKNOWN: the probe knows nothing about the period, such as an SQL probe whose query returned no row. Then there is no reading."`
	Reason       *string    `json:"reason"`
	ExpiresAt    *time.Time `json:"expiresAt" doc:"When it expires; null if the status is UNKNOWN."`
	Milliseconds *int64     `json:"milliseconds" doc:"How long the probe took."`
}

// ProbeFailures counts the failures of a probe since its last answer.
type ProbeFailures struct {
	Count    int        `json:"count"`
	Since    *time.Time `json:"since"`
	At       *time.Time `json:"at" doc:"When the last failure happened."`
	Reason   *string    `json:"reason" doc:"The reason of the last failure."`
	Category *string    `json:"category" enum:"PERMANENT,TRANSIENT,TIMEOUT"`
	NextTry  *time.Time `json:"nextTry" doc:"The earliest time of the next run."`
}
