// Package trend says how things went over weeks: whether deadlines were kept, how long jobs took, when sensors arrived,
// how many attempts periods needed, and how far what was published drifted afterwards. It reads the store and does
// arithmetic; it changes nothing and decides nothing.
//
// Deadlines and runs are never trimmed, so compliance and durations reach back as far as the store does. Arrivals and
// drift rest on the history of sensors and on events, which are kept for as long as the retention says.
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

// reader is what is asked of a store.
type reader interface {
	Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error)
	Runs(ctx context.Context, q store.RunQuery) (store.Page[run.Run], error)
	History(ctx context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error)
	Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error)
}

const day = 24 * time.Hour

// midnight is the first instant of the UTC day that holds t.
func midnight(t time.Time) time.Time { return t.UTC().Truncate(day) }

// Since is the first instant of the last so many days by UTC, today included.
func Since(now time.Time, days int) time.Time { return midnight(now).Add(-time.Duration(days-1) * day) }

// Durations are the percentiles of how long something took. All is zero where nothing did.
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
		Count: len(sorted), P50: percentile(sorted, 0.5), P90: percentile(sorted, 0.9), P99: percentile(sorted, 0.99), Longest: sorted[len(sorted)-1],
	}
}

// percentile lies between the two nearest of sorted values, as percentile_cont does in SQL.
func percentile(sorted []time.Duration, p float64) time.Duration {
	at := p * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + time.Duration((at-float64(low))*float64(sorted[high]-sorted[low]))
}

// took is how long the job of a completed run's last attempt took; false where there was none.
func took(r run.Run) (time.Duration, bool) {
	started := r.Progress.StartedAt
	if r.Status != run.Completed || started.IsZero() || r.EndedAt.Before(started) {
		return 0, false
	}
	return r.EndedAt.Sub(started), true
}
