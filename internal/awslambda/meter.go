package awslambda

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/event"
)

// The names of the metrics, as on a server. docs/METRICS.md describes them.
const (
	metricOldest     = "interlock_oldest_due_task_seconds"
	metricTaskLag    = "interlock_task_lag_seconds"
	metricTask       = "interlock_task_duration_seconds"
	metricFeedLag    = "interlock_feed_lag_seconds"
	metricChange     = "interlock_change_duration_seconds"
	metricTick       = "interlock_tick_duration_seconds"
	metricFindings   = "interlock_watchdog_findings_total"
	metricEvents     = "interlock_events_total"
	metricStarts     = "interlock_job_starts_total"
	metricOutcomes   = "interlock_job_outcomes_total"
	metricSinkFailed = "interlock_sink_failures_total"
)

// Namespace is where CloudWatch shows the metrics.
const Namespace = "Interlock"

// The units of CloudWatch.
const (
	seconds = "Seconds"
	count   = "Count"
)

// Meter writes metrics to the log of a function, in CloudWatch's embedded metric format: this takes
// no call and no permission. A nil Meter writes nothing.
type Meter struct {
	Environment string // the first dimension of every metric
	Out         io.Writer
	Now         func() time.Time

	mu sync.Mutex
}

// Gauge writes a value. labels are further dimensions, as names and values in turn.
func (m *Meter) Gauge(name string, value float64, unit string, labels ...string) {
	if m == nil {
		return
	}
	dimensions := []string{"Environment"}
	line := map[string]any{"Environment": m.Environment, name: value}
	for i := 0; i+1 < len(labels); i += 2 {
		dimensions = append(dimensions, labels[i])
		line[labels[i]] = labels[i+1]
	}
	line["_aws"] = map[string]any{
		"Timestamp": m.Now().UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{
			"Namespace": Namespace, "Dimensions": [][]string{dimensions}, "Metrics": []any{map[string]string{"Name": name, "Unit": unit}},
		}},
	}
	text, err := json.Marshal(line)
	if err != nil {
		return // only NaN and infinity cannot be written, and nothing measures them
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.Out.Write(append(text, '\n')) // like the log itself
}

// since writes how long something took, with its result.
func (m *Meter) since(name string, began time.Time, err error, labels ...string) {
	if m == nil {
		return
	}
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.Gauge(name, m.Now().Sub(began).Seconds(), seconds, append(labels, "result", result)...)
}

// published counts the events of a commit.
func (m *Meter) published(events []event.Event) {
	for _, e := range events {
		m.Gauge(metricEvents, 1, count, "type", string(e.Type), "severity", string(e.Detail.Severity))
		switch e.Detail.Extra.(type) {
		case event.Started:
			m.Gauge(metricStarts, 1, count)
		case event.Finished:
			m.Gauge(metricOutcomes, 1, count, "result", string(e.Type))
		}
	}
}
