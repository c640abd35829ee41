package slamonitor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// Fire warns of a deadline, or breaches it, when due; it is the handler of FireDeadline tasks. If it
// is called too early, or twice, it only moves the task.
func (m *Monitor) Fire(ctx context.Context, claim store.Claim, now time.Time) error {
	for _, kind := range bothKinds {
		if claim.Task.ID == TaskID(claim.Task.Key, kind) {
			return m.fire(ctx, claim.Task.Key, kind, &claim.Lease, now)
		}
	}
	return fmt.Errorf("fire task %s: it names no deadline of run %s", claim.Task.ID, claim.Task.Key)
}

// FireOverdue is Fire without a claim, for a deadline found to be overdue.
func (m *Monitor) FireOverdue(ctx context.Context, d store.Deadline, now time.Time) error {
	return m.fire(ctx, d.Key, d.Kind, nil, now)
}

func (m *Monitor) fire(ctx context.Context, key run.Key, kind store.DeadlineKind, lease *store.Lease, now time.Time) error {
	return store.Again(func() error {
		on, err := m.basis(ctx, key.Pipeline)
		if err != nil {
			return err
		}
		read, err := m.row(ctx, key, kind)
		if err != nil {
			return err
		}
		edited, events := on.edited(read, now)
		d, more, err := m.evaluate(ctx, on, edited, now)
		if err != nil {
			return err
		}
		events = append(events, more...)
		b := store.Batch{ID: "fire/" + decision(read, d, now), Lease: lease}
		if len(events) > 0 {
			b.SwapDeadline(read, d)
			b.Emit(events...)
		}
		plan(&b, d)
		return m.commit(ctx, b, key.Pipeline, on, now)
	})
}

// edited returns a deadline with the times that the active file gives it, if its Arm task has not
// run yet. An edit that was acknowledged before the deadline's instant counts, even if both are
// found later; times that had passed by then do not.
func (on Basis) edited(d store.Deadline, now time.Time) (store.Deadline, []event.Event) {
	e := on.Entry
	if e == nil || d.State != sla.Armed || d.Kind != store.Absolute || d.Config == e.Version || d.BreachAt.Before(on.Row.AcceptedAt) {
		return d, nil
	}
	if !keeps(e) || !expects(e, d.Key, d.Kind) || e.Schedule.Excluded(d.Key.Period) != "" {
		return d, nil
	}
	next := armed(e, d.Key, d.Kind, e.SLA.For(d.Key.Period, e.Schedule.FireFor(d.Key.Period), e.Schedule), now)
	if same(d, next) || !next.BreachAt.After(on.Row.AcceptedAt) {
		return d, nil
	}
	next.Version = d.Version
	_, events := Cancelled(d, Replaced, now)
	return next, events
}

// evaluate returns the state of a deadline at now, and the events to emit. A success that has been
// acknowledged closes the deadline, even if its run has not been completed yet. The calendar may
// have suppressed the period after the deadline was armed: a fire during downtime is judged by the
// file of its time.
func (m *Monitor) evaluate(ctx context.Context, on Basis, d store.Deadline, now time.Time) (store.Deadline, []event.Event, error) {
	if d.State != sla.Armed {
		return d, nil, nil
	}
	r, err := m.runAt(ctx, d.Key)
	if err != nil {
		return d, nil, err
	}
	if done := r.SucceededAt(); !done.IsZero() {
		d, events := on.succeeded(d, done, now)
		return d, events, nil
	}
	why, err := m.void(ctx, on, d)
	if err != nil {
		return d, nil, err
	}
	if dormant, err := m.suppressed(ctx, d.Key); err != nil || dormant {
		d, events := Cancelled(d, Excluded, now)
		return d, events, err
	}
	if why != "" {
		d, events := Cancelled(d, why, now)
		return d, events, nil
	}
	unmet := ""
	if due := next(d); !due.IsZero() && !now.Before(due) {
		if unmet, err = m.unmet(ctx, on, r, d.Key, now); err != nil {
			return d, nil, err
		}
	}
	d, events := warnOrBreach(d, r, unmet, now)
	return d, events, nil
}

// unmet names the rules that a run waits for, or that would open it; "" if it waits for none.
func (m *Monitor) unmet(ctx context.Context, on Basis, r run.Run, key run.Key, now time.Time) (string, error) {
	waits := r.Status == "" || r.Status == run.Pending || r.Status == run.ValidationExhausted
	if on.Entry == nil || !waits {
		return "", nil
	}
	def := on.Entry.Definition
	q := gate.Question{Definition: def, Upstream: m.catalog.Current().Definition, Period: key.Period, Opened: r.Progress.WindowStart}
	if def.Start != nil && r.Attempt == 0 && r.Status != run.Pending { // it opens the run
		q.Gate = def.Start.Gate
	}
	view, err := gate.Evaluate(ctx, m.store, q, now)
	if err != nil {
		return "", err
	}
	return view.Unmet(now), nil
}

// warnOrBreach warns of a deadline whose run has not succeeded, or breaches it, if it is time.
func warnOrBreach(d store.Deadline, r run.Run, unmet string, now time.Time) (store.Deadline, []event.Event) {
	var events []event.Event
	breached, err := d.Breach(now)
	if !d.Warned && !d.WarnAt.IsZero() && !now.Before(d.WarnAt) && err != nil {
		d.Warned = true
		message := fmt.Sprintf("due at %s: %s", period.Stamp(d.BreachAt), stands(r)+unmet)
		events = append(events, newEvent(kinds[d.Kind].warning, d, message, event.Deadline{Failed: failed(r)}, now))
	}
	if err == nil {
		d.Deadline, d.ClosedAt = breached, now
		events = append(events, breachEvent(d, r, unmet, now))
	}
	return d, events
}

// succeeded closes an armed deadline for a run whose success was acknowledged at that time. A
// deadline that no longer applied at its instant is not breached.
func (on Basis) succeeded(d store.Deadline, at, now time.Time) (store.Deadline, []event.Event) {
	if at.After(d.BreachAt) {
		if why := on.void(d, true); why != "" {
			return Cancelled(d, why, now)
		}
	}
	return completed(d, at, now)
}

// completed closes an armed deadline for a run whose success was acknowledged at that time: MET, or
// BREACHED if that was after the breach time. A time after now was recorded by a clock that ran
// ahead, and counts as now.
func completed(d store.Deadline, at, now time.Time) (store.Deadline, []event.Event) {
	if d.State != sla.Armed {
		return d, nil
	}
	at = period.Earlier(at, now)
	d.Deadline, d.ClosedAt, d.DoneAt = d.Complete(at), now, at
	if d.State == sla.Breached {
		late := at.Sub(d.BreachAt)
		return d, []event.Event{newEvent(kinds[d.Kind].breach, d, fmt.Sprintf("completed %s after its deadline", late.Round(time.Second)),
			event.Deadline{LateSeconds: int64(late.Seconds())}, now)}
	}
	message := fmt.Sprintf("completed %s before its deadline", d.BreachAt.Sub(at).Round(time.Second))
	return d, []event.Event{newEvent(event.SLAMet, d, message, event.Deadline{}, now)}
}

// Closings are the effects of a run's completion on its deadlines.
type Closings []closing

type closing struct {
	read, closed store.Deadline
	events       []event.Event // none if the breach was reported before
}

// Late reports whether a completed run missed a deadline that is still armed. Its end then depends
// on the pipeline, and so must the commit that stores it.
func Late(deadlines []store.Deadline, r run.Run) bool {
	return slices.ContainsFunc(deadlines, func(d store.Deadline) bool {
		return d.State == sla.Armed && r.SucceededAt().After(d.BreachAt)
	})
}

// Close closes the armed deadlines of a completed run, and records on breached ones when the run
// succeeded after all. If it is Late, on is the pipeline. A reported breach stands: its run is never
// earlier than its deadline.
func Close(deadlines []store.Deadline, r run.Run, on Basis) Closings {
	var all Closings
	for _, d := range deadlines {
		done := r.SucceededAt()
		closed, events := d, []event.Event(nil)
		if d.State == sla.Armed {
			edited, replaced := on.edited(d, r.UpdatedAt)
			closed, events = on.succeeded(edited, done, r.UpdatedAt)
			events = append(replaced, events...)
		}
		late := d.State == sla.Breached && d.DoneAt.IsZero()
		if late {
			closed.DoneAt = period.Later(done, d.BreachAt)
		}
		if len(events) > 0 || late {
			all = append(all, closing{d, closed, events})
		}
	}
	return all
}

// Put adds the closed deadlines and their events to the commit that completes the run.
func (all Closings) Put(b *store.Batch) {
	for _, c := range all {
		b.SwapDeadline(c.read, c.closed)
		b.Emit(c.events...)
	}
}

// FinishTasks finishes the tasks of the closed deadlines in b, which must keep room for more rows. On
// AWS nothing is called at their instants any more. A task that finds no room stays until it is due, and
// then does nothing.
func (all Closings) FinishTasks(b *store.Batch, room int) {
	for _, c := range all {
		if b.Rows()+room < store.MaxRows {
			plan(b, c.closed)
		}
	}
}

// Lateness says by how much the run missed a deadline whose breach was reported before; if there
// are two, the first.
func (all Closings) Lateness() string {
	for _, c := range all {
		if len(c.events) == 0 {
			return fmt.Sprintf("; %s after its deadline", c.closed.DoneAt.Sub(c.closed.BreachAt).Round(time.Second))
		}
	}
	return ""
}

// bothKinds lists the kinds in the order of their events.
var bothKinds = []store.DeadlineKind{store.Absolute, store.Relative}

// kinds maps each kind of deadline to its events.
var kinds = map[store.DeadlineKind]struct{ warning, breach event.Type }{
	store.Absolute: {event.SLAWarning, event.SLABreach},
	store.Relative: {event.RelativeSLAWarning, event.RelativeSLABreach},
}

// breachEvent returns the event for a breach. If the run's final failure was already reported, its
// severity is INFO, to avoid a second alert. unmet names the rules that the run waits for.
func breachEvent(d store.Deadline, r run.Run, unmet string, now time.Time) event.Event {
	message := fmt.Sprintf("not completed by %s: %s", period.Stamp(d.BreachAt), stands(r)+unmet)
	e := newEvent(kinds[d.Kind].breach, d, message, event.Deadline{Failed: failed(r)}, now)
	if exhausted(r) {
		e.Detail.Severity = event.Info
	}
	return e
}

// exhausted reports whether RETRY_EXHAUSTED was emitted for the latest attempt: it has a result,
// unlike attempts ended by poll windows and most time limits, and the run was not ended by the time
// limit of an attempt whose failure had not been handled.
func exhausted(r run.Run) bool {
	return r.Status == run.FailedFinal && r.Progress.Report.Result != "" && !r.TimedOut()
}

// failed reports whether a run ended without completing.
func failed(r run.Run) bool { return r.Status.Ended() && r.Status != run.Completed }

// stands describes the state of a run.
func stands(r run.Run) string {
	switch {
	case r.Status == "":
		return "there is no run yet"
	case r.StartDeadlinePassed && r.Attempt == 0:
		return "its start condition was not met before its own deadline"
	}
	return fmt.Sprintf("attempt %d is %s", r.Attempt, r.Status)
}
