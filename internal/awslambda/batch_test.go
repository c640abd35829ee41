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
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// scripted are streams whose records tell what a test says, by sequence number. Sensors cannot be taken.
type scripted map[string]awslambda.Facts

func (s scripted) Facts(r awslambda.Record) (awslambda.Facts, error) {
	return s[r.Change.Sequence], nil
}

func (scripted) Take(context.Context, dynamo.Produced) (*store.Change, error) {
	return nil, errors.New("the table is throttled")
}

func (scripted) Files(context.Context) (dynamo.Files, error) { return dynamo.Files{}, nil }

func (scripted) Outboxes(context.Context, time.Time) ([]awslambda.Outbox, error) { return nil, nil }

func (scripted) Overview() watchdog.Overview { return nil }

func TestRecordThatFailsKeepsBackThoseOfItsPipelineAlone(t *testing.T) {
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
		t.Errorf("passed on %q, want %q", passedOn, want)
	}
}

func TestTaskFromSchedulerThatIsNotDueComesAgainLater(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	before := w.Called("CreateSchedule")
	if _, err := w.Route(scripted{}, `{"task": "fire/orders"}`); err != nil {
		t.Fatal(err)
	}
	if w.Called("CreateSchedule") != before+1 {
		t.Error("no entry was asked for")
	}
	w.wantStarts(t)
	if _, err := w.Route(scripted{}, `{"task": "fire/nobody"}`); err != nil {
		t.Errorf("a task that is done: %v", err)
	}
}
