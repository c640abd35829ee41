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
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/record"
)

// Bus is where events are published. If Publish fails, some may have been published: consumers
// recognise a repeat by its id.
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
//   - files to check, compressed
//   - a task from Scheduler
//   - an event to put on the bus, such as a CloudWatch alarm
//   - an event from another bus that may be a fact
func (r *Router) Route(ctx context.Context, payload json.RawMessage) (any, error) {
	var call struct {
		Task    string   `json:"task"`
		Records []Record `json:"Records"`
		Check   []byte   `json:"check"`
		Delivered
	}
	if err := json.Unmarshal(payload, &call); err != nil {
		return nil, fmt.Errorf("read the call: %w", err)
	}
	if call.Check != nil {
		files, err := unpackFiles(call.Check)
		if err != nil {
			return nil, err
		}
		return r.check(files), nil
	}
	if call.Type != "" && call.Source == event.Source {
		return nil, r.publishOne(ctx, call.Delivered)
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

// records handles a batch in order. A failed record holds back the later ones of its pipeline only.
// The stream redelivers everything from the first failure on, which is harmless.
func (r *Router) records(ctx context.Context, batch []Record) events.DynamoDBEventResponse {
	answer := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	failed := map[pipeline.ID]bool{}
	for _, rec := range batch {
		began := r.Now()
		one, end := r.share(ctx)
		id, err := r.record(one, rec, failed)
		end()
		r.Meter.Gauge(metricFeedLag, max(began.Sub(rec.at()), 0).Seconds(), seconds)
		r.Meter.since(metricChange, began, err)
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

// share gives one record a third of the remaining time, so that one that hangs leaves time for the
// others and for the answer.
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
		return "", r.files.gone(ctx, r, dynamo.FileName(rec.Change.Keys.PK.S))
	}
	if rec.Event == removed {
		return "", nil
	}
	n, err := r.Streams.Notice(rec)
	switch {
	case err != nil:
		return n.Pipeline, err
	case failed[n.Pipeline]:
		return n.Pipeline, errAfter
	}
	return n.Pipeline, r.handle(ctx, n, rec)
}

// handle acts on a record. Most records hold one fact, many none: not every row matters to a
// function.
func (r *Router) handle(ctx context.Context, n dynamo.Notice, rec Record) error {
	switch {
	case n.Change != nil:
		return r.react(ctx, *n.Change)
	case n.Task != "":
		return r.task(ctx, n.Task, false)
	case n.Outbox != nil:
		return r.publish(ctx, *n.Outbox)
	default:
		return r.written(ctx, n, rec)
	}
}

// publishOne publishes an event on the bus.
func (r *Router) publishOne(ctx context.Context, d Delivered) error {
	e, err := d.Event()
	if err != nil {
		return err
	}
	return r.Bus.Publish(ctx, []event.Event{e})
}

// publish puts the events of a commit on the bus and marks them as published.
func (r *Router) publish(ctx context.Context, o dynamo.Outbox) error {
	all := make([]event.Event, len(o.Events))
	for i, stored := range o.Events {
		if err := json.Unmarshal(stored.Body, &all[i]); err != nil {
			return fmt.Errorf("read event %s: %w", stored.ID, err)
		}
	}
	if err := r.Bus.Publish(ctx, all); err != nil {
		return err
	}
	r.Meter.published(all)
	return r.Streams.Relayed(ctx, o, r.Now())
}

// The number of characters that are kept of external text, as over HTTP: a row may have 400 KB, an
// event far less.
const (
	longestMessage = 4000
	longestReason  = 1000
	longestName    = 200
)

// written acts on rows of external writers.
func (r *Router) written(ctx context.Context, n dynamo.Notice, rec Record) error {
	invalid := refusedRow{Pipeline: n.Pipeline, Row: rec.Change.Keys.SK.S, Record: rec.Change.Sequence}
	switch {
	case n.Refused != "":
		return r.emitRefused(ctx, invalid, excerpt.Runes(n.Refused, longestReason))
	case n.Sensor != nil:
		return r.sensed(ctx, *n.Sensor)
	case n.File != nil:
		return r.files.changed(ctx, r, *n.File, n.At)
	case n.Result != nil:
		n.Result.Message = excerpt.Runes(n.Result.Message, longestMessage)
		_, err := r.controller.Router.Report(ctx, *n.Result, r.Now())
		return r.refused(err)
	case n.RequestID != "":
		o := Operation{ID: n.RequestID}
		if err := json.Unmarshal(n.Request, &o); err != nil {
			return r.emitRefused(ctx, invalid, "the attribute request is not JSON as `interlock` writes it")
		}
		o.Outcome.At = n.At // when the store acknowledged it, whatever the client wrote
		return r.operate(ctx, o)
	case n.Rerun != nil:
		return r.rerun(ctx, *n.Rerun)
	}
	return nil
}

func (r *Router) rerun(ctx context.Context, q dynamo.RerunRequest) error {
	if len(q.ID) > longestName {
		q.ID = hash(32, q.ID)
	}
	_, err := r.controller.Router.Rerun(ctx, router.RerunRequest{
		ID: q.ID, Pipeline: q.Key.Pipeline, Schedule: q.Key.Schedule, Period: q.Key.Period,
		By: excerpt.Runes(q.By, longestName), Reason: excerpt.Runes(q.Reason, longestReason), Force: q.Force, BypassGate: q.BypassGate,
	}, r.Now())
	return r.refused(err)
}

// sensed stores a row as a reading and reacts to it at once. If that fails, the redelivered row
// yields the same change.
func (r *Router) sensed(ctx context.Context, p record.Produced) error {
	c, err := r.reading(ctx, p)
	if err != nil || c == nil {
		return err
	}
	return r.react(ctx, *c)
}

// react handles a change, in its trace.
func (r *Router) react(ctx context.Context, c store.Change) error {
	ctx, end := r.Tracing.Change(ctx, c)
	return end(r.controller.Router.Handle(ctx, c, r.Now()))
}

// reading stores a row as a reading and returns its change, or nil if nothing changed. It rejects a
// row for an impossible period.
func (r *Router) reading(ctx context.Context, p record.Produced) (*store.Change, error) {
	id, reading := p.Write.Pipeline, p.Write.Reading
	if err := r.Catalog.Current().CheckDate(id, reading.Key, reading.Period, p.At, catalog.MaxFuture); err != nil {
		return nil, r.emitRefused(ctx, refusedRow{Pipeline: id, Row: p.Row, Record: p.Sequence}, err.Error())
	}
	return r.Streams.PutProduced(ctx, p)
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

// refusedRow names an invalid row by its sort key, and by the sequence number of its record: the
// stream's time has only seconds.
type refusedRow struct {
	Pipeline    pipeline.ID
	Row, Record string
}

// emitRefused emits an event about an invalid row. It is reported once and holds nothing up.
func (r *Router) emitRefused(ctx context.Context, w refusedRow, reason string) error {
	b := store.Batch{ID: fmt.Sprintf("refused-row/%s/%s/%s", w.Pipeline, w.Row, w.Record)}
	about := event.About{Pipeline: w.Pipeline, At: r.Now(), Which: fmt.Sprintf("%s@%s", w.Row, w.Record)}
	b.Emit(event.New(event.SensorRejected, about, fmt.Sprintf("%s does not count: %s", w.Row, reason), event.Sensors{Sensors: []string{w.Row}}))
	if err := r.Store.Commit(ctx, b, r.Now()); err != nil {
		return fmt.Errorf("report an invalid row: %w", err)
	}
	return nil
}
