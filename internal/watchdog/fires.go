package watchdog

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// missedFires finds cron fires that were not handled. It opens those whose window is still open, and reports the rest
// together as SCHEDULE_MISSED.
func (w *Watchdog) missedFires(ctx context.Context, p pass) (int, error) {
	return w.catchUp(ctx, p, func(e watched) bool { return !e.Schedule.Listed() })
}

// catchUp handles the missed fires of the pipelines that meant selects.
func (w *Watchdog) catchUp(ctx context.Context, p pass, meant func(watched) bool) (int, error) {
	return each(ctx, w.Workers, p.entries, func(e watched) (int, error) {
		if e.Opens != pipeline.ByCron || !meant(e) || e.paused || !overdue(e, p) {
			return 0, nil
		}
		if err := w.Router.CatchUp(ctx, e.ID, p.now); err != nil {
			return 0, err
		}
		return 1, nil
	})
}

// overdue reports whether a fire before p.settled has not been handled.
func overdue(e watched, p pass) bool {
	from := e.Horizon
	if fired := e.fired; fired.After(from) {
		from = fired.Add(time.Nanosecond)
	}
	for slot := range e.Schedule.Slots(from) {
		return !slot.FireAt.IsZero() && !slot.FireAt.After(p.settled)
	}
	return false
}

// missedIncludeDates finds listed days whose run was not opened. Those that can no longer be opened are reported as
// IRREGULAR_SCHEDULE_MISSED.
func (w *Watchdog) missedIncludeDates(ctx context.Context, p pass) (int, error) {
	return w.catchUp(ctx, p, func(e watched) bool { return e.Schedule.Listed() })
}
