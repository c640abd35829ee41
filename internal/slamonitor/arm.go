package slamonitor

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/schedule"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// Arm arms the coming deadlines of a pipeline; it is the handler of Arm tasks. It arms the current
// periods and the next one, cancels or moves deadlines that an edit of the file replaced, and
// reschedules itself for when the next period begins.
func (m *Monitor) Arm(ctx context.Context, claim store.Claim, now time.Time) error {
	var following time.Time
	err := store.Again(func() error {
		on, err := m.basis(ctx, claim.Task.Pipeline)
		if err != nil {
			return err
		}
		if err := m.cancelVoid(ctx, claim.Task.Pipeline, on, now); err != nil || on.Entry == nil {
			return err
		}
		following, err = m.armComing(ctx, on, now)
		return err
	})
	if err != nil {
		return err
	}
	return m.finish(ctx, claim, following, now)
}

// armComing arms the coming deadlines, and returns when to run again; zero means never. A pause
// that holds deadlines arms nothing; its end schedules the task again.
func (m *Monitor) armComing(ctx context.Context, on Basis, now time.Time) (time.Time, error) {
	e := on.Entry
	if e.DryRun || !asks(e, store.Absolute) && !asks(e, store.Relative) || on.Row.HoldsSLA() {
		return time.Time{}, nil
	}
	if err := m.bringBack(ctx, on, now); err != nil || !keeps(e) {
		return time.Time{}, err
	}
	return m.armAhead(ctx, on, now)
}

// keeps reports whether a pipeline's deadlines are armed in advance: a manual pipeline's deadline
// is armed when its run opens, a relative one when its reading arrives.
func keeps(e *catalog.Entry) bool {
	return asks(e, store.Absolute) && !e.DryRun && e.Opens != pipeline.ByHand
}

// asks reports whether the file has deadlines of a kind.
func asks(e *catalog.Entry, kind store.DeadlineKind) bool {
	if kind == store.Relative {
		return e.SLA.Max > 0
	}
	return e.SLA.Deadline != nil
}

// finish ends the claim: it moves the task, or finishes it if nothing is left to arm.
func (m *Monitor) finish(ctx context.Context, claim store.Claim, due, now time.Time) error {
	b := store.Batch{ID: fmt.Sprintf("arm/%s/%d", claim.Task.Pipeline, claim.Lease.Token), Lease: &claim.Lease}
	if due.IsZero() {
		b.Finish(claim.Task.ID)
	} else {
		task := claim.Task
		task.Due = due
		b.Schedule(task)
	}
	return m.store.Commit(ctx, b, now)
}

// lookBack is how long ago a period may have begun whose deadline is still to come.
func lookBack(e *catalog.Entry) time.Duration {
	const day = 24 * time.Hour
	if size := e.Schedule.Size(); size >= period.Day {
		return time.Duration(e.SLA.DayOffset+1)*day + size.Longest()
	}
	return 2 * day
}

// armAhead arms every expected period whose deadline is still to come, up to the first that has not
// begun, and returns when that one begins.
func (m *Monitor) armAhead(ctx context.Context, on Basis, now time.Time) (time.Time, error) {
	e := on.Entry
	for slot := range e.Schedule.Upcoming(m.from(e, now)) {
		dormant, err := m.armSlot(ctx, on, slot, now)
		if err != nil {
			return time.Time{}, err
		}
		if begins := slot.Begins(e.Schedule.Zone()); begins.After(now) && !dormant {
			return begins, nil
		}
	}
	return time.Time{}, nil // no further period: the include dates have run out
}

// from returns where to start: not before the pipeline's horizon. For pipelines without fires, the
// period of the horizon counts too.
func (m *Monitor) from(e *catalog.Entry, now time.Time) time.Time {
	horizon := e.Horizon
	if e.Opens == pipeline.ByStream {
		horizon = period.At(horizon, e.Schedule.Size(), e.Schedule.Zone()).Start(e.Schedule.Zone())
	}
	return period.Later(horizon, now.Add(-lookBack(e)))
}

// armSlot arms the deadline of one period, or moves it if the file now sets other times. A closed
// deadline, or one first seen after its breach, is left alone. dormant means that the period has no
// deadline because the calendar suppressed it.
func (m *Monitor) armSlot(ctx context.Context, on Basis, slot schedule.Slot, now time.Time) (dormant bool, err error) {
	want := on.Entry.SLA.For(slot.Period, slot.FireAt, on.Entry.Schedule)
	if want.Breach.IsZero() || !want.Breach.After(now) {
		return false, nil
	}
	return m.arm(ctx, on, armed(on.Entry, on.Entry.Key(slot.Period), store.Absolute, want, now), now)
}

// ArmOpened arms the deadline of a manually opened run when it opens. While a pause holds deadlines,
// it stores the deadline as cancelled, so that the end of the pause arms it.
func (m *Monitor) ArmOpened(ctx context.Context, key run.Key, now time.Time) error {
	return store.Again(func() error {
		on, err := m.basis(ctx, key.Pipeline)
		e := on.Entry
		if err != nil || e == nil || e.Opens != pipeline.ByHand || key.Schedule != e.Opens {
			return err
		}
		want := e.SLA.For(key.Period, time.Time{}, e.Schedule)
		if e.DryRun || want.Breach.IsZero() || !want.Breach.After(now) || e.Schedule.Excluded(key.Period) != "" {
			return nil
		}
		_, err = m.arm(ctx, on, armed(e, key, store.Absolute, want, now), now)
		return err
	})
}

// ArmRelative arms the deadline set by the first reading of the start condition, written at
// arrived. Later readings and reruns do not move it. A deadline that passed while the controller
// was down is armed too, and breaches at once. A reading for a period that is not expected arms
// none. It returns store.ErrConflict if the pipeline is no longer as the caller read it.
func (m *Monitor) ArmRelative(ctx context.Context, on Basis, p period.Period, arrived, now time.Time) error {
	e := on.Entry
	want := e.SLA.Relative(arrived)
	if e.DryRun || want.Breach.IsZero() || e.Schedule.Excluded(p) != "" {
		return nil
	}
	key := e.Key(p)
	read, err := m.row(ctx, key, store.Relative)
	if err != nil {
		return err
	}
	if read.State != "" {
		return m.revive(ctx, on, read, now)
	}
	if waited, err := m.awaited(ctx, e, key, store.Relative); err != nil || !waited {
		return err
	}
	_, err = m.arm(ctx, on, armed(e, key, store.Relative, want, now), now)
	return err
}

// armed returns a deadline that a version of the file arms.
func armed(e *catalog.Entry, key run.Key, kind store.DeadlineKind, at sla.Instants, now time.Time) store.Deadline {
	return store.Deadline{
		Key: key, Kind: kind, Config: e.Version, Critical: e.SLA.Critical, ArmedAt: now,
		Deadline: sla.Deadline{State: sla.Armed, WarnAt: at.Warn, BreachAt: at.Breach},
	}
}

// arm stores d as armed, unless it already is, was closed for good, passed before the file was
// edited, or the calendar suppressed its period (dormant).
func (m *Monitor) arm(ctx context.Context, on Basis, d store.Deadline, now time.Time) (dormant bool, err error) {
	read, err := m.row(ctx, d.Key, d.Kind)
	if err != nil {
		return false, err
	}
	switch read.State {
	case sla.Met, sla.Breached:
		return false, nil
	case sla.Cancelled:
		if !mayReturn(read.Reason) {
			return false, nil
		}
	case sla.Armed:
		if same(read, d) || read.BreachAt.Before(on.Row.AcceptedAt) {
			return false, nil
		}
	}
	if dormant, err := m.suppressed(ctx, d.Key); err != nil || dormant {
		return dormant, err
	}
	return false, m.put(ctx, on, read, d, now)
}

// put stores an armed deadline in place of the one that was read. If its run has succeeded, or a
// pause holds deadlines, it is closed at once; if an operator cancelled the run, a cancelled
// deadline stays cancelled.
func (m *Monitor) put(ctx context.Context, on Basis, read, d store.Deadline, now time.Time) error {
	var b store.Batch
	d.Version = read.Version
	if read.State == sla.Armed {
		_, events := Cancelled(read, Replaced, now)
		b.Emit(events...)
	}
	r, err := m.runAt(ctx, d.Key)
	if err != nil {
		return err
	}
	var events []event.Event
	switch done := r.SucceededAt(); {
	case !done.IsZero():
		d, events = completed(d, done, now)
	case r.Status == run.Cancelled && read.State == sla.Cancelled:
		return nil
	case on.Row.HoldsSLA():
		if read.State == sla.Cancelled {
			return nil
		}
		d, events = Cancelled(d, Paused, now)
	}
	b.ID = "arm/" + decision(read, d, now)
	b.Emit(events...)
	b.SwapDeadline(read, d)
	plan(&b, d)
	return m.commit(ctx, b, d.Key.Pipeline, on, now)
}

// same reports whether two deadlines have the same times.
func same(a, b store.Deadline) bool {
	return a.BreachAt.Equal(b.BreachAt) && a.WarnAt.Equal(b.WarnAt)
}

// Instants returns when the deadline of a period warns and breaches by the active file; zero if
// there is none.
func Instants(e *catalog.Entry, p period.Period) (warn, breach time.Time) {
	if e.Schedule.Excluded(p) != "" {
		return time.Time{}, time.Time{}
	}
	at := e.SLA.For(p, e.Schedule.FireFor(p), e.Schedule)
	return at.Warn, at.Breach
}
