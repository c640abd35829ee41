package watchdog

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// missedFires finds cron fires that were not handled. It opens those whose window is still open,
// and reports the rest together as SCHEDULE_MISSED.
func (w *Watchdog) missedFires(ctx context.Context, p pass) (int, error) {
	return w.catchUp(ctx, p, false)
}

// catchUp handles missed fires: if listed, those of pipelines with include dates, otherwise those
// of all other cron pipelines.
func (w *Watchdog) catchUp(ctx context.Context, p pass, listed bool) (int, error) {
	return w.eachPipeline(ctx, p.entries, func(e watched) (int, error) {
		if e.Opens != pipeline.ByCron || e.Schedule.Listed() != listed || e.paused || !overdue(e, p) {
			return 0, nil
		}
		return handled(w.Router.CatchUp(ctx, e.ID, p.now))
	})
}

// overdue reports whether the first fire that has not been handled was due by p.settled. A file that
// was accepted while fires of an earlier version were pending counts as one.
func overdue(e watched, p pass) bool {
	if e.fired.Before(e.accepted) {
		return !e.accepted.After(p.settled)
	}
	from := e.Horizon
	if fired := e.fired; fired.After(from) {
		from = fired.Add(time.Nanosecond)
	}
	for slot := range e.Schedule.Slots(from) {
		return !slot.FireAt.IsZero() && !slot.FireAt.After(p.settled)
	}
	return false
}

// missedIncludeDates finds listed days whose run was not opened. Those that can no longer be opened
// are reported as IRREGULAR_SCHEDULE_MISSED.
func (w *Watchdog) missedIncludeDates(ctx context.Context, p pass) (int, error) {
	return w.catchUp(ctx, p, true)
}

// startDeadlineLookback is how far back periods with a start deadline are checked: longer than a
// weekend.
const startDeadlineLookback = 7 * 24 * time.Hour

// startDeadlines finds periods whose start condition was not met before its deadline, and closes
// them (SENSOR_DEADLINE_EXPIRED).
func (w *Watchdog) startDeadlines(ctx context.Context, p pass) (int, error) {
	return w.eachPipeline(ctx, p.entries, func(e watched) (int, error) {
		if e.Start == nil || e.Start.Deadline == nil || e.Opens != pipeline.ByStream || e.DryRun || e.paused {
			return 0, nil
		}
		return w.closeStarts(ctx, e.Entry, p)
	})
}

func (w *Watchdog) closeStarts(ctx context.Context, e *catalog.Entry, p pass) (int, error) {
	var keys []run.Key
	for slot := range e.Schedule.Slots(w.startFrom(e, p)) {
		if slot.Period.Start(e.Schedule.Zone()).After(p.settled) {
			break
		}
		at := e.StartCloses(slot.Period)
		if slot.Excluded == "" && !at.After(p.settled) && at.After(e.Horizon) {
			keys = append(keys, e.Key(slot.Period))
		}
	}
	there, err := w.Store.RunsAt(ctx, keys)
	if err != nil {
		return 0, fmt.Errorf("read runs of %s: %w", e.ID, err)
	}
	found := 0
	for _, key := range keys {
		if _, opened := there[key]; opened {
			continue
		}
		closed, err := w.Router.CloseStart(ctx, key, p.now)
		if err != nil {
			return found, err
		}
		if closed {
			found++
		}
	}
	return found, nil
}

// startFrom returns where to start checking: the period of the pipeline's horizon, or
// startDeadlineLookback ago.
func (w *Watchdog) startFrom(e *catalog.Entry, p pass) time.Time {
	from := e.Schedule.PeriodAt(e.Horizon).Start(e.Schedule.Zone())
	return period.Later(from, p.now.Add(-startDeadlineLookback-e.Schedule.Size().Longest()))
}
