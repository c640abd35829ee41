package client

import (
	"context"
	"time"
)

// Asked is who asks for something, and why. The server records RequestedBy beside the name of the token.
type Asked struct {
	Reason      string `json:"reason,omitempty"`
	RequestedBy string `json:"requestedBy,omitempty"`
}

// TriggerRequest is a wish to open the run of a period.
type TriggerRequest struct {
	Pipeline   string `json:"pipeline"`
	Date       string `json:"date,omitempty"`       // that of a fire now unless said
	Force      bool   `json:"force,omitempty"`      // also a period that the calendar excludes; needs a reason
	BypassGate bool   `json:"bypassGate,omitempty"` // start whatever the gate says; needs a reason
	Asked
}

// Trigger opens the run of a period.
func (c *Client) Trigger(ctx context.Context, q TriggerRequest, options ...CallOption) (Run, error) {
	return ask[Run](ctx, c, post(path("runs"), q), options)
}

// RerunRequest is a wish for another attempt of a run.
type RerunRequest struct {
	Force      bool `json:"force,omitempty"`      // skip circuit breaker and budget
	BypassGate bool `json:"bypassGate,omitempty"` // start whatever the gate says
	Asked
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

// Rerun asks for another attempt of a run. One that is rejected is a *Problem.
func (c *Client) Rerun(ctx context.Context, key RunKey, q RerunRequest, options ...CallOption) (Rerun, error) {
	return ask[Rerun](ctx, c, post(key.path("reruns"), q), options)
}

// Cancel ends an open run.
func (c *Client) Cancel(ctx context.Context, key RunKey, q Asked, options ...CallOption) (Run, error) {
	return ask[Run](ctx, c, post(key.path("cancel"), q), options)
}

// AcceptRemoval removes the pipelines whose files their folder lost at once, and returns their ids.
func (c *Client) AcceptRemoval(ctx context.Context, q Asked, options ...CallOption) ([]string, error) {
	page, err := ask[Page[string]](ctx, c, many(path("config", "accept-removal"), q), options)
	return page.Items, err
}

// JobReport is the result of a run's job, told from outside.
type JobReport struct {
	Result      string `json:"result"`            // success, fail or timeout
	Attempt     int    `json:"attempt,omitempty"` // the latest unless said
	Message     string `json:"message,omitempty"`
	Category    string `json:"category,omitempty"` // of a failure: PERMANENT, TRANSIENT or TIMEOUT
	ExitCode    *int   `json:"exitCode,omitempty"`
	Output      string `json:"output,omitempty"` // the end of what the job printed, at most 64 KiB; with a permit only
	RequestedBy string `json:"requestedBy,omitempty"`
}

// JobReported is what became of a result.
type JobReported struct {
	Run  Run  `json:"run"`
	Late bool `json:"late"` // nobody waits for it any more: it is logged and changes nothing
}

// Report tells the result of a run's job. A job itself may use the token that it was given as INTERLOCK_CALLBACK_TOKEN.
func (c *Client) Report(ctx context.Context, key RunKey, r JobReport, options ...CallOption) (JobReported, error) {
	return ask[JobReported](ctx, c, post(key.path("job"), r), options)
}

// BackfillRequest is a wish for the runs of a stretch of time.
type BackfillRequest struct {
	From        string `json:"from"`
	To          string `json:"to"`                    // included
	OnlyMissing bool   `json:"onlyMissing,omitempty"` // leave runs alone that are there
	DryRun      bool   `json:"dryRun,omitempty"`      // only say what would be done
	Asked
}

// Backfilled is what became, or would become, of one period.
type Backfilled struct {
	Date   string  `json:"date"`
	Action string  `json:"action"` // open, rerun or skip
	Reason *string `json:"reason"`
}

// Backfill opens the runs of all expected periods of a stretch of time, oldest first.
func (c *Client) Backfill(ctx context.Context, id string, q BackfillRequest, options ...CallOption) ([]Backfilled, error) {
	page, err := ask[Page[Backfilled]](ctx, c, many(path("pipelines", id, "backfill"), q), options)
	return page.Items, err
}
