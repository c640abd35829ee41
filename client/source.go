package client

import (
	"context"
	"time"
)

// EventSource is a source of events, and its activity.
type EventSource struct {
	ID          string     `json:"id"`
	Owner       string     `json:"owner"`
	Format      string     `json:"format"` // cloudevents, openlineage or json
	Description *string    `json:"description"`
	File        string     `json:"file"`
	Pipelines   []string   `json:"pipelines"` // that it names
	Matched     int64      `json:"matched"`   // events
	Written     int64      `json:"written"`   // readings
	Repeated    int64      `json:"repeated"`  // readings of repeated events
	Problems    int64      `json:"problems"`
	LastProblem *string    `json:"lastProblem"`
	ProblemAt   *time.Time `json:"problemAt"`
	FirstEvent  *time.Time `json:"firstEvent"`
	LastEvent   *time.Time `json:"lastEvent"`

	UsualSeconds *int64        `json:"usualSeconds"` // usual time between events; nil while too little is known
	ExpectedBy   *time.Time    `json:"expectedBy"`   // an event is missing after this time
	Silence      *string       `json:"silence"`      // how long there has been no event, if one is missing
	Recent       []SourceEvent `json:"recent"`       // newest first

	Confirmation *SourceConfirmation `json:"confirmation"` // that SNS asks for; nil if there is none
}

// SourceConfirmation is a subscription that SNS asks to confirm. A person must open its link.
type SourceConfirmation struct {
	At      time.Time `json:"at" doc:"When SNS asked."`
	Topic   string    `json:"topic"`
	Message string    `json:"message" doc:"What SNS asks for."`
	Link    string    `json:"link" doc:"The link to open in a browser. Interlock never opens it."`
}

// SourceEvent is an event that a source matched.
type SourceEvent struct {
	At       time.Time `json:"at"`
	Event    string    `json:"event"` // a name for it
	Written  int       `json:"written"`
	Repeated int       `json:"repeated"`
	Problems []string  `json:"problems"`
}

// UnmatchedEvents counts the events that no source has matched since the server started.
type UnmatchedEvents struct {
	CloudEvents int64         `json:"cloudevents"`
	OpenLineage int64         `json:"openlineage"`
	JSON        int64         `json:"json"`
	Samples     []EventSample `json:"samples"` // newest first
}

// EventSample is an event that no source matched.
type EventSample struct {
	At     time.Time `json:"at"`
	Format string    `json:"format"`
	Event  string    `json:"event"` // a name for it
}

// Sources lists all sources, and the events that none of them matched.
type Sources struct {
	Items     []EventSource    `json:"items"`
	Rejected  []RejectedSource `json:"rejected"`
	Unmatched UnmatchedEvents  `json:"unmatched"`
}

// RejectedSource is a source file with errors. If an earlier version was valid, that one is active.
type RejectedSource struct {
	File     string        `json:"file"`
	Problems []FileProblem `json:"problems" doc:"Errors and warnings in file order."`
}

// FileProblem is a problem at a location in a file.
type FileProblem struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Path     string `json:"path" doc:"The key it is about."`
	Message  string `json:"message" doc:"The problem and the fix."`
	Severity string `json:"severity" enum:"error,warning"`
}

// Sources lists the sources of events by id.
func (c *Client) Sources(ctx context.Context, options ...CallOption) (Sources, error) {
	return ask[Sources](ctx, c, get(path("sources"), nil), options)
}
