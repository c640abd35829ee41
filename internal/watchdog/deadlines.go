package watchdog

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// unarmedDeadlines finds pipelines with an SLA whose next period has no armed deadline. It stores
// the task that arms it again.
func (w *Watchdog) unarmedDeadlines(ctx context.Context, p pass) (int, error) {
	return w.eachPipeline(ctx, p.entries, func(e watched) (int, error) {
		if e.SLA.Deadline == nil || e.DryRun || e.Opens == pipeline.ByHand || e.holdsSLA || e.accepted.After(p.settled) {
			return 0, nil
		}
		missing, err := w.unarmed(ctx, e.Entry, p)
		if err != nil || !missing {
			return 0, err
		}
		b := store.Batch{ID: fmt.Sprintf("watchdog/arm/%s/%d", e.ID, p.now.UnixNano())}
		b.Schedule(store.PipelineTask(store.Arm, e.ID, p.now))
		return handled(w.Store.Commit(ctx, b, p.now))
	})
}

// unarmed reports whether the next expected period, which has not begun, has no deadline although
// the calendar does not exclude it.
func (w *Watchdog) unarmed(ctx context.Context, e *catalog.Entry, p pass) (bool, error) {
	next, ok := nextSlot(e, p.now)
	if !ok {
		return false, nil
	}
	page, err := w.Store.Deadlines(ctx, store.DeadlineQuery{Key: next, Limit: 1})
	if err != nil {
		return false, fmt.Errorf("read the deadlines of %s: %w", next, err)
	}
	if len(page.Items) > 0 {
		return false, nil
	}
	excluded, err := store.IsMarked(ctx, w.Store, store.ExcludedMark(next))
	return !excluded, err
}

// nextSlot returns the first expected period after an instant, if its deadline is after that
// instant too.
func nextSlot(e *catalog.Entry, after time.Time) (run.Key, bool) {
	for slot := range e.Schedule.Upcoming(after.Add(time.Nanosecond)) {
		breach := e.SLA.For(slot.Period, slot.FireAt, e.Schedule).Breach
		return e.Key(slot.Period), breach.After(after)
	}
	return run.Key{}, false
}

// unfiredDeadlines finds deadlines, mostly relative ones, that are past but still armed. It is the
// safety net for the tasks that fire them.
func (w *Watchdog) unfiredDeadlines(ctx context.Context, p pass) (int, error) {
	found := 0
	var failed failures
	q := store.DeadlineQuery{State: string(sla.Armed), Limit: store.MaxPage}
	for {
		page, err := w.Store.Deadlines(ctx, q)
		if err != nil {
			return found, fmt.Errorf("list armed deadlines: %w", err)
		}
		for _, d := range page.Items {
			if d.BreachAt.After(p.settled) {
				return found, failed.orNil() // they are sorted, earliest first
			}
			switch err := w.Deadlines.FireOverdue(ctx, d, p.now); {
			case err == nil:
				found++
			case everyones(ctx, err):
				return found, err
			default:
				failed = append(failed, failure{d.Key.Pipeline, err})
			}
		}
		if page.Next == "" {
			return found, failed.orNil()
		}
		q.Cursor = page.Next
	}
}
