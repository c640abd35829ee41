package awslambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// Bus is where events are published. If Publish fails, some may have been published: consumers recognise a repeat by
// its id.
type Bus interface {
	Publish(ctx context.Context, events []event.Event) error
}

// Router is the stream-router.
type Router struct {
	*Relay
	Streams Streams
	Bus     Bus
	files   Files
	intake  *ingest.Intake // created with the first event from another bus
}

// Route answers one call of the stream-router. The payload is one of:
//   - stream records
//   - files to check
//   - a task from Scheduler
//   - an event to put on the bus, such as a CloudWatch alarm
//   - an event from another bus that may be a fact
func (r *Router) Route(ctx context.Context, payload json.RawMessage) (any, error) {
	var call struct {
		Task    string     `json:"task"`
		Records []Record   `json:"Records"`
		Check   *FileCheck `json:"check"`
		Delivered
	}
	if err := json.Unmarshal(payload, &call); err != nil {
		return nil, fmt.Errorf("read the call: %w", err)
	}
	if call.Check != nil {
		return r.check(*call.Check), nil
	}
	if call.Type != "" && call.Source == event.Source {
		return nil, r.passOn(ctx, call.Delivered)
	}
	if err := r.files.refresh(ctx, r.Host); err != nil {
		return nil, err
	}
	if call.Type != "" {
		return r.take(ctx, payload)
	}
	if call.Task != "" {
		return nil, r.task(ctx, call.Task, true)
	}
	return r.records(ctx, call.Records), nil
}

// records handles a batch in order. A failed record holds back the later ones of its pipeline only. The stream
// redelivers everything from the first failure on, which is harmless.
func (r *Router) records(ctx context.Context, batch []Record) events.DynamoDBEventResponse {
	answer := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	failed := map[pipeline.ID]bool{}
	for _, rec := range batch {
		one, end := r.share(ctx)
		id, err := r.record(one, rec, failed)
		end()
		if err == nil {
			continue
		}
		failed[id] = id != ""
		r.Logger.Error("cannot handle a record; it will be redelivered",
			slog.String("record", rec.Change.Sequence), slog.String("pipeline", string(id)), slog.Any("error", err))
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: rec.Change.Sequence})
	}
	return answer
}

// share gives one record a third of the remaining time, so that one that hangs leaves time for the others and for the
// answer.
func (r *Router) share(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, end.Sub(r.Now())/3)
}

// errAfter means that an earlier record of the pipeline must be handled first.
var errAfter = errors.New("an earlier record of the same pipeline could not be handled")

// record handles one record. The only removals that matter are those of files.
func (r *Router) record(ctx context.Context, rec Record, failed map[pipeline.ID]bool) (pipeline.ID, error) {
	if rec.took() {
		return "", r.files.gone(ctx, r, fileName(rec.Change.Keys.PK.S))
	}
	if rec.Event == removed {
		return "", nil
	}
	f, err := r.Streams.Facts(rec)
	switch {
	case err != nil:
		return f.Pipeline, err
	case failed[f.Pipeline]:
		return f.Pipeline, errAfter
	}
	return f.Pipeline, r.handle(ctx, f)
}

// handle acts on the facts of a record.
func (r *Router) handle(ctx context.Context, f Facts) error {
	switch {
	case f.Change != nil:
		return r.router.Handle(ctx, *f.Change, r.Now())
	case f.Task != "":
		return r.task(ctx, f.Task, false)
	case f.Outbox != nil:
		return r.publish(ctx, *f.Outbox)
	default:
		return r.written(ctx, f)
	}
}

// passOn puts an event on the bus.
func (r *Router) passOn(ctx context.Context, d Delivered) error {
	e, err := d.Event()
	if err != nil {
		return err
	}
	return r.Bus.Publish(ctx, []event.Event{e})
}

// publish puts the events of a commit on the bus and marks them as published.
func (r *Router) publish(ctx context.Context, o Outbox) error {
	if err := r.Bus.Publish(ctx, o.Events); err != nil {
		return err
	}
	return o.Done(ctx, r.Now())
}

// written acts on rows of external writers.
func (r *Router) written(ctx context.Context, f Facts) error {
	switch {
	case f.Refused != nil:
		return r.tellRefused(ctx, *f.Refused, f.Pipeline)
	case f.Sensor != nil:
		return r.sensed(ctx, *f.Sensor)
	case f.File != nil:
		return r.files.changed(ctx, r, *f.File, f.At)
	case f.Result != nil:
		_, err := r.router.Report(ctx, *f.Result, r.Now())
		return r.refused(err)
	case f.Operate != nil:
		return r.operate(ctx, *f.Operate)
	case f.Rerun != nil:
		_, err := r.router.Rerun(ctx, *f.Rerun, r.Now())
		return r.refused(err)
	}
	return nil
}

// sensed stores a row as a reading and reacts to it at once. If that fails, the redelivered row yields the same
// change.
func (r *Router) sensed(ctx context.Context, p dynamo.Produced) error {
	c, err := r.reading(ctx, p)
	if err != nil || c == nil {
		return err
	}
	return r.router.Handle(ctx, *c, r.Now())
}

// reading stores a row as a reading and returns its change, or nil if nothing changed. It rejects a row for an
// impossible period.
func (r *Router) reading(ctx context.Context, p dynamo.Produced) (*store.Change, error) {
	id, reading := p.Write.Pipeline, p.Write.Reading
	if err := r.Catalog.Current().CheckDate(id, reading.Key, reading.Period, p.At, catalog.MaxFuture); err != nil {
		return nil, r.tellRefused(ctx, Refused{Row: p.Row, Reason: err.Error(), Record: p.Sequence}, id)
	}
	return r.Streams.PutProduced(ctx, p.Produced)
}

// refused logs and drops a request that the router will never grant: there is no caller to answer.
func (r *Router) refused(err error) error {
	var refusal *router.Refusal
	if errors.As(err, &refusal) {
		r.Logger.Warn("a request is rejected", slog.Any("error", err))
		return nil
	}
	return err
}

// tellRefused emits an event about an invalid row.
func (r *Router) tellRefused(ctx context.Context, w Refused, id pipeline.ID) error {
	b := store.Batch{ID: fmt.Sprintf("refused-row/%s/%s/%s", id, w.Row, w.Record)}
	about := event.About{Pipeline: id, At: r.Now(), Which: fmt.Sprintf("%s@%s", w.Row, w.Record)}
	b.Emit(event.New(event.SensorRejected, about, fmt.Sprintf("%s does not count: %s", w.Row, w.Reason), event.Sensors{Sensors: []string{w.Row}}))
	if err := r.Store.Commit(ctx, b, r.Now()); err != nil {
		return fmt.Errorf("report an invalid row: %w", err)
	}
	return nil
}
