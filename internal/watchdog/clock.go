package watchdog

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

// clockMark is how long a clock correction is remembered, so that it is reported only once.
const clockMark = 30 * 24 * time.Hour

// correctClock finds pipelines whose row was moved by a clock that ran ahead and has since been
// corrected. Their schedules would stay silent until that time, so correctClock rewinds them and
// reports it as INFRA_ALARM. It ignores differences of up to one interval: the clocks of replicas
// differ. The rows are compared with a clock that is read after them: the pass may have begun long
// before, and another replica may have moved them meanwhile.
func (w *Watchdog) correctClock(ctx context.Context, p *pass, clock func() time.Time) error {
	var ahead []watched
	var until time.Time
	now := clock()
	for _, e := range p.entries {
		if at := e.latest; at.After(now.Add(w.Interval)) {
			ahead = append(ahead, e)
			until = period.Later(until, at)
		}
	}
	if len(ahead) == 0 {
		return nil
	}
	if err := w.reportClock(ctx, ahead, until, now); err != nil {
		return err
	}
	_, err := w.eachPipeline(ctx, ahead, func(e watched) (int, error) { return 1, w.Router.Rewind(ctx, e.ID, clock) })
	if entries, failed := w.together(ctx, w.Catalog.Current().All()); failed == nil {
		p.entries = entries
	}
	return err
}

func (w *Watchdog) reportClock(ctx context.Context, ahead []watched, until, now time.Time) error {
	names := make([]string, len(ahead))
	for i, e := range ahead {
		names[i] = string(e.ID)
	}
	alarm := "clock ahead to " + period.Stamp(until)
	message := fmt.Sprintf(
		"the clock ran ahead, up to %s, and has been corrected; schedules continue from the current time, and runs that opened early stay open: %s",
		period.Stamp(until), firstOf(names))
	e := event.New(event.InfraAlarm, event.About{Which: alarm, At: now}, message, event.Alarm{Alarm: alarm, State: "ALARM"})
	_, err := store.EmitOnce(ctx, w.Store, "watchdog/"+alarm, now.Add(clockMark), e, now)
	return err
}
