// Package otlp creates the spans of tasks, changes and steps (tracing.go), and sends them to an
// OpenTelemetry collector: OTLP over HTTP with protobuf bodies, configured by the OTEL_* variables of
// the specification. It replaces OpenTelemetry's own exporter, which links gRPC and its gateway:
// nothing here uses them, and they make the binary some megabytes larger.
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/proto"

	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/egress"
)

// Exporter sends spans to one collector.
type Exporter struct {
	config Config
	client *http.Client
}

var _ sdktrace.SpanExporter = (*Exporter)(nil)

// New returns an exporter for c. The operator chooses the collector's address, so it may be
// private.
func New(c Config) (*Exporter, error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, errors.New("the collector's address is invalid")
	}
	guard, err := egress.New([]string{u.Hostname()})
	if err != nil {
		return nil, fmt.Errorf("set up tracing: %w", err)
	}
	trust, err := c.tls()
	if err != nil {
		return nil, err
	}
	return &Exporter{config: c, client: guard.Trusting(trust).Client(c.Timeout)}, nil
}

// tries is how often a batch is sent while the collector is rate-limited.
const tries = 3

var retries = backoff.Doubling{First: time.Second, Most: time.Minute}

// ExportSpans sends spans. The specification allows dropping those that a collector does not
// accept.
func (e *Exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := proto.Marshal(encode(spans))
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	if body, err = e.compress(body); err != nil {
		return fmt.Errorf("compress spans: %w", err)
	}
	for try := 1; ; try++ {
		after, err := e.post(ctx, body)
		if err == nil || after < 0 || try == tries {
			return err
		}
		select {
		case <-time.After(max(after, retries.After(try))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (e *Exporter) compress(body []byte) ([]byte, error) {
	if !e.config.Gzip {
		return body, nil
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// post sends a body once. after is how long to wait before a retry; negative if a retry is
// pointless.
func (e *Exporter) post(ctx context.Context, body []byte) (after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.config.Endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, errors.New("send spans: the collector's address is invalid")
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	if e.config.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	for name, value := range e.config.Headers {
		req.Header.Set(name, value)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return -1, fmt.Errorf("send spans: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return egress.RetryAfter(resp.Header, time.Now(), time.Minute), fmt.Errorf("send spans: the collector answered %s", resp.Status)
	}
	return -1, fmt.Errorf("send spans: the collector answered %s", resp.Status)
}

// Shutdown does nothing: spans are sent when they are exported.
func (e *Exporter) Shutdown(context.Context) error { return nil }
