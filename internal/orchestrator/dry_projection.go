package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

// relationText is the text for each relation of an estimate to its deadline.
var relationText = map[string]string{"met": "before", "breach": "after", "past": "when it is already past"}

// earliestDeadline returns the earlier of the deadlines that a run of that period would have; zero
// if it has none.
func (w *work) earliestDeadline(ctx context.Context, e *catalog.Entry, p period.Period) (time.Time, error) {
	deadline := e.SLA.For(p, e.Schedule.FireFor(p), e.Schedule).Breach
	if e.SLA.Max == 0 {
		return deadline, nil
	}
	firstWrite, err := w.arrival(ctx, e, p)
	if err != nil || firstWrite.IsZero() {
		return deadline, err
	}
	if at := e.SLA.Relative(firstWrite).Breach; deadline.IsZero() || at.Before(deadline) {
		deadline = at
	}
	return deadline, nil
}

// arrival returns when the start condition's sensor was first written for a period, whatever its
// data: the relative deadline counts from there. It is zero if there is no write since the
// pipeline's horizon.
func (w *work) arrival(ctx context.Context, e *catalog.Entry, p period.Period) (time.Time, error) {
	q := store.HistoryQuery{Limit: store.MaxPage}
	q.Pipeline, q.Key = e.StartSensor()
	undated, err := w.firstFor(ctx, e, p, q, p.Start(e.Schedule.Zone()))
	if err != nil {
		return undated, err
	}
	q.Period = p
	dated, err := w.firstFor(ctx, e, p, q, e.Horizon)
	if err != nil || dated.IsZero() || !undated.IsZero() && undated.Before(dated) {
		return undated, err
	}
	return dated, nil
}

// firstFor returns the time of the first write for p, not before since and the pipeline's horizon.
func (w *work) firstFor(ctx context.Context, e *catalog.Entry, p period.Period, q store.HistoryQuery, since time.Time) (time.Time, error) {
	var first time.Time
	for {
		page, err := w.o.Store.History(ctx, q)
		if err != nil {
			return first, fmt.Errorf("read history of sensor %s of %s: %w", q.Key, q.Pipeline, err)
		}
		for _, one := range page.Items {
			if one.UpdatedAt.Before(since) || one.UpdatedAt.Before(e.Horizon) {
				return first, nil
			}
			if !one.Deleted && e.PeriodOf(one) == p {
				first = one.UpdatedAt
			}
		}
		if page.Next == "" {
			return first, nil
		}
		q.Cursor = page.Next
	}
}

// project compares the deadline with the end of a run that would start now and take the expected
// time.
func project(deadline time.Time, expected time.Duration, now time.Time) (event.Projection, bool) {
	if deadline.IsZero() {
		return event.Projection{}, false
	}
	p := event.Projection{EstimatedCompletion: period.Instant(now.Add(expected)), Deadline: period.Instant(deadline)}
	p.MarginSeconds = int64(p.Deadline.Sub(p.EstimatedCompletion) / time.Second)
	switch {
	case deadline.Before(now):
		p.Status = "past"
	case p.EstimatedCompletion.After(p.Deadline):
		p.Status = "breach"
	default:
		p.Status = "met"
	}
	return p, true
}
