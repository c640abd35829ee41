package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
)

// bar is the calendar's reason against a period; empty if there is none.
type bar struct {
	why      string
	recorded bool // it is already recorded
}

// barred returns why the calendar excludes a period now, or did when it was due.
func (c *core) barred(ctx context.Context, e *catalog.Entry, key run.Key) (bar, error) {
	mark := slamonitor.ExcludedMark(key)
	set, err := c.store.Marked(ctx, []string{mark})
	if err != nil {
		return bar{}, fmt.Errorf("read mark %s: %w", mark, err)
	}
	why := e.Schedule.Excluded(key.Period)
	if why == "" && set[mark] {
		why = "excluded when it was due"
	}
	return bar{why: why, recorded: set[mark]}, nil
}

// exclude records once that the calendar suppressed a period.
func (c *core) exclude(ctx context.Context, key run.Key, barred bar, now time.Time) error {
	if barred.recorded {
		return nil
	}
	b := store.Batch{ID: "exclude/" + key.String()}
	suppress(&b, key, barred.why, now)
	if err := c.commit(ctx, b, now); err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil // a conflict means that it is already recorded
}

func suppress(b *store.Batch, key run.Key, why string, now time.Time) {
	b.SetMark(slamonitor.ExcludedMark(key), time.Time{})
	about := event.About{Pipeline: key.Pipeline, Schedule: key.Schedule, Date: key.Period, At: now}
	b.Emit(event.New(event.PipelineExcluded, about, "the calendar suppresses this period: "+why, event.Exclusion{Rule: why}))
}
