package api

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
)

// figures serves the metrics of a registry, and of the pipelines that the client sees.
func figures(registry *prometheus.Registry, of func(sees func(pipeline.ID) bool) prometheus.Collector) http.Handler {
	if of == nil {
		return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := prometheus.NewRegistry()
		seen.MustRegister(of(whoOf(r.Context()).sees))
		promhttp.HandlerFor(prometheus.Gatherers{registry, seen}, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
}

// metrics holds the metrics of the API.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	writes   prometheus.Counter
	refusals prometheus.Counter
	streams  prometheus.Gauge
	events   map[source.Format]eventCounters
	readings map[string]prometheus.Counter // of events, by result
	bodies   map[string]prometheus.Counter // that were rejected, by reason

	// For accepted sensor writes; looked up beforehand, because writes are frequent.
	taken     prometheus.Counter
	takenTime prometheus.Observer
}

func newMetrics(r *prometheus.Registry) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "interlock_http_requests_total", Help: "HTTP requests by method, route and status.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "interlock_http_request_duration_seconds", Help: "HTTP request duration by route.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"route"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "interlock_http_event_streams", Help: "Open event streams."}),
	}
	written := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interlock_sensor_writes_total", Help: "Readings written over HTTP, by result.",
	}, []string{"result"})
	m.writes, m.refusals = written.WithLabelValues("accepted"), written.WithLabelValues("refused")
	m.taken, m.takenTime = m.requests.WithLabelValues(http.MethodPut, sensorPath, "200"), m.duration.WithLabelValues(sensorPath)
	r.MustRegister(m.requests, m.duration, m.streams, written)
	m.countEvents(r)
	return m
}

// countBodies adds the metrics of request bodies.
func (a *API) countBodies(r *prometheus.Registry) {
	rejected := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interlock_http_bodies_rejected_total", Help: "Request bodies that were rejected before they were decoded, by reason.",
	}, []string{"reason"})
	a.metrics.bodies = map[string]prometheus.Counter{}
	for _, why := range []string{bodyTooLarge, bodyTooDeep, bodyTooWide, bodyTooSlow, bodyNoRoom} {
		a.metrics.bodies[why] = rejected.WithLabelValues(why)
	}
	r.MustRegister(rejected)
	for name, b := range map[string]*budget{"jobs": &a.jobBodies, "logins": &a.logins, "other": &a.bodies} {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "interlock_http_bodies_reserved_bytes", Help: "Memory reserved for request bodies, by budget.",
			ConstLabels: prometheus.Labels{"budget": name},
		}, func() float64 { return float64(b.used.Load()) }))
	}
}

// rejectedBody counts a body that could not be read.
func (m *metrics) rejectedBody(err error) {
	if err == nil || errors.Is(err, io.EOF) {
		return
	}
	if _, why := problemOfBody(err); why != "" {
		m.bodies[why].Inc()
	}
}

// eventCounters count the events of one format.
type eventCounters struct{ matched, unmatched, refused prometheus.Counter }

func (m *metrics) countEvents(r *prometheus.Registry) {
	events := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interlock_ingest_events_total", Help: "Events received, by format and by whether a source matched. A rejected request counts as one event.",
	}, []string{"format", "result"})
	m.events = map[source.Format]eventCounters{}
	for _, f := range []source.Format{source.CloudEvents, source.OpenLineage, source.JSON} {
		of := func(result string) prometheus.Counter { return events.WithLabelValues(string(f), result) }
		m.events[f] = eventCounters{of("matched"), of("unmatched"), of("refused")}
	}
	readings := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interlock_ingest_readings_total", Help: "Readings from events: written, repeated (the event is a duplicate), or problem (not written, or incomplete).",
	}, []string{"result"})
	m.readings = map[string]prometheus.Counter{}
	for _, result := range []string{"written", "repeated", "problem"} {
		m.readings[result] = readings.WithLabelValues(result)
	}
	r.MustRegister(events, readings)
}

// took counts events that were accepted.
func (m *metrics) took(events []ingest.Event, result ingest.Result) {
	for i, matched := range result.Hits {
		if counters := m.events[events[i].Format]; matched {
			counters.matched.Inc()
		} else {
			counters.unmatched.Inc()
		}
	}
	m.readings["written"].Add(float64(result.Written))
	m.readings["repeated"].Add(float64(result.Repeated))
	m.readings["problem"].Add(float64(len(result.Problems)))
}

// answered counts a request.
func (m *metrics) answered(r *http.Request, status int, took time.Duration) {
	if r.Pattern == putPattern && status == http.StatusOK {
		m.taken.Inc()
		m.takenTime.Observe(took.Seconds())
		return
	}
	route := routeOf(r)
	m.requests.WithLabelValues(methodLabel(r.Method), route, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(route).Observe(took.Seconds())
}

// routeOf returns the pattern that a request matched, without its method.
func routeOf(r *http.Request) string {
	route := r.Pattern
	if _, path, ok := strings.Cut(route, " "); ok {
		route = path
	}
	if route == "" {
		return "none"
	}
	return route
}

// methodLabel returns the label of a method; arbitrary methods from clients do not become labels.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodPatch:
		return method
	}
	return "other"
}
