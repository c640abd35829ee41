// Package trend reports history over weeks: whether deadlines were met, how long jobs took, when
// sensors arrived, how many attempts periods needed, and how far published values drifted
// afterwards. It reads the store and does arithmetic; it changes nothing and decides nothing.
//
// Deadlines and runs are never trimmed, so compliance and durations go back as far as the store
// does. Arrivals and drift depend on sensor history and events, which are kept according to the
// retention settings.
package trend

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// reader is the part of the store that is read.
type reader interface {
	Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error)
	Runs(ctx context.Context, q store.RunQuery) (store.Page[run.Run], error)
	History(ctx context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error)
	Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error)
}

const day = 24 * time.Hour

// midnight returns the start of the UTC day of t.
func midnight(t time.Time) time.Time { return t.UTC().Truncate(day) }

// Since returns the start of the last days by UTC, including today.
func Since(now time.Time, days int) time.Time { return midnight(now).Add(-time.Duration(days-1) * day) }

// Durations are percentiles of durations. All fields are zero if there are none.
type Durations struct {
	Count                  int
	P50, P90, P99, Longest time.Duration
}

func durations(all []time.Duration) Durations {
	if len(all) == 0 {
		return Durations{}
	}
	sorted := slices.Sorted(slices.Values(all))
	return Durations{
		Count: len(sorted), P50: run.Percentile(sorted, 0.5), P90: run.Percentile(sorted, 0.9), P99: run.Percentile(sorted, 0.99), Longest: sorted[len(sorted)-1],
	}
}
