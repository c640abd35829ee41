package awslambda

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/record"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// Record is a stream record as Lambda delivers it. A REMOVE record has no image.
type Record struct {
	Event    string `json:"eventName"`
	Identity struct {
		Principal string `json:"principalId"`
	} `json:"userIdentity"`
	Change struct {
		At       float64    `json:"ApproximateCreationDateTime"` // seconds since 1970
		Sequence string     `json:"SequenceNumber"`
		Image    dynamo.Row `json:"NewImage"`
		Keys     struct {
			PK, SK struct{ S string }
		}
	} `json:"dynamodb"`
}

// removed is the event name of a deletion, whether by a person, a function or the row's time to live.
const removed = "REMOVE"

// file is the sort key of a pipeline, calendar or archetype file.
const file = "CONFIG"

// took reports whether a file was removed. All other removals are ignored: finished work is announced by writes, and
// an expired or deleted row needs no action.
func (r Record) took() bool {
	return r.Event == removed && r.Change.Keys.SK.S == file && r.Identity.Principal == ""
}

// at returns when the row was written.
func (r Record) at() time.Time {
	whole := int64(r.Change.At)
	return time.Unix(whole, int64((r.Change.At-float64(whole))*1e9)).Round(time.Millisecond).UTC()
}

// Facts is the decoded content of a record. Most records hold one fact, many none: not every row matters to a
// function.
type Facts struct {
	Pipeline pipeline.ID // whose rows they are; records of one pipeline arrive in order
	At       time.Time   // when the row was written, from the stream: in whole seconds

	Change  *store.Change        // for the router
	Task    string               // the id of a stored task, to be relayed
	Outbox  *Outbox              // for the bus
	Sensor  *dynamo.Produced     // written by a producer
	File    *pipeline.Source     // a deployed pipeline, calendar or archetype file
	Result  *run.Outcome         // of a job, written by an external writer
	Rerun   *router.RerunRequest // written by an external writer
	Operate *Operation           // requested by an operator
	Refused *Refused             // an invalid row of an external writer
}

// Outbox is the events of a commit. Done marks them as published.
type Outbox struct {
	Events []event.Event
	Done   func(ctx context.Context, now time.Time) error
}

// Refused is an invalid row and the reason. It is reported once and holds nothing up.
type Refused struct {
	Row    string
	Reason string
	Record string // its sequence number: the stream's time has only seconds
}

// Streams is the part of the tables that only the stream-router and the watchdog use.
type Streams interface {
	// Facts decodes a record. An error means that the record can never be read.
	Facts(r Record) (Facts, error)
	// PutProduced stores a producer's row as a reading, unless a later one is stored, and returns its change, or nil
	// if nothing changed. It is safe to repeat.
	PutProduced(ctx context.Context, p record.Produced) (*store.Change, error)
	// Unread returns the producers' rows of a pipeline whose records were lost.
	Unread(ctx context.Context, id pipeline.ID, now time.Time) ([]dynamo.Produced, error)
	// Files returns all pipeline, calendar and archetype files.
	Files(ctx context.Context) (dynamo.Files, error)
	// Outboxes returns the unpublished outboxes committed before an instant, oldest first.
	Outboxes(ctx context.Context, before time.Time) ([]Outbox, error)
	// Overview lists what happened in all pipelines; nil if each pipeline must be read.
	Overview() watchdog.Overview
}
