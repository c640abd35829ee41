package metrics

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// deadlineState is the state of a pipeline's deadlines: the value of
// interlock_pipeline_deadline_state.
type deadlineState int

// The states, from good to bad.
const (
	noDeadline       deadlineState = iota // none is armed, and the last one was not breached
	deadlineArmed                         // at least one is armed
	deadlineWarned                        // an armed one is past its warning
	deadlineBreached                      // the last one that ended was breached, and its run has not completed since
)

// Pipelines exports three series for each active pipeline. It reads a pipeline's rows when the
// pipeline is first seen, and again after an event that may have changed them, so the cost of a
// scrape depends on the number of events since the last one, and not on the number of pipelines.
type Pipelines struct {
	store   store.Store
	catalog *catalog.Catalog
	now     func() time.Time

	lastSuccess, deadline, openSince *prometheus.Desc

	mu    sync.Mutex
	after store.Position // events up to here have been applied
	known map[pipeline.ID]standing
}

// standing is the last known state of a pipeline.
type standing struct {
	success  time.Time // zero if no run has completed
	deadline deadlineState
}

// NewPipelines returns the collector of the per-pipeline metrics.
func NewPipelines(s store.Store, c *catalog.Catalog, now func() time.Time) *Pipelines {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"pipeline"}, nil)
	}
	return &Pipelines{
		store: s, catalog: c, now: now, known: map[pipeline.ID]standing{},
		lastSuccess: desc("interlock_pipeline_last_success_timestamp_seconds", "When a run of the pipeline last completed; missing until one has."),
		deadline:    desc("interlock_pipeline_deadline_state", "Deadlines of the pipeline: 0 none armed, 1 armed, 2 warned, 3 breached and not completed since."),
		openSince:   desc("interlock_pipeline_open_since_timestamp_seconds", "When the longest open run of the pipeline opened; missing while none is open."),
	}
}

// Describe names the metrics.
func (p *Pipelines) Describe(to chan<- *prometheus.Desc) {
	to <- p.lastSuccess
	to <- p.deadline
	to <- p.openSince
}

// firstRead bounds the scrape that reads all pipelines. If it ends early, the rows read so far are
// kept.
const firstRead = time.Minute

// Of returns a collector that exports the active pipelines for which sees returns true. If the store
// does not answer in time, the metrics are missing from that scrape.
func (p *Pipelines) Of(sees func(pipeline.ID) bool) prometheus.Collector { return some{p, sees} }

// some is the collector of a part of the pipelines.
type some struct {
	*Pipelines
	sees func(pipeline.ID) bool
}

// Collect exports that part.
func (s some) Collect(to chan<- prometheus.Metric) { s.collect(to, s.sees) }

func (p *Pipelines) collect(to chan<- prometheus.Metric, sees func(pipeline.ID) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), firstRead)
	defer cancel()
	active := p.catalog.Current().All()
	if err := p.refresh(ctx, active); err != nil {
		return
	}
	open, err := p.store.OpenRuns(ctx, "")
	if err != nil {
		return
	}
	since := map[pipeline.ID]time.Time{}
	for _, r := range open {
		if first, ok := since[r.Pipeline]; !ok || r.OpenedAt.Before(first) {
			since[r.Pipeline] = r.OpenedAt
		}
	}
	for _, e := range active {
		if !sees(e.ID) {
			continue
		}
		show := func(d *prometheus.Desc, value float64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, string(e.ID))
		}
		s := p.known[e.ID]
		show(p.deadline, float64(s.deadline))
		if !s.success.IsZero() {
			show(p.lastSuccess, seconds(s.success))
		}
		if at, ok := since[e.ID]; ok {
			show(p.openSince, seconds(at))
		}
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// refresh reads the pipelines that are new or that an event names, and drops those that are gone.
func (p *Pipelines) refresh(ctx context.Context, active []*catalog.Entry) error {
	if err := p.forgetChanged(ctx); err != nil {
		return err
	}
	there := make(map[pipeline.ID]bool, len(active))
	for _, e := range active {
		there[e.ID] = true
		// Arming emits no event: a missing deadline may have been armed since.
		if s, ok := p.known[e.ID]; ok && (s.deadline != noDeadline || e.SLA.Deadline == nil && e.SLA.Max == 0) {
			continue
		}
		s, err := p.read(ctx, e.ID)
		if err != nil {
			return err
		}
		p.known[e.ID] = s
	}
	maps.DeleteFunc(p.known, func(id pipeline.ID, _ standing) bool { return !there[id] })
	return nil
}

// forgetChanged drops the pipelines whose rows have changed according to the events.
func (p *Pipelines) forgetChanged(ctx context.Context) error {
	if p.after == 0 {
		last, err := p.store.LastPosition(ctx)
		p.after = last
		return err
	}
	for {
		events, err := p.store.EventsAfter(ctx, p.after, store.MaxPage)
		if err != nil {
			return err
		}
		for _, e := range events {
			p.after = e.Position
			switch e.Event.Type {
			case event.JobCompleted, event.SLAWarning, event.SLABreach, event.SLAMet, event.SLACancelled,
				event.RelativeSLAWarning, event.RelativeSLABreach, event.ConfigAccepted, event.TriggerStarted:
				delete(p.known, e.Event.Detail.Pipeline)
			}
		}
		if len(events) < store.MaxPage {
			return nil
		}
	}
}

// recentRuns is how many of the latest completed periods are read for the last success: a backfill
// may complete an older period after a younger one.
const recentRuns = 50

func (p *Pipelines) read(ctx context.Context, id pipeline.ID) (standing, error) {
	var s standing
	completed, err := p.store.Runs(ctx, store.RunQuery{Pipeline: id, Status: run.Completed, Limit: recentRuns})
	if err != nil {
		return s, err
	}
	for _, r := range completed.Items {
		s.success = period.Later(s.success, r.EndedAt)
	}
	s.deadline, err = p.readDeadlines(ctx, id)
	return s, err
}

// How far back to search for the last ended deadline. Most pipelines have one in two days; a
// monthly one in forty.
var lookBack = []time.Duration{48 * time.Hour, 40 * 24 * time.Hour}

func (p *Pipelines) readDeadlines(ctx context.Context, id pipeline.ID) (deadlineState, error) {
	var state deadlineState
	for _, back := range lookBack {
		q := store.DeadlineQuery{Pipeline: id, From: p.now().Add(-back), Limit: store.MaxPage}
		var all []store.Deadline
		for {
			page, err := p.store.Deadlines(ctx, q)
			if err != nil {
				return 0, err
			}
			all = append(all, page.Items...)
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		var ended bool
		if state, ended = standingOf(all); ended {
			break
		}
	}
	return state, nil
}

// standingOf summarises deadlines that are ordered by their breach instant. ended is false if none
// of them has been met or breached.
func standingOf(all []store.Deadline) (state deadlineState, ended bool) {
	breached := false
	for _, d := range all {
		switch d.State {
		case sla.Armed:
			state = max(state, deadlineArmed)
			if d.Warned {
				state = deadlineWarned
			}
		case sla.Met:
			breached, ended = false, true
		case sla.Breached:
			breached, ended = d.DoneAt.IsZero(), true
		case sla.Cancelled:
		}
	}
	if breached {
		state = deadlineBreached
	}
	return state, ended
}

// scrapeLimit is how long a collector waits for the store. The default timeout of Prometheus is ten
// seconds.
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

// Collect counts the runs. If the store does not answer in time, the metric is missing from that
// scrape.
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
