// Package client talks to an Interlock server: it writes sensors, asks whether a gate is open, and
// does what an operator does. The command line is built on it, and any job or sensor can use it. It
// decides nothing and stores nothing.
//
// Every method takes a context. It returns a *Problem with the server's own words if the server
// rejected the request, or an *UnreachableError if the server could not be reached. It never
// retries silently, except that Follow, Acquire and a Lease continue after a lost connection.
//
// The server sends and receives the types of this package, and generates api/openapi.json, which it
// serves at /openapi.json, from their tags: doc is the description of a field, enum its possible
// values. A field that is null in JSON is nil.
package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultServer is the default address of a server.
const DefaultServer = "http://127.0.0.1:8740"

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	base   *url.URL
	socket string // the address of a server on a Unix socket; otherwise empty
	token  string
	http   *http.Client
	timed  bool          // each call has this package's timeout
	idle   time.Duration // how long an event stream may be silent before it counts as lost
}

// Option configures a Client.
type Option func(*Client)

// WithToken sends a bearer token with every request.
func WithToken(token string) Option { return func(c *Client) { c.token = token } }

// WithHTTPClient uses h, including its timeout. Without this option a call has a minute; a call
// that may be much work, such as a backfill, has a little more than the server's own timeout.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) { c.http, c.timed = h, false }
}

// WithTLS uses config for TLS connections: for other authorities than the machine's, or a client
// certificate. It has no effect together with WithHTTPClient.
func WithTLS(config *tls.Config) Option {
	return func(c *Client) {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig = config.Clone()
		c.http = &http.Client{Transport: t}
	}
}

// socketScheme starts the address of a server on a Unix socket.
const socketScheme = "unix:"

// New returns a client of the server at an address such as http://127.0.0.1:8740, or
// unix:/run/interlock.sock for a Unix socket.
func New(server string, options ...Option) (*Client, error) {
	// A server sends a heartbeat every 15 seconds.
	c := &Client{http: &http.Client{}, timed: true, idle: time.Minute}
	if path, ok := strings.CutPrefix(server, socketScheme); ok {
		if path == "" {
			return nil, fmt.Errorf("%q has no socket path; write one like unix:/run/interlock/interlock.sock", server)
		}
		c.socket = server
		c.base = &url.URL{Scheme: "http", Host: "localhost"}
		c.http.Transport = overSocket(path)
	} else {
		base, err := url.Parse(server)
		if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
			return nil, fmt.Errorf("%q is not a server address; write one like %s, or unix:/path/to/socket", server, DefaultServer)
		}
		c.base = base
	}
	for _, o := range options {
		o(c)
	}
	if c.http.CheckRedirect == nil {
		h := *c.http
		h.CheckRedirect = stay
		c.http = &h
	}
	return c, nil
}

// overSocket sends requests to the server on a Unix socket.
func overSocket(path string) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return t
}

// server returns the address that the user gave, without a password.
func (c *Client) server() string {
	if c.socket != "" {
		return c.socket
	}
	return c.base.Redacted()
}

// stay follows no redirects: most of them would turn a PUT or POST into a GET, which looks like
// success and writes nothing.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Readiness reports whether the controller keeps up.
type Readiness struct {
	Status string        `json:"status" doc:"ready"`
	Checks []HealthCheck `json:"checks" doc:"The checks. Empty if the server requires a token and the request has none, or if the token is limited to pipelines."`
}

// HealthCheck is one check of the controller.
type HealthCheck struct {
	Name   string `json:"name" doc:"The check: store, feed, timers, watchdog, files."`
	OK     bool   `json:"ok" doc:"Whether the check passed."`
	Detail string `json:"detail" doc:"Details for people."`
}

// Ready asks whether the controller keeps up. If it does not, the *Problem with status 503 says
// why.
func (c *Client) Ready(ctx context.Context, options ...CallOption) (Readiness, error) {
	return ask[Readiness](ctx, c, get("/readyz", nil), options)
}
