// Package otlptest stands for an OpenTelemetry collector in tests.
package otlptest

import (
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Receiver is an OpenTelemetry collector that records the spans it receives, decoded by the
// official message types.
type Receiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
}

// NewReceiver starts a receiver, which ends with the test.
func NewReceiver(t testing.TB) *Receiver {
	r := &Receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var data tracepb.TracesData
		if err := proto.Unmarshal(body, &data); err != nil || req.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", req.URL.Path, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, resource := range data.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// Of lists the spans of a trace by id.
func (r *Receiver) Of(trace string) map[string]*tracepb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]*tracepb.Span{}
	for _, s := range r.spans {
		if hex.EncodeToString(s.TraceId) == trace {
			all[hex.EncodeToString(s.SpanId)] = s
		}
	}
	return all
}

// Path returns the names of a span and its ancestors, the outermost first.
func Path(spans map[string]*tracepb.Span, s *tracepb.Span) string {
	names := []string{s.Name}
	for parent := spans[hex.EncodeToString(s.ParentSpanId)]; parent != nil; parent = spans[hex.EncodeToString(parent.ParentSpanId)] {
		names = append([]string{parent.Name}, names...)
	}
	return strings.Join(names, " > ")
}

// Traces lists the ids of all traces.
func (r *Receiver) Traces() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]bool{}
	for _, s := range r.spans {
		all[hex.EncodeToString(s.TraceId)] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// Attribute returns an attribute of a span as text, or "" if there is none.
func Attribute(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			text := a.Value.String()
			_, text, _ = strings.Cut(text, ":")
			return strings.Trim(text, `" `)
		}
	}
	return ""
}
