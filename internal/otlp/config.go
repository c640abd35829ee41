package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Config is the trace configuration from the environment.
type Config struct {
	Endpoint string // the full URL for traces
	Headers  map[string]string
	Gzip     bool
	Timeout  time.Duration
	Sampler  sdktrace.Sampler

	authority, certificate, key setting // files in PEM
}

// setting is an environment variable with its value.
type setting struct{ name, value string }

const (
	usualTimeout  = 10 * time.Second
	usualEndpoint = "http://localhost:4318"
)

// FromEnvironment reads the configuration. on is false if tracing is off: no endpoint and no
// exporter is set, or OTEL_SDK_DISABLED or OTEL_TRACES_EXPORTER turns it off. A variable with an
// unsupported value is an error, unless tracing is off.
func FromEnvironment(getenv func(string) string) (c Config, on bool, err error) {
	env := environment{getenv}
	disabled, err := env.flag("OTEL_SDK_DISABLED")
	if err != nil || disabled {
		return c, false, err
	}
	exporter := getenv("OTEL_TRACES_EXPORTER")
	c = Config{Endpoint: getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), Timeout: usualTimeout}
	base := setting{"OTEL_EXPORTER_OTLP_ENDPOINT", getenv("OTEL_EXPORTER_OTLP_ENDPOINT")}
	if base.value == "" && exporter == "otlp" {
		base.value = usualEndpoint
	}
	named := setting{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.Endpoint}
	if c.Endpoint == "" && base.value != "" {
		named, c.Endpoint = base, strings.TrimSuffix(base.value, "/")+"/v1/traces"
	}
	if exporter == "none" || exporter == "" && c.Endpoint == "" {
		return c, false, nil
	}
	if exporter != "" && exporter != "otlp" {
		return c, false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q; use otlp or none", exporter)
	}
	if u, err := url.Parse(c.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c, false, fmt.Errorf("%s is not an http or https address, such as http://127.0.0.1:4318", named.name)
	}
	for _, read := range []func(environment) error{supported, c.transport, c.sampling} {
		if err := read(env); err != nil {
			return c, false, err
		}
	}
	return c, true, nil
}

// environment reads variables of the OpenTelemetry specification.
type environment struct{ getenv func(string) string }

// flag reads a boolean: only "true", in any case, is true.
func (e environment) flag(name string) (bool, error) {
	switch value := e.getenv(name); strings.ToLower(value) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	default:
		return false, fmt.Errorf("%s is %q; use true or false", name, value)
	}
}

// exporting reads a variable of the exporter: the one for traces overrides the one for all signals.
func (e environment) exporting(name string) setting {
	if s := (setting{"OTEL_EXPORTER_OTLP_TRACES_" + name, e.getenv("OTEL_EXPORTER_OTLP_TRACES_" + name)}); s.value != "" {
		return s
	}
	return setting{"OTEL_EXPORTER_OTLP_" + name, e.getenv("OTEL_EXPORTER_OTLP_" + name)}
}

// numbers are the variables that the SDK reads by itself. It would ignore one that is not a number.
var numbers = []string{
	"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
	"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
	"OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT",
}

// supported rejects unsupported settings.
func supported(e environment) error {
	if e.getenv("OTEL_CONFIG_FILE") != "" || e.getenv("OTEL_EXPERIMENTAL_CONFIG_FILE") != "" {
		return errors.New("OTEL_CONFIG_FILE is not supported; set the variables OTEL_EXPORTER_OTLP_* instead")
	}
	for name := range strings.SplitSeq(e.getenv("OTEL_PROPAGATORS"), ",") {
		if name = strings.TrimSpace(name); !slices.Contains([]string{"", "tracecontext", "baggage"}, name) {
			return fmt.Errorf("OTEL_PROPAGATORS contains %q; only tracecontext is supported", name)
		}
	}
	for _, name := range numbers {
		if value := e.getenv(name); value != "" {
			if _, err := strconv.Atoi(value); err != nil {
				return fmt.Errorf("%s is %q, which is not a number", name, value)
			}
		}
	}
	for pair := range strings.SplitSeq(e.getenv("OTEL_RESOURCE_ATTRIBUTES"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(value); strings.TrimSpace(pair) != "" && (!ok || err != nil || strings.TrimSpace(name) == "") {
			return fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES contains %q, which is not a name=value pair", strings.TrimSpace(pair))
		}
	}
	return nil
}

// transport reads how spans are sent.
func (c *Config) transport(e environment) (err error) {
	if p := e.exporting("PROTOCOL"); p.value != "" && p.value != "http/protobuf" {
		return fmt.Errorf("%s is %q; only http/protobuf is supported, usually on port 4318", p.name, p.value)
	}
	if c.Headers, err = parseHeaders(e.exporting("HEADERS")); err != nil {
		return err
	}
	switch s := e.exporting("COMPRESSION"); s.value {
	case "gzip":
		c.Gzip = true
	case "", "none":
	default:
		return fmt.Errorf("%s is %q; use gzip or none", s.name, s.value)
	}
	if s := e.exporting("TIMEOUT"); s.value != "" {
		n, err := strconv.Atoi(s.value)
		if err != nil || n <= 0 {
			return fmt.Errorf("%s %q is not a number of milliseconds", s.name, s.value)
		}
		c.Timeout = time.Duration(n) * time.Millisecond
	}
	c.authority, c.certificate, c.key = e.exporting("CERTIFICATE"), e.exporting("CLIENT_CERTIFICATE"), e.exporting("CLIENT_KEY")
	if (c.certificate.value == "") != (c.key.value == "") {
		return fmt.Errorf("%s and %s belong together: set both or neither", c.certificate.name, c.key.name)
	}
	return nil
}

// parseHeaders reads "name=value,name=value" with percent-encoded values. Its error contains no
// value, which may be a token.
func parseHeaders(s setting) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(s.value, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("%s is not a list of name=value pairs, separated by commas", s.name)
		}
		headers[strings.TrimSpace(name)] = decoded
	}
	return headers, nil
}

// sampling reads which traces are recorded: by default those whose caller records them, and all
// that begin here.
func (c *Config) sampling(e environment) error {
	name, ratio := e.getenv("OTEL_TRACES_SAMPLER"), 1.0
	if strings.HasSuffix(name, "traceidratio") {
		if arg := e.getenv("OTEL_TRACES_SAMPLER_ARG"); arg != "" {
			var err error
			if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
				return fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q; use a number from 0 to 1", arg)
			}
		}
	}
	samplers := map[string]sdktrace.Sampler{
		"always_on": sdktrace.AlwaysSample(), "always_off": sdktrace.NeverSample(), "traceidratio": sdktrace.TraceIDRatioBased(ratio),
	}
	root, based := strings.CutPrefix(name, "parentbased_")
	if name == "" {
		root, based = "always_on", true
	}
	sampler, ok := samplers[root]
	if !ok {
		return fmt.Errorf("OTEL_TRACES_SAMPLER is %q; use always_on, always_off or traceidratio, or parentbased_ before one of them", name)
	}
	if c.Sampler = sampler; based {
		c.Sampler = sdktrace.ParentBased(sampler)
	}
	return nil
}

// tls returns the trusted authorities and the client certificate; nil if nothing is set. It reads
// the files.
func (c *Config) tls() (*tls.Config, error) {
	if c.authority.value == "" && c.certificate.value == "" {
		return nil, nil
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.authority.value != "" {
		text, err := os.ReadFile(c.authority.value)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", c.authority.name, err)
		}
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s contains no certificate in PEM", c.authority.name, c.authority.value)
		}
	}
	if c.certificate.value != "" {
		pair, err := tls.LoadX509KeyPair(c.certificate.value, c.key.value)
		if err != nil {
			return nil, fmt.Errorf("read %s and %s: %w", c.certificate.name, c.key.name, err)
		}
		trust.Certificates = []tls.Certificate{pair}
	}
	return trust, nil
}
