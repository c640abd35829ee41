package awslambda

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// Tables are the streams of the tables of a deployment.
type Tables struct{ *dynamo.Store }

var _ Streams = Tables{}

// How many characters of what others say are kept, as of what is said over HTTP: a row takes 400 KB, an event far less.
const (
	longestMessage = 4000
	longestReason  = 1000
	longestName    = 200
)

// Facts reads a record.
func (t Tables) Facts(r Record) (Facts, error) {
	told, err := dynamo.Record{Image: r.Change.Image, Sequence: r.Change.Sequence, At: r.at()}.Read()
	f := Facts{Pipeline: told.Pipeline, Change: told.Change, Task: told.Task, Sensor: told.Sensor, Result: told.Result}
	if err != nil {
		return f, err
	}
	if f.Result != nil {
		f.Result.Message = sink.Cut(f.Result.Message, longestMessage)
	}
	if told.File {
		f.File = &pipeline.Source{File: fileName(r.Change.Keys.PK.S), Data: text(r.Change.Image["config"])}
	}
	if told.Refused != "" {
		f.Refused = &Refused{Row: r.Change.Keys.SK.S, Reason: sink.Cut(told.Refused, longestReason), Record: r.Change.Sequence}
	}
	if q := told.Rerun; q != nil {
		if len(q.ID) > longestName {
			q.ID = hash(32, q.ID)
		}
		f.Rerun = &router.RerunRequest{
			ID: q.ID, Pipeline: q.Key.Pipeline, Schedule: q.Key.Schedule, Period: q.Key.Period,
			By: sink.Cut(q.By, longestName), Reason: sink.Cut(q.Reason, longestReason), Force: q.Force, BypassGate: q.BypassGate,
		}
	}
	if told.Outbox != nil {
		f.Outbox = t.outbox(*told.Outbox)
	}
	return f, nil
}

// fileName is how Files calls the file of a row.
func fileName(pk string) string {
	kind, name, _ := strings.Cut(pk, "#")
	return strings.ToLower(kind) + "/" + name
}

// text is an attribute that is one.
func text(v types.AttributeValue) []byte {
	if s, is := v.(*types.AttributeValueMemberS); is {
		return []byte(s.Value)
	}
	return nil
}

func (t Tables) outbox(o dynamo.Outbox) *Outbox {
	return &Outbox{Events: o.Events, Done: func(ctx context.Context, now time.Time) error { return t.Relayed(ctx, o, now) }}
}

// Overview is the indexes that list what happened by when it was.
func (t Tables) Overview() watchdog.Overview { return t.Store }

// Outboxes lists what nobody has passed on.
func (t Tables) Outboxes(ctx context.Context, before time.Time) ([]Outbox, error) {
	found, err := t.Store.Outboxes(ctx, before, store.MaxPage)
	all := make([]Outbox, len(found))
	for i, o := range found {
		all[i] = *t.outbox(o)
	}
	return all, err
}
