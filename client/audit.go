package client

import (
	"context"
	"time"
)

// AuditEntry is one action of the audit record.
type AuditEntry struct {
	ID          string         `json:"id"`
	At          time.Time      `json:"at"`
	Actor       string         `json:"actor"` // the token, certificate or user; local where the server asks for none, server for what it does by itself
	Role        *string        `json:"role"`
	RequestedBy *string        `json:"requestedBy"` // the person, as the client named them
	Remote      *string        `json:"remote"`      // the address that the request came from
	RequestID   *string        `json:"requestId"`
	Action      string         `json:"action"` // the operation, such as trigger, pause, login or config
	Pipeline    *string        `json:"pipeline"`
	Subject     *string        `json:"subject"` // what else it is about, such as a run
	Reason      *string        `json:"reason"`
	Parameters  map[string]any `json:"parameters"`
	Outcome     *string        `json:"outcome"` // done, refused or failed; nil if the server stopped before it was known
	Error       *string        `json:"error"`
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
