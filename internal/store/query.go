package store

import (
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// RunQuery says which runs. Empty fields mean any. Limit, here and below, goes through PageSize; Cursor is Next of the
// page before, with the rest of the query unchanged.
type RunQuery struct {
	Pipeline pipeline.ID
	Period   period.Period
	From, To period.Period // by Compare, both included: the hours of a day come after the day itself
	Status   run.Status
	Limit    int
	Cursor   string
}

// ReadingQuery asks for what a key shows for a period.
type ReadingQuery struct {
	Pipeline pipeline.ID
	Key      sensor.Key
	Period   period.Period
}

// HistoryQuery says which writes. A zero Period means all of them.
type HistoryQuery struct {
	Pipeline pipeline.ID
	Key      sensor.Key
	Period   period.Period
	Limit    int
	Cursor   string
}

// DeadlineQuery says which deadlines. Empty fields mean any.
type DeadlineQuery struct {
	Pipeline pipeline.ID
	Key      run.Key
	State    string    // an sla.State
	From, To time.Time // by BreachAt: From is included, To is not
	Limit    int
	Cursor   string
}

// EventQuery says which events. Empty fields mean any.
type EventQuery struct {
	Pipeline  pipeline.ID
	Key       run.Key // events about one run: pipeline, schedule and date
	Type      event.Type
	Since     time.Time // by Time, included
	Ascending bool
	Limit     int
	Cursor    string
}
