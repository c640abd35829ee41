package slamonitor

import (
	"context"
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

// CancelAll cancels the armed deadlines of a pipeline that was removed, or whose deadlines a pause
// holds. Deadlines that passed before that stay armed: they breach.
func (m *Monitor) CancelAll(ctx context.Context, id pipeline.ID, now time.Time) error {
	return store.Again(func() error {
		on, err := m.basis(ctx, id)
		if err != nil || on.Row.Config != "" && !on.Row.HoldsSLA() {
			return err
		}
		return m.cancelVoid(ctx, id, on, now)
	})
}

// cancelVoid cancels the armed deadlines that no longer apply. Those that the file still has, at
// other times, are moved by armAhead.
func (m *Monitor) cancelVoid(ctx context.Context, id pipeline.ID, on Basis, now time.Time) error {
	rows, err := m.list(ctx, store.DeadlineQuery{Pipeline: id, State: string(sla.Armed)})
	if err != nil {
		return err
	}
	for _, read := range rows {
		why, err := m.void(ctx, on, read)
		if err != nil {
			return err
		}
		d, events := Cancelled(read, why, now)
		if why == "" || len(events) == 0 {
			continue
		}
		b := store.Batch{ID: "cancel/" + decision(read, d, now)}
		b.SwapDeadline(read, d)
		b.Emit(events...)
		plan(&b, d)
		if err := m.commit(ctx, b, id, on, now); err != nil {
			return err
		}
	}
	return nil
}

// CancelFor cancels the armed deadlines of one run, whatever its pipeline is like.
func (m *Monitor) CancelFor(ctx context.Context, key run.Key, reason string, now time.Time) error {
	return store.Again(func() error {
		var b store.Batch
		for _, kind := range bothKinds {
			read, err := m.row(ctx, key, kind)
			if err != nil {
				return err
			}
			d, events := Cancelled(read, reason, now)
			if len(events) == 0 {
				continue
			}
			b.SwapDeadline(read, d)
			b.Emit(events...)
			plan(&b, d)
			b.ID += "cancel/" + decision(read, d, now) + " "
		}
		if b.Empty() {
			return nil
		}
		return m.store.Commit(ctx, b, now)
	})
}

// suppressed reports whether a period stays closed: see store.ExcludedMark.
func (m *Monitor) suppressed(ctx context.Context, key run.Key) (bool, error) {
	return store.IsMarked(ctx, m.store, store.ExcludedMark(key))
}

// bringBack rearms cancelled deadlines whose reason for cancellation is gone, with their original
// times. It leaves those that armAhead handles alone.
func (m *Monitor) bringBack(ctx context.Context, on Basis, now time.Time) error {
	rows, err := m.list(ctx, store.DeadlineQuery{Pipeline: on.Entry.ID, State: string(sla.Cancelled), From: now})
	if err != nil {
		return err
	}
	for _, d := range rows {
		if d.Kind == store.Absolute && keeps(on.Entry) && expects(on.Entry, d.Key, d.Kind) {
			continue
		}
		if err := m.revive(ctx, on, d, now); err != nil {
			return err
		}
	}
	return nil
}

// revive rearms a cancelled deadline with its original times: its reference point has not moved. A
// deadline that has passed, or that the file no longer has, stays cancelled.
func (m *Monitor) revive(ctx context.Context, on Basis, read store.Deadline, now time.Time) error {
	if read.State != sla.Cancelled || !mayReturn(read.Reason) || !read.BreachAt.After(now) {
		return nil
	}
	waited, err := m.awaited(ctx, on.Entry, read.Key, read.Kind)
	if err != nil || dropped(on.Entry, read, waited) != "" {
		return err
	}
	if dormant, err := m.suppressed(ctx, read.Key); err != nil || dormant {
		return err
	}
	d := read
	d.State, d.Reason, d.ArmedAt, d.ClosedAt = sla.Armed, "", now, time.Time{}
	return m.put(ctx, on, read, d, now)
}

// mayReturn reports whether a deadline cancelled for that reason is rearmed once the reason is
// gone: the file is back, the pause is over, or the exclusion was lifted before it suppressed
// anything. A deadline that an operator cancelled stays cancelled.
func mayReturn(reason string) bool {
	return reason == Replaced || reason == Paused || reason == Removed || reason == Excluded
}

// void returns why an armed deadline no longer applies; "" if it does.
func (m *Monitor) void(ctx context.Context, on Basis, d store.Deadline) (string, error) {
	waited := true
	if on.Entry != nil && d.Config != on.Entry.Version {
		var err error
		if waited, err = m.awaited(ctx, on.Entry, d.Key, d.Kind); err != nil {
			return "", err
		}
	}
	return on.void(d, waited), nil
}

// void is Monitor.void, given whether a run is awaited. It judges by what was acknowledged at the
// deadline's instant: a removal, a pause or an edit after that does not undo a breach, even if the
// breach is found only later.
func (on Basis) void(d store.Deadline, waited bool) string {
	e, row := on.Entry, on.Row
	switch {
	case row.Config == "":
		return unlessAfter(row.RemovedAt, d, Removed)
	case row.HoldsSLA():
		return unlessAfter(heldSince(row), d, Paused)
	case e == nil || d.Config == e.Version:
		return ""
	}
	return unlessAfter(row.AcceptedAt, d, dropped(e, d, waited))
}

// unlessAfter returns why, or "" if the cause came after the deadline.
func unlessAfter(cause time.Time, d store.Deadline, why string) string {
	if cause.After(d.BreachAt) {
		return ""
	}
	return why
}

// heldSince returns since when a pause has held the pipeline's deadlines.
func heldSince(row store.Pipeline) time.Time {
	var since time.Time
	for _, p := range row.Pauses() {
		if p.HoldSLA && (since.IsZero() || p.Since.Before(since)) {
			since = p.Since
		}
	}
	return since
}

// dropped returns why the active file has no such deadline, at any time; "" if it has.
func dropped(e *catalog.Entry, d store.Deadline, waited bool) string {
	switch {
	case e.DryRun || !asks(e, d.Kind):
		return Replaced
	case e.Schedule.Excluded(d.Key.Period) != "":
		return Excluded
	case !waited:
		return Replaced
	}
	return ""
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
