package main

import (
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/otlp/otlptest"
)

const (
	tracedFile = `pipeline: {id: orders, owner: data}
schedule: {trigger: {key: landed, check: exists}}
validation: {rules: [{key: landed, check: exists}]}
job: {type: command, config: {command: [sh, -c, 'echo "$TRACEPARENT" > "$0"', %FILE%]}, pollInterval: 1h}
`
	givenTrace, givenSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
)

// writeTraced writes the sensor that starts orders, as a client with an existing trace does.
func writeTraced(t *testing.T, s *service) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPut, s.address+"/api/v1/pipelines/orders/sensors/landed", strings.NewReader(`{"date": "2026-03-03", "fields": {"rows": 1}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("traceparent", "00-"+givenTrace+"-"+givenSpan+"-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode >= 300 {
		t.Fatalf("%s: %s", resp.Status, text)
	}
}

func TestOneTraceFromSensorWriteToJobEnd(t *testing.T) {
	collector, printed := otlptest.NewReceiver(t), filepath.Join(t.TempDir(), "traceparent")
	s := serve(t, site{
		pipelines: map[string]string{"orders.yaml": strings.ReplaceAll(tracedFile, "%FILE%", printed)},
		env:       map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL},
	})
	writeTraced(t, s)
	s.reaches("orders/stream/2026-03-03", client.Completed)
	s.settled()
	s.stop()
	spans, paths := collector.Of(givenTrace), map[string]*tracepb.Span{}
	var root *tracepb.Span
	for _, span := range spans {
		paths[otlptest.Path(spans, span)] = span
		if hex.EncodeToString(span.ParentSpanId) == givenSpan {
			root = span
		}
	}
	const request = "PUT /api/v1/pipelines/{id}/sensors/{key}"
	const start = request + " > change reading > task advance > step evaluate > start command"
	for _, want := range []string{start, request + " > change reading > wait for the job", request + " > change reading > change run"} {
		if paths[want] == nil {
			t.Errorf("no span %s", want)
		}
	}
	if root == nil || root.Name != request || root.Kind != tracepb.Span_SPAN_KIND_SERVER || otlptest.Attribute(root, "http.route") == "" || otlptest.Attribute(root, "http.response.status_code") != "200" {
		t.Errorf("root span: %v", root)
	}
	if t.Failed() {
		for p := range paths {
			t.Log(p)
		}
		return
	}
	got, err := os.ReadFile(printed)
	if want := "00-" + givenTrace + "-" + hex.EncodeToString(paths[start].SpanId) + "-01\n"; err != nil || string(got) != want {
		t.Errorf("the job's TRACEPARENT is %q, want %q; %v", got, want, err)
	}
	if got := otlptest.Attribute(paths[start], "interlock.attempt"); got != "1" {
		t.Errorf("the start span has attempt %q", got)
	}
}

func TestTraceReachesTheJobWithoutACollector(t *testing.T) {
	printed := filepath.Join(t.TempDir(), "traceparent")
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": strings.ReplaceAll(tracedFile, "%FILE%", printed)}})
	writeTraced(t, s)
	s.reaches("orders/stream/2026-03-03", client.Completed)
	if got, err := os.ReadFile(printed); err != nil || string(got) != "00-"+givenTrace+"-"+givenSpan+"-01\n" {
		t.Errorf("the job's TRACEPARENT is %q; %v", got, err)
	}
}

func TestClaimedAttemptContinuesTheTraceThatOpenedIt(t *testing.T) {
	collector := otlptest.NewReceiver(t)
	s := serve(t, site{
		pipelines: map[string]string{"orders.yaml": "pipeline: {id: orders, owner: data}\n" +
			"schedule: {trigger: {key: landed, check: exists}}\njob: {type: external}\n"},
		env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL},
	})
	writeTraced(t, s)
	s.reaches("orders/stream/2026-03-03", client.Triggering)
	c, key := s.client(), client.RunKey{Pipeline: "orders", Schedule: "stream", Date: "2026-03-03"}
	claim, err := c.Claim(t.Context(), key, "w1", client.IdempotencyKey("k1"), client.Traceparent("00-"+strings.Repeat("1", 32)+"-"+strings.Repeat("2", 16)+"-01"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Claim(t.Context(), key, "w1", client.IdempotencyKey("k1"))
	if err != nil {
		t.Fatal(err)
	}
	if claim.Traceparent == nil || again.Traceparent == nil || *claim.Traceparent != *again.Traceparent || claim.Env["TRACEPARENT"] != *claim.Traceparent {
		t.Fatalf("first claim %v, repeated claim %v, environment %q", claim.Traceparent, again.Traceparent, claim.Env["TRACEPARENT"])
	}
	if _, err := c.Report(t.Context(), key, client.JobReport{Result: "success"}, client.Permit(claim.Permit), client.Traceparent(*claim.Traceparent)); err != nil {
		t.Fatal(err)
	}
	s.reaches("orders/stream/2026-03-03", client.Completed)
	s.settled()
	s.stop()
	spans := collector.Of(givenTrace)
	parent := spans[strings.Split(*claim.Traceparent, "-")[2]]
	const request = "PUT /api/v1/pipelines/{id}/sensors/{key}"
	if parent == nil || otlptest.Path(spans, parent) != request+" > change reading" {
		t.Fatalf("the claim's traceparent %s is not in the trace of the write", *claim.Traceparent)
	}
	names := map[string]bool{}
	for _, span := range spans {
		names[otlptest.Path(spans, span)] = true
	}
	for _, want := range []string{" > change reading > POST /api/v1/runs/{pipeline}/{schedule}/{date}/job", " > change reading > change run"} {
		if !names[request+want] {
			t.Errorf("no span %s in %v", request+want, names)
		}
	}
}
