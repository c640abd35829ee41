package client

import (
	"context"
	"time"
)

// Asked says who requests something, and why. The server records RequestedBy beside the name of the
// token.
type Asked struct {
	Reason      string `json:"reason,omitempty" maxLength:"1000" doc:"The reason."`
	RequestedBy string `json:"requestedBy,omitempty" maxLength:"200" doc:"The person who requests it; recorded with the name of the token."`
}

// TriggerRequest asks to open the run of a period.
type TriggerRequest struct {
	Pipeline   string `json:"pipeline" doc:"The pipeline's id."`
	Date       string `json:"date,omitempty" doc:"The period. Default: the current period: that of a fire now or, if no fire is for it, of the last fire."`
	Force      bool   `json:"force,omitempty" doc:"Open the run even if the calendar excludes the period or the budget is used up."`
	BypassGate bool   `json:"bypassGate,omitempty" doc:"Start even if the gate is closed. Needs a reason."`
	Asked
}

// Trigger opens the run of a period.
func (c *Client) Trigger(ctx context.Context, q TriggerRequest, options ...CallOption) (Run, error) {
	return ask[Run](ctx, c, post(path("runs"), q), options)
}

// RerunRequest asks for another attempt of a run.
type RerunRequest struct {
	Force      bool `json:"force,omitempty"`      // skip circuit breaker and budget
	BypassGate bool `json:"bypassGate,omitempty"` // start whatever the gate's state
	Asked
}

// Rerun is a request for another attempt, with the server's decision.
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
	Attempt     *int      `json:"attempt" doc:"The attempt that was opened."`
}

// Rerun asks for another attempt of a run. A rejected request returns a *Problem.
func (c *Client) Rerun(ctx context.Context, key RunKey, q RerunRequest, options ...CallOption) (Rerun, error) {
	return ask[Rerun](ctx, c, post(key.path("reruns"), q), options)
}

// Cancel ends an open run.
func (c *Client) Cancel(ctx context.Context, key RunKey, q Asked, options ...CallOption) (Run, error) {
	return ask[Run](ctx, c, post(key.path("cancel"), q), options)
}

// PurgeRequest asks to delete everything that is stored about a removed pipeline.
type PurgeRequest struct {
	DryRun bool `json:"dryRun,omitempty" doc:"Only count what would be deleted."`
	Asked
}

// Purged counts the records that a purge deleted, or would delete.
type Purged struct {
	Pipeline string         `json:"pipeline"`
	DryRun   bool           `json:"dryRun" doc:"Whether nothing was deleted."`
	Rows     map[string]int `json:"rows" doc:"Records by kind, such as runs, writes, deadlines."`
}

// Purge deletes what is stored about a removed pipeline, with its events. AUDIT events, the audit record
// and dead letters stay. It needs a reason. If it is interrupted, repeat it.
func (c *Client) Purge(ctx context.Context, id string, q PurgeRequest, options ...CallOption) (Purged, error) {
	return ask[Purged](ctx, c, postLong(path("pipelines", id, "purge"), q), options)
}

// AcceptRemoval removes the pipelines whose files disappeared all at once, and returns their ids.
func (c *Client) AcceptRemoval(ctx context.Context, q Asked, options ...CallOption) ([]string, error) {
	return items[string](ctx, c, postLong(path("config", "accept-removal"), q), options)
}

// JobReport is the result of a run's job, reported by a client.
type JobReport struct {
	Result      string `json:"result" enum:"success,fail,timeout" doc:"The result."`
	Attempt     int    `json:"attempt,omitempty" minimum:"1" doc:"The attempt. Default: the attempt of the callback token, else the latest."`
	Message     string `json:"message,omitempty" maxLength:"4000" doc:"The message of the result."`
	Category    string `json:"category,omitempty" enum:"PERMANENT,TRANSIENT,TIMEOUT" doc:"The failure category."`
	ExitCode    *int   `json:"exitCode,omitempty"`
	Output      string `json:"output,omitempty" maxLength:"65536" doc:"The last output of the job, at most 64 KiB. It is stored for claimed attempts only."`
	RequestedBy string `json:"requestedBy,omitempty" maxLength:"200" doc:"The person who reports it."`
}

// JobReported is the server's response to a result.
type JobReported struct {
	Run  Run  `json:"run"`
	Late bool `json:"late" doc:"Whether the attempt had already ended. The result is then logged and changes nothing."`
}

// Report reports the result of a run's job. The job itself may use the token in
// INTERLOCK_CALLBACK_TOKEN.
func (c *Client) Report(ctx context.Context, key RunKey, r JobReport, options ...CallOption) (JobReported, error) {
	return ask[JobReported](ctx, c, post(key.path("job"), r), options)
}

// BackfillRequest asks for the runs of a range of periods.
type BackfillRequest struct {
	From        string `json:"from" doc:"The first period."`
	To          string `json:"to" doc:"The last period, inclusive."`
	OnlyMissing bool   `json:"onlyMissing,omitempty" doc:"Skip periods that have a run, in any state."`
	DryRun      bool   `json:"dryRun,omitempty" doc:"Only list the actions."`
	Asked
}

// Backfilled is what a backfill did, or would do, with one period.
type Backfilled struct {
	Date   string  `json:"date"`
	Action string  `json:"action" enum:"open,rerun,skip"`
	Reason *string `json:"reason" doc:"Why the period is skipped."`
}

// Backfill opens the runs of all expected periods in a range, oldest first.
func (c *Client) Backfill(ctx context.Context, id string, q BackfillRequest, options ...CallOption) ([]Backfilled, error) {
	return items[Backfilled](ctx, c, postLong(path("pipelines", id, "backfill"), q), options)
}
