package slamonitor

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// Fire warns or breaches a run's deadlines when due; it is the handler of FireDeadline tasks. If it
// is called too early, or twice, it only moves the task.
func (m *Monitor) Fire(ctx context.Context, claim store.Claim, now time.Time) error {
	return store.Again(func() error { return m.fire(ctx, claim.Task.Key, &claim.Lease, now) })
}

// FireOverdue is Fire without a claim, for a deadline found to be overdue.
func (m *Monitor) FireOverdue(ctx context.Context, key run.Key, now time.Time) error {
	return store.Again(func() error { return m.fire(ctx, key, nil, now) })
}

func (m *Monitor) fire(ctx context.Context, key run.Key, lease *store.Lease, now time.Time) error {
	rows, err := m.rows(ctx, key)
	if err != nil {
		return err
	}
	r, err := m.runAt(ctx, key)
	if err != nil {
		return err
	}
	dormant, err := m.suppressed(ctx, key)
	if err != nil {
		return err
	}
	b := store.Batch{ID: fmt.Sprintf("deadline/%s/v%d/v%d/%d", key, rows[store.Absolute].Version, rows[store.Relative].Version, now.UnixNano()), Lease: lease}
	for _, kind := range bothKinds {
		read := rows[kind]
		if d, events := evaluate(read, r, dormant, now); len(events) > 0 {
			b.SwapDeadline(read, d)
			b.Emit(events...)
			rows[kind] = d
		}
	}
	reschedule(&b, key, rows)
	return m.store.Commit(ctx, b, now)
}

// evaluate returns the state of a deadline at now, and the events to emit. The calendar may have
// suppressed the period after the deadline was armed: a fire during downtime is judged by the file
// of its time.
func evaluate(d store.Deadline, r run.Run, dormant bool, now time.Time) (store.Deadline, []event.Event) {
	switch {
	case d.State != sla.Armed:
		return d, nil
	case r.Status == run.Completed:
		return completed(d, r.EndedAt, now)
	case dormant:
		return Cancelled(d, Excluded, now)
	}
	var events []event.Event
	breached, err := d.Breach(now)
	if !d.Warned && !d.WarnAt.IsZero() && !now.Before(d.WarnAt) && err != nil {
		d.Warned = true
		message := fmt.Sprintf("due at %s: %s", period.Stamp(d.BreachAt), stands(r))
		events = append(events, newEvent(kinds[d.Kind].warning, d, message, event.Deadline{Failed: failed(r)}, now))
	}
	if err == nil {
		d.Deadline, d.ClosedAt = breached, now
		events = append(events, breachEvent(d, r, now))
	}
	return d, events
}

// completed closes an armed deadline for a run that completed at that time: MET, or BREACHED if the
// run completed after the breach time. A completion time after now was recorded by a clock that ran
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

// Close closes the armed deadlines of a completed run, and records on breached ones when the run
// completed after all.
func Close(deadlines []store.Deadline, r run.Run) Closings {
	var all Closings
	for _, d := range deadlines {
		closed, events := completed(d, r.EndedAt, r.UpdatedAt)
		late := d.State == sla.Breached && d.DoneAt.IsZero()
		if late {
			closed.DoneAt = r.EndedAt
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
// severity is INFO, to avoid a second alert.
func breachEvent(d store.Deadline, r run.Run, now time.Time) event.Event {
	message := fmt.Sprintf("not completed by %s: %s", period.Stamp(d.BreachAt), stands(r))
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
