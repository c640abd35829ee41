package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// scrapeLimit is how long a collector waits for the store. The default timeout of Prometheus is ten seconds.
const scrapeLimit = 5 * time.Second

// OpenRuns exports how many runs have not ended, by status.
type OpenRuns struct {
	store store.Store
	desc  *prometheus.Desc
}

// NewOpenRuns returns a collector that counts the open runs in s at every scrape.
func NewOpenRuns(s store.Store) *OpenRuns {
	return &OpenRuns{store: s, desc: prometheus.NewDesc("interlock_open_runs", "Runs that have not ended, by status.", []string{"status"}, nil)}
}

// Describe names the metric.
func (o *OpenRuns) Describe(to chan<- *prometheus.Desc) { to <- o.desc }

// Collect counts the runs. If the store does not answer in time, the metric is missing from that scrape.
func (o *OpenRuns) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
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
		if status.Open() {
			to <- prometheus.MustNewConstMetric(o.desc, prometheus.GaugeValue, float64(count[status]), string(status))
		}
	}
}
