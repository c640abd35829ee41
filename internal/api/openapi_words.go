package api

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
)

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
