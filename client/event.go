package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Event is an event that the server recorded.
type Event struct {
	ID     string      `json:"id"`
	Source string      `json:"source"`
	Type   string      `json:"detail-type"`
	Time   time.Time   `json:"time"`
	Detail EventDetail `json:"detail"`

	SilencedBy *string `json:"silencedBy"` // the silence that suppressed its alert

	Raw      json.RawMessage `json:"-"` // as the server sent it, including the fields of its type
	Position string          `json:"-"` // its position in a followed stream, to resume after it later
}

// EventDetail has the common fields of all events. The other fields depend on the type.
type EventDetail struct {
	Pipeline  string    `json:"pipelineId"` // empty for events about the platform
	Schedule  string    `json:"scheduleId"`
	Date      string    `json:"date"`
	Message   string    `json:"message"`
	Timestamp time.Time `json:"timestamp"`
	Severity  string    `json:"severity"` // info, warning or critical
	Attempt   int       `json:"attempt"`
	CausedBy  string    `json:"causedBy"`
}

// UnmarshalJSON also keeps the event as it was sent.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	e.Raw = slices.Clone(data)
	return nil
}

// EventQuery selects events; empty fields match any.
type EventQuery struct {
	Pipeline string
	Schedule string // with Pipeline and Date: the events of one run
	Date     string
	Type     string
	Since    string // RFC 3339, a period, or how long ago, such as 2h
	Paging
}

// Events lists events, newest first.
func (c *Client) Events(ctx context.Context, q EventQuery, options ...CallOption) (Page[Event], error) {
	return ask[Page[Event]](ctx, c, get(path("events"), query(q.with("pipeline", q.Pipeline, "schedule", q.Schedule, "date", q.Date, "type", q.Type, "since", q.Since)...)), options)
}

// AuditEntry is one action of the audit record.
type AuditEntry struct {
	ID          string         `json:"id"`
	At          time.Time      `json:"at"`
	Actor       string         `json:"actor" doc:"The token, certificate or user; local if the server requires none, server for its own actions."`
	Role        *string        `json:"role" doc:"The actor's role."`
	RequestedBy *string        `json:"requestedBy" doc:"The person, as the client named them."`
	Remote      *string        `json:"remote" doc:"The address of the client."`
	RequestID   *string        `json:"requestId" doc:"The request's id, as in the server's log."`
	Action      string         `json:"action" doc:"The operation, such as trigger, pause, login or config."`
	Pipeline    *string        `json:"pipeline"`
	Subject     *string        `json:"subject" doc:"The subject other than the pipeline, such as a run."`
	Reason      *string        `json:"reason"`
	Parameters  map[string]any `json:"parameters" doc:"The parameters of the request, such as force: true."`
	Outcome     *string        `json:"outcome" doc:"done, refused or failed; null if the server stopped before the outcome was recorded."`
	Error       *string        `json:"error" doc:"Why the request was refused, or the error."`
	Change      *ConfigChange  `json:"change" doc:"The change of a configuration file; null for other actions."`
}

// ConfigChange is a change of a configuration file.
type ConfigChange struct {
	Kind   string   `json:"kind" doc:"pipeline, archetype, calendar or source."`
	File   string   `json:"file"`
	Was    *string  `json:"was" doc:"The file's path before, if it has moved."`
	Before *string  `json:"before" doc:"The SHA-256 digest of its last accepted contents; null if there were none."`
	After  *string  `json:"after" doc:"The SHA-256 digest of its new contents, accepted or rejected; null if it was removed."`
	Owner  *string  `json:"owner" doc:"The owner of the file on disk."`
	Commit *string  `json:"commit" doc:"The Git commit that is checked out in its directory."`
	Diff   []string `json:"diff" doc:"The values that were removed (- path: value) and added (+ path: value). Values that look like secrets are left out."`
}

// AuditQuery selects entries; empty fields match any.
type AuditQuery struct {
	Actor        string // a token, certificate, user or person
	Action       string
	Pipeline     string
	Outcome      string
	Since, Until string // RFC 3339, a period, or how long ago, such as 2h; Until is not included
	Paging
}

// Audit lists who did what, newest first. It needs the role admin.
func (c *Client) Audit(ctx context.Context, q AuditQuery, options ...CallOption) (Page[AuditEntry], error) {
	return ask[Page[AuditEntry]](ctx, c, get(path("audit"), query(q.with(
		"actor", q.Actor, "action", q.Action, "pipeline", q.Pipeline, "outcome", q.Outcome, "since", q.Since, "until", q.Until)...)), options)
}
