package awslambda_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/record"
)

// scripted are streams whose records decode to the notices that a test sets, by sequence number.
// Sensor writes fail.
type scripted map[string]dynamo.Notice

func (s scripted) Notice(r awslambda.Record) (dynamo.Notice, error) {
	return s[r.Change.Sequence], nil
}

func (scripted) PutProduced(context.Context, record.Produced) (*store.Change, error) {
	return nil, errors.New("the table is throttled")
}

func (scripted) Files(context.Context) (dynamo.Files, error) { return dynamo.Files{}, nil }

func (scripted) Unread(context.Context, pipeline.ID, time.Time) ([]record.Produced, error) {
	return nil, nil
}

func (scripted) Outboxes(context.Context, time.Time, int) ([]dynamo.Outbox, error) { return nil, nil }

func (scripted) Relayed(context.Context, dynamo.Outbox, time.Time) error { return nil }

// relaying are scripted streams that record which events were published.
type relaying struct {
	scripted
	published []string
}

func (s *relaying) Relayed(_ context.Context, o dynamo.Outbox, _ time.Time) error {
	for _, e := range o.Events {
		s.published = append(s.published, e.ID)
	}
	return nil
}

// outbox has one event, with a name as its id.
func outbox(t *testing.T, name string) *dynamo.Outbox {
	t.Helper()
	stored, err := record.StoredEvent(event.New(event.PipelinePaused, event.About{Pipeline: "p", Which: name, At: dawn}, name, event.Pause{}))
	must(t, err)
	stored.ID = name
	o := &dynamo.Outbox{}
	o.Events = append(o.Events, stored)
	return o
}

func TestFailedRecordHoldsBackOnlyItsOwnPipeline(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	streams := &relaying{scripted: scripted{
		"1": {Pipeline: "a", Outbox: outbox(t, "a before")},
		"2": {Pipeline: "a", Sensor: &record.Produced{}},
		"3": {Pipeline: "b", Outbox: outbox(t, "b")},
		"4": {Pipeline: "a", Outbox: outbox(t, "a after")},
		"5": {},
	}}
	var records []string
	for n := range 5 {
		records = append(records, fmt.Sprintf(`{"eventName": "MODIFY", "dynamodb": {"SequenceNumber": "%d"}}`, n+1))
	}
	got, err := w.Route(streams, `{"Records": [`+strings.Join(records, ",")+`]}`)
	if want := `{"batchItemFailures":[{"itemIdentifier":"2"},{"itemIdentifier":"4"}]}`; err != nil || got != want {
		t.Errorf("answered %s, %v; want %s", got, err, want)
	}
	if want := []string{"a before", "b"}; !slices.Equal(streams.published, want) {
		t.Errorf("published %q, want %q", streams.published, want)
	}
}

// A stream record has its write time in whole seconds only.
func TestEveryInvalidRowOfTheSameSecondIsReported(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	record := func(sequence, date string) string {
		return fmt.Sprintf(`{"eventName": "MODIFY", "dynamodb": {"SequenceNumber": %q, "ApproximateCreationDateTime": 1772515845, "Keys": {"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "SENSOR#landed"}},
			"NewImage": {"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "SENSOR#landed"}, "date": {"S": %q}}}}`, sequence, date)
	}
	for range 2 { // a redelivery reports nothing new
		_, err := w.Route(awslambda.Tables{}, fmt.Sprintf(`{"Records": [%s, %s]}`, record("1", "the first"), record("2", "the second")))
		must(t, err)
	}
	w.Settle()
	if events := w.all(t, event.SensorRejected); len(events) != 2 || !strings.Contains(events[1].Detail.Message, "the second") {
		t.Errorf("got %+v", events)
	}
}

func TestScheduledTaskThatIsNotDueIsScheduledAgain(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	before := w.Called("CreateSchedule")
	if _, err := w.Route(scripted{}, `{"task": "fire/orders"}`); err != nil {
		t.Fatal(err)
	}
	if w.Called("CreateSchedule") != before+1 {
		t.Error("no schedule was created")
	}
	w.wantStarts(t)
	if _, err := w.Route(scripted{}, `{"task": "fire/nobody"}`); err != nil {
		t.Errorf("a task that is done: %v", err)
	}
}

// A dead function holds its task until the lease expires. That is no failure of the record that
// announced the task.
func TestLeasedTaskHoldsBackNoRecordAndRunsLater(t *testing.T) {
	w := deploy(t, awslambdatest.Options{Watch: 24 * time.Hour}, daily)
	w.at("05:59")
	claims, err := w.Store().Claim(t.Context(), store.ClaimQuery{Replica: "aws", Task: "fire/orders", Limit: 1, Lease: 90 * time.Second}, w.Now())
	if err != nil || len(claims) != 1 {
		t.Fatalf("%+v, %v", claims, err)
	}
	w.at("06:00")
	streams := &relaying{scripted: scripted{
		"1": {Pipeline: "orders", Task: "fire/orders"},
		"2": {Pipeline: "orders", Outbox: outbox(t, "paused")},
	}}
	got, err := w.Route(streams, `{"Records": [{"eventName": "MODIFY", "dynamodb": {"SequenceNumber": "1"}}, {"eventName": "MODIFY", "dynamodb": {"SequenceNumber": "2"}}]}`)
	if err != nil || got != `{"batchItemFailures":[]}` || len(streams.published) != 1 {
		t.Errorf("answered %s, %v; the record behind it was handled: %q", got, err, streams.published)
	}
	w.wantStarts(t)
	w.at("06:02")
	w.wantStarts(t, "orders/cron/2026-03-03/1")
}
