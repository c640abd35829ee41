package client

import (
	"context"
	"time"
)

// Attention is one thing that needs a person.
type Attention struct {
	Code     string     `json:"code" enum:"held,status-unread,failed,exhausted,overdue,missing,rejected,degraded,undelivered,paused" doc:"Open run: held, status-unread. Run that failed, or whose gate stayed closed, and has not completed since: failed, exhausted. Passed deadline: overdue. Missed period: missing. File: rejected, degraded. Sink: undelivered. Pause of a day or longer: paused."`
	Severity string     `json:"severity" enum:"critical,warning,info"`
	Pipeline *string    `json:"pipeline" doc:"The pipeline; null if the item is about the server."`
	Schedule *string    `json:"schedule" doc:"The run's schedule; null if the item is not about a run."`
	Date     *string    `json:"date" doc:"The run's period; null if the item is not about a run."`
	Since    *time.Time `json:"since" doc:"When it began; null if unknown."`
	Reason   string     `json:"reason" doc:"The reason in one line, with times in UTC."`
	Why      Reason     `json:"why" doc:"The reason with its parameters."`
	Action   Action     `json:"action" doc:"What to do."`
}

// Action is what to do: a code for programs, a command for people.
type Action struct {
	Code    string `json:"code" enum:"job-complete,rerun,trigger,backfill,explain,fix-file,retry-alerts,resume,none"`
	Command string `json:"command" doc:"A command line. Replace TEXT, and choose one of a|b."`
}

// Reason says why something is in its state. The code is stable, the wording is not.
type Reason struct {
	Code  string `json:"code" doc:"A stable code. The wording of the sentence may change."`
	Text  string `json:"text" doc:"The sentence in English, with times in UTC."`
	Parts []Part `json:"parts" doc:"The sentence in parts."`
	Also  []Part `json:"also" doc:"Parameters that the sentence does not mention, such as exitCode and lastLine."`
}

// Part is a piece of a reason: words, or a named parameter.
type Part struct {
	Kind    string     `json:"kind" enum:"text,instant,duration,command" doc:"command: a command line that can be copied."`
	Name    *string    `json:"name" doc:"The parameter's name; null for the words between parameters."`
	Text    string     `json:"text" doc:"The text as it appears in the sentence."`
	At      *time.Time `json:"at" doc:"The time, for kind instant."`
	Seconds *float64   `json:"seconds" doc:"The seconds, for kind duration."`
}

// AttentionPage is a page of items that need a person. Total and Counts, by code, cover all pages.
type AttentionPage struct {
	Page[Attention]
	At     time.Time      `json:"at"`
	Total  int            `json:"total"`
	Counts map[string]int `json:"counts"`
}

// AttentionQuery selects all items, or those of one pipeline.
type AttentionQuery struct {
	Pipeline string
	Paging
}

// Attention lists what needs a person now, most urgent first.
func (c *Client) Attention(ctx context.Context, q AttentionQuery, options ...CallOption) (AttentionPage, error) {
	return ask[AttentionPage](ctx, c, get(path("attention"), query(q.with("pipeline", q.Pipeline)...)), options)
}
