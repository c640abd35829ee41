package slamonitor

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
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
	id := claim.Task.Pipeline
	// The version that scheduled this may not be in memory yet, if it was accepted just now or by
	// another replica.
	if err := m.catalog.Refresh(ctx, id); err != nil {
		return err
	}
	entry := m.catalog.Current().Get(id)
	if entry == nil {
		if err := m.CancelAll(ctx, id, Removed, now); err != nil {
			return err
		}
		return m.finish(ctx, claim, time.Time{}, now)
	}
	if err := m.replace(ctx, entry, now); err != nil {
		return err
	}
	following, err := m.armComing(ctx, entry, now)
	if err != nil {
		return err
	}
	return m.finish(ctx, claim, following, now)
}

// armComing arms the coming deadlines, and returns when to run again; zero means never. A pause
// that holds deadlines arms nothing; its end schedules the task again.
func (m *Monitor) armComing(ctx context.Context, e *catalog.Entry, now time.Time) (time.Time, error) {
	if e.DryRun || !asks(e, store.Absolute) && !asks(e, store.Relative) {
		return time.Time{}, nil
	}
	row, err := m.store.Pipeline(ctx, e.ID)
	if err != nil || row.HoldsSLA() {
		return time.Time{}, err
	}
	if err := m.bringBack(ctx, e, now); err != nil || !keeps(e) {
		return time.Time{}, err
	}
	return m.armAhead(ctx, e, now)
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
func (m *Monitor) armAhead(ctx context.Context, e *catalog.Entry, now time.Time) (time.Time, error) {
	for slot := range e.Schedule.Upcoming(m.from(e, now)) {
		dormant, err := m.armSlot(ctx, e, slot, now)
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
func (m *Monitor) armSlot(ctx context.Context, e *catalog.Entry, slot schedule.Slot, now time.Time) (dormant bool, err error) {
	key := e.Key(slot.Period)
	want := e.SLA.For(slot.Period, slot.FireAt, e.Schedule)
	if want.Breach.IsZero() || !want.Breach.After(now) {
		return false, nil
	}
	err = store.Again(func() error {
		dormant, err = m.arm(ctx, e, key, store.Absolute, want, now)
		return err
	})
	return dormant, err
}

// ArmOpened arms the deadline of a manually opened run when it opens.
func (m *Monitor) ArmOpened(ctx context.Context, e *catalog.Entry, key run.Key, now time.Time) error {
	want := e.SLA.For(key.Period, time.Time{}, e.Schedule)
	if e.DryRun || want.Breach.IsZero() || !want.Breach.After(now) || e.Schedule.Excluded(key.Period) != "" {
		return nil
	}
	return store.Again(func() error {
		_, err := m.arm(ctx, e, key, store.Absolute, want, now)
		return err
	})
}

// ArmRelative arms the deadline set by the first reading of the start condition, written at
// arrived. Later readings and reruns do not move it. A deadline that passed while the controller
// was down is armed too, and breaches at once. A reading for a period that is not expected arms
// none.
func (m *Monitor) ArmRelative(ctx context.Context, e *catalog.Entry, p period.Period, arrived, now time.Time) error {
	want := e.SLA.Relative(arrived)
	if e.DryRun || want.Breach.IsZero() || e.Schedule.Excluded(p) != "" {
		return nil
	}
	key := e.Key(p)
	return store.Again(func() error {
		rows, err := m.rows(ctx, key)
		if err != nil {
			return err
		}
		if _, there := rows[store.Relative]; there {
			return m.revive(ctx, e, rows, store.Relative, now)
		}
		if waited, err := m.awaited(ctx, e, key, store.Relative); err != nil || !waited {
			return err
		}
		_, err = m.arm(ctx, e, key, store.Relative, want, now)
		return err
	})
}

// arm stores one deadline as armed, unless it already is, was closed for good, or the calendar
// suppressed its period (dormant).
func (m *Monitor) arm(ctx context.Context, e *catalog.Entry, key run.Key, kind store.DeadlineKind, want sla.Instants, now time.Time) (dormant bool, err error) {
	rows, err := m.rows(ctx, key)
	if err != nil {
		return false, err
	}
	read, there := rows[kind]
	if there && (read.State != sla.Armed && !mayReturn(read.Reason) || same(read, want) && read.State == sla.Armed) {
		return false, nil
	}
	if dormant, err := m.suppressed(ctx, key); err != nil || dormant {
		return dormant, err
	}
	return false, m.put(ctx, rows, store.Deadline{
		Key: key, Kind: kind, Config: e.Version, Critical: e.SLA.Critical, ArmedAt: now,
		Deadline: sla.Deadline{State: sla.Armed, WarnAt: want.Warn, BreachAt: want.Breach},
	}, now)
}

// put stores an armed deadline in place of the one in rows. If its run has completed, it is closed
// at once; if an operator cancelled the run, a cancelled deadline stays cancelled.
func (m *Monitor) put(ctx context.Context, rows map[store.DeadlineKind]store.Deadline, d store.Deadline, now time.Time) error {
	read := rows[d.Kind]
	b := store.Batch{ID: fmt.Sprintf("arm/%s/%s/v%d", d.Key, d.Kind, read.Version)}
	if read.State == sla.Armed {
		_, events := Cancelled(read, Replaced, now)
		b.Emit(events...)
	}
	r, err := m.runAt(ctx, d.Key)
	if err != nil {
		return err
	}
	switch {
	case r.Status == run.Completed:
		done, events := completed(d, r.EndedAt, now)
		d = done
		b.Emit(events...)
	case r.Status == run.Cancelled && read.State == sla.Cancelled:
		return nil
	}
	b.SwapDeadline(read, d)
	rows[d.Kind] = d
	reschedule(&b, d.Key, rows)
	return m.store.Commit(ctx, b, now)
}

// same reports whether an armed deadline already has those times.
func same(d store.Deadline, want sla.Instants) bool {
	return d.BreachAt.Equal(want.Breach) && d.WarnAt.Equal(want.Warn)
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
