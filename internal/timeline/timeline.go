// Package timeline selects, for a time range, the periods of each pipeline to display: what was
// expected, what ran, its state and why. Few periods are listed individually; many are counted in
// buckets, so that no range is truncated. It is read-only.
//
// A Reader serves one request: it reads the data that all lanes share once, then builds the lanes
// one by one.
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
	"github.com/interlock-go/interlock/internal/store"
)

// Sources are the sources of a timeline's data.
type Sources struct {
	Store   store.Reader
	Catalog *catalog.Catalog
}

// Axis determines the position of a period on the timeline.
type Axis string

// The axes: the period of data that a run is for, or the time in which it ran.
const (
	ByPeriod    Axis = "period"
	ByExecution Axis = "execution"
)

// Query selects what to show.
type Query struct {
	From, To time.Time // To comes after From
	Axis     Axis
	Width    time.Duration // of buckets; 0: chosen automatically, and buckets only if needed
}

// MaxSpan is the longest range of a timeline.
const MaxSpan = 100 * 24 * time.Hour

// Lane is one pipeline's part of a timeline.
type Lane struct {
	Pipeline pipeline.ID
	// Slots are the individual periods, oldest first. With buckets they are only those shown
	// regardless of the range: the open runs and the last one that ended.
	Slots   []Slot
	Buckets []Bucket      // nil without buckets; oldest first, empty ones left out
	Width   time.Duration // of a bucket; 0 without
	Counts  map[Phase]int // of all periods in slots and buckets, each counted once
	Read    int           // number of runs read
}

// Slot is one period.
type Slot struct {
	Key        run.Key
	Start, End time.Time // of the period
	FireAt     time.Time // when it opens automatically; zero if a sensor, an upstream or an operator opens it
	Excluded   string    // why the calendar suppresses it; "" if it does not
	Phase      Phase
	Run        run.Run // run of the period; without a Status if there is none
	DryRun     bool
	Warn       time.Time // of its deadline; the relative one only if it has no other
	Breach     time.Time
	Deadline   string    // state of its deadlines, the worse if there are two; "" if none was ever armed
	RetryAt    time.Time // when the job is retried; zero unless it is retrying
	Cause      reason.Reason
	Outside    bool // outside the range; shown because it is open, or the last that ended
}

// Reader builds the lanes of one timeline.
type Reader struct {
	Sources
	Query
	now    time.Time
	open   map[pipeline.ID][]run.Run
	rows   map[pipeline.ID]store.Pipeline
	cursor string // where the events of the range end; "" at the newest
}

// New reads the data that all lanes share.
func New(ctx context.Context, s Sources, q Query, now time.Time) (*Reader, error) {
	reader := &Reader{Sources: s, Query: q, now: now, open: map[pipeline.ID][]run.Run{}, rows: map[pipeline.ID]store.Pipeline{}}
	open, err := s.Store.OpenRuns(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read open runs: %w", err)
	}
	for _, r := range open {
		reader.open[r.Pipeline] = append(reader.open[r.Pipeline], r)
	}
	rows, err := s.Store.Pipelines(ctx)
	if err != nil {
		return nil, fmt.Errorf("read pipelines: %w", err)
	}
	for _, row := range rows {
		reader.rows[row.ID] = row
	}
	if q.To.Before(now) {
		at, err := s.Store.PositionAt(ctx, q.To)
		if err != nil {
			return nil, fmt.Errorf("find events at %s: %w", q.To, err)
		}
		reader.cursor = store.NumberCursor(at + 1)
	}
	return reader, nil
}

// overlaps reports whether the time from start to end overlaps the range. For an instant, start
// equals end.
func (q Query) overlaps(start, end time.Time) bool {
	return !start.IsZero() && start.Before(q.To) && (end.After(q.From) || start.Equal(end) && start.Equal(q.From))
}

// keyOf returns the run that an event is about.
func keyOf(e event.Event) run.Key {
	return run.Key{Pipeline: e.Detail.Pipeline, Schedule: e.Detail.Schedule, Period: e.Detail.Date}
}

// holds reports whether an instant lies in the range.
func (q Query) holds(t time.Time) bool { return q.overlaps(t, t.Add(time.Nanosecond)) }

// Lane builds the lane of one pipeline.
func (r *Reader) Lane(ctx context.Context, e *catalog.Entry) (Lane, error) {
	b := newBuilder(r, e)
	if err := b.build(ctx); err != nil {
		return Lane{}, fmt.Errorf("show %s: %w", e.ID, err)
	}
	return b.lane, nil
}
