package slamonitor

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// Reasons for cancelling a deadline.
const (
	Removed  = "removed"
	Replaced = "replaced"
	Excluded = "excluded"
	Paused   = "paused"
	Operator = "cancelled"
)

// Cancelled cancels an armed deadline for a reason.
func Cancelled(d store.Deadline, reason string, now time.Time) (store.Deadline, []event.Event) {
	if d.State != sla.Armed {
		return d, nil
	}
	d.Deadline, d.ClosedAt = d.Cancel(reason), now
	return d, []event.Event{tell(event.SLACancelled, d, "the deadline no longer applies: "+reason, event.Deadline{Reason: reason}, now)}
}

// CancelAll cancels every armed deadline of a pipeline.
func (m *Monitor) CancelAll(ctx context.Context, id pipeline.ID, reason string, now time.Time) error {
	rows, err := m.list(ctx, store.DeadlineQuery{Pipeline: id, State: string(sla.Armed)})
	if err != nil {
		return err
	}
	seen := map[run.Key]bool{}
	for _, d := range rows {
		if seen[d.Key] {
			continue
		}
		seen[d.Key] = true
		if err := m.CancelFor(ctx, d.Key, reason, now); err != nil {
			return err
		}
	}
	return nil
}

// CancelFor cancels the armed deadlines of one run.
func (m *Monitor) CancelFor(ctx context.Context, key run.Key, reason string, now time.Time) error {
	return m.cancel(ctx, key, bothKinds, reason, now)
}

// cancel cancels the armed deadlines of one run that are of these kinds. The task stays if another deadline is armed.
func (m *Monitor) cancel(ctx context.Context, key run.Key, which []store.DeadlineKind, reason string, now time.Time) error {
	return store.Again(func() error {
		rows, err := m.rows(ctx, key)
		if err != nil {
			return err
		}
		var b store.Batch
		for _, kind := range which {
			read := rows[kind]
			if d, events := Cancelled(read, reason, now); len(events) > 0 {
				b.SwapDeadline(read, d)
				b.Emit(events...)
				b.ID += fmt.Sprintf("cancel-deadline/%s/%s/v%d ", key, d.Kind, read.Version)
				rows[kind] = d
			}
		}
		if b.Empty() {
			return nil
		}
		reschedule(&b, key, rows)
		return m.store.Commit(ctx, b, now)
	})
}

// ExcludedMark is the mark that the calendar suppressed a period when it was due; package router sets it. It never
// expires: a later edit of the calendar brings back neither the period nor its deadline.
func ExcludedMark(key run.Key) string { return "excluded/" + key.String() }

// suppressed reports whether the calendar suppressed a period when it was due.
func (m *Monitor) suppressed(ctx context.Context, key run.Key) (bool, error) {
	mark := ExcludedMark(key)
	set, err := m.store.Marked(ctx, []string{mark})
	if err != nil {
		return false, fmt.Errorf("read mark %s: %w", mark, err)
	}
	return set[mark], nil
}
