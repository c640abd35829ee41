package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Written is what became of a sensor write.
type Written struct {
	Version   int64     `json:"version"`
	UpdatedAt time.Time `json:"updatedAt"`
	Date      *string   `json:"date"` // the period it counts for; nil if it is undated
}

// Reading is one write of a sensor.
type Reading struct {
	Pipeline  string         `json:"pipeline"`
	Key       string         `json:"key"`
	Date      *string        `json:"date"`
	Data      map[string]any `json:"data"`
	Version   int64          `json:"version"`
	UpdatedAt time.Time      `json:"updatedAt"`
	Source    *string        `json:"source"`
	ExpiresAt *time.Time     `json:"expiresAt"`
}

// PutOption says more about a sensor write.
type PutOption func(url.Values)

// WithSource says who writes the reading.
func WithSource(name string) PutOption { return func(q url.Values) { q.Set("source", name) } }

// WithTTL has the reading count for that long only.
func WithTTL(d time.Duration) PutOption { return func(q url.Values) { q.Set("ttl", d.String()) } }

// PutSensor writes a sensor of a pipeline. The key may carry a period ("hourly-status#2026-03-03T07"); fields named date,
// hour and minute say the same. When it returns without an error the reading is stored for good.
func (c *Client) PutSensor(ctx context.Context, pipeline, key string, fields map[string]any, options ...PutOption) (Written, error) {
	query := url.Values{}
	for _, o := range options {
		o(query)
	}
	if fields == nil {
		fields = map[string]any{}
	}
	var w Written
	err := c.do(ctx, http.MethodPut, path("pipelines", pipeline, "sensors", key), query, fields, &w)
	return w, err
}

// SensorWrite is one reading of a batch.
type SensorWrite struct {
	Pipeline  string         `json:"pipeline"`
	Key       string         `json:"key"`
	Data      map[string]any `json:"data"`
	Source    string         `json:"source,omitempty"`
	ExpiresAt *time.Time     `json:"expiresAt,omitempty"`
}

// SensorWritten is what became of one reading of a batch.
type SensorWritten struct {
	Pipeline string `json:"pipeline"`
	Key      string `json:"key"`
	Written
}

// PutSensors writes up to 1000 readings, all of them or none. The Problem names the one that is wrong.
func (c *Client) PutSensors(ctx context.Context, writes []SensorWrite) ([]SensorWritten, error) {
	p, err := post[Page[SensorWritten]](ctx, c, path("sensors"), writes)
	return p.Items, err
}

// Sensor gives the latest reading of a key or, where the key carries a period, what a rule sees for it.
func (c *Client) Sensor(ctx context.Context, pipeline, key string) (Reading, error) {
	return get[Reading](ctx, c, path("pipelines", pipeline, "sensors", key), nil)
}

// Sensors gives the latest reading of every key of a pipeline.
func (c *Client) Sensors(ctx context.Context, pipeline string) ([]Reading, error) {
	p, err := get[Page[Reading]](ctx, c, path("pipelines", pipeline, "sensors"), nil)
	return p.Items, err
}

// SensorHistory gives the writes of a key, newest first; the query may hold date, limit and cursor.
func (c *Client) SensorHistory(ctx context.Context, pipeline, key string, query url.Values) (Page[Reading], error) {
	return get[Page[Reading]](ctx, c, path("pipelines", pipeline, "sensors", key, "history"), query)
}
