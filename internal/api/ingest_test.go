package api_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
)

const ordersLanded = `source: {id: orders-landed, owner: ingest, format: cloudevents}
match:
  - {path: $.type, equals: com.example.orders.landed}
  - {path: $.subject, matches: '^orders/(?P<day>\d{4}-\d{2}-\d{2})$'}
write:
  - {pipeline: orders, key: landed, period: "${day}", fields: {complete: true, count: {path: $.data.rows}}}
`

const sparkDone = `source: {id: spark-done, owner: ingest, format: openlineage}
match:
  - {path: $.job.name, equals: orders_silver}
  - {path: $.eventType, in: [COMPLETE, FAIL]}
  - {path: $.run.facets.nominalTime.nominalStartTime, matches: '^(?P<day>\d{4}-\d{2}-\d{2})T'}
write:
  - {pipeline: orders, key: spark, period: "${day}", fields: {status: {path: $.eventType}, rows: {path: '$.outputs[0].outputFacets.outputStatistics.rowCount'}}}
`

const bridge = `source: {id: bridge, owner: ingest, format: json}
write:
  - {pipeline: orders, key: queue, fields: {depth: {path: $.depth}}}
  - {pipeline: silver-orders, key: queue, fields: {depth: {path: $.depth}}}
`

// useSources adds sources to the world.
func (w *world) useSources(texts ...string) {
	w.Helper()
	f := catalog.Files{Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte(orders)}, {File: "silver.yaml", Data: []byte(silver)}}}
	for i, text := range texts {
		f.Sources = append(f.Sources, pipeline.Source{File: fmt.Sprintf("sources/%d.yaml", i), Data: []byte(text)})
	}
	_, err := w.Catalog.Apply(ctx, f, w.Now())
	w.Check(err)
}

func landedEvent(id, day string, rows int) cloudevents.Event {
	e := cloudevents.NewEvent()
	e.SetID(id)
	e.SetSource("https://store.example/bucket")
	e.SetType("com.example.orders.landed")
	e.SetSubject("orders/" + day)
	_ = e.SetData(cloudevents.ApplicationJSON, map[string]any{"rows": rows})
	return e
}

// The official SDK's events are accepted in each mode.
func TestCloudEventsOfTheOfficialClient(t *testing.T) {
	w := newWorld(t)
	w.useSources(ordersLanded)
	client, err := cloudevents.NewClientHTTP(cloudevents.WithTarget(w.server.URL + "/api/v1/cloudevents"))
	w.Check(err)
	if result := client.Send(binding.WithForceBinary(ctx), landedEvent("binary", "2026-03-03", 7)); !cloudevents.IsACK(result) {
		t.Errorf("binary: %v", result)
	}
	if result := client.Send(binding.WithForceStructured(ctx), landedEvent("structured", "2026-03-04", 8)); !cloudevents.IsACK(result) {
		t.Errorf("structured: %v", result)
	}
	request, err := cehttp.NewHTTPRequestFromEvents(ctx, w.server.URL+"/api/v1/cloudevents", []cloudevents.Event{landedEvent("one", "2026-03-05", 9), landedEvent("two", "2026-03-06", 10)})
	w.Check(err)
	answer, err := transport.RoundTrip(request)
	w.Check(err)
	answer.Body.Close()
	for day, rows := range map[string]string{"2026-03-03": "7", "2026-03-04": "8", "2026-03-05": "9", "2026-03-06": "10"} {
		got := w.get("/api/v1/pipelines/orders/sensors/landed?date=" + day)
		if !strings.Contains(string(got.body), `"count":`+rows) || !strings.Contains(string(got.body), `"source":"orders-landed"`) {
			t.Errorf("%s: %d %s", day, got.status, got.body)
		}
	}
}

const structured = "Content-Type: application/cloudevents+json"

func landedJSON(id, day string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"/bucket","type":"com.example.orders.landed","subject":"orders/%s","data":{"rows":1}}`, id, day)
}

// sent posts a body and compares the response.
func (w *world) sent(path, body, want string, headers ...string) {
	w.Helper()
	got := w.request("POST", "/api/v1/"+path, body, headers...)
	if got.status != http.StatusOK || !strings.HasPrefix(strings.TrimSpace(string(got.body)), want) {
		w.Errorf("%d %s, want %s", got.status, got.body, want)
	}
}

func TestRepeatedEventIsWrittenOnce(t *testing.T) {
	w := newWorld(t)
	w.useSources(ordersLanded)
	w.sent("cloudevents", landedJSON("a", "2026-03-03"), `{"matched":1,"written":1,"repeated":0,"problems":[]}`, structured)
	w.put("/api/v1/pipelines/orders/sensors/landed", `{"date":"2026-03-03","complete":false}`)
	w.sent("cloudevents", landedJSON("a", "2026-03-03"), `{"matched":1,"written":0,"repeated":1,"problems":[]}`, structured)
	if got := w.get("/api/v1/pipelines/orders/sensors/landed?date=2026-03-03"); !strings.Contains(string(got.body), `"complete":false`) {
		t.Errorf("a repeat overwrote a later reading: %s", got.body)
	}
	w.sent("cloudevents", strings.Replace(landedJSON("a", "2026-03-03"), "/bucket", "/other", 1), `{"matched":1,"written":1`, structured)
	batch := "[" + landedJSON("b", "2026-03-04") + "," + landedJSON("c", "2026-03-05") + "," + strings.Replace(landedJSON("b", "2026-03-04"), `"rows":1`, `"rows":2`, 1) + "]"
	w.sent("cloudevents", batch, `{"matched":3,"written":2,"repeated":1,"problems":[]}`, "Content-Type: application/cloudevents-batch+json")
	if got := w.get("/api/v1/pipelines/orders/sensors/landed?date=2026-03-04"); !strings.Contains(string(got.body), `"count":1`) {
		t.Errorf("a repeat in the same batch overwrote the event: %s", got.body)
	}
	w.Move(w.Now().Add(25 * time.Hour))
	w.sent("cloudevents", landedJSON("a", "2026-03-03"), `{"matched":1,"written":1`, structured)
}

// A key stands for one request, whatever the order of its fields.
func TestIdempotencyKeyOfEvents(t *testing.T) {
	w := newWorld(t)
	w.useSources(bridge)
	const key, path = "Idempotency-Key: k1", "ingest/bridge"
	w.sent(path, `{"depth":1,"at":2}`, `{"matched":1,"written":2,"repeated":0,"problems":[]}`, key)
	w.sent(path, `[{"at":2, "depth":1}]`, `{"matched":1,"written":0,"repeated":2,"problems":[]}`, key)
	for _, body := range []string{`{"depth":7}`, `[{"depth":1,"at":2},{"depth":7}]`} {
		got := w.request("POST", "/api/v1/"+path, body, key)
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(string(got.body), "this Idempotency-Key was used for another request; send this one with a new key") {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	if got := w.get("/api/v1/pipelines/orders/sensors/queue"); !strings.Contains(string(got.body), `"depth":1`) {
		t.Errorf("a refused request wrote %s", got.body)
	}
	w.sent(path, `{"depth":7}`, `{"matched":1,"written":2,`, "Idempotency-Key: k2")
	w.sent(path, `{"depth":8}`, `{"matched":1,"written":2,`, "Idempotency-Key: "+strings.Repeat("k", 100))
	long := w.request("POST", "/api/v1/"+path, `{"depth":9}`, "Idempotency-Key: "+strings.Repeat("k", 101))
	if long.status != http.StatusBadRequest || !strings.Contains(string(long.body), `"validation failed: header.Idempotency-Key expected length \u003c= 100"`) {
		t.Errorf("a long key: %d %s", long.status, long.body)
	}
	w.Move(w.Now().Add(25 * time.Hour))
	w.sent(path, `{"depth":7}`, `{"matched":1,"written":2,`, key)
}

func TestUnmatchedEventIsCountedAndShown(t *testing.T) {
	w := newWorld(t)
	w.useSources(ordersLanded)
	w.sent("cloudevents", strings.Replace(landedJSON("a", "2026-03-03"), "orders.landed", "other", 1), `{"matched":0,"written":0,"repeated":0,"problems":[]}`, structured)
	list := string(w.get("/api/v1/sources").body)
	if !strings.Contains(list, `"cloudevents":1`) || !strings.Contains(list, `type=\"com.example.other\" source=\"/bucket\"`) {
		t.Errorf("sources: %s", list)
	}
	if metrics := string(w.get("/metrics").body); !strings.Contains(metrics, `interlock_ingest_events_total{format="cloudevents",result="unmatched"} 1`) ||
		!strings.Contains(metrics, `interlock_ingest_events_total{format="json",result="matched"} 0`) {
		t.Errorf("metrics: %s", metrics)
	}
}

func zipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	_ = w.Close() // writes to memory do not fail
	return out.String()
}

// noise is text of a size that cannot be compressed.
func noise(size int) string {
	text := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(text) // never fails
	return string(text)
}

func TestRejectedEventNamesItsAttribute(t *testing.T) {
	w := newWorld(t)
	w.useSources(ordersLanded, sparkDone, strings.Replace(bridge, "id: bridge", "id: queue", 1))
	event := landedJSON("a", "2026-03-03")
	for _, c := range []struct {
		path, body, want string
		headers          []string
	}{
		{"cloudevents", strings.Replace(event, `"id":"a",`, "", 1), "attribute id is missing", []string{structured}},
		{"cloudevents", strings.Replace(event, `"/bucket"`, `""`, 1), "attribute source must be", []string{structured}},
		{"cloudevents", strings.Replace(event, `"1.0"`, `"0.3"`, 1), "attribute specversion is", []string{structured}},
		{"cloudevents", strings.Replace(event, `"data":`, `"time":"noon","data":`, 1), "attribute time", []string{structured}},
		{"cloudevents", strings.Replace(event, `"data":`, `"Bad_Name":"x","data":`, 1), `attribute \"Bad_Name\"`, []string{structured}},
		{"cloudevents", strings.Replace(event, `"data":`, `"data_base64":"e30=","data":`, 1), "data and data_base64", []string{structured}},
		{"cloudevents", "[" + event + `,{"specversion":"1.0"}]`, "event 1 of the batch: attribute id is missing", []string{"Content-Type: application/cloudevents-batch+json"}},
		{"cloudevents", `{}`, "the request is not a CloudEvent", []string{"Content-Type: application/json"}},
		{"cloudevents", `{`, "datacontenttype is JSON, but attribute data is not", []string{"Content-Type: application/json", "ce-specversion: 1.0", "ce-id: a", "ce-source: /b", "ce-type: t"}},
		{"cloudevents", `{}`, "attribute type is missing", []string{"Content-Type: application/json", "ce-specversion: 1.0", "ce-id: a", "ce-source: /b"}},
		{"lineage", `{"eventTime":"2026-03-03T10:00:00Z","producer":"p","schemaURL":"s","job":{"namespace":"n","name":"j"},"run":{}}`, "field run.runId is missing", nil},
		{"lineage", `{}`, "field run is missing", nil},
		{"ingest/bridge", `{}`, "there is no source", nil},
		{"ingest/queue", `[{"n":1},{"n":1e400}]`, `event 1 of the batch: field \"n\": \"1e400\" is not a number that fits into 64 bits; no event of the batch was written`, nil},
		{"ingest/queue", `[{"n":1},{"n":1,"n":2}]`, `event 1 of the batch: data has the field \"n\" twice`, nil},
		{"ingest/queue", `[{"n":1},5]`, "event 1 of the batch: it is not a JSON object", nil},
		{"ingest/queue", `[{"n":1},{"n":x}]`, "event 1 of the batch: data is not JSON: at byte", nil},
		{"ingest/queue", `[{"n":1}`, "it ends in the middle", nil},
		{"ingest/queue", `[{"n":1}] 2`, "batch: unexpected data after the list", nil},
		{"ingest/queue", zipped(strings.Repeat(" ", 8<<20+1)), "too large when unzipped; at most 8388608 bytes are allowed: send fewer events\"", []string{"Content-Encoding: gzip"}},
		{"ingest/queue", zipped(noise(1 << 20)), "too large; at most 1048576 bytes are allowed: send fewer events\"", []string{"Content-Encoding: gzip"}},
		{"ingest/queue", strings.Repeat(" ", 1<<20+1), "or compress them with gzip", nil},
		{"ingest/orders-landed", `{}`, "is of format cloudevents", nil},
	} {
		got := w.request("POST", "/api/v1/"+c.path, c.body, c.headers...)
		if got.status < 400 || !strings.Contains(string(got.body), c.want) {
			t.Errorf("%s %s: %d %s, want %s", c.path, c.body, got.status, got.body, c.want)
		}
	}
}

func TestBinaryDataAndTypes(t *testing.T) {
	w := newWorld(t)
	w.useSources(strings.Replace(ordersLanded, "count: {path: $.data.rows}", "text: {path: $.data}, raw: {path: $.data_base64}, rows: {path: $.data.rows}, unit: {path: $.unit}", 1))
	send := func(day, contentType, body string, more ...string) string {
		t.Helper()
		headers := append([]string{"Content-Type: " + contentType, "ce-specversion: 1.0", "ce-id: " + day, "ce-source: /b", "ce-type: com.example.orders.landed", "ce-subject: orders%2F" + day}, more...)
		w.sent("cloudevents", body, `{"matched":1,"written":1`, headers...)
		return string(w.get("/api/v1/pipelines/orders/sensors/landed?date=" + day).body)
	}
	for day, c := range map[string][3]string{
		"2026-03-03": {"text/plain", "seven", `"text":"seven"`},
		"2026-03-04": {"application/octet-stream", "\xff\x00", `"raw":"/wA="`},
		"2026-03-05": {"application/vnd.x+json; charset=utf-8", `{"rows":5}`, `"rows":5`},
	} {
		if got := send(day, c[0], c[1], "ce-unit: Euro%20%E2%82%AC"); !strings.Contains(got, c[2]) || !strings.Contains(got, `"unit":"Euro €"`) {
			t.Errorf("%s: %s", c[0], got)
		}
	}
	for header, want := range map[string]string{`"Euro"`: `Euro`, `"a \"b\" \\c" d%20"e"`: `a \"b\" \\c d e`, `5"`: `5\"`, `"5" "`: `\"5\" \"`} {
		if got := send("2026-03-07", "text/plain", "x", "ce-unit: "+header, "ce-quoted: "+header); !strings.Contains(got, `"unit":"`+want+`"`) {
			t.Errorf("%s: %s", header, got)
		}
		w.Move(w.Now().Add(25 * time.Hour))
	}
	event := strings.Replace(landedJSON("b", "2026-03-06"), `"data":{"rows":1}`, `"datacontenttype":"application/json","data_base64":"eyJyb3dzIjo5fQ=="`, 1)
	w.sent("cloudevents", event, `{"matched":1,"written":1`, structured)
	if got := w.get("/api/v1/pipelines/orders/sensors/landed?date=2026-03-06"); !strings.Contains(string(got.body), `"rows":9`) {
		t.Errorf("data_base64: %s", got.body)
	}
}

func TestWebhookHandshake(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) {
		d.Settings.Tokens = []api.Token{{Name: "x", Role: api.RoleSensor, Secret: "secret"}}
	})
	got := w.request("OPTIONS", "/api/v1/cloudevents", "", "WebHook-Request-Origin: events.example", "WebHook-Request-Rate: 120")
	if got.status != http.StatusOK || got.header.Get("WebHook-Allowed-Origin") != "events.example" || got.header.Get("WebHook-Allowed-Rate") != "120" || got.header.Get("Allow") != "POST, OPTIONS" {
		t.Errorf("%d %v", got.status, got.header)
	}
	if got := w.request("POST", "/api/v1/cloudevents", landedJSON("a", "2026-03-03"), structured); got.status != http.StatusUnauthorized {
		t.Errorf("an event without a token: %d", got.status)
	}
}

// Events as the Python and Java clients send them, which may be compressed. A failed run is data
// too.
func TestLineageOfTheClients(t *testing.T) {
	w := newWorld(t)
	w.useSources(sparkDone)
	event := func(kind, day, producer string) string {
		return fmt.Sprintf(`{"eventTime":"2026-03-09T01:00:00.123456+00:00","eventType":%q,"producer":%q,"schemaURL":"https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
			"run":{"runId":"01908a3c-0b5a-7e3f-9a54-3f6d5f1b2c3d","facets":{"nominalTime":{"_producer":"p","_schemaURL":"s","nominalStartTime":"%sT00:00:00Z"}}},
			"job":{"namespace":"spark","name":"orders_silver","facets":{}},"inputs":[],
			"outputs":[{"namespace":"s3://lake","name":"silver/orders","facets":{},"outputFacets":{"outputStatistics":{"_producer":"p","_schemaURL":"s","rowCount":42,"size":1}}}]}`, kind, producer, day)
	}
	const java, python = "https://github.com/OpenLineage/OpenLineage/tree/1.30.1/integration/spark", "https://github.com/OpenLineage/OpenLineage/tree/1.30.1/client/python"
	w.sent("lineage", event("START", "2026-03-03", java), `{"matched":0,`)
	w.sent("lineage", event("COMPLETE", "2026-03-03", java), `{"matched":1,"written":1,`)
	w.sent("lineage", zipped(event("FAIL", "2026-03-04", python)), `{"matched":1,"written":1,`, "Content-Encoding: gzip", "Content-Type: application/json")
	for day, status := range map[string]string{"2026-03-03": "COMPLETE", "2026-03-04": "FAIL"} {
		if got := w.get("/api/v1/pipelines/orders/sensors/spark?date=" + day); !strings.Contains(string(got.body), `"rows":42,"status":"`+status) {
			t.Errorf("%s: %s", day, got.body)
		}
	}
	if got := w.get("/api/v1/pipelines/orders/sensors/spark?date=2026-03-09"); got.status != http.StatusNotFound {
		t.Errorf("the period came from eventTime: %s", got.body)
	}
}

// A token that is limited to some pipelines cannot write to others.
func TestLimitedTokenWritesWhatItMay(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) {
		d.Settings.Tokens = []api.Token{
			{Name: "limited", Role: api.RoleSensor, Pipelines: []string{"silver-*"}, Secret: "limited"}, {Name: "viewer", Role: api.RoleViewer, Secret: "viewer"},
		}
	})
	w.useSources(bridge)
	w.token = "limited"
	got := w.request("POST", "/api/v1/ingest/bridge", `{"depth":3}`)
	if !strings.Contains(string(got.body), `"matched":1,"written":1`) || !strings.Contains(string(got.body), "pipelines that the token may not see (problems: 1)") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if list := string(w.get("/api/v1/sources").body); strings.Contains(list, "bridge") {
		t.Errorf("a limited token sees the source of other pipelines: %s", list)
	}
	w.token = "viewer"
	if got := w.request("POST", "/api/v1/ingest/bridge", `{"depth":3}`); got.status != http.StatusForbidden {
		t.Errorf("a viewer could write: %d", got.status)
	}
}

// A rejected source does not affect others, and its last good version stays active across a
// restart.
func TestLastGoodSourceStaysActive(t *testing.T) {
	w := newWorld(t)
	w.useSources(ordersLanded, bridge)
	w.useSources(strings.Replace(ordersLanded, "match:", "mach:", 1), bridge)
	again := newWorld(t, func(d *api.Deps) {
		d.Catalog = catalog.New(w.Store, nil)
		d.Store = w.Store
		_, err := d.Catalog.Apply(ctx, catalog.Files{Sources: []pipeline.Source{{File: "sources/0.yaml", Data: []byte("source: [")}}}, w.Now())
		w.Check(err)
	})
	w.sent("ingest/bridge", `{"depth":1}`, `{"matched":1,"written":2`)
	w.sent("cloudevents", landedJSON("a", "2026-03-03"), `{"matched":1,"written":1`, structured)
	again.sent("cloudevents", landedJSON("b", "2026-03-03"), `{"matched":1,`, structured)
	files := string(w.get("/api/v1/files").body)
	if !strings.Contains(files, `unknown key \"mach\"; did you mean \"match\"?`) || strings.Count(files, `"kind":"source"`) != 2 {
		t.Errorf("files: %s", files)
	}
}
