package watchdog

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// unfiredDeadlines finds deadlines, mostly relative ones, that are past but still armed. It is the safety net for the
// tasks that fire them.
func (w *Watchdog) unfiredDeadlines(ctx context.Context, p pass) (int, error) {
	found := 0
	var failed failures
	q := store.DeadlineQuery{State: string(sla.Armed), Limit: store.MaxPage}
	for {
		page, err := w.Store.Deadlines(ctx, q)
		if err != nil {
			return found, fmt.Errorf("list armed deadlines: %w", err)
		}
		seen := map[run.Key]bool{}
		for _, d := range page.Items {
			if d.BreachAt.After(p.settled) {
				return found, failed.orNil() // they are sorted, earliest first
			}
			if seen[d.Key] {
				continue
			}
			seen[d.Key] = true
			switch err := w.Deadlines.Look(ctx, d.Key, p.now); {
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
