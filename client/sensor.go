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

// PutSensor writes a sensor of a pipeline. The key may carry a period ("hourly-status#2026-03-03T07"); fields named date,
// hour and minute say the same. When it returns without an error the reading is stored for good.
func (c *Client) PutSensor(ctx context.Context, pipeline, key string, fields map[string]any) (Written, error) {
	var w Written
	return w, c.do(ctx, http.MethodPut, path("pipelines", pipeline, "sensors", key), nil, fields, &w)
}

// Sensor gives the latest reading of a key.
func (c *Client) Sensor(ctx context.Context, pipeline, key string) (Reading, error) {
	var r Reading
	return r, c.do(ctx, http.MethodGet, path("pipelines", pipeline, "sensors", key), nil, nil, &r)
}

// SensorHistory gives the writes of a key, newest first.
func (c *Client) SensorHistory(ctx context.Context, pipeline, key string, query url.Values) (Page[Reading], error) {
	var p Page[Reading]
	return p, c.do(ctx, http.MethodGet, path("pipelines", pipeline, "sensors", key)+"/history", query, nil, &p)
}
