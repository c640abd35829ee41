package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// observer turns what the engine does into metrics.
type observer struct {
	tasks    *prometheus.HistogramVec
	taskLag  *prometheus.HistogramVec
	changes  *prometheus.HistogramVec
	feedLag  prometheus.Histogram
	ticks    *prometheus.HistogramVec
	sinks    *prometheus.CounterVec
	findings *prometheus.CounterVec
}

var _ engine.Observer = (*observer)(nil)

var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}

func newObserver(r *prometheus.Registry) *observer {
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds}, labels)
	}
	o := &observer{
		tasks:   histogram("interlock_task_duration_seconds", "Time to carry out a task, by kind and result.", "kind", "result"),
		taskLag: histogram("interlock_task_lag_seconds", "How late a task was begun, by kind.", "kind"),
		changes: histogram("interlock_change_duration_seconds", "Time to handle a change, by result.", "result"),
		feedLag: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "interlock_feed_lag_seconds", Help: "How old a change was when it was handled.", Buckets: seconds}),
		ticks:   histogram("interlock_tick_duration_seconds", "Time of a periodic task, by name and result.", "name", "result"),
		sinks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "interlock_sink_failures_total", Help: "Times that a sink did not take an alert, by sink.",
		}, []string{"sink"}),
		findings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "interlock_watchdog_findings_total", Help: "What the watchdog found, by check.",
		}, []string{"check"}),
	}
	r.MustRegister(o.tasks, o.taskLag, o.changes, o.feedLag, o.ticks, o.sinks, o.findings)
	return o
}

func resultLabel(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

// TaskDone counts a task.
func (o *observer) TaskDone(kind store.TaskKind, late, took time.Duration, err error) {
	o.tasks.WithLabelValues(string(kind), resultLabel(err)).Observe(took.Seconds())
	o.taskLag.WithLabelValues(string(kind)).Observe(max(late, 0).Seconds())
}

// ChangeDone counts a change.
func (o *observer) ChangeDone(late, took time.Duration, err error) {
	o.changes.WithLabelValues(resultLabel(err)).Observe(took.Seconds())
	o.feedLag.Observe(max(late, 0).Seconds())
}

// TickDone counts a periodic task.
func (o *observer) TickDone(name string, took time.Duration, err error) {
	o.ticks.WithLabelValues(name, resultLabel(err)).Observe(took.Seconds())
}

// SinkFailed counts an alert that a sink did not take.
func (o *observer) SinkFailed(name string, _ error) { o.sinks.WithLabelValues(name).Inc() }

// watched counts what the watchdog found.
func (o *observer) watched(r watchdog.Report) {
	for check, n := range r.Findings {
		o.findings.WithLabelValues(check).Add(float64(n))
	}
}
