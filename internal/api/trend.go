package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/trend"
)

// Durations are percentiles of the job durations of completed runs.
type Durations struct {
	Count          int     `json:"count"`
	P50Seconds     float64 `json:"p50Seconds"`
	P90Seconds     float64 `json:"p90Seconds"`
	P99Seconds     float64 `json:"p99Seconds"`
	LongestSeconds float64 `json:"longestSeconds"`
}

// TrendSummary summarises the runs of a pipeline over some days.
type TrendSummary struct {
	Pipeline         string     `json:"pipeline"`
	Owner            string     `json:"owner"`
	Runs             int        `json:"runs"`
	Completed        int        `json:"completed"`
	Open             int        `json:"open" doc:"Runs that have not ended, which count as neither completed nor failed."`
	CompletedPercent *float64   `json:"completedPercent" doc:"Share of completed runs among ended runs; null if none has ended."`
	Attempts         int        `json:"attempts" doc:"Attempts of all runs."`
	Durations        Durations  `json:"durations"`
	Before           Durations  `json:"before" doc:"The same figures for the preceding range of the same length."`
	P50ByDay         []*float64 `json:"p50ByDay" doc:"The p50 duration of each UTC day in seconds, oldest first; null for a day without a completed run."`
	Truncated        bool       `json:"truncated" doc:"Whether there are more runs than the limit. The figures then cover only the latest periods."`
}

// Trends reports on the periods of one pipeline.
type Trends struct {
	Pipeline  string       `json:"pipeline"`
	From      time.Time    `json:"from"`
	To        time.Time    `json:"to"`
	Durations Durations    `json:"durations"`
	Days      []TrendDay   `json:"days" doc:"Days with a run, oldest first."`
	Periods   []TrendRun   `json:"periods" doc:"Oldest first."`
	Sensors   []Arrivals   `json:"sensors" doc:"When the sensors of the start condition and the gate were written."`
	Drift     []DriftPoint `json:"drift" doc:"Values that changed after their run completed, newest first."`
	Truncated bool         `json:"truncated" doc:"Whether there are more runs than the limit. The figures then cover only the latest periods."`
}

// TrendDay summarises the runs of one day.
type TrendDay struct {
	Date      string    `json:"date"`
	Runs      int       `json:"runs"`
	Attempts  int       `json:"attempts" doc:"Attempts of all runs."`
	Durations Durations `json:"durations"`
}

// TrendRun is one run in a trend.
type TrendRun struct {
	Date      string     `json:"date"`
	Schedule  string     `json:"schedule"`
	Status    string     `json:"status"`
	Attempt   int        `json:"attempt"`
	StartedAt *time.Time `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt"`
}

// Arrivals lists when a sensor was first written for each period.
type Arrivals struct {
	Pipeline  string    `json:"pipeline" doc:"The pipeline of the sensor."`
	Key       string    `json:"key"`
	Items     []Arrival `json:"items" doc:"Oldest period first."`
	Truncated bool      `json:"truncated" doc:"Whether there are more writes than the limit."`
}

// Arrival is the first write of a sensor for a period.
type Arrival struct {
	Date         string    `json:"date"`
	At           time.Time `json:"at"`
	AfterSeconds float64   `json:"afterSeconds" doc:"Seconds since the start of the period."`
}

// DriftPoint is a value that changed after its run had completed.
type DriftPoint struct {
	Date      string    `json:"date"`
	Schedule  string    `json:"schedule"`
	At        time.Time `json:"at"`
	Sensor    string    `json:"sensor"`
	Field     string    `json:"field"`
	Baseline  *string   `json:"baseline" doc:"The value at completion, as decimal text."`
	Current   *string   `json:"current"`
	Threshold string    `json:"threshold"`
}

// Span is the number of days of a report.
type Span struct {
	Days int `query:"days" minimum:"1" maximum:"90" default:"30" doc:"Number of UTC days, including today."`
}

func (a *API) listTrends(ctx context.Context, in *struct {
	Paging
	Span
},
) (*output[List[TrendSummary]], error) {
	after, err := a.afterID("trends", in.Cursor)
	if err != nil {
		return nil, err
	}
	who, now, out := whoOf(ctx), a.now(), List[TrendSummary]{Items: []TrendSummary{}}
	read := 0
	for _, e := range a.catalog.Current().All() {
		if e.ID <= after || !who.sees(e.ID) {
			continue
		}
		if out.full(in.Limit) || read >= maxPageRuns {
			out.NextCursor = a.cursors.next("trends", out.last().Pipeline)
			break
		}
		s, err := trend.Of(ctx, a.store, e, in.Days, now)
		if err != nil {
			return nil, err
		}
		read += s.Read
		out.add(TrendSummary{
			Pipeline: string(e.ID), Owner: e.Owner, Runs: s.Runs, Completed: s.Completed, Open: s.Open, CompletedPercent: percent(s.Completed, s.Runs-s.Open), Attempts: s.Attempts,
			Durations: durationsView(s.Took), Before: durationsView(s.Before), P50ByDay: views(s.Days, p50Of), Truncated: s.Truncated,
		})
	}
	return answer(out), nil
}

func (a *API) getTrends(ctx context.Context, in *struct {
	OfPipeline
	Span
},
) (*output[Trends], error) {
	e, p := a.entry(ctx, pipeline.ID(in.ID))
	if p != nil {
		return nil, p
	}
	now := a.now()
	t, err := trend.ForPipeline(ctx, a.store, e, in.Days, now)
	if err != nil {
		return nil, err
	}
	who := whoOf(ctx)
	return answer(Trends{
		Pipeline: in.ID, From: trend.Since(now, in.Days), To: now.UTC(), Durations: durationsView(t.Took), Truncated: t.Truncated,
		Days: views(t.Days, trendDayView), Periods: views(t.Runs, trendRunView), Drift: views(t.Drift, driftView),
		Sensors: views(slices.DeleteFunc(t.Sensors, func(s trend.Arrivals) bool { return !who.sees(s.Pipeline) }), arrivalsView),
	}), nil
}

// p50Of returns the p50 of a day in seconds; nil without a completed run.
func p50Of(d trend.Durations) *float64 {
	if d.Count == 0 {
		return nil
	}
	return new(d.P50.Seconds())
}

func durationsView(d trend.Durations) Durations {
	return Durations{
		Count: d.Count, P50Seconds: d.P50.Seconds(), P90Seconds: d.P90.Seconds(), P99Seconds: d.P99.Seconds(), LongestSeconds: d.Longest.Seconds(),
	}
}

func trendDayView(d trend.Day) TrendDay {
	return TrendDay{Date: d.Date.String(), Runs: d.Runs, Attempts: d.Attempts, Durations: durationsView(d.Took)}
}

func trendRunView(r run.Run) TrendRun {
	return TrendRun{
		Date: r.Period.String(), Schedule: string(r.Schedule), Status: string(r.Status), Attempt: r.Attempt,
		StartedAt: instant(r.Progress.StartedAt), EndedAt: instant(r.EndedAt),
	}
}

func arrivalsView(s trend.Arrivals) Arrivals {
	return Arrivals{Pipeline: string(s.Pipeline), Key: string(s.Key), Truncated: s.Truncated, Items: views(s.Arrived, func(a trend.Arrival) Arrival {
		return Arrival{Date: a.Period.String(), At: a.At.UTC(), AfterSeconds: a.After.Seconds()}
	})}
}

func driftView(e event.Event) DriftPoint {
	v := DriftPoint{Date: e.Detail.Date.String(), Schedule: string(e.Detail.Schedule), At: e.Time.UTC()}
	if d, ok := e.Detail.Extra.(event.Drift); ok {
		v.Sensor, v.Field, v.Baseline, v.Current, v.Threshold = d.Sensor, d.Field, text(d.Baseline), text(d.Current), d.Threshold
	}
	return v
}

// Months reports on the months of a pipeline, as far back as the archive goes.
type Months struct {
	Pipeline string  `json:"pipeline"`
	Items    []Month `json:"items" doc:"Months with data in the archive, newest first."`
}

// Month reports on the periods of one month.
type Month struct {
	Month           string         `json:"month" doc:"The month, such as 2026-03."`
	Runs            int            `json:"runs"`
	Attempts        int            `json:"attempts" doc:"Attempts of all runs."`
	JobsStarted     int            `json:"jobsStarted"`
	JobsFailed      int            `json:"jobsFailed" doc:"Failed jobs, including timeouts."`
	RerunsRequested int            `json:"rerunsRequested" doc:"Accepted manual reruns."`
	Deadlines       MonthDeadlines `json:"deadlines"`
	Durations       MonthDurations `json:"durations"`
}

// MonthDeadlines counts the runs of a month that had a deadline.
type MonthDeadlines struct {
	Met        int      `json:"met"`
	Breached   int      `json:"breached" doc:"Breached deadlines, even if the run completed later."`
	MetPercent *float64 `json:"metPercent" doc:"Share of met deadlines; null if no run had one."`
}

// MonthDurations are percentiles of the durations of a month's successful jobs.
type MonthDurations struct {
	Durations
	P95Seconds float64 `json:"p95Seconds"`
}

// ErrArchiveAway is returned by Deps.Months if the archive is unavailable. The response includes
// the error it wraps.
var ErrArchiveAway = errors.New("the archive is unavailable")

func (a *API) getMonths(ctx context.Context, in *struct {
	OfPipeline
	Limit int `query:"limit" minimum:"1" maximum:"120" default:"12" doc:"Maximum number of months."`
},
) (*output[Months], error) {
	if a.months == nil {
		return nil, problem(http.StatusNotFound, plainKind, "this report needs an archive; set archive.dsnEnv in the server's file")
	}
	items, err := a.months(ctx, pipeline.ID(in.ID), in.Limit)
	if errors.Is(err, ErrArchiveAway) {
		p := problem(http.StatusServiceUnavailable, plainKind, "%v; /readyz shows the state of the archive", err).with("Retry-After", "30")
		p.cause = err
		return nil, p
	}
	if err != nil {
		return nil, err
	}
	if len(items) == 0 { // the archive may know a removed pipeline that the catalog does not
		if _, p := a.entry(ctx, pipeline.ID(in.ID)); p != nil {
			return nil, p
		}
		items = []Month{}
	}
	return answer(Months{Pipeline: in.ID, Items: items}), nil
}
