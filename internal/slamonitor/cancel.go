package slamonitor

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
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
	return d, []event.Event{newEvent(event.SLACancelled, d, "the deadline no longer applies: "+reason, event.Deadline{Reason: reason}, now)}
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

// cancel cancels the armed deadlines of one run that are of these kinds. The task stays if another
// deadline is armed.
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

// ExcludedMark is the mark that the calendar suppressed a period when it was due; package router
// sets it. It never expires: a later edit of the calendar brings back neither the period nor its
// deadline.
func ExcludedMark(key run.Key) string { return "excluded/" + key.String() }

// suppressed reports whether the calendar suppressed a period when it was due.
func (m *Monitor) suppressed(ctx context.Context, key run.Key) (bool, error) {
	return store.IsMarked(ctx, m.store, ExcludedMark(key))
}

// replace cancels armed deadlines that the file no longer has. Those that it still has, at other
// times, are moved by armAhead.
func (m *Monitor) replace(ctx context.Context, e *catalog.Entry, now time.Time) error {
	rows, err := m.list(ctx, store.DeadlineQuery{Pipeline: e.ID, State: string(sla.Armed)})
	if err != nil {
		return err
	}
	for _, d := range rows {
		if d.Config == e.Version {
			continue
		}
		why, err := m.void(ctx, e, d)
		if err == nil && why != "" {
			err = m.cancel(ctx, d.Key, []store.DeadlineKind{d.Kind}, why, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bringBack rearms cancelled deadlines whose reason for cancellation is gone, with their original
// times. It leaves those that armAhead handles alone.
func (m *Monitor) bringBack(ctx context.Context, e *catalog.Entry, now time.Time) error {
	rows, err := m.list(ctx, store.DeadlineQuery{Pipeline: e.ID, State: string(sla.Cancelled), From: now})
	if err != nil {
		return err
	}
	for _, d := range rows {
		if d.Kind == store.Absolute && keeps(e) && expects(e, d.Key, d.Kind) {
			continue
		}
		err := store.Again(func() error {
			rows, err := m.rows(ctx, d.Key)
			if err != nil {
				return err
			}
			return m.revive(ctx, e, rows, d.Kind, now)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// revive rearms one of a run's cancelled deadlines with its original times: its reference point has
// not moved. A deadline that has passed, or that the file no longer has, stays cancelled.
func (m *Monitor) revive(ctx context.Context, e *catalog.Entry, rows map[store.DeadlineKind]store.Deadline, kind store.DeadlineKind, now time.Time) error {
	d := rows[kind]
	if d.State != sla.Cancelled || !mayReturn(d.Reason) || !d.BreachAt.After(now) {
		return nil
	}
	if why, err := m.void(ctx, e, d); err != nil || why != "" {
		return err
	}
	if dormant, err := m.suppressed(ctx, d.Key); err != nil || dormant {
		return err
	}
	d.State, d.Reason, d.ArmedAt, d.ClosedAt = sla.Armed, "", now, time.Time{}
	return m.put(ctx, rows, d, now)
}

// mayReturn reports whether a deadline cancelled for that reason is rearmed once the reason is
// gone: the file is back, the pause is over, or the exclusion was lifted before it suppressed
// anything. A deadline that an operator cancelled stays cancelled.
func mayReturn(reason string) bool {
	return reason == Replaced || reason == Paused || reason == Removed || reason == Excluded
}

// void returns why the active file has no such deadline, at any time; "" if it has.
func (m *Monitor) void(ctx context.Context, e *catalog.Entry, d store.Deadline) (string, error) {
	switch {
	case e.DryRun || !asks(e, d.Kind):
		return Replaced, nil
	case e.Schedule.Excluded(d.Key.Period) != "":
		return Excluded, nil
	}
	waited, err := m.awaited(ctx, e, d.Key, d.Kind)
	if err != nil || waited {
		return "", err
	}
	return Replaced, nil
}

// awaited reports whether a run is expected, or already open, whatever the file says now.
func (m *Monitor) awaited(ctx context.Context, e *catalog.Entry, key run.Key, kind store.DeadlineKind) (bool, error) {
	if expects(e, key, kind) {
		return true, nil
	}
	r, err := m.runAt(ctx, key)
	return r.Attempt > 0, err
}

// expects reports whether the active file expects a run: by a fire after the horizon or, without
// fires, because the period exists. A reading of the start condition opens any period it names.
func expects(e *catalog.Entry, key run.Key, kind store.DeadlineKind) bool {
	switch {
	case key.Schedule != e.Opens:
		return false
	case e.Opens == pipeline.ByCron:
		fire := e.Schedule.FireFor(key.Period)
		return !fire.IsZero() && !fire.Before(e.Horizon)
	case kind == store.Relative:
		return true
	}
	for p := range e.Schedule.Expected(key.Period) {
		return p == key.Period // otherwise it has another size
	}
	return false
}
