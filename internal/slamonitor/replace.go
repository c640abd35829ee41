package slamonitor

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// replace cancels armed deadlines that the file no longer has. Those that it still has, at other times, are moved by
// armAhead.
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

// bringBack rearms cancelled deadlines whose reason for cancellation is gone, with their original times. It leaves
// those that armAhead handles alone.
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

// revive rearms one of a run's cancelled deadlines with its original times: its reference point has not moved. A
// deadline that has passed, or that the file no longer has, stays cancelled.
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

// mayReturn reports whether a deadline cancelled for that reason is rearmed once the reason is gone: the file is
// back, the pause is over, or the exclusion was lifted before it suppressed anything. A deadline that an operator
// cancelled stays cancelled.
func mayReturn(reason string) bool {
	return reason == Replaced || reason == Paused || reason == Removed || reason == Excluded
}

// void returns why the file in force has no such deadline, at any time; "" if it has.
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

// expects reports whether the file in force expects a run: by a fire after the horizon or, without fires, because the
// period exists. A reading of the start condition opens any period it names.
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
