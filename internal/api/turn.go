package api

import (
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func turnOf(e *catalog.Entry, p period.Period, open bool, now time.Time) client.Turn {
	zone := e.Schedule.Zone()
	t := client.Turn{StartsAt: p.Start(zone).UTC(), EndsAt: p.End(zone).UTC()}
	due := e.Schedule.FireFor(p)
	if due.IsZero() && e.Opens == pipeline.ByStream {
		due = t.EndsAt
	}
	t.DueAt, t.Due = instant(due), open || !due.IsZero() && !now.Before(due)
	return t
}

func currentOf(e *catalog.Entry, open []run.Run, now time.Time) *client.Current {
	p := e.Schedule.PeriodAt(now)
	if len(open) > 0 {
		p = open[len(open)-1].Period
	}
	if p.IsZero() {
		return nil
	}
	return &client.Current{Date: p.String(), OpenRun: len(open) > 0, Turn: turnOf(e, p, len(open) > 0, now)}
}

// nextFire is the next period that a schedule opens automatically: none that a pause in effect outlasts.
func nextFire(e *catalog.Entry, row store.Pipeline, now time.Time) client.NextFire {
	from := now.Add(time.Nanosecond)
	if row.Paused() {
		until := row.PausedUntil()
		if until.IsZero() {
			return client.NextFire{}
		}
		if until.After(from) {
			from = until
		}
	}
	for slot := range e.Schedule.Upcoming(from) {
		due := e.SLA.For(slot.Period, slot.FireAt, e.Schedule)
		return client.NextFire{Date: date(slot.Period), FireAt: instant(slot.FireAt), WarnAt: instant(due.Warn), BreachAt: instant(due.Breach)}
	}
	return client.NextFire{}
}
