package client

import (
	"context"
	"time"
)

// Attention is one thing that needs a person. Code is held or status-unread (an open run), failed or exhausted (the last run
// that ended), overdue (a deadline), missing (a period), rejected or degraded (a file), undelivered (a sink) or paused.
type Attention struct {
	Code     string     `json:"code"`
	Severity string     `json:"severity"` // critical, warning or info
	Pipeline *string    `json:"pipeline"` // nil where it is about the server
	Schedule *string    `json:"schedule"` // of the run; nil where it is about none
	Date     *string    `json:"date"`
	Since    *time.Time `json:"since"`
	Reason   string     `json:"reason"` // one line
	Why      Reason     `json:"why"`    // the same with its parameters
	Action   Action     `json:"action"`
}

// Action is what to do: a code for programs, a command for people.
type Action struct {
	Code    string `json:"code"`
	Command string `json:"command"`
}

// Reason is why something is as it is. The code is stable, the wording is not.
type Reason struct {
	Code  string `json:"code"`
	Text  string `json:"text"`
	Parts []Part `json:"parts"` // of the text
	Also  []Part `json:"also"`  // parameters that the text does not mention
}

// Part is a piece of a reason: words, or a parameter with its name.
type Part struct {
	Kind    string     `json:"kind"` // text, instant, duration or command
	Name    *string    `json:"name"`
	Text    string     `json:"text"`
	At      *time.Time `json:"at"`      // of an instant
	Seconds *float64   `json:"seconds"` // of a duration
}

// AttentionPage is a page of what needs a person. Total and Counts, by code, are of all pages.
type AttentionPage struct {
	Page[Attention]
	At     time.Time      `json:"at"`
	Total  int            `json:"total"`
	Counts map[string]int `json:"counts"`
}

// AttentionQuery is what is asked for: everything, or what is about one pipeline.
type AttentionQuery struct {
	Pipeline string
	Paging
}

// Attention lists what needs a person now, most pressing first.
func (c *Client) Attention(ctx context.Context, q AttentionQuery, options ...CallOption) (AttentionPage, error) {
	return ask[AttentionPage](ctx, c, get(path("attention"), query(q.with("pipeline", q.Pipeline)...)), options)
}
