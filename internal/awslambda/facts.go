package awslambda

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sink"
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

// Tables decodes the stream records of a deployment's tables.
type Tables struct{ *dynamo.Store }

var _ Streams = Tables{}

// The number of characters that are kept of external text, as over HTTP: a row may have 400 KB, an event far less.
const (
	longestMessage = 4000
	longestReason  = 1000
	longestName    = 200
)

// Facts decodes a record.
func (t Tables) Facts(r Record) (Facts, error) {
	n, err := dynamo.Record{Image: r.Change.Image, Sequence: r.Change.Sequence, At: r.at()}.Read()
	f := Facts{Pipeline: n.Pipeline, At: r.at(), Change: n.Change, Task: n.Task, Sensor: n.Sensor, Result: n.Result}
	if err != nil {
		return f, err
	}
	if f.Result != nil {
		f.Result.Message = sink.Cut(f.Result.Message, longestMessage)
	}
	if n.File {
		f.File = &pipeline.Source{File: fileName(r.Change.Keys.PK.S), Data: text(r.Change.Image["config"])}
	}
	if n.Refused != "" {
		f.Refused = &Refused{Row: r.Change.Keys.SK.S, Reason: sink.Cut(n.Refused, longestReason), Record: r.Change.Sequence}
	}
	if q := n.Rerun; q != nil {
		if len(q.ID) > longestName {
			q.ID = hash(32, q.ID)
		}
		f.Rerun = &router.RerunRequest{
			ID: q.ID, Pipeline: q.Key.Pipeline, Schedule: q.Key.Schedule, Period: q.Key.Period,
			By: sink.Cut(q.By, longestName), Reason: sink.Cut(q.Reason, longestReason), Force: q.Force, BypassGate: q.BypassGate,
		}
	}
	if n.RequestID != "" {
		f.operation(n.RequestID, n.Request, r)
	}
	if n.Outbox != nil {
		f.Outbox, err = t.outbox(*n.Outbox)
	}
	return f, err
}

// operation decodes an operator's request.
func (f *Facts) operation(id string, request []byte, r Record) {
	o := Operation{ID: id}
	if err := json.Unmarshal(request, &o); err != nil {
		f.Refused = &Refused{Row: r.Change.Keys.SK.S, Reason: "the attribute request is not JSON as `interlock` writes it", Record: r.Change.Sequence}
		return
	}
	o.By, o.Reason, o.Outcome.Message = sink.Cut(o.By, longestName), sink.Cut(o.Reason, longestReason), sink.Cut(o.Outcome.Message, longestMessage)
	f.Operate = &o
}

// fileName returns the name that Files uses for the file of a row.
func fileName(pk string) string {
	kind, name, _ := strings.Cut(pk, "#")
	return strings.ToLower(kind) + "/" + name
}

// text returns the bytes of a string attribute, or nil.
func text(v types.AttributeValue) []byte {
	if s, is := v.(*types.AttributeValueMemberS); is {
		return []byte(s.Value)
	}
	return nil
}

// outbox decodes the events of an outbox as package record encoded them.
func (t Tables) outbox(o dynamo.Outbox) (*Outbox, error) {
	out := &Outbox{Done: func(ctx context.Context, now time.Time) error { return t.Relayed(ctx, o, now) }}
	for _, stored := range o.Events {
		var e event.Event
		if err := json.Unmarshal(stored.Body, &e); err != nil {
			return nil, fmt.Errorf("read event %s: %w", stored.ID, err)
		}
		out.Events = append(out.Events, e)
	}
	return out, nil
}

// Unread compares the producers' rows with the stored readings and returns the missing ones.
func (t Tables) Unread(ctx context.Context, id pipeline.ID, now time.Time) ([]dynamo.Produced, error) {
	rows, err := t.Produced(ctx, id, now)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	all := make([]record.Produced, len(rows))
	for i, r := range rows {
		all[i] = r.Produced
	}
	unread, err := t.Store.Unread(ctx, all)
	var lost []dynamo.Produced
	for _, r := range rows {
		same := func(u record.Produced) bool {
			return u.Write.Reading.Key == r.Write.Reading.Key && u.Write.Reading.Period == r.Write.Reading.Period
		}
		if slices.ContainsFunc(unread, same) {
			lost = append(lost, r)
		}
	}
	return lost, err
}

// Overview returns the indexes that list by time what happened in all pipelines.
func (t Tables) Overview() watchdog.Overview { return t.Store }

// Outboxes lists the unpublished outboxes.
func (t Tables) Outboxes(ctx context.Context, before time.Time) ([]Outbox, error) {
	found, err := t.Store.Outboxes(ctx, before, store.MaxPage)
	if err != nil {
		return nil, err
	}
	all := make([]Outbox, len(found))
	for i, o := range found {
		read, err := t.outbox(o)
		if err != nil {
			return nil, err
		}
		all[i] = *read
	}
	return all, nil
}
