package timeline

import (
	"context"
	"errors"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/store"
)

// How many dry runs of a lane are read individually, and from events. The latter is enough for
// every minute of 100 days.
const (
	maxMarkers   = 100
	maxDryEvents = 150_000
)

// dryRuns adds the dry runs of a pipeline that has only those: from their rows, while these are
// kept, and from their events.
func (b *builder) dryRuns(ctx context.Context) error {
	if !b.e.DryRun {
		return nil
	}
	var recent []schedule.Slot
	oldest := b.reader.now.Add(-store.DryRunLife)
	for slot := range b.slots() {
		if !slot.Period.End(b.zone).Before(oldest) {
			recent = append(recent, slot)
		}
	}
	for _, slot := range recent[max(0, len(recent)-maxMarkers):] {
		r, err := b.reader.Store.DryRun(ctx, b.e.Key(slot.Period))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		b.add(b.ofDryRun(r))
	}
	return b.dryEvents(ctx)
}

func (b *builder) ofDryRun(r run.Run) Slot {
	s := b.ofRun(r)
	s.DryRun = true
	if s.Phase == Phase(run.Done) {
		s.Phase = WouldStart
	}
	return s
}

// dryEvents adds the dry runs whose rows are gone. Those that would have started take precedence
// over those that ended.
func (b *builder) dryEvents(ctx context.Context) error {
	seen := map[run.Key]bool{}
	for _, t := range []event.Type{event.DryRunWouldTrigger, event.DryRunCompleted} {
		status := run.Completed
		if t == event.DryRunCompleted {
			status = run.ValidationExhausted
		}
		err := b.events(ctx, t, maxDryEvents, func(e event.Event) {
			r := run.Run{Key: keyOf(e), Status: status, Attempt: max(e.Detail.Attempt, 1), OpenedAt: e.Time, EndedAt: e.Time}
			if !seen[r.Key] && !r.Period.IsZero() {
				seen[r.Key] = true
				b.add(b.ofDryRun(r))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
