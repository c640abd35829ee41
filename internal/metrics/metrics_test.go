package metrics_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/metrics"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// values returns the samples of one metric by the values of its labels, joined by a slash.
func values(t *testing.T, r *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			key := ""
			for i, l := range m.GetLabel() {
				if i > 0 {
					key += "/"
				}
				key += l.GetValue()
			}
			got[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return got
}

func TestCountersStartAtZero(t *testing.T) {
	r := prometheus.NewRegistry()
	metrics.New(r)
	events := values(t, r, "interlock_events_total")
	for _, name := range event.Types() {
		for _, severity := range []string{"info", "warning", "critical"} {
			if n, ok := events[severity+"/"+name]; !ok || n != 0 {
				t.Errorf("interlock_events_total of %s, %s = %v, present: %t; want 0", name, severity, n, ok)
			}
		}
	}
	if n, ok := values(t, r, "interlock_watchdog_findings_total")["missed-fires"]; !ok || n != 0 {
		t.Errorf("interlock_watchdog_findings_total of missed-fires = %v, present: %t; want 0", n, ok)
	}
}

func TestProcessShowsWhatRuns(t *testing.T) {
	r := prometheus.NewRegistry()
	metrics.Process(r, "v1.2.3", "abc")
	if len(values(t, r, "interlock_build_info")) != 1 || len(values(t, r, "go_goroutines")) != 1 || len(values(t, r, "process_start_time_seconds")) != 1 {
		t.Error("interlock_build_info, go_goroutines or process_start_time_seconds is missing")
	}
}

const (
	dailyFile = `pipeline: {id: daily, owner: data}
schedule: {trigger: {key: landed, check: exists}}
sla: {deadline: "12:00", expectedDuration: 1h}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
`
	idleFile = `pipeline: {id: idle, owner: data}
`
)

// world is a controller and the metrics of its pipelines.
type world struct {
	*testing.T
	*controllertest.Controller
	registry *prometheus.Registry
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{t, controllertest.New(t, memory.New(), map[string]job.Type{"command": controllertest.Idle{}}), prometheus.NewRegistry()}
	w.registry.MustRegister(metrics.NewPipelines(w.Store, w.Controller.Catalog, w.Now).Of(func(pipeline.ID) bool { return true }))
	w.Apply(dailyFile, idleFile)
	w.Settle()
	return w
}

func (w world) shows(name string, want map[string]float64) {
	w.Helper()
	if diff := cmp.Diff(want, values(w.T, w.registry, "interlock_pipeline_"+name)); diff != "" {
		w.Errorf("interlock_pipeline_%s: (-want +got)\n%s", name, diff)
	}
}

func (w world) complete(key string) {
	w.Helper()
	_, err := w.Router.Report(w.Context(), run.Outcome{Key: w.Key(key), Attempt: 1, Report: run.Report{Result: run.ResultSuccess}}, w.Now())
	w.Check(err)
	w.Settle()
}

func at(hour, minute int) time.Time { return time.Date(2026, 3, 3, hour, minute, 0, 0, time.UTC) }

func unix(t time.Time) float64 { return float64(t.Unix()) }

func TestPipelineSeriesFollowARun(t *testing.T) {
	w := newWorld(t)
	w.shows("deadline_state", map[string]float64{"daily": 1, "idle": 0})
	w.shows("last_success_timestamp_seconds", map[string]float64{})
	w.shows("open_since_timestamp_seconds", map[string]float64{})

	w.Put("daily", "landed#2026-03-03", "complete=true")
	w.Settle()
	w.shows("open_since_timestamp_seconds", map[string]float64{"daily": unix(controllertest.Tuesday)})

	w.Pass(at(11, 30).Sub(w.Now()))
	w.shows("deadline_state", map[string]float64{"daily": 2, "idle": 0})
	w.Pass(at(12, 30).Sub(w.Now()))
	w.shows("deadline_state", map[string]float64{"daily": 3, "idle": 0})

	w.complete("daily/stream/2026-03-03")
	w.shows("deadline_state", map[string]float64{"daily": 1, "idle": 0})
	w.shows("last_success_timestamp_seconds", map[string]float64{"daily": unix(at(12, 30))})
	w.shows("open_since_timestamp_seconds", map[string]float64{})
}

func TestRemovedPipelineHasNoSeries(t *testing.T) {
	w := newWorld(t)
	w.shows("deadline_state", map[string]float64{"daily": 1, "idle": 0})
	w.Apply(idleFile)
	w.Settle()
	w.shows("deadline_state", map[string]float64{"idle": 0})
}

func TestClientsGetTheSeriesOfThePipelinesTheySee(t *testing.T) {
	w := newWorld(t)
	all := metrics.NewPipelines(w.Store, w.Controller.Catalog, w.Now)
	for seen, want := range map[pipeline.ID]map[string]float64{"daily": {"daily": 1}, "idle": {"idle": 0}, "other": {}} {
		r := prometheus.NewRegistry()
		r.MustRegister(all.Of(func(id pipeline.ID) bool { return id == seen }))
		if diff := cmp.Diff(want, values(t, r, "interlock_pipeline_deadline_state")); diff != "" {
			t.Errorf("a client that sees %s: (-want +got)\n%s", seen, diff)
		}
	}
}
