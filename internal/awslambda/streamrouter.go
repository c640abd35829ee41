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
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
)

// Streams are the tables' own side of the stream-router.
type Streams interface {
	// Facts are what a record tells. An error is a record that nobody can ever read.
	Facts(r events.DynamoDBEventRecord) (Facts, error)
	// Take makes a reading of a producer's row, unless a later one is there, and gives the change that tells of it; nil where
	// there is none. To take a row twice is to take it once.
	Take(ctx context.Context, s Sensor) (*store.Change, error)
	// Files are all pipeline, calendar and archetype files that there are.
	Files(ctx context.Context) (catalog.Files, error)
}

// Bus is where events are published. Some may be there when it fails: whoever listens knows an event again.
type Bus interface {
	Publish(ctx context.Context, events []event.Event) error
}

// Router is the stream-router.
type Router struct {
	*Relay
	Streams Streams
	Bus     Bus
	files   Files
}

// Route answers one call of the stream-router: records of a stream, or a task from Scheduler.
func (r *Router) Route(ctx context.Context, payload json.RawMessage) (any, error) {
	var call struct {
		Task    string                       `json:"task"`
		Records []events.DynamoDBEventRecord `json:"Records"`
	}
	if err := json.Unmarshal(payload, &call); err != nil {
		return nil, fmt.Errorf("read the call: %w", err)
	}
	if err := r.files.refresh(ctx, r.Host); err != nil {
		return nil, err
	}
	if call.Task != "" {
		return nil, r.task(ctx, call.Task, true)
	}
	return r.records(ctx, call.Records), nil
}

// records handles a batch in order. A record that fails keeps back those of its pipeline that follow, and nobody else's;
// the stream brings all from the first failure on again, which is harmless.
func (r *Router) records(ctx context.Context, batch []events.DynamoDBEventRecord) events.DynamoDBEventResponse {
	answer := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	failed := map[pipeline.ID]bool{}
	for _, rec := range batch {
		id, err := r.record(ctx, rec, failed)
		if err == nil {
			continue
		}
		failed[id] = true
		r.Logger.Error("cannot handle a record; it comes again",
			slog.String("record", rec.Change.SequenceNumber), slog.String("pipeline", string(id)), slog.Any("error", err))
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: rec.Change.SequenceNumber})
	}
	return answer
}

// errAfter says that an earlier record of the pipeline has to come first.
var errAfter = errors.New("an earlier record of the same pipeline could not be handled")

// record handles one record. Removals tell nothing: what is done is told by what was written, and a row that has outlived
// its time, or that somebody took away, asks for nothing.
func (r *Router) record(ctx context.Context, rec events.DynamoDBEventRecord, failed map[pipeline.ID]bool) (pipeline.ID, error) {
	if rec.EventName == string(events.DynamoDBOperationTypeRemove) {
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

// handle acts on what a record tells.
func (r *Router) handle(ctx context.Context, f Facts) error {
	errs := []error{r.written(ctx, f)}
	for _, c := range f.Changes {
		errs = append(errs, r.router.Handle(ctx, c, r.Now()))
	}
	for _, id := range f.Tasks {
		errs = append(errs, r.task(ctx, id, false))
	}
	if len(f.Events) > 0 {
		errs = append(errs, r.Bus.Publish(ctx, f.Events))
	}
	return errors.Join(errs...)
}

// written acts on rows that others write.
func (r *Router) written(ctx context.Context, f Facts) error {
	switch {
	case f.Sensor != nil:
		return r.sensed(ctx, *f.Sensor)
	case f.Files:
		return r.files.apply(ctx, r)
	case f.Result != nil:
		_, err := r.router.Report(ctx, *f.Result, r.Now())
		return r.refused(err)
	case f.Rerun != nil:
		_, err := r.router.Rerun(ctx, *f.Rerun, r.Now())
		return r.refused(err)
	case f.Refused != nil:
		return r.tellRefused(ctx, *f.Refused, f.Pipeline)
	}
	return nil
}

// sensed makes a reading of a row, and reacts to it at once: the record of the reading itself comes later, and finds it done.
func (r *Router) sensed(ctx context.Context, s Sensor) error {
	c, err := r.Streams.Take(ctx, s)
	if err != nil || c == nil {
		return err
	}
	return r.router.Handle(ctx, *c, r.Now())
}

// refused passes over what the router will never grant, however often it is asked: there is nobody to answer, so it is logged.
func (r *Router) refused(err error) error {
	var refusal *router.Refusal
	if errors.As(err, &refusal) {
		r.Logger.Warn("a request is refused", slog.Any("error", err))
		return nil
	}
	return err
}

// tellRefused tells of a row that makes no sense.
func (r *Router) tellRefused(ctx context.Context, w Refused, id pipeline.ID) error {
	b := store.Batch{ID: fmt.Sprintf("refused-row/%s/%s/%d", id, w.Row, w.At.UnixNano())}
	about := event.About{Pipeline: id, At: r.Now(), Which: fmt.Sprintf("%s@%d", w.Row, w.At.UnixNano())}
	b.Emit(event.New(event.SensorRejected, about, fmt.Sprintf("%s does not count: %s", w.Row, w.Reason), event.Sensors{Sensors: []string{w.Row}}))
	if err := r.Store.Commit(ctx, b, r.Now()); err != nil {
		return fmt.Errorf("tell of a row that makes no sense: %w", err)
	}
	return nil
}
