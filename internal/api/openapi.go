package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/client"
)

func (a *API) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(OpenAPI()) // the client may have disconnected
}

// OpenAPI returns the description of the API; do not change it. It is built on first use from
// routes that serve no requests, because adding to the description of live routes would race with
// requests being checked against it.
var OpenAPI = sync.OnceValue(func() []byte {
	h := newHuma(http.NewServeMux())
	new(API).routes(h)
	return describe(h)
})

// describe writes the description, and adds the operations that are not registered with huma.
func describe(h huma.API) []byte {
	doc := h.OpenAPI()
	doc.AddOperation(putOperation(h))
	doc.AddOperation(streamOperation(h))
	for _, op := range slices.Concat(plainOperations(h), pingOperations(h), eventOperations(h), inOperations(h)) {
		doc.AddOperation(op)
	}
	addWords(doc)
	types := doc.Components.Schemas
	for name, s := range types.Map() {
		nullables(s, types.TypeFromRef(schemaPrefix+name))
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		panic(err) // every type of this package can be described
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		panic(err)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// nullables allows null for properties that may be null although they are enums or objects.
func nullables(s *huma.Schema, of reflect.Type) {
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		property := s.Properties[name]
		switch {
		case property == nil:
		case property.Nullable && len(property.Enum) > 0:
			property.Enum = append(property.Enum, nil)
		case property.Ref != "" && f.Type.Kind() == reflect.Pointer:
			object := &huma.Schema{Ref: property.Ref}
			s.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{object, {Type: "null"}}, Description: property.Description}
		}
	}
}

// schemaOf returns the schema of a type.
func schemaOf[T any](h huma.API, hint string) *huma.Schema {
	return h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, hint)
}

func jsonBody[T any](h huma.API, hint string) *huma.RequestBody {
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[T](h, hint)}}}
}

func jsonAnswer[T any](h huma.API, what string) *huma.Response {
	return &huma.Response{Description: what, Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[T](h, "")}}}
}

func problems(h huma.API) *huma.Response {
	return &huma.Response{Description: "Error", Content: map[string]*huma.MediaType{problemType: {Schema: schemaOf[Problem](h, "")}}}
}

// word returns a text parameter. Every path parameter is required.
func word(in, name, doc string) *huma.Param {
	return &huma.Param{In: in, Name: name, Required: in == "path", Description: doc, Schema: &huma.Schema{Type: "string"}}
}

func putOperation(h huma.API) *huma.Operation {
	put := route{
		method: http.MethodPut, path: sensorPath[len(prefix):], name: "put-sensor", tag: "Sensors", role: RoleSensor, needs: needsSensor,
		summary: "Write a reading: the body is its data",
	}.operation()
	put.Middlewares = nil
	put.Parameters = []*huma.Param{
		word("path", "id", "The pipeline's id."),
		word("path", "key", "The sensor's key, percent-encoded (/ is %2F, # is %23), with #period to date the reading."),
		word("query", "source", "The writer's name."),
		word("query", "ttl", "How long the reading is valid, such as 2h."),
		word("query", "expiresAt", "When the reading expires, RFC 3339."),
	}
	put.RequestBody = &huma.RequestBody{
		Required:    true,
		Description: "An object of at most 64 KiB. Its fields date, hour and minute name the period, else the key's suffix does.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: "object", AdditionalProperties: true}}},
	}
	put.Responses = map[string]*huma.Response{"200": jsonAnswer[client.Written](h, "The reading is stored durably."), "default": problems(h)}
	return &put
}

func streamOperation(h huma.API) *huma.Operation {
	op := get("/events/stream", "follow-events", "Events", "Stream events as server-sent events").operation()
	op.Middlewares = nil
	op.Parameters = []*huma.Param{
		word("query", "pipeline", "Only events of this pipeline."), word("query", "type", "Only events of this type."),
		word("query", "since", "Start in the past: RFC 3339, a period, or a duration ago such as 2h."),
		word("query", "lastEventId", "The same as the header, for clients that cannot set headers."),
		word("query", "heartbeat", "true: keep-alives are events named heartbeat with {at, intervalSeconds}, and the first is sent at once. Otherwise keep-alives are comments."),
		word("header", "Last-Event-ID", "Resume after this event."),
	}
	op.Responses = map[string]*huma.Response{
		"200":     {Description: "data is an event, id its position in the stream. A keep-alive is sent every 15 seconds.", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: "string"}}}},
		"default": problems(h),
	}
	return &op
}

// plainOperations describes the operations outside the API's prefix.
func plainOperations(h huma.API) []*huma.Operation {
	plain := func(path, name, summary string, ok *huma.Response) *huma.Operation {
		return &huma.Operation{
			Method: http.MethodGet, Path: path, OperationID: name, Summary: summary, Tags: []string{"Server"}, Description: needsNothing, Security: needsNoToken,
			Responses: map[string]*huma.Response{"200": ok, "default": problems(h)},
		}
	}
	ready := plain("/readyz", "readyz", "Check whether the controller is ready", jsonAnswer[client.Readiness](h, "The controller is ready."))
	ready.Responses["503"] = &huma.Response{Description: "The controller is not ready.", Content: map[string]*huma.MediaType{problemType: {Schema: schemaOf[Unreadiness](h, "")}}}
	anything := &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: "object", AdditionalProperties: true}}}}
	metrics := &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: "string"}}}}
	figures := plain("/metrics", "metrics", "Get metrics in the Prometheus format", metrics)
	figures.Description, figures.Security = needsRole(RoleViewer), needsToken
	ready.Description += " The checks are listed for viewers whose token is not limited to pipelines."
	identity := plain(IdentityPath, "prove-identity", "Prove which store the controller uses and which pipelines it has, without revealing either", jsonAnswer[Proof](h, "The proof."))
	identity.Parameters = []*huma.Param{word("query", "nonce", "32 random bytes in hexadecimal, new for each request.")}
	identity.Parameters[0].Required = true
	return []*huma.Operation{
		plain("/healthz", "healthz", "Check whether the process responds", anything), ready,
		figures, identity,
		plain("/openapi.json", "openapi", "Get this OpenAPI document", anything),
	}
}

// pingOperations describes pings, with and without a signal.
func pingOperations(h huma.API) []*huma.Operation {
	plain := map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: "string"}}}
	var all []*huma.Operation
	for _, path := range []string{pingPath, pingSignalPath} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			op := &huma.Operation{
				Method: method, Path: path, OperationID: "ping-" + strings.ToLower(method), Tags: []string{"Sensors"},
				Summary:     "Write a reading {status, exitStatus, durationSeconds, body} with a plain GET or POST",
				Description: "For cron jobs and other clients that can only call a URL. Needs no header: the token is in the path. The path is not logged.",
				Security:    needsNoToken,
				Parameters: []*huma.Param{
					word("path", "token", "A token with the role sensor; on a server without tokens, any text."),
					word("path", "pipeline", "The pipeline's id."), word("path", "key", "The sensor's key, percent-encoded, with #period to date the reading."),
				},
				Responses: map[string]*huma.Response{"200": {Description: "The reading is stored durably.", Content: plain}, "default": problems(h)},
			}
			if path == pingSignalPath {
				op.OperationID += "-signal"
				op.Parameters = append(op.Parameters, word("path", "signal", "start, fail, or an exit status from 0 to 255. 0 is success, any other status is a failure."))
			}
			if method == http.MethodPost {
				op.RequestBody = &huma.RequestBody{Description: "Stored in the field body, up to 10 KiB.", Content: plain}
			}
			all = append(all, op)
		}
	}
	return all
}

// tags are the groups of operations, in the order in which they are shown.
var tags = []*huma.Tag{
	{Name: "Sensors", Description: "Sensor readings, which gates depend on."},
	{Name: "Sources", Description: "Events from other tools, which source files turn into readings."},
	{Name: "Pipelines", Description: "Pipelines, their gates, pauses and backfills."},
	{Name: "Runs", Description: "Open, rerun, cancel and read runs, and report job results."},
	{Name: "Workers", Description: "External jobs: claim an attempt and send heartbeats."},
	{Name: "Deadlines", Description: "The SLA ledger."},
	{Name: "Events", Description: "Events, as a list and as a stream."},
	{Name: "Alerts", Description: "Routes, silences and dead letters."},
	{Name: "Trends", Description: "Statistics by day, week and month."},
	{Name: "Files", Description: "The files that the controller reads."},
	{Name: "Audit", Description: "The audit record: who did what."},
	{Name: "Session", Description: "Browser sessions."},
	{Name: "Server", Description: "Health, metrics and this document."},
}

// requestExamples are example request bodies, by operation.
var requestExamples = map[string]string{
	"put-sensor":           `{"date": "2026-03-03", "complete": true, "count": 1200}`,
	"put-sensors":          `[{"pipeline": "orders", "key": "landed", "data": {"date": "2026-03-03", "count": 1200}}]`,
	"put-cloudevents":      `{"specversion": "1.0", "id": "a1", "type": "com.example.landed", "source": "/lake/orders", "data": {"date": "2026-03-03"}}`,
	"put-lineage":          `{"eventType": "COMPLETE", "eventTime": "2026-03-03T04:00:00Z", "run": {"runId": "0195589e-7f9b-7cc5-9d4e-2f6c1b3a8e10"}, "job": {"namespace": "spark", "name": "orders"}, "producer": "https://example.com/spark", "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"}`,
	"put-json-events":      `{"id": "a1", "table": "orders", "rows": 1200}`,
	"trigger":              `{"pipeline": "orders", "date": "2026-03-03", "reason": "file delivered again"}`,
	"rerun":                `{"reason": "fixed the schema", "requestedBy": "ann"}`,
	"cancel":               `{"reason": "no longer needed", "requestedBy": "ann"}`,
	"report":               `{"result": "fail", "category": "TRANSIENT", "exitCode": 75, "message": "connection refused"}`,
	"claim":                `{"worker": "airflow/scheduler-1"}`,
	"heartbeat":            `{"output": "1200 rows loaded\n"}`,
	"pause":                `{"until": "2h", "reason": "migration", "requestedBy": "ann"}`,
	"pause-all":            `{"until": "2h", "reason": "warehouse maintenance", "holdSla": true}`,
	"resume":               `{"reason": "migration finished"}`,
	"resume-all":           `{"reason": "maintenance finished"}`,
	"backfill":             `{"from": "2026-03-01", "to": "2026-03-07", "onlyMissing": true, "dryRun": true}`,
	"accept-removal":       `{"reason": "team moved away", "requestedBy": "ann"}`,
	"purge":                `{"reason": "replaced by orders", "requestedBy": "ann", "dryRun": true}`,
	"add-silence":          `{"pipeline": "orders", "type": "SLA_WARNING", "until": "4h", "reason": "known delay"}`,
	"retry-dead-letters":   `{"sink": "slack", "all": true}`,
	"discard-dead-letters": `{"sink": "slack", "all": true}`,
	"test-alert-route":     `{"route": "slack", "requestedBy": "ann"}`,
	"login":                `{"token": "TOKEN"}`,
}

// parameterExamples are example values of parameters, by name.
var parameterExamples = map[string]string{
	"id": "orders", "pipeline": "orders", "key": "landed", "schedule": "stream", "date": "2026-03-03", "source": "landed-files", "signal": "fail",
	"silence": "s1", "from": "2026-03-01", "to": "2026-03-07", "since": "24h", "ttl": "2h", "wait": "30s",
	"nonce": "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b",
}

const problemExample = `{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "there is no pipeline \"order\"; did you mean orders?", "instance": "/api/v1/pipelines/order", "requestId": "m1-27", "errors": []}`

// addWords adds what the Go types do not contain: servers, license, tags, and examples.
func addWords(doc *huma.OpenAPI) {
	doc.Servers = []*huma.Server{
		{URL: "http://127.0.0.1:8740", Description: "A controller on this machine with its default address."},
		{URL: "/", Description: "The server that served this document."},
	}
	doc.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	doc.Tags = tags
	doc.Components.Schemas.Map()["Problem"].Examples = []any{json.RawMessage(problemExample)}
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Put, path.Post, path.Delete, path.Head} {
			if op != nil {
				addExamples(op)
			}
		}
	}
}

func addExamples(op *huma.Operation) {
	if text, ok := requestExamples[op.OperationID]; ok && op.RequestBody != nil {
		for _, media := range []string{"application/json", "application/cloudevents+json"} {
			if content := op.RequestBody.Content[media]; content != nil {
				content.Example = json.RawMessage(text)
			}
		}
	}
	for _, p := range op.Parameters {
		text, ok := parameterExamples[p.Name]
		if p.Name == "source" && p.In == "query" {
			text = "airflow" // the writer of a reading
		}
		if ok && p.Example == nil && p.Schema.Type == "string" && p.Schema.Format == "" && p.Schema.Enum == nil {
			p.Example = text
		}
	}
}
