// Package client talks to an Interlock server: it pushes sensors, asks whether a gate is open, and does what an operator
// does. The command line is built on it; so may be anybody's job or sensor. It decides nothing and keeps nothing.
//
// Every method takes a context and returns a *Problem where the server refused, with its own words, or an
// *UnreachableError where it could not be asked. Nothing is tried again behind the caller's back, except that Follow goes
// on after a lost connection. What each answer holds is described in api/openapi.json, and served at /openapi.json.
package client

import (
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// DefaultServer is where a server listens unless it is told otherwise.
const DefaultServer = "http://127.0.0.1:8740"

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
	timed bool          // each call has a time limit of ours
	idle  time.Duration // how long an event stream may be silent before it counts as lost
}

// Option changes a Client that is being made.
type Option func(*Client)

// WithToken sends a bearer token with every request.
func WithToken(token string) Option { return func(c *Client) { c.token = token } }

// WithHTTPClient uses h, with its time limit, if it has one. Without it a call has a minute; what may be much work, such as a
// backfill, has a little more than the server gives itself for it.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) { c.http, c.timed = h, false }
}

// New is a client of the server at an address such as http://127.0.0.1:8740.
func New(server string, options ...Option) (*Client, error) {
	base, err := url.Parse(server)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the address of a server; write one like %s", server, DefaultServer)
	}
	// A server sends a sign of life every 15 seconds.
	c := &Client{base: base, http: &http.Client{}, timed: true, idle: time.Minute}
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

// stay follows no redirect: on most of them a PUT or POST would become a GET, which looks like success and writes nothing.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
