// Package timeline selects, for a stretch of time, the periods of each pipeline that a person wants to see: what was
// expected, what ran, how it stands and why. Few periods are listed one by one; many are counted in buckets, so that no
// stretch is cut. It reads and changes nothing.
//
// A Look serves one request: it reads what all lanes share once, then makes one Lane after the other.
package timeline

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// records is what a timeline reads.
type records interface {
	Runs(ctx context.Context, q store.RunQuery) (store.Page[run.Run], error)
	OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error)
	RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error)
	DryRun(ctx context.Context, key run.Key) (run.Run, error)
	Pipelines(ctx context.Context) ([]store.Pipeline, error)
	Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error)
	JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]store.JobEntry, error)
	Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error)
	Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error)
	PositionAt(ctx context.Context, t time.Time) (store.Position, error)
}

// Sources are where the facts are.
type Sources struct {
	Store   records
	Catalog *catalog.Catalog
}

// Axis says where on the timeline a period lies.
type Axis string

// The axes: the slice of data that a run is for, or the time in which it ran.
const (
	ByPeriod    Axis = "period"
	ByExecution Axis = "execution"
)

// Query is what to show.
type Query struct {
	From, To time.Time // To comes after From
	Axis     Axis
	Width    time.Duration // of buckets; 0: chosen for the stretch, and buckets only where they are needed
}

// MaxSpan is the longest stretch that a timeline shows.
const MaxSpan = 100 * 24 * time.Hour

// Lane is one pipeline's part of a timeline.
type Lane struct {
	Pipeline pipeline.ID
	// Slots are the periods one by one, oldest first. With buckets they are only those that are shown whatever the stretch:
	// the open runs and the last one that ended.
	Slots   []Slot
	Buckets []Bucket      // nil without buckets; oldest first, empty ones left out
	Width   time.Duration // of a bucket; 0 without
	Counts  map[Phase]int // of all periods in slots and buckets, each once
	Read    int           // how many runs were read for it
}

// Slot is one period.
type Slot struct {
	Key        run.Key
	Start, End time.Time // of the period
	FireAt     time.Time // when it opens automatically; zero if a sensor, an upstream or an operator opens it
	Excluded   string    // why the calendar suppresses it; "" if it does not
	Phase      Phase
	Run        run.Run // of the period; without a Status if there is none
	DryRun     bool
	Warn       time.Time // of its absolute deadline
	Breach     time.Time
	Deadline   string    // the state of its deadlines, the worse of two; "" if none was ever armed
	RetryAt    time.Time // when the job is tried again; zero unless it is retrying
	Cause      reason.Reason
	Outside    bool // it lies outside the stretch, and is shown because it is open, or the last that ended
}

// Look is the making of one timeline.
type Look struct {
	Sources
	Query
	now    time.Time
	open   map[pipeline.ID][]run.Run
	rows   map[pipeline.ID]store.Pipeline
	cursor string // where the events of the stretch end; "" at the newest
}

// New reads what all lanes share.
func New(ctx context.Context, s Sources, q Query, now time.Time) (*Look, error) {
	l := &Look{Sources: s, Query: q, now: now, open: map[pipeline.ID][]run.Run{}, rows: map[pipeline.ID]store.Pipeline{}}
	open, err := s.Store.OpenRuns(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read open runs: %w", err)
	}
	for _, r := range open {
		l.open[r.Pipeline] = append(l.open[r.Pipeline], r)
	}
	rows, err := s.Store.Pipelines(ctx)
	if err != nil {
		return nil, fmt.Errorf("read pipelines: %w", err)
	}
	for _, row := range rows {
		l.rows[row.ID] = row
	}
	if q.To.Before(now) {
		at, err := s.Store.PositionAt(ctx, q.To)
		if err != nil {
			return nil, fmt.Errorf("find events at %s: %w", q.To, err)
		}
		l.cursor = store.NumberCursor(at + 1)
	}
	return l, nil
}

// overlaps says whether the time from start to end touches the stretch. An instant has start and end in common.
func (q Query) overlaps(start, end time.Time) bool {
	return !start.IsZero() && start.Before(q.To) && (end.After(q.From) || start.Equal(end) && start.Equal(q.From))
}

// holds says whether an instant lies in the stretch.
func (q Query) holds(t time.Time) bool { return q.overlaps(t, t.Add(time.Nanosecond)) }

// Lane is the part of one pipeline.
func (l *Look) Lane(ctx context.Context, e *catalog.Entry) (Lane, error) {
	b := newBuilder(l, e)
	err := b.build(ctx)
	if err != nil {
		return Lane{}, fmt.Errorf("show %s: %w", e.ID, err)
	}
	return b.lane, nil
}
