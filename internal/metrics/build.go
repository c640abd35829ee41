package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Process registers the metrics of every Go program (go_*, process_*) and interlock_build_info, which is always 1.
func Process(r *prometheus.Registry, version, revision string) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "interlock_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": runtime.Version()},
	})
	build.Set(1)
	r.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}
