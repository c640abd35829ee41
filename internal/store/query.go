package store

import (
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// RunQuery says which runs. Empty fields mean any.
type RunQuery struct {
	Pipeline pipeline.ID
	Period   period.Period
	From, To period.Period // by Compare, both included
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
	State    string
	Limit    int
	Cursor   string
}

// EventQuery says which events. Empty fields mean any.
type EventQuery struct {
	Pipeline  pipeline.ID
	Key       run.Key // events about one run
	Type      event.Type
	Since     time.Time
	Ascending bool
	Limit     int
	Cursor    string
}
