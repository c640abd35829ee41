package archive_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/archive/pgtest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

func TestViewsAnswer(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	for i, took := range []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute} {
		at := noon.AddDate(0, 0, i)
		w.live(keyOf("orders", at.Format(time.DateOnly)), at, took)
	}
	first := keyOf("orders", "2026-03-03")
	w.commit(noon, func(b *store.Batch) {
		b.Emit(told(event.SLABreach, first, noon))
		b.Append(store.JobEntry{Key: first, Attempt: 2, At: noon.Add(time.Hour), Event: store.JobStarted, Try: 1})
		b.Append(store.JobEntry{Key: first, Attempt: 2, At: noon.Add(2 * time.Hour), Event: store.JobFail})
		b.Append(store.JobEntry{Key: first, Attempt: 3, At: noon, Event: store.JobTimeout}) // never started
		b.Reruns = append(b.Reruns, store.Rerun{ID: "r", Key: first, At: noon, Accepted: true, Attempt: 2})
	})
	w.live(keyOf("orders", "2026-04-01"), noon.AddDate(0, 1, 0), time.Hour)
	pass(t, w.archiver(dsn), noon.AddDate(0, 2, 0))
	same(t, "SLA", lines(t, dsn, "SELECT pipeline || ' ' || month || ' ' || runs || ' ' || met || ' ' || breached || ' ' || met_percent FROM sla_compliance ORDER BY month"),
		[]string{"orders 2026-03 3 2 1 66.67", "orders 2026-04 1 1 0 100.00"})
	same(t, "durations", lines(t, dsn, "SELECT month || ' ' || jobs || ' ' || p50 || ' ' || longest FROM duration_percentiles ORDER BY month"),
		[]string{"2026-03 3 120 180", "2026-04 1 3600 3600"})
	same(t, "attempts", lines(t, dsn, "SELECT period || ' ' || attempts || ' ' || jobs_started || ' ' || jobs_failed || ' ' || reruns_accepted FROM attempts_per_period ORDER BY period LIMIT 2"),
		[]string{"2026-03-03 1 2 2 1", "2026-03-04 1 1 0 0"})
}
