package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/archive"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store"
)

// archiveDSN returns the connection string of the archive, or "" if there is no archive.
func archiveDSN(f settings.File, getenv func(string) string) (string, error) {
	if name := f.Archive.DSNEnv; name != "" {
		dsn := getenv(name)
		if dsn == "" {
			return "", fmt.Errorf("archive.dsnEnv: the environment variable %s is not set; set it to the connection string, or remove archive from the server's file", name)
		}
		return dsn, nil
	}
	if a := f.Archiver; a != nil && a.Enabled {
		if a.DSN == "" {
			return "", fmt.Errorf("archiver: the connection string is missing; put it into an environment variable and name that in archive.dsnEnv")
		}
		return a.DSN, nil
	}
	return "", nil
}

// archiving connects a controller to its archive. archiver is nil if there is no archive.
type archiving struct {
	store    store.Store
	archiver *archive.Archiver
	months   *archive.Months
	consumer string
	every    time.Duration
}

func newArchiving(f settings.File, s store.Store, consumer string, getenv func(string) string) (*archiving, error) {
	dsn, err := archiveDSN(f, getenv)
	if err != nil {
		return nil, err
	}
	a := &archiving{store: s, consumer: consumer, every: f.Archive.Interval.D()}
	if dsn == "" {
		return a, nil
	}
	if a.archiver, err = archive.New(s, dsn, consumer); err != nil {
		return nil, err
	}
	a.months = archive.NewMonths(dsn)
	return a, a.archiver.Begin(context.Background(), time.Now())
}

// ticks returns the tick that copies to the archive; none without an archive.
func (a *archiving) ticks() []engine.Tick {
	if a.archiver == nil {
		return nil
	}
	return []engine.Tick{{Name: "archive", Every: a.every, First: true, Do: func(ctx context.Context, now time.Time) error {
		_, err := a.archiver.Pass(ctx, now)
		return err
	}}}
}

// retain extends keep so that nothing is deleted before it is archived. If the archive was removed
// from the server's file, the store stops keeping data for it.
func (a *archiving) retain(ctx context.Context, keep store.Retention, now time.Time) (store.Retention, error) {
	if a.archiver == nil {
		return keep, archive.Leave(ctx, a.store, a.consumer)
	}
	return a.archiver.Retain(ctx, keep, now)
}

// check reports the archive backlog for /readyz. It is always OK: nothing in the controller waits
// for the archive.
func (a *archiving) check(ctx context.Context) []client.HealthCheck {
	if a.archiver == nil {
		return nil
	}
	b, err := a.archiver.Backlog(ctx)
	if err != nil {
		return []client.HealthCheck{{Name: "archive backlog", OK: true, Detail: "the store does not answer"}}
	}
	detail := "everything is archived"
	if !b.Oldest.IsZero() {
		events := fmt.Sprint(b.Events)
		if b.Events == store.MaxPage {
			events += " or more"
		}
		detail = fmt.Sprintf("%d changes and %s events to archive, the oldest from %s ago", b.Changes, events, time.Since(b.Oldest).Round(time.Second))
	}
	return []client.HealthCheck{{Name: "archive backlog", OK: true, Detail: detail}}
}

// monthsLimit is the timeout for queries on the archive.
const monthsLimit = 20 * time.Second

// askMonths returns a function that queries the archive's monthly views, or nil without an archive.
func (a *archiving) askMonths() func(context.Context, pipeline.ID, int) ([]api.Month, error) {
	if a.archiver == nil {
		return nil
	}
	return func(ctx context.Context, id pipeline.ID, limit int) ([]api.Month, error) {
		limited, cancel := context.WithTimeout(ctx, monthsLimit)
		defer cancel()
		found, err := a.months.Of(limited, string(id), limit)
		if err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("%w: %w", api.ErrArchiveAway, err)
		}
		var items []api.Month
		for _, m := range found {
			items = append(items, monthView(m))
		}
		return items, err
	}
}

func monthView(m archive.Month) api.Month {
	return api.Month{
		Month: m.Month, Runs: m.Runs, Attempts: m.Attempts, JobsStarted: m.JobsStarted, JobsFailed: m.JobsFailed, RerunsRequested: m.Reruns,
		Deadlines: api.MonthDeadlines{Met: m.Met, Breached: m.Breached, MetPercent: m.MetPercent},
		Durations: api.MonthDurations{
			Durations:  api.Durations{Count: m.Jobs, P50Seconds: m.P50, P90Seconds: m.P90, P99Seconds: m.P99, LongestSeconds: m.Longest},
			P95Seconds: m.P95,
		},
	}
}

// The backlog metrics.
var (
	backlogChanges = prometheus.NewDesc("interlock_archive_backlog_changes", "Changes in the feed that are not archived yet.", nil, nil)
	backlogSeconds = prometheus.NewDesc("interlock_archive_backlog_seconds", "Age of the oldest change or event that is not archived yet; 0 if all are.", nil, nil)
)

func (a *archiving) Describe(to chan<- *prometheus.Desc) { to <- backlogChanges; to <- backlogSeconds }

// Collect reports the backlog. It reports nothing without an archive, or if the store does not
// answer in time.
func (a *archiving) Collect(to chan<- prometheus.Metric) {
	if a.archiver == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	b, err := a.archiver.Backlog(ctx)
	if err != nil {
		return
	}
	var age time.Duration
	if !b.Oldest.IsZero() {
		age = max(0, time.Since(b.Oldest))
	}
	to <- prometheus.MustNewConstMetric(backlogChanges, prometheus.GaugeValue, float64(b.Changes))
	to <- prometheus.MustNewConstMetric(backlogSeconds, prometheus.GaugeValue, age.Seconds())
}
