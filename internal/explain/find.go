package explain

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// find determines which run is meant, and reads it.
func (b *builder) find(ctx context.Context, q Question) error {
	b.def = b.Catalog.Current().Definition(q.Pipeline)
	var err error
	if b.row, err = b.Store.Pipeline(ctx, q.Pipeline); errors.Is(err, store.ErrNotFound) && b.def == nil {
		return fmt.Errorf("%s: %w", q.Pipeline, ErrUnknownPipeline)
	} else if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("read pipeline %s: %w", q.Pipeline, err)
	}
	b.x.DryRun = b.def != nil && b.def.DryRun && !q.Real
	b.key = run.Key{Pipeline: q.Pipeline, Schedule: q.Schedule, Period: q.Period}
	if b.key.Schedule == "" && b.def != nil {
		b.key.Schedule = b.def.Opens
	}
	if err := b.choosePeriod(ctx); err != nil {
		return err
	}
	if err := b.chooseSchedule(ctx); err != nil {
		return err
	}
	return b.readRun(ctx)
}

// choosePeriod picks the newest open run if the question names no period, or else the current
// period.
func (b *builder) choosePeriod(ctx context.Context) error {
	if !b.key.Period.IsZero() {
		return nil
	}
	open, err := b.Store.OpenRuns(ctx, b.key.Pipeline)
	if err != nil {
		return fmt.Errorf("read open runs of %s: %w", b.key.Pipeline, err)
	}
	for _, r := range open {
		if b.key.Schedule == "" || r.Schedule == b.key.Schedule {
			b.key = r.Key
		}
	}
	if b.key.Period.IsZero() && b.def != nil {
		b.key.Period = b.def.Schedule.Current(b.now)
	}
	return nil
}

// maxSchedules is how many runs a period can have: one per pipeline.ScheduleID.
const maxSchedules = 3

// chooseSchedule picks the schedule of the period's run if nothing names one: that of a pipeline
// that is not active is unknown, but its runs stay. Of several runs, an open one counts, or else
// the one that changed last.
func (b *builder) chooseSchedule(ctx context.Context) error {
	if b.key.Schedule != "" || b.key.Period.IsZero() {
		return nil
	}
	page, err := b.Store.Runs(ctx, store.RunQuery{Pipeline: b.key.Pipeline, Period: b.key.Period, Limit: maxSchedules})
	if err != nil {
		return fmt.Errorf("read runs of %s for %s: %w", b.key.Pipeline, b.key.Period, err)
	}
	var chosen run.Run
	for _, r := range page.Items {
		open, before := r.Status.Open(), chosen.Status.Open()
		if chosen.Status == "" || open && !before || open == before && r.UpdatedAt.After(chosen.UpdatedAt) {
			chosen = r
		}
	}
	b.key.Schedule = chosen.Schedule
	return nil
}

func (b *builder) readRun(ctx context.Context) error {
	read := b.Store.Run
	if b.x.DryRun {
		read = b.Store.DryRun
	}
	r, err := read(ctx, b.key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read run %s: %w", b.key, err)
	}
	b.x.Run = &r
	return nil
}
