package client

import "context"

// Readiness is whether the controller keeps up.
type Readiness struct {
	Status string        `json:"status"`
	Checks []HealthCheck `json:"checks"`
}

// HealthCheck is one thing that the controller needs in order to do its work.
type HealthCheck struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Ready asks whether the controller keeps up. A *Problem with status 503 says what does not.
func (c *Client) Ready(ctx context.Context, options ...CallOption) (Readiness, error) {
	return ask[Readiness](ctx, c, get("/readyz", nil), options)
}
