package client

import (
	"context"
	"time"
)

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
	Subject     *string        `json:"subject" doc:"What else it is about, such as a run."`
	Reason      *string        `json:"reason"`
	Parameters  map[string]any `json:"parameters" doc:"The parameters of the request, such as force: true."`
	Outcome     *string        `json:"outcome" doc:"done, refused or failed; null if the server stopped before it was known."`
	Error       *string        `json:"error" doc:"Why it was refused, or the error."`
}

// AuditQuery says which entries; empty fields mean any.
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
