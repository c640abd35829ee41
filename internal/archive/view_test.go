package archive_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/archive"
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
		b.Emit(newEvent(event.SLABreach, first, noon))
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

func TestLongPeriodsCountForTheMonthTheyLieIn(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	for i, name := range []string{
		"2026-W10", "2026-W14", "2026-W19", // W14 begins in March, its Thursday is in April
		"2026-W01", "2026-W53", // they begin and end in another year
		"2026-03", "2026-Q1", "2026-Q4", "2026-03-03T10:15",
	} {
		w.live(keyOf("orders", name), noon.AddDate(0, 0, i), time.Minute)
	}
	pass(t, w.archiver(dsn), noon.AddDate(0, 1, 0))
	want := []string{"2026-01 2", "2026-03 3", "2026-04 1", "2026-05 1", "2026-10 1", "2026-12 1"}
	same(t, "SLA", lines(t, dsn, "SELECT month || ' ' || runs FROM sla_compliance ORDER BY month"), want)
	same(t, "durations", lines(t, dsn, "SELECT month || ' ' || jobs FROM duration_percentiles ORDER BY month"), want)
	months, err := archive.NewMonths(dsn).Of(t.Context(), "orders", 12)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range slices.Backward(months) {
		got = append(got, fmt.Sprintf("%s %d", m.Month, m.Runs))
	}
	same(t, "months", got, want)
}

func TestMonthsMatchTheViews(t *testing.T) {
	dsn, w := pgtest.Database(t), newWorld(t)
	months := archive.NewMonths(dsn)
	if got, err := months.Of(t.Context(), "orders", 12); len(got) != 0 || err != nil {
		t.Errorf("an archive that was never written to has %+v, %v", got, err)
	}
	for i, took := range []time.Duration{time.Minute, 3 * time.Minute} {
		at := noon.AddDate(0, 0, i)
		w.live(keyOf("orders", at.Format(time.DateOnly)), at, took)
	}
	w.live(keyOf("other", "2026-03-03"), noon, time.Hour)
	w.commit(noon, func(b *store.Batch) {
		b.Emit(newEvent(event.SLABreach, keyOf("orders", "2026-03-03"), noon))
		b.Emit(newEvent(event.SLABreach, keyOf("orders", "2026-05-01"), noon)) // no run opened
	})
	w.live(keyOf("orders", "2026-04-01"), noon.AddDate(0, 1, 0), time.Hour)
	pass(t, w.archiver(dsn), noon.AddDate(0, 3, 0))
	got, err := months.Of(t.Context(), "orders", 2)
	if err != nil {
		t.Fatal(err)
	}
	all, none := 100.0, 0.0
	want := []archive.Month{
		{Month: "2026-05", Breached: 1, MetPercent: &none},
		{Month: "2026-04", Runs: 1, Attempts: 1, JobsStarted: 1, Met: 1, MetPercent: &all, Jobs: 1, P50: 3600, P90: 3600, P95: 3600, P99: 3600, Longest: 3600},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = months.Of(t.Context(), "orders", 3)
	if half := 50.0; err != nil || len(got) != 3 || cmp.Diff(got[2], archive.Month{
		Month: "2026-03", Runs: 2, Attempts: 2, JobsStarted: 2, Met: 1, Breached: 1, MetPercent: &half, Jobs: 2, P50: 120, P90: 168, P95: 174, P99: 178.8, Longest: 180,
	}) != "" {
		t.Errorf("got %+v, %v", got, err)
	}
}
