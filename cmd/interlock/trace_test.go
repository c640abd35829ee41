package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
)

func TestSpansAreSentWhereAnEndpointIsSet(t *testing.T) {
	var sent atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/traces" {
			sent.Add(1)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tr, err := newTracing(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	failing := errors.New("no")
	handle := tr.task(func(context.Context, store.Claim) error { return failing })
	if err := handle(t.Context(), store.Claim{}); !errors.Is(err, failing) {
		t.Errorf("the handler's error became %v", err)
	}
	if err := tr.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sent.Load() == 0 {
		t.Error("nothing was sent")
	}
}

func TestWithoutAnEndpointNothingIsTraced(t *testing.T) {
	tr, err := newTracing(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	_, span := tr.Start(t.Context(), "x")
	if span.IsRecording() {
		t.Error("a span is recorded without an endpoint")
	}
}

func TestPathsOfPingsAreInNoSpan(t *testing.T) {
	var sent bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(&sent, r.Body) }))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tr, err := newTracing(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	h := tr.requests(http.NotFoundHandler())
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/ping/secret-0123456789/orders/load/0", nil))
	if err := tr.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(sent.Bytes(), []byte("/ping")) || bytes.Contains(sent.Bytes(), []byte("secret-0123456789")) {
		t.Errorf("sent %q", sent.String())
	}
}
