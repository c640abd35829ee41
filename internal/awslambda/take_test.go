package awslambda_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// objectCreated is an S3 event as EventBridge delivers it.
const objectCreated = `{
	"version": "0", "id": "17793124-05d4-b198-2fde-7ededc63b103", "detail-type": "Object Created", "source": "aws.s3",
	"account": "123456789012", "time": "2026-03-04T02:10:00Z", "region": "eu-west-1", "resources": ["arn:aws:s3:::landing"],
	"detail": {
		"version": "0", "bucket": {"name": "landing"}, "reason": "PutObject", "requester": "123456789012",
		"object": {"key": "orders/2026-03-03/_SUCCESS", "size": 5, "etag": "b1946ac92492d2347c6235b4d2611184", "sequencer": "00617F08299329D189"}
	}
}`

const landings = `source: {id: landings, owner: ingest, format: cloudevents}
match:
  - {path: $.source, equals: aws.s3}
  - {path: $.type, equals: Object Created}
  - {path: $.subject, equals: "arn:aws:s3:::landing"}
  - {path: $.data.object.key, matches: '^orders/(?P<day>\d{4}-\d{2}-\d{2})/_SUCCESS$'}
write:
  - {pipeline: orders, key: landed, period: "${day}", fields: {status: ready, bytes: {path: $.data.object.size}}}
`

// putBoth deploys a pipeline and sources.
func putBoth(t *testing.T, w *world, sources ...string) {
	t.Helper()
	all := catalog.Files{Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte(onLanding)}}}
	for _, text := range sources {
		all.Sources = append(all.Sources, pipeline.Source{File: "landings.yaml", Data: []byte(text)})
	}
	if err := w.PutFiles(all); err != nil {
		t.Fatal(err)
	}
	w.Settle()
}

// deliver passes an event to a new stream-router, which knows only what is stored.
func (w *world) deliver(t *testing.T, text string) string {
	t.Helper()
	answer, err := w.Route(w.Streams(), text)
	if err != nil {
		t.Fatal(err)
	}
	w.Settle()
	return answer
}

func TestAnEventBridgeEventStartsARun(t *testing.T) {
	w, _ := onTables(t)
	putBoth(t, w, landings)
	if got := w.deliver(t, objectCreated); !strings.Contains(got, `"matched":1,"written":1,`) {
		t.Errorf("answered %s", got)
	}
	w.wantStarts(t, "orders/stream/2026-03-03/1")
	if got := w.deliver(t, objectCreated); !strings.Contains(got, `"written":0,"repeated":1,`) {
		t.Errorf("the same event again: %s", got)
	}
	w.wantStarts(t, "orders/stream/2026-03-03/1")
	readings, err := w.Store().LatestReadings(t.Context(), store.LatestQuery{Pipeline: "orders", Limit: store.MaxPage})
	if err != nil || len(readings.Items) != 1 || readings.Items[0].Source != "landings" || readings.Items[0].Fields["bytes"] == nil {
		t.Errorf("%+v, %v", readings, err)
	}
	if got := w.deliver(t, strings.Replace(objectCreated, "_SUCCESS", "part-0", 1)); !strings.Contains(got, `"matched":0,"written":0,`) {
		t.Errorf("an event that no source matches: %s", got)
	}
}

func TestADeployedSourceFileIsValidatedAndRemoved(t *testing.T) {
	w, _ := onTables(t)
	putBoth(t, w, landings)
	putBoth(t, w, strings.Replace(landings, "match:", "mach:", 1))
	page, err := w.Store().Events(t.Context(), store.EventQuery{Type: event.ConfigRejected, Limit: store.MaxPage})
	if err != nil || len(page.Items) != 1 || !strings.Contains(page.Items[0].Detail.Message, "the last good version of the source stays active") {
		t.Errorf("%+v, %v", page.Items, err)
	}
	if got := w.deliver(t, objectCreated); !strings.Contains(got, `"written":1,`) {
		t.Errorf("with a broken file the last good one counts: %s", got)
	}
	putBoth(t, w)
	if got := w.deliver(t, objectCreated); !strings.Contains(got, `"matched":0,`) {
		t.Errorf("the source is gone: %s", got)
	}
}

func TestTheWatchdogReportsMissingEventsOfASource(t *testing.T) {
	w := deploy(t, awslambdatest.Options{Watch: 6 * time.Hour})
	putBoth(t, w, landings)
	for day := range 10 {
		w.AdvanceTo(dawn.AddDate(0, 0, day))
		id := "event-" + string(rune('a'+day))
		w.deliver(t, strings.Replace(objectCreated, "17793124-05d4-b198-2fde-7ededc63b103", id, 1))
	}
	w.AdvanceTo(dawn.AddDate(0, 0, 12).Add(time.Hour))
	page, err := w.Store().Events(t.Context(), store.EventQuery{Type: event.InfraAlarm, Limit: store.MaxPage})
	if err != nil || len(page.Items) == 0 || !strings.Contains(page.Items[0].Detail.Message, "landings") {
		t.Errorf("%+v, %v", page.Items, err)
	}
}
