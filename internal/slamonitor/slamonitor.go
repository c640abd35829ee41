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
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// ledger is the part of the store that the monitor uses.
type ledger interface {
	Commit(ctx context.Context, b store.Batch, now time.Time) error
	Run(ctx context.Context, key run.Key) (run.Run, error)
	RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error)
	OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error)
	Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error)
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

// TaskID returns the id of the task that fires one deadline of a run. Each kind has its own task, so
// a commit about one deadline cannot lose the instant of the other.
func TaskID(key run.Key, kind store.DeadlineKind) string {
	return "deadline/" + key.String() + "/" + string(kind)
}

// Basis is what a decision about a pipeline's deadlines rests on: the active version of its file,
// nil if there is none that can be read, and its row. A commit that rests on it expects the row unchanged, so that a
// pause, a removal or an edit that is acknowledged meanwhile is a conflict, and the monitor decides
// again.
type Basis struct {
	Entry *catalog.Entry
	Row   store.Pipeline
}

// basis reads the current Basis.
func (m *Monitor) basis(ctx context.Context, id pipeline.ID) (Basis, error) {
	e, row, err := m.catalog.Active(ctx, id)
	return Basis{e, row}, err
}

// commit commits b if the pipeline's row is still that of on.
func (m *Monitor) commit(ctx context.Context, b store.Batch, id pipeline.ID, on Basis, now time.Time) error {
	b.ExpectPipeline(id, on.Row)
	return m.store.Commit(ctx, b, now)
}

// row returns the ledger row of one deadline, armed or closed. If there is none, it has only its
// key and kind.
func (m *Monitor) row(ctx context.Context, key run.Key, kind store.DeadlineKind) (store.Deadline, error) {
	page, err := m.store.Deadlines(ctx, store.DeadlineQuery{Key: key, Limit: len(bothKinds)})
	if err != nil {
		return store.Deadline{}, fmt.Errorf("read the deadlines of %s: %w", key, err)
	}
	for _, d := range page.Items {
		if d.Kind == kind {
			return d, nil
		}
	}
	return store.Deadline{Key: key, Kind: kind}, nil
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
	which := fmt.Sprintf("%s %s", d.Kind, period.Exact(d.BreachAt))
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

// plan moves the task of a deadline to its next instant, or finishes it once the deadline is
// closed.
func plan(b *store.Batch, d store.Deadline) {
	id, due := TaskID(d.Key, d.Kind), next(d)
	if due.IsZero() {
		b.Finish(id)
		return
	}
	b.Schedule(store.Task{ID: id, Kind: store.FireDeadline, Pipeline: d.Key.Pipeline, Key: d.Key, Due: due})
}

// decision identifies the replacement of one ledger row by everything that distinguishes it from
// another decision about the same version of the row. Otherwise the store would take the second of
// two for a repetition of the first, and drop it.
func decision(read, d store.Deadline, now time.Time) string {
	stamp := func(at time.Time) string { return period.Exact(at) }
	return fmt.Sprintf("%s/v%d/%s/%s/%t/%s/%s/%s/%s", TaskID(d.Key, d.Kind), read.Version, d.State, d.Reason, d.Warned,
		stamp(d.WarnAt), stamp(d.BreachAt), d.Config, stamp(now))
}
