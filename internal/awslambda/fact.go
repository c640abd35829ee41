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

// Record is a record of a stream as Lambda hands it over. A record of removal has no image.
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

// removed is the event of a record of removal, by whomever: a person, a function, or the end of a row's time to live.
const removed = "REMOVE"

// file is the sort key of a pipeline, calendar or archetype file.
const file = "CONFIG"

// took says that somebody took a file away. No other removal tells anything: what is done is told by what was written, and a row
// whose time is over, or that somebody took back, asks for nothing.
func (r Record) took() bool {
	return r.Event == removed && r.Change.Keys.SK.S == file && r.Identity.Principal == ""
}

// at is when the row was written.
func (r Record) at() time.Time {
	whole := int64(r.Change.At)
	return time.Unix(whole, int64((r.Change.At-float64(whole))*1e9)).Round(time.Millisecond).UTC()
}

// Facts are what a record tells. Most tell one, many none: not every row is anybody's business.
type Facts struct {
	Pipeline pipeline.ID // whose rows they are, which come in order
	At       time.Time   // when the row was written, by the stream: in whole seconds

	Change  *store.Change        // for the router
	Task    string               // stored, by its id: on its way to what waits for it
	Outbox  *Outbox              // for the bus
	Sensor  *dynamo.Produced     // written by a producer
	File    *pipeline.Source     // a pipeline, calendar or archetype file, which somebody deployed
	Result  *run.Outcome         // of a job, written by somebody else
	Rerun   *router.RerunRequest // written by somebody else
	Operate *Operation           // what an operator asks for
	Refused *Refused             // a row of somebody else's that makes no sense
}

// Outbox is the events of a commit. Done remembers that they were passed on.
type Outbox struct {
	Events []event.Event
	Done   func(ctx context.Context, now time.Time) error
}

// Refused is a row that nobody can act on, and why. It is told, once, and stops nobody.
type Refused struct {
	Row    string
	Reason string
	Record string // its sequence number: the stream's time keeps to the second
}

// Streams are the tables' own side of the stream-router.
type Streams interface {
	// Facts are what a record tells. An error is a record that nobody can ever read.
	Facts(r Record) (Facts, error)
	// PutProduced makes a reading of a producer's row, unless a later one is there, and returns its change; nil if there is
	// none. It may be repeated.
	PutProduced(ctx context.Context, p record.Produced) (*store.Change, error)
	// Unread are the rows of a pipeline's producers whose records were lost.
	Unread(ctx context.Context, id pipeline.ID, now time.Time) ([]dynamo.Produced, error)
	// Files are all pipeline, calendar and archetype files that there are.
	Files(ctx context.Context) (dynamo.Files, error)
	// Outboxes are those that were committed before an instant and that nobody has passed on, oldest first.
	Outboxes(ctx context.Context, before time.Time) ([]Outbox, error)
	// Overview names what happened in all pipelines; nil where each of them is asked.
	Overview() watchdog.Overview
}
