package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// AlertRoute says which events go where. The first that fits an event decides; what is empty fits any.
type AlertRoute struct {
	Name      string            `json:"name"`
	Types     []string          `json:"types"`
	Severity  *string           `json:"severity"` // this one and above
	Pipelines []string          `json:"pipelines"`
	Owners    []string          `json:"owners"`
	Tags      map[string]string `json:"tags"`
	Sinks     []string          `json:"sinks"` // none: nowhere
	GroupBy   []string          `json:"groupBy"`
	Interval  *string           `json:"interval"` // between two alerts of one group
}

// AlertRoutes lists the routes, in the order in which they are asked.
func (c *Client) AlertRoutes(ctx context.Context, options ...CallOption) ([]AlertRoute, error) {
	page, err := ask[Page[AlertRoute]](ctx, c, get(path("alerts", "routes"), nil), options)
	return page.Items, err
}

// DeadLetter is an alert that a sink would not take.
type DeadLetter struct {
	Sink   string     `json:"sink"`
	Event  Event      `json:"event"` // the last one of a burst
	Count  int        `json:"count"` // how many events it stood for
	Since  *time.Time `json:"since"`
	Reason string     `json:"reason"`
	Tries  int        `json:"tries"`
	At     time.Time  `json:"at"`
}

// DeadLetters lists the alerts that a sink, or any where it is empty, would not take, oldest first.
func (c *Client) DeadLetters(ctx context.Context, sink string, options ...CallOption) ([]DeadLetter, error) {
	return every[DeadLetter](ctx, c, get(path("alerts", "dead"), query("sink", sink)), options)
}

// RetryRequest says which dead letters are sent again, or discarded: those of some events, or all.
type RetryRequest struct {
	Sink string   `json:"sink,omitempty"` // only of this one
	IDs  []string `json:"ids,omitempty"`  // of events
	All  bool     `json:"all,omitempty"`
}

// Retried is what became of a dead letter that was sent again.
type Retried struct {
	Sink  string  `json:"sink"`
	ID    string  `json:"id"` // of its event
	Sent  bool    `json:"sent"`
	Error *string `json:"error"`
}

// RetryDeadLetters sends dead letters again, oldest first.
func (c *Client) RetryDeadLetters(ctx context.Context, q RetryRequest, options ...CallOption) ([]Retried, error) {
	page, err := ask[Page[Retried]](ctx, c, many(path("alerts", "dead", "retry"), q), options)
	return page.Items, err
}

// DiscardDeadLetters removes dead letters without sending them, and returns those that it removed.
func (c *Client) DiscardDeadLetters(ctx context.Context, q RetryRequest, options ...CallOption) ([]DeadLetter, error) {
	page, err := ask[Page[DeadLetter]](ctx, c, many(path("alerts", "dead", "discard"), q), options)
	return page.Items, err
}

// Tested is what a sink said to a sample.
type Tested struct {
	Sink  string  `json:"sink"`
	Sent  bool    `json:"sent"`
	Error *string `json:"error"`
}

// TestAlertRoute has the server send a sample through the sinks of a route.
func (c *Client) TestAlertRoute(ctx context.Context, route, by string, options ...CallOption) ([]Tested, error) {
	body := struct {
		Route       string `json:"route"`
		RequestedBy string `json:"requestedBy,omitempty"`
	}{route, by}
	page, err := ask[Page[Tested]](ctx, c, many(path("alerts", "test"), body), options)
	return page.Items, err
}

// SilenceRequest asks to hear nothing of some pipelines for a while.
type SilenceRequest struct {
	Pipeline string `json:"pipeline"` // a pattern with *
	Type     string `json:"type,omitempty"`
	Until    string `json:"until"` // RFC 3339, or for how long, such as 2h
	Asked
}

// Silence keeps back alerts. The events are recorded all the same.
type Silence struct {
	ID          string     `json:"id"`
	Pipeline    string     `json:"pipeline"`
	Type        *string    `json:"type"`
	Reason      string     `json:"reason"`
	RequestedBy string     `json:"requestedBy"`
	Since       time.Time  `json:"since"`
	Until       time.Time  `json:"until"`
	Active      bool       `json:"active"`
	EndedAt     *time.Time `json:"endedAt"` // by somebody, before its time
	EndedBy     *string    `json:"endedBy"`
	EndedReason *string    `json:"endedReason"`
	Suppressed  int        `json:"suppressed"` // alerts
}

// Silence keeps alerts back for a while.
func (c *Client) Silence(ctx context.Context, q SilenceRequest, options ...CallOption) (Silence, error) {
	return ask[Silence](ctx, c, post(path("silences"), q), options)
}

// Silences lists those that are active, or all that are remembered.
func (c *Client) Silences(ctx context.Context, all bool, options ...CallOption) ([]Silence, error) {
	values := url.Values{}
	if all {
		values.Set("all", "true")
	}
	return every[Silence](ctx, c, get(path("silences"), values), options)
}

// EndSilence ends a silence before its time.
func (c *Client) EndSilence(ctx context.Context, id string, q Asked, options ...CallOption) (Silence, error) {
	end := call{method: http.MethodDelete, path: path("silences", id), query: query("reason", q.Reason, "requestedBy", q.RequestedBy)}
	return ask[Silence](ctx, c, end, options)
}
