package client

import (
	"context"
	"net/http"
	"time"
)

// Written is the result of a write.
type Written struct {
	Version   int64     `json:"version" doc:"The reading's version, which increases with every write."`
	UpdatedAt time.Time `json:"updatedAt" doc:"When the store wrote it."`
	Date      *string   `json:"date" doc:"The period of the reading; null if it is undated."`
	Warning   *string   `json:"warning,omitempty" doc:"Only if nothing of the pipeline reads the key: says so, and names the key that was most likely meant."`
}

// Reading is one write of a sensor. Numbers in Data are json.Number.
type Reading struct {
	Pipeline  string         `json:"pipeline"`
	Key       string         `json:"key" doc:"The sensor's key, without the period."`
	Date      *string        `json:"date" doc:"The period of the reading; null if it is undated."`
	Data      map[string]any `json:"data" doc:"The fields that were written."`
	Version   int64          `json:"version"`
	UpdatedAt time.Time      `json:"updatedAt"`
	Source    *string        `json:"source" doc:"The writer's name, if known."`
	ExpiresAt *time.Time     `json:"expiresAt" doc:"When it expires; null if never."`
	Deleted   bool           `json:"deleted" doc:"Whether this write deleted the reading of its period. It has no data and appears in the history only."`
}

// WithSource names the writer of a reading in PutSensor, or who deletes it in DeleteSensor.
func WithSource(name string) CallOption { return func(r *call) { r.query.Set("source", name) } }

// WithTTL makes the reading of PutSensor expire after d.
func WithTTL(d time.Duration) CallOption { return func(r *call) { r.query.Set("ttl", d.String()) } }

// PutSensor writes a sensor of a pipeline. The key may include a period
// ("hourly-status#2026-03-03T07"), and so may fields named date, hour and minute. When it returns
// without an error, the reading is stored durably.
func (c *Client) PutSensor(ctx context.Context, pipeline, key string, fields map[string]any, options ...CallOption) (Written, error) {
	if fields == nil {
		fields = map[string]any{}
	}
	r := call{method: http.MethodPut, path: path("pipelines", pipeline, "sensors", key), body: fields}
	return ask[Written](ctx, c, r, options)
}

// SensorWrite is one reading of a batch.
type SensorWrite struct {
	Pipeline  string         `json:"pipeline"`
	Key       string         `json:"key"`
	Data      map[string]any `json:"data"`
	Source    string         `json:"source,omitempty"`
	ExpiresAt *time.Time     `json:"expiresAt,omitempty"`
}

// SensorWritten is the result of one reading of a batch.
type SensorWritten struct {
	Pipeline string `json:"pipeline"`
	Key      string `json:"key"`
	Written
}

// PutSensors writes up to 1000 readings of any pipelines, all or none; the *Problem names the
// invalid one. The results are in the order of the writes.
func (c *Client) PutSensors(ctx context.Context, writes []SensorWrite, options ...CallOption) ([]SensorWritten, error) {
	return items[SensorWritten](ctx, c, post(path("sensors"), writes), options)
}

// Sensors returns the latest reading of every key of a pipeline, by key.
func (c *Client) Sensors(ctx context.Context, pipeline string, options ...CallOption) ([]Reading, error) {
	return allPages[Reading](ctx, c, get(path("pipelines", pipeline, "sensors"), nil), options)
}

// Sensor returns the reading that a rule uses for that period or, for "", the latest of any period.
func (c *Client) Sensor(ctx context.Context, pipeline, key, date string, options ...CallOption) (Reading, error) {
	return ask[Reading](ctx, c, get(path("pipelines", pipeline, "sensors", key), query("date", date)), options)
}

// DeleteSensor deletes the reading of a key for that period or, for "", the undated one; the key
// may include the period instead. Rules then act as if that reading had never been written. A
// *Problem with status 404 means that there is none.
func (c *Client) DeleteSensor(ctx context.Context, pipeline, key, date string, options ...CallOption) (Written, error) {
	r := call{method: http.MethodDelete, path: path("pipelines", pipeline, "sensors", key), query: query("date", date)}
	return ask[Written](ctx, c, r, options)
}

// SensorQuery selects writes of a sensor.
type SensorQuery struct {
	Date string // only this period
	Paging
}

// SensorHistory returns the writes of a key, newest first.
func (c *Client) SensorHistory(ctx context.Context, pipeline, key string, q SensorQuery, options ...CallOption) (Page[Reading], error) {
	return ask[Page[Reading]](ctx, c, get(path("pipelines", pipeline, "sensors", key, "history"), query(q.with("date", q.Date)...)), options)
}
