package client

import "time"

// WithPatience sets how long an event stream may be silent.
func WithPatience(d time.Duration) Option { return func(c *Client) { c.idle = d } }
