package watchdog

import "context"

// missedIncludeDates finds listed days that nobody opened. What cannot be opened any more is IRREGULAR_SCHEDULE_MISSED.
func (w *Watchdog) missedIncludeDates(ctx context.Context, p pass) (int, error) {
	return w.catchUp(ctx, p, func(e watched) bool { return e.Schedule.Listed() })
}
