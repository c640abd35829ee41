package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// Months is how the months of a pipeline went, as far as the archive reaches back.
type Months struct {
	Pipeline string  `json:"pipeline"`
	Items    []Month `json:"items" doc:"Newest first; months of which the archive has nothing are left out."`
}

// Month is how the periods of one month went.
type Month struct {
	Month           string         `json:"month" doc:"Such as 2026-03."`
	Runs            int            `json:"runs"`
	Attempts        int            `json:"attempts" doc:"Of all runs together."`
	JobsStarted     int            `json:"jobsStarted"`
	JobsFailed      int            `json:"jobsFailed" doc:"Timeouts included."`
	RerunsRequested int            `json:"rerunsRequested" doc:"By people, and accepted."`
	Deadlines       MonthDeadlines `json:"deadlines"`
	Durations       MonthDurations `json:"durations"`
}

// MonthDeadlines counts the runs of a month that had a deadline.
type MonthDeadlines struct {
	Met        int      `json:"met"`
	Breached   int      `json:"breached" doc:"Also if the run completed later."`
	MetPercent *float64 `json:"metPercent" doc:"Null if no run had a deadline."`
}

// MonthDurations are percentiles of how long the jobs of a month took that succeeded.
type MonthDurations struct {
	Durations
	P95Seconds float64 `json:"p95Seconds"`
}

// ErrArchiveAway is returned by Deps.Months where the archive cannot be asked. What it wraps is told to whoever asks.
var ErrArchiveAway = errors.New("the archive cannot be asked just now")

func (a *API) getMonths(ctx context.Context, in *struct {
	OfPipeline
	Limit int `query:"limit" minimum:"1" maximum:"120" default:"12" doc:"How many months at most."`
},
) (*output[Months], error) {
	if a.months == nil {
		return nil, problem(http.StatusNotFound, plainKind, "there is no archive, which this is asked of; name one with archive.dsnEnv in the server's file")
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
	if len(items) == 0 { // of a pipeline that is gone the archive may know more than the catalog
		if _, p := a.entry(ctx, pipeline.ID(in.ID)); p != nil {
			return nil, p
		}
		items = []Month{}
	}
	return answer(Months{Pipeline: in.ID, Items: items}), nil
}
