// Package otlp sends spans to an OpenTelemetry collector: OTLP over HTTP with protobuf bodies, configured by the OTEL_*
// variables of the specification. It exists beside OpenTelemetry's own exporter because that one links gRPC and its gateway,
// which nothing here uses, and which make the binary some megabytes larger.
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
	"strconv"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/proto"

	"github.com/interlock-go/interlock/internal/egress"
)

// Config is what the environment says about the collector.
type Config struct {
	Endpoint string // the whole address of the traces
	Headers  map[string]string
	Gzip     bool
	Timeout  time.Duration
}

const usualTimeout = 10 * time.Second

// FromEnvironment reads the configuration. It returns false where tracing is off: no endpoint is set, or OTEL_SDK_DISABLED,
// or OTEL_TRACES_EXPORTER says so.
func FromEnvironment(getenv func(string) string) (Config, bool, error) {
	either := func(name string) string {
		if value := getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); value != "" {
			return value
		}
		return getenv("OTEL_EXPORTER_OTLP_" + name)
	}
	c := Config{Endpoint: getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), Timeout: usualTimeout}
	if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); c.Endpoint == "" && base != "" {
		c.Endpoint = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if c.Endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return c, false, nil
	}
	if u, err := url.Parse(c.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c, false, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https address, such as http://127.0.0.1:4318")
	}
	if protocol := either("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return c, false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; only http/protobuf is supported, usually on port 4318", protocol)
	}
	if either("CERTIFICATE") != "" || either("CLIENT_CERTIFICATE") != "" {
		return c, false, errors.New("OTEL_EXPORTER_OTLP_CERTIFICATE is not supported; add the authority to the machine's, or send to a collector on this machine")
	}
	var err error
	if c.Headers, err = parseHeaders(either("HEADERS")); err != nil {
		return c, false, err
	}
	c.Gzip = either("COMPRESSION") == "gzip"
	if text := either("TIMEOUT"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return c, false, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT %q is not a number of milliseconds", text)
		}
		c.Timeout = time.Duration(n) * time.Millisecond
	}
	return c, true, nil
}

// parseHeaders reads "name=value,name=value" with percent-encoded values. Its error holds no value: that may be a token.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || strings.TrimSpace(name) == "" {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is not a list of name=value pairs, separated by commas")
		}
		headers[strings.TrimSpace(name)] = decoded
	}
	return headers, nil
}

// Exporter sends spans to one collector.
type Exporter struct {
	config Config
	client *http.Client
}

var _ sdktrace.SpanExporter = (*Exporter)(nil)

// New is an exporter for c. The collector is where the operator's environment says, also at a private address.
func New(c Config) (*Exporter, error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, errors.New("the collector's address cannot be used")
	}
	guard, err := egress.New([]string{u.Hostname()})
	if err != nil {
		return nil, fmt.Errorf("set up tracing: %w", err)
	}
	return &Exporter{config: c, client: guard.Client(c.Timeout)}, nil
}

// tries is how often a batch is sent while the collector asks for time.
const tries = 3

// ExportSpans sends spans. The specification allows to drop what a collector does not accept.
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
	wait := time.Second
	for try := 1; ; try++ {
		after, err := e.post(ctx, body)
		if err == nil || after < 0 || try == tries {
			return err
		}
		select {
		case <-time.After(max(after, wait)):
			wait *= 2
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

// post sends a body once. After is how long to wait before another try; negative if that is pointless.
func (e *Exporter) post(ctx context.Context, body []byte) (after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.config.Endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, errors.New("send spans: the collector's address cannot be used")
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
