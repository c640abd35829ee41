package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// AlertRoute says which events go to which sinks. The first route that matches an event applies;
// empty fields match any.
type AlertRoute struct {
	Name      string            `json:"name"`
	Types     []string          `json:"types" doc:"Event types; empty matches all."`
	Severity  *string           `json:"severity" enum:"info,warning,critical" doc:"The minimum severity; null matches any severity of the named types."`
	Pipelines []string          `json:"pipelines" doc:"Patterns of pipeline ids; empty matches all."`
	Owners    []string          `json:"owners" doc:"Patterns of owners; empty matches all."`
	Tags      map[string]string `json:"tags" doc:"Tags that the pipeline must have."`
	Sinks     []string          `json:"sinks" doc:"The sinks that receive the alerts; empty means none."`
	GroupBy   []string          `json:"groupBy" doc:"The fields that define a group. A burst of events in one group is sent as one alert."`
	Interval  *string           `json:"interval" doc:"The minimum time between two alerts of one group; null if each event is sent as its own alert."`
}

// AlertRoutes lists the routes, in the order in which they are matched.
func (c *Client) AlertRoutes(ctx context.Context, options ...CallOption) ([]AlertRoute, error) {
	return items[AlertRoute](ctx, c, get(path("alerts", "routes"), nil), options)
}

// DeadLetter is an alert that a sink did not accept.
type DeadLetter struct {
	Sink   string     `json:"sink"`
	Event  Event      `json:"event"` // the last one of a burst
	Count  int        `json:"count"` // how many events it stands for
	Since  *time.Time `json:"since"`
	Reason string     `json:"reason"`
	Tries  int        `json:"tries"`
	At     time.Time  `json:"at"`
}

// DeadLetters lists the alerts that a sink did not accept, oldest first; an empty sink means all
// sinks.
func (c *Client) DeadLetters(ctx context.Context, sink string, options ...CallOption) ([]DeadLetter, error) {
	return allPages[DeadLetter](ctx, c, get(path("alerts", "dead"), query("sink", sink)), options)
}

// RetryRequest says which dead letters to send again or discard: those of some events, or all.
type RetryRequest struct {
	Sink string   `json:"sink,omitempty" doc:"Only dead letters of this sink."`
	IDs  []string `json:"ids,omitempty" maxItems:"1000" doc:"The event ids of the dead letters."`
	All  bool     `json:"all,omitempty" doc:"All dead letters; required if ids is empty."`
}

// Retried is the result of sending a dead letter again.
type Retried struct {
	Sink  string  `json:"sink"`
	ID    string  `json:"id" doc:"The event id."`
	Sent  bool    `json:"sent" doc:"Whether the sink accepted it. It is then no longer a dead letter."`
	Error *string `json:"error" doc:"The sink's error, if it was not sent."`
}

// RetryDeadLetters sends dead letters again, oldest first.
func (c *Client) RetryDeadLetters(ctx context.Context, q RetryRequest, options ...CallOption) ([]Retried, error) {
	return items[Retried](ctx, c, postLong(path("alerts", "dead", "retry"), q), options)
}

// DiscardDeadLetters removes dead letters without sending them, and returns those that it removed.
func (c *Client) DiscardDeadLetters(ctx context.Context, q RetryRequest, options ...CallOption) ([]DeadLetter, error) {
	return items[DeadLetter](ctx, c, postLong(path("alerts", "dead", "discard"), q), options)
}

// Tested is the response of a sink to a sample.
type Tested struct {
	Sink  string  `json:"sink"`
	Sent  bool    `json:"sent" doc:"Whether the sink accepted it."`
	Error *string `json:"error" doc:"The sink's error, if it was not sent."`
}

// TestAlertRoute makes the server send a sample through the sinks of a route.
func (c *Client) TestAlertRoute(ctx context.Context, route, by string, options ...CallOption) ([]Tested, error) {
	body := struct {
		Route       string `json:"route"`
		RequestedBy string `json:"requestedBy,omitempty"`
	}{route, by}
	return items[Tested](ctx, c, postLong(path("alerts", "test"), body), options)
}

// SilenceRequest asks to suppress alerts about some pipelines for a while.
type SilenceRequest struct {
	Pipeline    string `json:"pipeline" minLength:"1" maxLength:"200" doc:"A pattern of pipeline ids, such as silver-*."`
	Type        string `json:"type,omitempty" doc:"Only events of this type."`
	Until       string `json:"until" minLength:"1" doc:"When the silence ends: RFC 3339, or a duration such as 2h; at most 30 days."`
	Reason      string `json:"reason" minLength:"1" maxLength:"1000" doc:"The reason."`
	RequestedBy string `json:"requestedBy,omitempty" maxLength:"200" doc:"The person who requests it; recorded with the name of the token."`
}

// Silence suppresses alerts. The events are still recorded.
type Silence struct {
	ID          string     `json:"id"`
	Pipeline    string     `json:"pipeline" doc:"A pattern of pipeline ids."`
	Type        *string    `json:"type" doc:"The event type; null matches any."`
	Reason      string     `json:"reason"`
	RequestedBy string     `json:"requestedBy"`
	Since       time.Time  `json:"since"`
	Until       time.Time  `json:"until" doc:"When the silence ends."`
	Active      bool       `json:"active"`
	EndedAt     *time.Time `json:"endedAt" doc:"When an operator ended it early."`
	EndedBy     *string    `json:"endedBy"`
	EndedReason *string    `json:"endedReason"`
	Suppressed  int        `json:"suppressed" doc:"Number of alerts held back."`
}

// Silence suppresses alerts for a while.
func (c *Client) Silence(ctx context.Context, q SilenceRequest, options ...CallOption) (Silence, error) {
	return ask[Silence](ctx, c, post(path("silences"), q), options)
}

// Silences lists the active silences, or all that are stored.
func (c *Client) Silences(ctx context.Context, all bool, options ...CallOption) ([]Silence, error) {
	values := url.Values{}
	if all {
		values.Set("all", "true")
	}
	return allPages[Silence](ctx, c, get(path("silences"), values), options)
}

// EndSilence ends a silence early.
func (c *Client) EndSilence(ctx context.Context, id string, q Asked, options ...CallOption) (Silence, error) {
	end := call{method: http.MethodDelete, path: path("silences", id), query: query("reason", q.Reason, "requestedBy", q.RequestedBy)}
	return ask[Silence](ctx, c, end, options)
}
