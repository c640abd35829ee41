package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// RunQuery selects runs. Empty fields match any. Limit, here and below, goes through PageSize;
// Cursor is Next of the previous page, with the rest of the query unchanged.
type RunQuery struct {
	Pipeline pipeline.ID
	Period   period.Period
	From, To period.Period // by Compare, both inclusive: the hours of a day sort after the day itself
	Status   run.Status
	Limit    int
	Cursor   string
}

// Latest returns the latest period that matches; zero if there is no limit.
func (q RunQuery) Latest() period.Period {
	if q.To.IsZero() || !q.Period.IsZero() && q.Period.Compare(q.To) < 0 {
		return q.Period
	}
	return q.To
}

// Earliest returns the earliest period that matches; zero if there is no limit.
func (q RunQuery) Earliest() period.Period {
	if !q.Period.IsZero() && q.Period.Compare(q.From) > 0 {
		return q.Period
	}
	return q.From
}

// Passed reports whether p and every earlier period are too early to match.
func (q RunQuery) Passed(p period.Period) bool {
	return !q.From.IsZero() && p.Compare(q.From) < 0 || !q.Period.IsZero() && p.Compare(q.Period) < 0
}

// Wants reports whether a run matches, ignoring its pipeline.
func (q RunQuery) Wants(r run.Run) bool {
	return !q.Passed(r.Period) && (q.Period.IsZero() || r.Period == q.Period) &&
		(q.To.IsZero() || r.Period.Compare(q.To) <= 0) &&
		(q.Status == "" || r.Status == q.Status)
}

// Apart reports whether runs with a status have a separate index, besides those of all runs and of
// open runs: few runs end without being COMPLETED.
func Apart(s run.Status) bool { return s.Ended() && s != run.Completed }

// Page selects, sorts and cuts a page from runs in memory, ignoring their pipelines.
func (q RunQuery) Page(runs []run.Run) (Page[run.Run], error) {
	after, err := AfterRun(q.Cursor)
	if err != nil {
		return Page[run.Run]{}, err
	}
	var found []run.Run
	for _, r := range runs {
		if q.Wants(r) && (q.Cursor == "" || latestFirst(r.Key, after) > 0) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b run.Run) int { return latestFirst(a.Key, b.Key) })
	return FirstPage(found, q.Limit, RunCursor), nil
}

func latestFirst(a, b run.Key) int {
	return cmp.Or(b.Period.Compare(a.Period), cmp.Compare(a.Pipeline, b.Pipeline), cmp.Compare(a.Schedule, b.Schedule))
}

// ReadingQuery selects the readings of a key for a period.
type ReadingQuery struct {
	Pipeline pipeline.ID
	Key      sensor.Key
	Period   period.Period
	// Through selects all readings of the periods from Period to this one, and of the periods that
	// contain them.
	Through period.Period
}

// HistoryQuery selects writes. A zero Period matches all.
type HistoryQuery struct {
	Pipeline pipeline.ID
	Key      sensor.Key
	Period   period.Period
	Limit    int
	Cursor   string
}

// LatestQuery selects the keys of a pipeline.
type LatestQuery struct {
	Pipeline pipeline.ID
	Limit    int
	Cursor   string
}

// WriteID identifies one write, like the Change that announces it.
type WriteID struct {
	Pipeline pipeline.ID
	Key      sensor.Key
	Version  int64
}

// DeadlineQuery selects deadlines. Empty fields match any.
type DeadlineQuery struct {
	Pipeline pipeline.ID
	Key      run.Key
	State    string    // an sla.State
	From, To time.Time // by BreachAt: From is inclusive, To exclusive
	Limit    int
	Cursor   string
}

// Wants reports whether a deadline matches.
func (q DeadlineQuery) Wants(d Deadline) bool {
	return (q.Pipeline == "" || d.Key.Pipeline == q.Pipeline) &&
		(q.Key == run.Key{} || d.Key == q.Key) &&
		(q.State == "" || string(d.State) == q.State) &&
		(q.From.IsZero() || !d.BreachAt.Before(q.From)) &&
		(q.To.IsZero() || d.BreachAt.Before(q.To))
}

// EventQuery selects events. Empty fields match any.
type EventQuery struct {
	Pipeline  pipeline.ID
	Key       run.Key // events about one run: pipeline, schedule and date
	Type      event.Type
	Since     time.Time // by Time, inclusive
	Ascending bool
	Limit     int
	Cursor    string
}

// Wants reports whether an event matches.
func (q EventQuery) Wants(e event.Event) bool {
	d := e.Detail
	about := run.Key{Pipeline: d.Pipeline, Schedule: d.Schedule, Period: d.Date}
	return (q.Pipeline == "" || d.Pipeline == q.Pipeline) &&
		(q.Key == run.Key{} || about == q.Key) &&
		(q.Type == "" || e.Type == q.Type) &&
		(q.Since.IsZero() || !e.Time.Before(q.Since))
}
