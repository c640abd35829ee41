package client

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Event is one announcement.
type Event struct {
	ID     string    `json:"id"`
	Source string    `json:"source"`
	Type   string    `json:"detail-type"`
	Time   time.Time `json:"time"`
	Detail struct {
		Pipeline string `json:"pipelineId"`
		Schedule string `json:"scheduleId"`
		Date     string `json:"date"`
		Message  string `json:"message"`
		Severity string `json:"severity"`
		Attempt  int    `json:"attempt"`
	} `json:"detail"`
}

// Deadline is an armed or closed deadline.
type Deadline struct {
	Pipeline string     `json:"pipeline"`
	Schedule string     `json:"schedule"`
	Date     string     `json:"date"`
	Kind     string     `json:"kind"`
	State    string     `json:"state"`
	WarnAt   *time.Time `json:"warnAt"`
	BreachAt time.Time  `json:"breachAt"`
	Warned   bool       `json:"warned"`
}

// Events lists events, newest first; the query may hold pipeline, type, since, limit and cursor.
func (c *Client) Events(ctx context.Context, query url.Values) (Page[Event], error) {
	var p Page[Event]
	return p, c.Get(ctx, path("events"), query, &p)
}

// Deadlines lists what is armed.
func (c *Client) Deadlines(ctx context.Context, query url.Values) (Page[Deadline], error) {
	var p Page[Deadline]
	return p, c.Get(ctx, path("deadlines"), query, &p)
}

// Follow calls f with each event as it is announced, until ctx ends, the connection breaks, or f returns an error. raw is
// the event as the server sent it.
func (c *Client) Follow(ctx context.Context, query url.Values, f func(e Event, raw json.RawMessage) error) error {
	endless := *c
	endless.http = &http.Client{Transport: c.http.Transport} // a stream has no time limit
	resp, err := endless.send(ctx, http.MethodGet, path("events", "stream"), query, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		raw := json.RawMessage(strings.TrimSpace(data))
		var e Event
		if err := json.Unmarshal(raw, &e); err != nil || e.ID == "" {
			continue // a sign of life
		}
		if err := f(e, raw); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		return c.unreachable(err)
	}
	return ctx.Err()
}
