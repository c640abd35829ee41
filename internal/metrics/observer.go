// Package metrics exports Prometheus metrics of the controller's work: what the engine did, the
// state of the store, and the build. It reads and counts, and changes nothing. The HTTP API counts
// its own requests; docs/METRICS.md lists all series, deploy/monitoring has rules and a dashboard
// for them.
package metrics

import (
	"context"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// Observer counts the engine's work.
type Observer struct {
	tasks    *prometheus.HistogramVec
	taskLag  *prometheus.HistogramVec
	changes  *prometheus.HistogramVec
	feedLag  prometheus.Histogram
	ticks    *prometheus.HistogramVec
	sinks    *prometheus.CounterVec
	findings *prometheus.CounterVec

	evaluations *prometheus.CounterVec
	starts      prometheus.Counter
	outcomes    *prometheus.CounterVec
	events      *prometheus.CounterVec
	jitter      prometheus.Histogram
}

var _ engine.Observer = (*Observer)(nil)

var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}

// New registers the metrics of the engine. Every counter starts at 0 for all label values that are
// known beforehand: an alert on an increase does not see a series that appears with its first
// event.
func New(r *prometheus.Registry) *Observer {
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	o := &Observer{
		tasks:   histogram("interlock_task_duration_seconds", "Duration of a task, by kind and result.", "kind", "result"),
		taskLag: histogram("interlock_task_lag_seconds", "Delay between a task's due time and its start, by kind.", "kind"),
		changes: histogram("interlock_change_duration_seconds", "Duration of handling a change, by result.", "result"),
		feedLag: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "interlock_feed_lag_seconds", Help: "Age of a change when it was handled.", Buckets: buckets}),
		ticks:   histogram("interlock_tick_duration_seconds", "Duration of a periodic task, by name and result.", "name", "result"),
		jitter:  prometheus.NewHistogram(prometheus.HistogramOpts{Name: "interlock_deadline_jitter_seconds", Help: "Delay between a deadline's instant and its handling.", Buckets: buckets}),

		sinks:       counter("interlock_sink_failures_total", "Failed deliveries of an alert, by sink.", "sink"),
		findings:    counter("interlock_watchdog_findings_total", "Findings of the watchdog, by check.", "check"),
		evaluations: counter("interlock_gate_evaluations_total", "Gate evaluations, by result.", "gate"),
		starts:      prometheus.NewCounter(prometheus.CounterOpts{Name: "interlock_job_starts_total", Help: "Jobs started."}),
		outcomes:    counter("interlock_job_outcomes_total", "Jobs ended, by result and failure category.", "result", "category"),
		events:      counter("interlock_events_total", "Events emitted, by type and severity.", "type", "severity"),
	}
	r.MustRegister(o.tasks, o.taskLag, o.changes, o.feedLag, o.ticks, o.sinks, o.findings, o.jitter, o.evaluations, o.starts, o.outcomes, o.events)
	o.expect()
	return o
}

// The two outcomes of a gate evaluation.
const (
	gateOpen   = "open"
	gateClosed = "closed"
)

// expect starts the counters at 0.
func (o *Observer) expect() {
	for _, t := range event.Types() {
		for _, severity := range []event.Severity{event.Info, event.Warning, event.Critical} {
			o.events.WithLabelValues(t, string(severity))
		}
	}
	for _, check := range watchdog.Checks() {
		o.findings.WithLabelValues(check)
	}
	for _, gate := range []string{gateOpen, gateClosed} {
		o.evaluations.WithLabelValues(gate)
	}
	o.outcomes.WithLabelValues(string(event.JobCompleted), "")
	o.outcomes.WithLabelValues(string(event.JobTimeout), string(run.Timeout))
	for _, category := range []run.Category{run.Permanent, run.Transient, run.Timeout, run.Unknown} {
		o.outcomes.WithLabelValues(string(event.JobFailed), string(category))
	}
}

// Sinks names the sinks whose failures are counted.
func (o *Observer) Sinks(sinks []sink.Sink) {
	for _, s := range sinks {
		o.sinks.WithLabelValues(s.Name())
	}
}

func resultLabel(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

// TaskDone counts a task.
func (o *Observer) TaskDone(kind store.TaskKind, late, took time.Duration, err error) {
	o.tasks.WithLabelValues(string(kind), resultLabel(err)).Observe(took.Seconds())
	o.taskLag.WithLabelValues(string(kind)).Observe(max(late, 0).Seconds())
	if kind == store.FireDeadline {
		o.jitter.Observe(max(late, 0).Seconds())
	}
}

// committed counts the contents of a committed Batch.
func (o *Observer) committed(b store.Batch) {
	for _, s := range b.Runs {
		open, evaluated := s.Next.Verdict()
		switch {
		case evaluated && open:
			o.evaluations.WithLabelValues(gateOpen).Inc()
		case evaluated:
			o.evaluations.WithLabelValues(gateClosed).Inc()
		}
	}
	for _, e := range b.Events {
		o.events.WithLabelValues(string(e.Type), string(e.Detail.Severity)).Inc()
		switch extra := e.Detail.Extra.(type) {
		case event.Started:
			o.starts.Inc()
		case event.Finished:
			o.outcomes.WithLabelValues(string(e.Type), string(extra.Category)).Inc()
		}
	}
}

// counted is a store that counts every commit.
type counted struct {
	store.Store
	observer *Observer
}

// Store returns s with every commit counted.
func (o *Observer) Store(s store.Store) store.Store { return counted{Store: s, observer: o} }

// Commit commits, and counts what was committed.
func (s counted) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	err := s.Store.Commit(ctx, b, now)
	if err == nil {
		s.observer.committed(b)
	}
	return err
}

// ChangeDone counts a change.
func (o *Observer) ChangeDone(late, took time.Duration, err error) {
	o.changes.WithLabelValues(resultLabel(err)).Observe(took.Seconds())
	o.feedLag.Observe(max(late, 0).Seconds())
}

// TickDone counts a periodic task.
func (o *Observer) TickDone(name string, took time.Duration, err error) {
	o.ticks.WithLabelValues(name, resultLabel(err)).Observe(took.Seconds())
}

// SinkFailed counts an alert that a sink did not accept.
func (o *Observer) SinkFailed(name string, _ error) { o.sinks.WithLabelValues(name).Inc() }

// Watched counts the findings of the watchdog.
func (o *Observer) Watched(r watchdog.Report) {
	for check, n := range r.Findings {
		o.findings.WithLabelValues(check).Add(float64(n))
	}
}

// Process registers the metrics of every Go program (go_*, process_*) and interlock_build_info,
// which is always 1.
func Process(r *prometheus.Registry, version, revision string) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "interlock_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": runtime.Version()},
	})
	build.Set(1)
	r.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}
