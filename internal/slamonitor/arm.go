package slamonitor

import (
	"context"
	"errors"
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

// Arm arms the coming deadlines of a pipeline: it is the handler of Arm tasks. It sees to the periods that are under way
// and to the next one, cancels or moves what an edit of the file replaced, and comes back when the next one begins.
func (m *Monitor) Arm(ctx context.Context, claim store.Claim, now time.Time) error {
	id := claim.Task.Pipeline
	// The version that asks for this may have been accepted so lately, or elsewhere, that it is not known here yet.
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

// armComing arms what is to come, and says when to come back; never, if that is zero. A pause that holds deadlines arms
// nothing; its end stores the task anew.
func (m *Monitor) armComing(ctx context.Context, e *catalog.Entry, now time.Time) (time.Time, error) {
	if !keeps(e) {
		return time.Time{}, nil
	}
	row, err := m.store.Pipeline(ctx, e.ID)
	if err != nil {
		return time.Time{}, fmt.Errorf("read pipeline %s: %w", e.ID, err)
	}
	switch p := row.Pause; {
	case !p.HoldSLA:
		return m.armAhead(ctx, e, now)
	case p.Until.After(now):
		return p.Until, nil
	default: // to come back at an instant that has passed would be to come back at once, again and again
		return time.Time{}, nil
	}
}

// keeps says whether deadlines of a pipeline are armed ahead at all: a manual one's is armed when its run opens.
func keeps(e *catalog.Entry) bool {
	return e.SLA.Deadline != nil && !e.DryRun && e.Opens != pipeline.ByHand
}

// finish ends the claim: the task is moved, or done with if there is nothing more to come.
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

// replace cancels armed deadlines that the file no longer asks for. Those it still asks for, at other instants, are moved
// by armAhead.
func (m *Monitor) replace(ctx context.Context, e *catalog.Entry, now time.Time) error {
	rows, err := m.armed(ctx, e.ID)
	if err != nil {
		return err
	}
	for _, d := range rows {
		if d.Config == e.Version || stillAsked(e, d) {
			continue
		}
		if err := m.CancelFor(ctx, d.Key, Replaced, now); err != nil {
			return err
		}
	}
	return nil
}

// stillAsked says whether the file in force asks for a deadline of that run, at whatever instant.
func stillAsked(e *catalog.Entry, d store.Deadline) bool {
	if d.Key.Schedule != e.Opens || e.DryRun || e.Schedule.Excluded(d.Key.Period) != "" {
		return false
	}
	if d.Kind == store.Relative {
		return e.SLA.Max > 0
	}
	return !e.SLA.For(d.Key.Period, e.Schedule.FireFor(d.Key.Period), e.Schedule).Breach.IsZero()
}

// lookBack is how far back a period may have begun whose deadline is still to come.
func lookBack(e *catalog.Entry) time.Duration {
	const day = 24 * time.Hour
	if e.Schedule.Size() == period.Day {
		return time.Duration(e.SLA.DayOffset+3) * day
	}
	return 2 * day
}

// armAhead arms every expected period whose deadline is still to come, up to the first that has not begun, and gives the
// instant at which that one begins.
func (m *Monitor) armAhead(ctx context.Context, e *catalog.Entry, now time.Time) (time.Time, error) {
	for slot := range e.Schedule.Slots(m.from(e, now)) {
		begins := slot.FireAt
		if begins.IsZero() {
			begins = slot.Period.Start(e.Schedule.Zone())
		}
		if slot.Excluded == "" {
			if err := m.armSlot(ctx, e, slot, now); err != nil {
				return time.Time{}, err
			}
			if begins.After(now) {
				return begins, nil
			}
		}
	}
	return time.Time{}, nil // include dates have run out
}

// from is where to begin looking: not before the pipeline's horizon, whose own period counts where nothing fires.
func (m *Monitor) from(e *catalog.Entry, now time.Time) time.Time {
	horizon := e.Horizon
	if e.Opens == pipeline.ByStream {
		horizon = period.At(horizon, e.Schedule.Size(), e.Schedule.Zone()).Start(e.Schedule.Zone())
	}
	if back := now.Add(-lookBack(e)); back.After(horizon) {
		return back
	}
	return horizon
}

// armSlot arms the deadline of one period, or moves it where the file asks for other instants now. What was closed, or is
// first seen after its breach, is left alone.
func (m *Monitor) armSlot(ctx context.Context, e *catalog.Entry, slot schedule.Slot, now time.Time) error {
	key := run.Key{Pipeline: e.ID, Schedule: e.Opens, Period: slot.Period}
	want := e.SLA.For(slot.Period, slot.FireAt, e.Schedule)
	if want.Breach.IsZero() || !want.Breach.After(now) {
		return nil
	}
	return again(func() error { return m.arm(ctx, e, key, store.Absolute, want, now) })
}

// ArmOpened arms the deadline of a run that only people open, when it opens.
func (m *Monitor) ArmOpened(ctx context.Context, e *catalog.Entry, key run.Key, now time.Time) error {
	want := e.SLA.For(key.Period, time.Time{}, e.Schedule)
	if e.DryRun || want.Breach.IsZero() || !want.Breach.After(now) {
		return nil
	}
	return again(func() error { return m.arm(ctx, e, key, store.Absolute, want, now) })
}

// ArmRelative arms the deadline that the first reading of the start condition sets, written at arrived. Later readings
// and reruns do not move it. One whose instant has passed while nobody was there is armed, too, and breached at once.
func (m *Monitor) ArmRelative(ctx context.Context, e *catalog.Entry, p period.Period, arrived, now time.Time) error {
	want := e.SLA.Relative(arrived)
	if e.DryRun || want.Breach.IsZero() || e.Schedule.Excluded(p) != "" {
		return nil
	}
	key := run.Key{Pipeline: e.ID, Schedule: e.Opens, Period: p}
	return again(func() error {
		rows, err := m.rows(ctx, key)
		if err != nil {
			return err
		}
		if _, there := rows[store.Relative]; there {
			return nil
		}
		return m.arm(ctx, e, key, store.Relative, want, now)
	})
}

// arm stores one deadline as armed, unless it stands so already or was closed for good.
func (m *Monitor) arm(ctx context.Context, e *catalog.Entry, key run.Key, kind store.DeadlineKind, want sla.Instants, now time.Time) error {
	rows, err := m.rows(ctx, key)
	if err != nil {
		return err
	}
	read, there := rows[kind]
	if there && (read.State != sla.Armed && !mayReturn(read.Reason) || same(read, want) && read.State == sla.Armed) {
		return nil
	}
	b := store.Batch{ID: fmt.Sprintf("arm/%s/%s/v%d", key, kind, read.Version)}
	if there && read.State == sla.Armed {
		_, events := Cancelled(read, Replaced, now)
		b.Emit(events...)
	}
	d := store.Deadline{
		Key: key, Kind: kind, Config: e.Version, Critical: e.SLA.Critical, ArmedAt: now,
		Deadline: sla.Deadline{State: sla.Armed, WarnAt: want.Warn, BreachAt: want.Breach},
	}
	r, err := m.runAt(ctx, key)
	if err != nil {
		return err
	}
	if r.Status == run.Completed {
		done, events := Completed(d, r.EndedAt, now)
		d = done
		b.Emit(events...)
	}
	b.SwapDeadline(read, d)
	rows[kind] = d
	reschedule(&b, key, rows)
	err = m.store.Commit(ctx, b, now)
	if errors.Is(err, store.ErrConflict) {
		return err
	}
	if err != nil {
		return fmt.Errorf("arm the deadline of %s: %w", key, err)
	}
	return nil
}

// mayReturn says whether a deadline cancelled for that reason counts again once the reason is gone: the file is back, the
// pause is over. What a person or the calendar ended stays so.
func mayReturn(reason string) bool {
	return reason == Replaced || reason == Paused || reason == Removed
}

// same says whether an armed deadline has those instants already.
func same(d store.Deadline, want sla.Instants) bool {
	return d.BreachAt.Equal(want.Breach) && d.WarnAt.Equal(want.Warn)
}
