// Package slamonitor maintains the ledger of deadlines: it arms them ahead of their periods,
// whether or not data ever arrives, warns and breaches on time, and cancels deadlines that a
// removal, a pause or an edit makes void. The times themselves are functions of configuration and
// period (package sla); a completion closes its deadlines in its own commit (package orchestrator).
// Silence is never success: every armed deadline ends MET, BREACHED or CANCELLED.
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

// ledger is the part of the store that the monitor uses.
type ledger interface {
	Commit(ctx context.Context, b store.Batch, now time.Time) error
	Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error)
	Run(ctx context.Context, key run.Key) (run.Run, error)
	Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error)
	store.Marks
}

// Monitor maintains deadlines.
type Monitor struct {
	store   ledger
	catalog *catalog.Catalog
}

// New returns a monitor over s for the pipelines of c.
func New(s ledger, c *catalog.Catalog) *Monitor { return &Monitor{store: s, catalog: c} }

// TaskID returns the id of the task that fires the deadlines of a run.
func TaskID(key run.Key) string { return "deadline/" + key.String() }

// rows returns the ledger rows of one run, armed or closed.
func (m *Monitor) rows(ctx context.Context, key run.Key) (map[store.DeadlineKind]store.Deadline, error) {
	page, err := m.store.Deadlines(ctx, store.DeadlineQuery{Key: key, Limit: 2})
	if err != nil {
		return nil, fmt.Errorf("read the deadlines of %s: %w", key, err)
	}
	found := map[store.DeadlineKind]store.Deadline{}
	for _, d := range page.Items {
		found[d.Kind] = d
	}
	return found, nil
}

// list returns all rows that match q.
func (m *Monitor) list(ctx context.Context, q store.DeadlineQuery) ([]store.Deadline, error) {
	var all []store.Deadline
	q.Limit = 500
	for {
		page, err := m.store.Deadlines(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read the deadlines of %s: %w", q.Pipeline, err)
		}
		all = append(all, page.Items...)
		if page.Next == "" {
			return all, nil
		}
		q.Cursor = page.Next
	}
}

// runAt returns a run; the zero Run if there is none.
func (m *Monitor) runAt(ctx context.Context, key run.Key) (run.Run, error) {
	return store.IfFound(m.store.Run(ctx, key))
}

// newEvent returns an event about a deadline. Kind and breach time distinguish it from the other
// deadline of the run, and from one that an edit put in its place. A deadline that was armed again
// may be cancelled again: its version distinguishes the cancellations.
func newEvent(t event.Type, d store.Deadline, message string, extra event.Deadline, now time.Time) event.Event {
	extra.Deadline, extra.Warned = d.BreachAt, d.Warned
	which := fmt.Sprintf("%s %s", d.Kind, d.BreachAt.UTC().Format(time.RFC3339Nano))
	if t == event.SLACancelled {
		which += fmt.Sprintf(" v%d", d.Version)
	}
	return event.New(t, event.About{
		Pipeline: d.Key.Pipeline, Schedule: d.Key.Schedule, Date: d.Key.Period, At: now, Critical: d.Critical, Which: which,
	}, message, extra)
}

// next returns when d must be checked again; zero once it is closed.
func next(d store.Deadline) time.Time {
	switch {
	case d.State != sla.Armed:
		return time.Time{}
	case !d.Warned && !d.WarnAt.IsZero():
		return d.WarnAt
	default:
		return d.BreachAt
	}
}

// reschedule moves the task of a run's deadlines to the earliest of their times, or finishes it.
func reschedule(b *store.Batch, key run.Key, rows map[store.DeadlineKind]store.Deadline) {
	var due time.Time
	for _, d := range rows {
		if at := next(d); !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	if due.IsZero() {
		b.Finish(TaskID(key))
		return
	}
	b.Schedule(store.Task{ID: TaskID(key), Kind: store.FireDeadline, Pipeline: key.Pipeline, Key: key, Due: due})
}
