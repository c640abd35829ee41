package client

import (
	"context"
	"time"
)

// Pipeline is a pipeline and how it stands.
type Pipeline struct {
	ID          string            `json:"id"`
	State       State             `json:"state"`
	Owner       string            `json:"owner"`
	Description string            `json:"description"`
	Tags        map[string]string `json:"tags"`
	File        *string           `json:"file"`
	Version     *string           `json:"version"`
	Problems    []string          `json:"problems"` // why its newest file is not in force
	Schedule    *string           `json:"schedule"` // cron, stream or manual
	Period      *string           `json:"period"`   // month, week, day, hour or minute
	Timezone    *string           `json:"timezone"`
	After       []string          `json:"after"`
	JobType     *string           `json:"jobType"`
	DryRun      bool              `json:"dryRun"`
	MaxActive   int               `json:"maxActive"`
	Pause       Pause             `json:"pause"`    // its own
	PauseAll    Pause             `json:"pauseAll"` // that of all pipelines
	Horizon     *time.Time        `json:"horizon"`  // its first acceptance
	AcceptedAt  *time.Time        `json:"acceptedAt"`
	RemovedAt   *time.Time        `json:"removedAt"`
	OpenRuns    int               `json:"openRuns"`
	LastRun     *Run              `json:"lastRun"`   // of its latest period
	Attention   []Attention       `json:"attention"` // what needs a person, most pressing first
	Current     *Current          `json:"current"`   // the period whose gate says most now; nil if the pipeline is not active
	Next        NextFire          `json:"next"`
	Probes      []Probe           `json:"probes"` // in the order of its file
}

// Current is the period of a pipeline whose gate says most now.
type Current struct {
	Date    string `json:"date"`
	OpenRun bool   `json:"openRun"` // it is that of an open run
	Turn
}

// State is how a pipeline stands.
type State string

// The states of a pipeline.
const (
	StateOK       State = "ok"
	StatePaused   State = "paused"
	StateDegraded State = "degraded" // its newest file has problems; an older version is in force
	StateRejected State = "rejected" // no version of it was ever in force
	StateRemoved  State = "removed"
)

// Pause is an operator's stop of a pipeline, or of all.
type Pause struct {
	Paused  bool       `json:"paused"`
	By      *string    `json:"by"`
	Why     *string    `json:"why"`
	Since   *time.Time `json:"since"`
	Until   *time.Time `json:"until"`
	HoldSLA bool       `json:"holdSla"`
}

// NextFire is the next period that a schedule opens by itself.
type NextFire struct {
	Date     *string    `json:"date"`
	FireAt   *time.Time `json:"fireAt"`
	WarnAt   *time.Time `json:"warnAt"`
	BreachAt *time.Time `json:"breachAt"`
}

// Pipelines lists the pipelines, by id.
func (c *Client) Pipelines(ctx context.Context, p Paging, options ...CallOption) (Page[Pipeline], error) {
	return ask[Page[Pipeline]](ctx, c, get(path("pipelines"), query(p.with()...)), options)
}

// Pipeline gives one pipeline.
func (c *Client) Pipeline(ctx context.Context, id string, options ...CallOption) (Pipeline, error) {
	return ask[Pipeline](ctx, c, get(path("pipelines", id), nil), options)
}

// Version is one accepted version of a pipeline's file.
type Version struct {
	Version string    `json:"version"`
	At      time.Time `json:"at"`
	File    string    `json:"file"`
	InForce bool      `json:"inForce"`
}

// VersionText is a version with its text.
type VersionText struct {
	Version
	Text       string   `json:"text"`
	Calendars  []Source `json:"calendars"`
	Archetypes []Source `json:"archetypes"`
}

// Source is a file that belongs to a version.
type Source struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// Versions lists the accepted versions of a pipeline's file, newest first.
func (c *Client) Versions(ctx context.Context, id string, options ...CallOption) ([]Version, error) {
	return every[Version](ctx, c, get(path("pipelines", id, "versions"), nil), options)
}

// Version gives one version with its text.
func (c *Client) Version(ctx context.Context, id, version string, options ...CallOption) (VersionText, error) {
	return ask[VersionText](ctx, c, get(path("pipelines", id, "versions", version), nil), options)
}

// PauseRequest is a wish to stop a pipeline.
type PauseRequest struct {
	Until       string `json:"until,omitempty"`   // when it ends by itself: RFC 3339, or for how long, such as 2h
	HoldSLA     bool   `json:"holdSla,omitempty"` // cancel its deadlines meanwhile
	Reason      string `json:"reason,omitempty"`
	RequestedBy string `json:"requestedBy,omitempty"`
}

// Pause stops a pipeline: readings are kept, nothing opens or starts.
func (c *Client) Pause(ctx context.Context, id string, q PauseRequest, options ...CallOption) (Pause, error) {
	return ask[Pause](ctx, c, post(path("pipelines", id, "pause"), q), options)
}

// PauseAll stops all pipelines, also those that are added later, and returns the ids of those in force. It leaves the pipelines'
// own pauses alone.
func (c *Client) PauseAll(ctx context.Context, q PauseRequest, options ...CallOption) ([]string, error) {
	page, err := ask[Page[string]](ctx, c, many(path("pause"), q), options)
	return page.Items, err
}

// Resume ends a pipeline's own pause. It returns the pause of all pipelines, if that still covers the pipeline.
func (c *Client) Resume(ctx context.Context, id string, q Asked, options ...CallOption) (Pause, error) {
	return ask[Pause](ctx, c, post(path("pipelines", id, "resume"), q), options)
}

// ResumeAll ends the pause of all pipelines and returns the ids of those that are not paused any more: a pipeline with a pause of
// its own stays paused.
func (c *Client) ResumeAll(ctx context.Context, q Asked, options ...CallOption) ([]string, error) {
	page, err := ask[Page[string]](ctx, c, many(path("resume"), q), options)
	return page.Items, err
}
