package awslambda

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/record"
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

// removed is the event name of a deletion, whether by a person, a function or the row's time to
// live.
const removed = "REMOVE"

// file is the sort key of a pipeline, calendar or archetype file.
const file = "CONFIG"

// took reports whether a file was removed. All other removals are ignored: finished work is
// announced by writes, and an expired or deleted row needs no action.
func (r Record) took() bool {
	return r.Event == removed && r.Change.Keys.SK.S == file && r.Identity.Principal == ""
}

// at returns when the row was written.
func (r Record) at() time.Time {
	whole := int64(r.Change.At)
	return time.Unix(whole, int64((r.Change.At-float64(whole))*1e9)).Round(time.Millisecond).UTC()
}

// Streams is the part of the tables that only the stream-router and the watchdog use.
type Streams interface {
	// Notice decodes a record. An error means that the record can never be read.
	Notice(r Record) (dynamo.Notice, error)
	// PutProduced stores a producer's row as a reading, unless a later one is stored, and returns
	// its change, or nil if nothing changed. It is safe to repeat.
	PutProduced(ctx context.Context, p record.Produced) (*store.Change, error)
	// Unread returns the producers' rows of a pipeline whose records were lost.
	Unread(ctx context.Context, id pipeline.ID, now time.Time) ([]record.Produced, error)
	// Files returns all pipeline, calendar and archetype files.
	Files(ctx context.Context) (dynamo.Files, error)
	// Outboxes returns up to limit unpublished outboxes committed before an instant, oldest first.
	Outboxes(ctx context.Context, before time.Time, limit int) ([]dynamo.Outbox, error)
	// Relayed records that the events of an outbox were published. It is safe to repeat.
	Relayed(ctx context.Context, o dynamo.Outbox, now time.Time) error
}

// Tables decodes the stream records of a deployment's tables.
type Tables struct{ *dynamo.Store }

var _ Streams = Tables{}

// Notice decodes a record.
func (Tables) Notice(r Record) (dynamo.Notice, error) {
	return dynamo.Record{Image: r.Change.Image, Sequence: r.Change.Sequence, At: r.at()}.Read()
}

// Unread compares the producers' rows with the stored readings and returns the missing ones.
func (t Tables) Unread(ctx context.Context, id pipeline.ID, now time.Time) ([]record.Produced, error) {
	rows, err := t.Produced(ctx, id, now)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return t.Store.Unread(ctx, rows)
}
