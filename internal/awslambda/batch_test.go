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
	"github.com/interlock-go/interlock/internal/watchdog"
)

// scripted are streams whose records decode to the facts that a test sets, by sequence number. Sensor writes fail.
type scripted map[string]awslambda.Facts

func (s scripted) Facts(r awslambda.Record) (awslambda.Facts, error) {
	return s[r.Change.Sequence], nil
}

func (scripted) PutProduced(context.Context, record.Produced) (*store.Change, error) {
	return nil, errors.New("the table is throttled")
}

func (scripted) Files(context.Context) (dynamo.Files, error) { return dynamo.Files{}, nil }

func (scripted) Unread(context.Context, pipeline.ID, time.Time) ([]dynamo.Produced, error) {
	return nil, nil
}

func (scripted) Outboxes(context.Context, time.Time) ([]awslambda.Outbox, error) { return nil, nil }

func (scripted) Overview() watchdog.Overview { return nil }

func TestFailedRecordHoldsBackOnlyItsOwnPipeline(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	var passedOn []string
	outbox := func(name string) *awslambda.Outbox {
		e := event.New(event.PipelinePaused, event.About{Pipeline: "p", Which: name, At: dawn}, name, event.Pause{})
		return &awslambda.Outbox{Events: []event.Event{e}, Done: func(context.Context, time.Time) error {
			passedOn = append(passedOn, name)
			return nil
		}}
	}
	streams := scripted{
		"1": {Pipeline: "a", Outbox: outbox("a before")},
		"2": {Pipeline: "a", Sensor: &dynamo.Produced{}},
		"3": {Pipeline: "b", Outbox: outbox("b")},
		"4": {Pipeline: "a", Outbox: outbox("a after")},
		"5": {},
	}
	var records []string
	for n := range 5 {
		records = append(records, fmt.Sprintf(`{"eventName": "MODIFY", "dynamodb": {"SequenceNumber": "%d"}}`, n+1))
	}
	got, err := w.Route(streams, `{"Records": [`+strings.Join(records, ",")+`]}`)
	if want := `{"batchItemFailures":[{"itemIdentifier":"2"},{"itemIdentifier":"4"}]}`; err != nil || got != want {
		t.Errorf("answered %s, %v; want %s", got, err, want)
	}
	if want := []string{"a before", "b"}; !slices.Equal(passedOn, want) {
		t.Errorf("published %q, want %q", passedOn, want)
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
	if told := w.all(t, event.SensorRejected); len(told) != 2 || !strings.Contains(told[1].Detail.Message, "the second") {
		t.Errorf("told %+v", told)
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

// A dead function holds its task until the lease expires. That is no failure of the record that announced the task.
func TestLeasedTaskHoldsBackNoRecordAndRunsLater(t *testing.T) {
	w := deploy(t, awslambdatest.Options{Watch: 24 * time.Hour}, daily)
	w.at("05:59")
	claims, err := w.Store().Claim(t.Context(), store.ClaimQuery{Replica: "aws", Task: "fire/orders", Limit: 1, Lease: 90 * time.Second}, w.Now())
	if err != nil || len(claims) != 1 {
		t.Fatalf("%+v, %v", claims, err)
	}
	w.at("06:00")
	passedOn := false
	streams := scripted{
		"1": {Pipeline: "orders", Task: "fire/orders"},
		"2": {Pipeline: "orders", Outbox: &awslambda.Outbox{
			Events: []event.Event{event.New(event.PipelinePaused, event.About{Pipeline: "orders", At: dawn}, "paused", event.Pause{})},
			Done:   func(context.Context, time.Time) error { passedOn = true; return nil },
		}},
	}
	got, err := w.Route(streams, `{"Records": [{"eventName": "MODIFY", "dynamodb": {"SequenceNumber": "1"}}, {"eventName": "MODIFY", "dynamodb": {"SequenceNumber": "2"}}]}`)
	if err != nil || got != `{"batchItemFailures":[]}` || !passedOn {
		t.Errorf("answered %s, %v; the record behind it was handled: %t", got, err, passedOn)
	}
	w.wantStarts(t)
	w.at("06:02")
	w.wantStarts(t, "orders/cron/2026-03-03/1")
}
