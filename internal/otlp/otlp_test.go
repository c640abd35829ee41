package otlp_test

import (
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
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
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc": "http/protobuf", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json": "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
		"OTEL_EXPORTER_OTLP_TIMEOUT=soon": "milliseconds", "OTEL_EXPORTER_OTLP_HEADERS=s3cret": "name=value", "OTEL_EXPORTER_OTLP_COMPRESSION=zstd": "gzip or none",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=localhost:4318": "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not an http or https", "OTEL_TRACES_EXPORTER=zipkin": "otlp or none",
		"OTEL_TRACES_SAMPLER=jaeger_remote": "always_on", "OTEL_PROPAGATORS=b3": "only tracecontext", "OTEL_SDK_DISABLED=yes": "true or false",
		"OTEL_BSP_SCHEDULE_DELAY=5s": "not a number", "OTEL_RESOURCE_ATTRIBUTES=team": "name=value", "OTEL_CONFIG_FILE=otel.yaml": "not supported",
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=/x": "belong together",
	} {
		_, on, err := otlp.FromEnvironment(environment(variable, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"))
		if on || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", variable, err)
		}
	}
	_, _, err := otlp.FromEnvironment(environment("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=2"))
	if err == nil || !strings.Contains(err.Error(), "from 0 to 1") {
		t.Error(err)
	}
}

func TestExporterAloneMeansTheUsualEndpoint(t *testing.T) {
	c, on, err := otlp.FromEnvironment(environment("OTEL_TRACES_EXPORTER=otlp"))
	if err != nil || !on || c.Endpoint != "http://localhost:4318/v1/traces" {
		t.Errorf("%q, on %t, error %v", c.Endpoint, on, err)
	}
}

func TestSamplerIsTheEnvironments(t *testing.T) {
	for sampler, want := range map[string]string{
		"": "ParentBased{root:AlwaysOnSampler", "always_off": "AlwaysOffSampler", "parentbased_always_off": "ParentBased{root:AlwaysOffSampler",
		"traceidratio": "TraceIDRatioBased{0.25}", "parentbased_traceidratio": "ParentBased{root:TraceIDRatioBased{0.25}",
	} {
		c, _, err := otlp.FromEnvironment(environment("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_TRACES_SAMPLER="+sampler, "OTEL_TRACES_SAMPLER_ARG=0.25"))
		if err != nil || !strings.HasPrefix(c.Sampler.Description(), want) {
			t.Errorf("%q: %v, want %s; %v", sampler, c.Sampler, want, err)
		}
	}
}

// TestCollectorIsTrustedByItsAuthority has a collector with an unknown certificate, which requires
// one of the client.
func TestCollectorIsTrustedByItsAuthority(t *testing.T) {
	var names []string
	collector := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for _, c := range r.TLS.PeerCertificates {
			names = append(names, c.Subject.CommonName)
		}
	}))
	collector.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	collector.Config.ErrorLog = log.New(io.Discard, "", 0)
	collector.StartTLS()
	defer collector.Close()
	dir := t.TempDir()
	authority, certificate, key := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key")
	write(t, authority, "CERTIFICATE", collector.Certificate().Raw)
	clientPair(t, certificate, key)
	send := func(pairs ...string) error {
		config, _, err := otlp.FromEnvironment(environment(append(pairs, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)...))
		if err != nil {
			return err
		}
		exporter, err := otlp.New(config)
		if err != nil {
			return err
		}
		return exporter.ExportSpans(t.Context(), tracetest.SpanStubs{{Name: "x"}}.Snapshots())
	}
	if err := send(); err == nil {
		t.Error("an unknown authority was trusted")
	}
	if err := send("OTEL_EXPORTER_OTLP_CERTIFICATE=" + key); err == nil || !strings.Contains(err.Error(), "contains no certificate") {
		t.Error(err)
	}
	err := send("OTEL_EXPORTER_OTLP_CERTIFICATE="+authority, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE="+certificate, "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY="+key)
	if err != nil || len(names) != 1 || names[0] != "interlock" {
		t.Errorf("clients %q, error %v", names, err)
	}
}

func write(t *testing.T, name, kind string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// clientPair writes a self-signed certificate of the client and its key.
func clientPair(t *testing.T, certificate, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "interlock"}, NotAfter: time.Unix(1<<33, 0)}
	made, err := x509.CreateCertificate(rand.Reader, &template, &template, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	write(t, certificate, "CERTIFICATE", made)
	write(t, key, "PRIVATE KEY", encoded)
}
