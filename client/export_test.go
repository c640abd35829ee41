package client

import (
	"net/http"
	"time"
)

// WithPatience sets how long an event stream may be silent.
func WithPatience(d time.Duration) Option { return func(c *Client) { c.idle = d } }

// WithTransport sends requests through t, with the default timeouts.
func WithTransport(t http.RoundTripper) Option { return func(c *Client) { c.http.Transport = t } }
