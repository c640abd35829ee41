package awslambda_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

const onLanding = `pipeline: {id: orders, owner: data}
schedule: {trigger: {key: landed, check: equals, field: status, value: ready}}
job: {type: step-function, config: {stateMachineARN: "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"}, maxManualReruns: 2}
`

// onTables is a deployment on a local DynamoDB.
func onTables(t *testing.T, files ...string) (*world, *awslambdatest.Local) {
	t.Helper()
	var local *awslambdatest.Local
	environment, c := dynamotest.Streaming(t)
	w := deploy(t, awslambdatest.Options{Tables: func(now func() time.Time) awslambdatest.Tables {
		local = awslambdatest.NewLocal(t, environment, c, now)
		return local
	}}, files...)
	return w, local
}

// all returns all events of one type, in order.
func (w *world) all(t *testing.T, kind event.Type) (found []event.Event) {
	t.Helper()
	page, err := w.Store().Events(t.Context(), store.EventQuery{Pipeline: "orders", Type: kind, Ascending: true, Limit: store.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

func TestRowsOfProducersBecomeReadings(t *testing.T) {
	w, tables := onTables(t, onLanding)
	tables.Put(dynamo.Control, `{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "SENSOR#landed"}, "status": {"S": "ready"}, "date": {"S": "2026-03-01"}}`)
	tables.Put(dynamo.Control, `{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "SENSOR#landed#2026-03-02"}, "data": {"M": {"status": {"S": "ready"}, "rows": {"N": "12"}}}}`)
	w.Settle()
	w.wantStarts(t, "orders/stream/2026-03-01/1", "orders/stream/2026-03-02/1")

	tables.Put(dynamo.Control, `{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "SENSOR#landed"}, "status": {"S": "ready"}, "date": {"S": "the first"}}`)
	w.Settle()
	w.wantStarts(t, "orders/stream/2026-03-01/1", "orders/stream/2026-03-02/1")
	if events := w.all(t, event.SensorRejected); len(events) != 1 {
		t.Errorf("reported invalid rows: %+v", events)
	}
}

func TestRowForAnImpossiblePeriodIsRejected(t *testing.T) {
	w, tables := onTables(t, strings.Replace(onLanding, "schedule: {", "schedule: {period: hour, timezone: America/New_York, ", 1))
	for _, row := range []string{
		`"SK": {"S": "SENSOR#landed"}, "status": {"S": "ready"}, "date": {"S": "2062-03-03"}`,
		`"SK": {"S": "SENSOR#landed#2026-03-08T02"}, "status": {"S": "ready"}`,
	} {
		tables.Put(dynamo.Control, `{"PK": {"S": "PIPELINE#orders"}, `+row+`}`)
	}
	w.Settle()
	w.wantStarts(t)
	var events []string
	for _, e := range w.all(t, event.SensorRejected) {
		events = append(events, e.Detail.Message)
	}
	want := []string{
		"SENSOR#landed does not count: 2062-03-03 is more than 400d ahead; correct the date",
		"SENSOR#landed#2026-03-08T02 does not count: period 2026-03-08T02 does not exist in America/New_York, because the clock skips it; use 2026-03-08T03",
	}
	if !slices.Equal(events, want) {
		t.Errorf("got\n%s", strings.Join(events, "\n"))
	}
	readings, err := w.Store().LatestReadings(t.Context(), store.LatestQuery{Pipeline: "orders"})
	if err != nil || len(readings.Items) > 0 {
		t.Errorf("stored %+v, error %v", readings.Items, err)
	}
}

func TestExplanationOfARowFromBeforeItsFilePromisesNoStart(t *testing.T) {
	w := deploy(t, awslambdatest.Options{})
	w.AdvanceTo(dawn.Add(700 * time.Millisecond))
	fields := sensor.Fields{"status": "ready"}
	if err := w.PutSensor("orders", "landed#2026-03-03", fields, w.Now().Truncate(time.Second)); err != nil { // in whole seconds, as the stream has it
		t.Fatal(err)
	}
	w.put(t, onLanding)
	w.AdvanceTo(dawn.Add(time.Hour)) // several watchdog passes later
	w.wantStarts(t)
	known := catalog.New(w.Store(), all.Kinds())
	if err := known.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	date, err := period.Parse("2026-03-03")
	if err != nil {
		t.Fatal(err)
	}
	x, err := explain.Explain(t.Context(), explain.Sources{Store: w.Store(), Catalog: known}, explain.Question{Pipeline: "orders", Period: date}, w.Now())
	if err != nil || !strings.Contains(x.Summary, "before the pipeline was first accepted") || strings.Contains(x.Text(), "watchdog") {
		t.Errorf("error %v\n%s", err, x.Text())
	}
}

func TestResultInTheJobLogCountsOnce(t *testing.T) {
	w, tables := onTables(t, onLanding)
	w.jobs.takes = 30 * time.Minute
	tables.Put(dynamo.Control, `{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "SENSOR#landed"}, "status": {"S": "ready"}, "date": {"S": "2026-03-01"}}`)
	w.Settle()
	for n := range 2 {
		tables.Put(dynamo.JobLog, fmt.Sprintf(`{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "JOB#stream#2026-03-01#2026-03-03T05:31:0%dZ"}, "event": {"S": "success"}}`, n))
		w.Settle()
	}
	if r := w.run(t, "orders/stream/2026-03-01"); r.Status != run.Completed {
		t.Errorf("the run is %s, want it completed at once", r.Status)
	}
	if events := w.all(t, event.JobCompleted); len(events) != 1 {
		t.Errorf("got: %+v", events)
	}
}

// A row may have 400 KB, and a stack trace is easily longer than a key or an event may be.
func TestLongRowsOfExternalWritersCount(t *testing.T) {
	w, tables := onTables(t, strings.Replace(onLanding, "maxManualReruns", "maxCodeRetries: 0, maxManualReruns", 1))
	w.jobs.takes = 30 * time.Minute
	tables.Put(dynamo.Control, `{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "SENSOR#landed"}, "status": {"S": "ready"}, "date": {"S": "2026-03-01"}}`)
	w.Settle()
	var much strings.Builder
	for n := 0; much.Len() < 300_000; n++ {
		fmt.Fprintf(&much, "at frame %x ", sha256.Sum256([]byte{byte(n), byte(n >> 8)}))
	}
	tables.Put(dynamo.JobLog, fmt.Sprintf(`{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "JOB#stream#2026-03-01#1"}, "event": {"S": "fail"}, "category": {"S": "PERMANENT"}, "error": {"S": %q}}`, &much))
	tables.Put(dynamo.JobLog, fmt.Sprintf(`{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "JOB#stream#2026-03-01#2"}, "event": {"S": "fail"}, "category": {"S": %q}}`, &much))
	w.Settle()
	if r := w.run(t, "orders/stream/2026-03-01"); r.Status != run.FailedFinal {
		t.Errorf("the run is %s, want it failed", r.Status)
	}
	tables.Put(dynamo.Control, fmt.Sprintf(`{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "RERUN_REQUEST#stream#2026-03-01"}, "reason": {"S": %q}, "id": {"S": %q}, "force": {"BOOL": true}}`, &much, much.String()[:50_000]))
	w.AdvanceTo(dawn.Add(10 * time.Minute))
	w.wantStarts(t, "orders/stream/2026-03-01/1", "orders/stream/2026-03-01/2")
	for _, kind := range []event.Type{event.JobFailed, event.SensorRejected, event.RerunAccepted} {
		events := w.all(t, kind)
		if len(events) != 1 {
			t.Errorf("%s was reported %d times", kind, len(events))
			continue
		}
		if text, err := json.Marshal(events[0]); err != nil || len(text) > 20_000 {
			t.Errorf("%s has %d bytes, %v", kind, len(text), err)
		}
	}
}

func TestDeletingARerunRequestStartsNothing(t *testing.T) {
	w, tables := onTables(t, onLanding)
	tables.Put(dynamo.Control, `{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "SENSOR#landed"}, "status": {"S": "ready"}, "date": {"S": "2026-03-01"}}`)
	w.AdvanceTo(dawn.Add(10 * time.Minute))
	request := `{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "RERUN_REQUEST#stream#2026-03-01"}, "reason": {"S": "the source was wrong"}, "force": {"BOOL": true}}`
	tables.Put(dynamo.Control, request)
	w.AdvanceTo(dawn.Add(20 * time.Minute))
	w.wantStarts(t, "orders/stream/2026-03-01/1", "orders/stream/2026-03-01/2")
	tables.Delete(dynamo.Control, `{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "RERUN_REQUEST#stream#2026-03-01"}}`)
	w.AdvanceTo(dawn.Add(30 * time.Minute))
	w.wantStarts(t, "orders/stream/2026-03-01/1", "orders/stream/2026-03-01/2")
	if events := w.all(t, event.RerunAccepted); len(events) != 1 {
		t.Errorf("answered: %+v", events)
	}
}

func TestFileNotListedYetCountsAndRemovesNoOther(t *testing.T) {
	w, tables := onTables(t, daily, report)
	// A row without its index key looks like one that the eventually consistent list does not have
	// yet.
	tables.Put(dynamo.Control, fmt.Sprintf(`{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "CONFIG"}, "config": {"S": %q}}`, daily))
	tables.Put(dynamo.Control, fmt.Sprintf(`{"PK": {"S": "PIPELINE#events"}, "SK": {"S": "CONFIG"}, "config": {"S": %q}}`, strings.ReplaceAll(onLanding, "orders", "events")))
	w.Settle()
	rows, err := w.Store().Pipelines(t.Context())
	if err != nil || len(rows) != 3 {
		t.Fatalf("%+v, %v", rows, err)
	}
	for _, row := range rows {
		if row.Config == "" {
			t.Errorf("pipeline %s is not active: %+v", row.ID, row)
		}
	}
	tables.Delete(dynamo.Control, `{"PK": {"S": "PIPELINE#events"}, "SK": {"S": "CONFIG"}}`)
	w.Settle()
	if row, err := w.Store().Pipeline(t.Context(), "events"); err != nil || row.Config != "" {
		t.Errorf("a pipeline whose file was removed: %+v, %v", row, err)
	}
}

func TestUnreadableRecordHoldsUpNoOther(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	record := func(sequence, pk, more string) string {
		return fmt.Sprintf(`{"eventName": "MODIFY", "dynamodb": {"SequenceNumber": %q, "Keys": {"SK": {"S": "TASK"}}, "NewImage": {"PK": {"S": %q}, "SK": {"S": "TASK"}%s}}}`, sequence, pk, more)
	}
	payload := fmt.Sprintf(`{"Records": [%s, %s, %s]}`,
		record("100", "PIPELINE#orders", `, "change": {"S": "not json"}`),
		record("101", "MARK#of/nobody", ""),
		`{"eventName": "REMOVE", "userIdentity": {"principalId": "dynamodb.amazonaws.com", "type": "Service"}, "dynamodb": {"SequenceNumber": "102", "Keys": {"PK": {"S": "COMMIT#x"}, "SK": {"S": "COMMIT"}}}}`)
	got, err := w.Route(awslambda.Tables{}, payload)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"batchItemFailures":[{"itemIdentifier":"100"}]}`; got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
}

func TestBusEventIsStoredWholeAndOnce(t *testing.T) {
	environment, c := dynamotest.Streaming(t)
	data := dynamo.New(c, environment, dynamo.Options{KeepEvents: 90 * 24 * time.Hour})
	sink := awslambda.Sink{Log: data}
	sent := event.New(event.RetryScheduled, event.About{Pipeline: "orders", Schedule: "cron", Attempt: 2, At: dawn.Add(123 * time.Millisecond)}, "again",
		event.Budget{Used: 1, Max: 3, NextAttemptAt: dawn})
	text, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	var d awslambda.Delivered
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	d.ID, d.Resources, d.Time = "an id of EventBridge's", []string{event.Resource(sent.ID)}, dawn.Format(time.RFC3339)
	for range 2 {
		if err := sink.Keep(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	page, err := data.Events(t.Context(), store.EventQuery{Pipeline: "orders"})
	if err != nil || len(page.Items) != 1 || !slices.Equal(page.Items, []event.Event{sent}) {
		t.Errorf("kept %+v, %v; want %+v", page.Items, err, sent)
	}
}

// alarm is a CloudWatch alarm change as the rule on the default bus delivers it.
const alarm = `{"id": "c4c1", "source": "interlock", "detail-type": "INFRA_ALARM", "time": "2026-03-03T06:00:00Z", "resources": [],
	"detail": {"pipelineId": "", "scheduleId": "", "date": "", "message": "errors", "timestamp": "2026-03-03T06:00:00Z", "severity": "critical", "alarm": "errors", "state": "ALARM"}}`

func TestCloudWatchAlarmIsAnEvent(t *testing.T) {
	var d awslambda.Delivered
	if err := json.Unmarshal([]byte(alarm), &d); err != nil {
		t.Fatal(err)
	}
	e, err := d.Event()
	if err != nil || e.ID != "c4c1" || e.Type != event.InfraAlarm || e.Validate() != nil {
		t.Errorf("%+v, %v, %v", e, err, e.Validate())
	}
}

func TestCloudWatchAlarmIsPutOnTheBus(t *testing.T) {
	w := deploy(t, awslambdatest.Options{}, daily)
	if _, err := w.Route(scripted{}, alarm); err != nil {
		t.Fatal(err)
	}
	w.at("05:40")
	is := func(e awslambdatest.Published) bool {
		return e.DetailType == string(event.InfraAlarm) && slices.Equal(e.Resources, []string{event.Resource("c4c1")})
	}
	if !slices.ContainsFunc(w.Events, is) {
		t.Errorf("published %+v", w.Events)
	}
}
