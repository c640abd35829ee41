package otlp_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/interlock-go/interlock/internal/otlp"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for _, pair := range pairs {
			if n, value, _ := strings.Cut(pair, "="); n == name {
				return value
			}
		}
		return ""
	}
}

func TestCollectorReceivesSpans(t *testing.T) {
	var got tracepb.TracesData
	var header, path string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header, path = r.Header.Get("Api-Key"), r.URL.Path
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		text, _ := io.ReadAll(body)
		if err := proto.Unmarshal(text, &got); err != nil {
			t.Error(err)
		}
	}))
	defer collector.Close()
	config, on, err := otlp.FromEnvironment(environment(
		"OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL+"/", "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip"))
	if err != nil || !on {
		t.Fatal(on, err)
	}
	exporter, err := otlp.New(config)
	if err != nil {
		t.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	ctx, parent := provider.Tracer("test").Start(t.Context(), "parent", trace.WithSpanKind(trace.SpanKindServer))
	_, child := provider.Tracer("test").Start(ctx, "child", trace.WithAttributes(attribute.String("a", "b"), attribute.Int("n", 3)))
	child.SetStatus(codes.Error, "broken")
	child.End()
	span := got.ResourceSpans[0].ScopeSpans[0].Spans[0]
	if header != "a b" || path != "/v1/traces" || span.Name != "child" || span.Status.Message != "broken" || len(span.Attributes) != 2 {
		t.Errorf("header %q, path %q, span %v", header, path, span)
	}
	if id := parent.SpanContext().SpanID(); string(span.ParentSpanId) != string(id[:]) {
		t.Errorf("parent %x", span.ParentSpanId)
	}
	parent.End()
	if span := got.ResourceSpans[0].ScopeSpans[0].Spans[0]; span.Kind != tracepb.Span_SPAN_KIND_SERVER {
		t.Errorf("kind %v", span.Kind)
	}
}

func TestTracingIsOffUnlessTheEnvironmentAsksForIt(t *testing.T) {
	for name, env := range map[string]func(string) string{
		"nothing is set": environment(), "disabled": environment("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_SDK_DISABLED=true"),
		"no exporter": environment("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_TRACES_EXPORTER=none"),
	} {
		if _, on, err := otlp.FromEnvironment(env); on || err != nil {
			t.Errorf("%s: on %t, error %v", name, on, err)
		}
	}
}

func TestMistakesInTheEnvironmentAreNamed(t *testing.T) {
	for variable, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc": "http/protobuf", "OTEL_EXPORTER_OTLP_TIMEOUT=soon": "milliseconds", "OTEL_EXPORTER_OTLP_HEADERS=s3cret": "name=value",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=localhost:4318": "http or https", "OTEL_EXPORTER_OTLP_CERTIFICATE=/x": "not supported",
	} {
		_, on, err := otlp.FromEnvironment(environment("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", variable))
		if on || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", variable, err)
		}
	}
}
