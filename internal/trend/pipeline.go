package trend

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// MaxRuns is how many runs of a pipeline are counted: enough for 90 days and the 90 days before at
// one run per hour. If there are more, those of the latest periods count.
const MaxRuns = 5000

// MaxListed is how many runs of a trend are listed individually, latest first.
const MaxListed = 1000

// Summary summarises the runs of a pipeline over some days, and over as many days before.
type Summary struct {
	Runs, Completed, Attempts int
	Open                      int // runs that have not ended
	Took, Before              Durations
	Days                      []Durations // per day, oldest first
	Truncated                 bool        // there were more runs than are counted
	Read                      int         // number of runs read
}

// Of summarises the last days of a pipeline.
func Of(ctx context.Context, s reader, e *catalog.Entry, days int, now time.Time) (Summary, error) {
	since := Since(now, days)
	runs, more, err := runsSince(ctx, s, e, Since(now, 2*days))
	if err != nil {
		return Summary{}, err
	}
	// The oldest runs are cut first: if some of the earlier days are missing, the last days are
	// still complete.
	sum := Summary{Read: len(runs), Truncated: more && !runs[len(runs)-1].Period.Start(e.Schedule.Zone()).Before(since)}
	var lately, before []time.Duration
	daily := make([][]time.Duration, days)
	for _, r := range runs {
		d, done := r.JobDuration()
		start := r.Period.Start(e.Schedule.Zone())
		if start.Before(since) {
			if done {
				before = append(before, d)
			}
			continue
		}
		sum.Runs, sum.Attempts = sum.Runs+1, sum.Attempts+r.Attempt
		switch {
		case r.Status == run.Completed:
			sum.Completed++
		case !r.Status.Ended():
			sum.Open++
		}
		if done {
			lately = append(lately, d)
			on := min(int(start.Sub(since)/day), days-1)
			daily[on] = append(daily[on], d)
		}
	}
	sum.Took, sum.Before = durations(lately), durations(before)
	for _, took := range daily {
		sum.Days = append(sum.Days, durations(took))
	}
	return sum, nil
}

// runsSince returns the runs of periods that start at or after an instant, newest first, and
// whether there are more.
func runsSince(ctx context.Context, s reader, e *catalog.Entry, since time.Time) (runs []run.Run, more bool, err error) {
	q := store.RunQuery{Pipeline: e.ID, From: period.At(since, max(e.Schedule.Size(), period.Day), e.Schedule.Zone()), Limit: store.MaxPage}
	for len(runs) < MaxRuns {
		page, err := s.Runs(ctx, q)
		if err != nil {
			return nil, false, fmt.Errorf("read runs of %s: %w", e.ID, err)
		}
		runs = append(runs, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return runs, false, nil
		}
	}
	return runs, true, nil
}

// Trend is the history of one pipeline, day by day.
type Trend struct {
	Took      Durations
	Days      []Day     // oldest first; days without a run are left out
	Runs      []run.Run // the latest, oldest first
	Sensors   []Arrivals
	Drift     []event.Event
	Truncated bool
}

// Day is the runs whose period starts on one day of the pipeline's time zone.
type Day struct {
	Date           period.Period
	Runs, Attempts int
	Took           Durations
}

// ForPipeline returns the trend of a pipeline's last days.
func ForPipeline(ctx context.Context, s reader, e *catalog.Entry, days int, now time.Time) (Trend, error) {
	since := Since(now, days)
	runs, more, err := runsSince(ctx, s, e, since)
	if err != nil {
		return Trend{}, err
	}
	slices.Reverse(runs)
	t := Trend{Runs: runs[max(0, len(runs)-MaxListed):], Truncated: more}
	t.Days, t.Took = daily(runs)
	if t.Sensors, err = arrivals(ctx, s, e, since); err != nil {
		return Trend{}, err
	}
	t.Drift, err = drift(ctx, s, e, since)
	return t, err
}

// daily groups runs, oldest first, by day.
func daily(runs []run.Run) ([]Day, Durations) {
	var days []Day
	var all, today []time.Duration
	for i, r := range runs {
		date := r.Period.FirstDay()
		if len(days) == 0 || days[len(days)-1].Date != date {
			days, today = append(days, Day{Date: date}), nil
		}
		d := &days[len(days)-1]
		d.Runs, d.Attempts = d.Runs+1, d.Attempts+r.Attempt
		if took, done := r.JobDuration(); done {
			all, today = append(all, took), append(today, took)
		}
		if i == len(runs)-1 || runs[i+1].Period.FirstDay() != date {
			d.Took = durations(today)
		}
	}
	return days, durations(all)
}

// drift returns the reported drifts of values after a run had completed, newest first.
func drift(ctx context.Context, s reader, e *catalog.Entry, since time.Time) ([]event.Event, error) {
	page, err := s.Events(ctx, store.EventQuery{Pipeline: e.ID, Type: event.PostRunDrift, Since: since, Limit: store.MaxPage})
	if err != nil {
		return nil, fmt.Errorf("read drift of %s: %w", e.ID, err)
	}
	return page.Items, nil
}
