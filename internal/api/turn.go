package api

import (
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Turn is when a period's turn comes.
type Turn struct {
	StartsAt time.Time  `json:"startsAt" doc:"The period's first instant."`
	EndsAt   time.Time  `json:"endsAt" doc:"The first instant after the period."`
	Due      bool       `json:"due" doc:"A start is expected by now: its fire has come, a run is open, or, where a sensor or an upstream opens it, the period is over. While it is not due, a closed gate is nothing to worry about."`
	DueAt    *time.Time `json:"dueAt" doc:"When it is due; null for a pipeline without a schedule."`
}

func turnOf(e *catalog.Entry, p period.Period, open bool, now time.Time) Turn {
	zone := e.Schedule.Zone()
	t := Turn{StartsAt: p.Start(zone).UTC(), EndsAt: p.End(zone).UTC()}
	due := e.Schedule.FireFor(p)
	if due.IsZero() && e.Opens == pipeline.ByStream {
		due = t.EndsAt
	}
	t.DueAt, t.Due = instant(due), open || !due.IsZero() && !now.Before(due)
	return t
}

// Current is the period whose gate says most about a pipeline now: that of its newest open run, else the one whose turn it is.
type Current struct {
	Date    string `json:"date"`
	OpenRun bool   `json:"openRun" doc:"It is that of an open run."`
	Turn
}

func currentOf(e *catalog.Entry, open []run.Run, now time.Time) Maybe[Current] {
	p := e.Schedule.PeriodAt(now)
	if len(open) > 0 {
		p = open[len(open)-1].Period
	}
	if p.IsZero() {
		return Maybe[Current]{}
	}
	return some(Current{Date: p.String(), OpenRun: len(open) > 0, Turn: turnOf(e, p, len(open) > 0, now)})
}

// nextFire is the next period that a schedule opens automatically: none that a pause in effect outlasts.
func nextFire(e *catalog.Entry, row store.Pipeline, now time.Time) NextFire {
	from := now.Add(time.Nanosecond)
	if row.Paused() {
		until := row.PausedUntil()
		if until.IsZero() {
			return NextFire{}
		}
		if until.After(from) {
			from = until
		}
	}
	for slot := range e.Schedule.Upcoming(from) {
		due := e.SLA.For(slot.Period, slot.FireAt, e.Schedule)
		return NextFire{Date: date(slot.Period), FireAt: instant(slot.FireAt), WarnAt: instant(due.Warn), BreachAt: instant(due.Breach)}
	}
	return NextFire{}
}
