package trend_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/trend"
)

const hourly = `
pipeline: {id: orders, owner: tests}
schedule: {cron: "5 * * * *"}
validation: {rules: [{key: landed, check: exists}]}
`

// known returns a store in which orders is active.
func known(t *testing.T) (*memory.Store, *catalog.Entry) {
	t.Helper()
	s := memory.New()
	c := catalog.New(s, all.Kinds())
	_, err := c.Apply(ctx, catalog.Files{Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte(hourly)}}}, noon)
	must(t, err)
	return s, c.Current().Get("orders")
}

// ran stores a run that long before noon, with its duration and number of attempts.
func ran(t *testing.T, s *memory.Store, ago, took time.Duration, attempts int, status run.Status) {
	t.Helper()
	at := noon.Add(-ago)
	r := run.Run{
		Key:     run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: period.At(at, period.Hour, time.UTC)},
		Version: 1, Status: status, Attempt: attempts, OpenedAt: at, UpdatedAt: at.Add(took), EndedAt: at.Add(took),
		Progress: run.Progress{StartedAt: at},
	}
	b := store.Batch{ID: fmt.Sprint("run/", r.Key)}
	b.Create(r)
	must(t, s.Commit(ctx, b, noon))
}

func TestSummaryComparesTheDaysWithAsManyBefore(t *testing.T) {
	s, e := known(t)
	for i := range 11 {
		ran(t, s, time.Duration(i)*time.Hour, time.Duration(i)*time.Minute, 1+i%2, run.Completed)
	}
	ran(t, s, day, time.Minute, 3, run.FailedFinal)
	ran(t, s, 8*day, time.Hour, 1, run.Completed)
	ran(t, s, 15*day, time.Second, 1, run.Completed)
	got, err := trend.Of(ctx, s, e, 7, noon)
	must(t, err)
	took := trend.Durations{Count: 11, P50: 5 * time.Minute, P90: 9 * time.Minute, P99: 594 * time.Second, Longest: 10 * time.Minute}
	want := trend.Summary{
		Runs: 12, Completed: 11, Attempts: 19, Took: took, Days: []trend.Durations{6: took}, Read: 13, // all of them today
		Before: trend.Durations{Count: 1, P50: time.Hour, P90: time.Hour, P99: time.Hour, Longest: time.Hour},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestEveryRunCountsEvenIfNotAllAreListed(t *testing.T) {
	s, e := known(t)
	const runs = trend.MaxListed + 500
	for i := range runs {
		ran(t, s, time.Duration(i)*time.Hour, time.Minute, 1, run.Completed)
	}
	sum, err := trend.Of(ctx, s, e, 90, noon)
	must(t, err)
	if sum.Runs != runs || sum.Took.Count != runs || sum.Truncated {
		t.Errorf("the summary counts %d runs, truncated: %t", sum.Runs, sum.Truncated)
	}
	got, err := trend.ForPipeline(ctx, s, e, 90, noon)
	must(t, err)
	if got.Took.Count != runs || len(got.Runs) != trend.MaxListed || got.Truncated {
		t.Errorf("the trend counts %d runs and lists %d, truncated: %t", got.Took.Count, len(got.Runs), got.Truncated)
	}
	if last := got.Runs[len(got.Runs)-1].Period.String(); last != "2026-03-03T12" {
		t.Errorf("the last one listed is %s", last)
	}
}

func TestTrendHasItsDaysOldestFirst(t *testing.T) {
	s, e := known(t)
	ran(t, s, day, time.Minute, 1, run.Completed)
	ran(t, s, day+time.Hour, 3*time.Minute, 2, run.Completed)
	ran(t, s, time.Hour, 5*time.Minute, 1, run.Completed)
	got, err := trend.ForPipeline(ctx, s, e, 7, noon)
	must(t, err)
	var days []string
	for _, d := range got.Days {
		days = append(days, fmt.Sprint(d.Date, " ", d.Runs, " ", d.Attempts, " ", d.Took.P50))
	}
	if diff := cmp.Diff([]string{"2026-03-02 2 3 2m0s", "2026-03-03 1 1 5m0s"}, days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
}

func TestFirstWriteForAPeriodIsItsArrival(t *testing.T) {
	s, e := known(t)
	put := func(p period.Period, at time.Time) {
		t.Helper()
		_, err := s.PutReadings(ctx, []store.Write{{Pipeline: "orders", Reading: sensor.Reading{Key: "landed", Period: p, Fields: sensor.Fields{"n": int64(1)}}}}, at)
		must(t, err)
	}
	eleven := period.At(noon.Add(-time.Hour), period.Hour, time.UTC)
	put(eleven, noon.Add(-50*time.Minute))
	put(eleven, noon.Add(-10*time.Minute))
	put(period.Period{}, noon.Add(2*time.Minute)) // undated: for the hour in which it was written
	got, err := trend.ForPipeline(ctx, s, e, 7, noon)
	must(t, err)
	var arrived []string
	for _, a := range got.Sensors[0].Arrived {
		arrived = append(arrived, fmt.Sprint(a.Period, " ", a.After))
	}
	if diff := cmp.Diff([]string{"2026-03-03T11 10m0s", "2026-03-03T12 2m0s"}, arrived); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
}
