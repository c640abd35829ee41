package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sink"
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

	evaluations *prometheus.CounterVec
	starts      prometheus.Counter
	outcomes    *prometheus.CounterVec
	events      *prometheus.CounterVec
	jitter      prometheus.Histogram
}

var _ engine.Observer = (*observer)(nil)

var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}

func newObserver(r *prometheus.Registry) *observer {
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	o := &observer{
		tasks:   histogram("interlock_task_duration_seconds", "Duration of a task, by kind and result.", "kind", "result"),
		taskLag: histogram("interlock_task_lag_seconds", "Delay between a task's due time and its start, by kind.", "kind"),
		changes: histogram("interlock_change_duration_seconds", "Duration of handling a change, by result.", "result"),
		feedLag: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "interlock_feed_lag_seconds", Help: "Age of a change when it was handled.", Buckets: seconds}),
		ticks:   histogram("interlock_tick_duration_seconds", "Duration of a periodic task, by name and result.", "name", "result"),
		jitter:  prometheus.NewHistogram(prometheus.HistogramOpts{Name: "interlock_deadline_jitter_seconds", Help: "Delay between a deadline's instant and its handling.", Buckets: seconds}),

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

// The two ways in which a look at a gate may end.
const (
	gateOpen   = "open"
	gateClosed = "closed"
)

// expect shows what has not happened yet as none: a count that appears with its first event is no increase to whoever asks for one.
func (o *observer) expect() {
	for _, gate := range []string{gateOpen, gateClosed} {
		o.evaluations.WithLabelValues(gate)
	}
	o.outcomes.WithLabelValues(string(event.JobCompleted), "")
	for _, category := range []run.Category{run.Permanent, run.Transient, run.Timeout, run.Unknown} {
		o.outcomes.WithLabelValues(string(event.JobFailed), string(category))
	}
}

// expectSinks does the same for sinks.
func (o *observer) expectSinks(sinks []sink.Sink) {
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
func (o *observer) TaskDone(kind store.TaskKind, late, took time.Duration, err error) {
	o.tasks.WithLabelValues(string(kind), resultLabel(err)).Observe(took.Seconds())
	o.taskLag.WithLabelValues(string(kind)).Observe(max(late, 0).Seconds())
	if kind == store.FireDeadline {
		o.jitter.Observe(max(late, 0).Seconds())
	}
}

// committed counts what a Batch that was stored says.
func (o *observer) committed(b store.Batch) {
	for _, s := range b.Runs {
		open, looked := s.Next.Verdict()
		switch {
		case looked && open:
			o.evaluations.WithLabelValues(gateOpen).Inc()
		case looked:
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

// observedStore is the store with every commit counted.
type observedStore struct {
	store.Store
	observer *observer
}

// Commit commits, and counts what was committed.
func (s observedStore) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	err := s.Store.Commit(ctx, b, now)
	if err == nil {
		s.observer.committed(b)
	}
	return err
}

// openRuns shows, whenever it is asked, how many runs have not ended.
type openRuns struct {
	store store.Store
	desc  *prometheus.Desc
}

func newOpenRuns(s store.Store) *openRuns {
	return &openRuns{store: s, desc: prometheus.NewDesc("interlock_open_runs", "Runs that have not ended, by status.", []string{"status"}, nil)}
}

// Describe names the metric.
func (o *openRuns) Describe(to chan<- *prometheus.Desc) { to <- o.desc }

// Collect counts the runs. A store that does not answer in time shows nothing.
func (o *openRuns) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	open, err := o.store.OpenRuns(ctx, "")
	if err != nil {
		return
	}
	count := map[run.Status]int{}
	for _, r := range open {
		count[r.Status]++
	}
	for _, status := range run.Statuses() {
		if status.Open() { // none is a number, too
			to <- prometheus.MustNewConstMetric(o.desc, prometheus.GaugeValue, float64(count[status]), string(status))
		}
	}
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
