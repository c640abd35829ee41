package client

import (
	"net/http"
	"time"
)

// WithPatience sets how long an event stream may be silent.
func WithPatience(d time.Duration) Option { return func(c *Client) { c.idle = d } }

// WithTransport sends requests through t, with the default timeouts.
func WithTransport(t http.RoundTripper) Option { return func(c *Client) { c.http.Transport = t } }

// ElapsedAfterSuspension returns what a stopwatch shows after the machine was suspended for d: the
// clock of the process stood still, the uptime of the machine and the wall clock went on.
func ElapsedAfterSuspension(d time.Duration, known bool) time.Duration {
	s := startWatch()
	if known && s.uptime != 0 {
		s.uptime -= d
	} else {
		s.uptime, s.start = 0, s.start.Add(-d)
	}
	return s.elapsed()
}
