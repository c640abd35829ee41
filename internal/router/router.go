// Package router reacts to what changed in the store and opens runs: it is the only place where a run, or a further
// attempt of one, begins. A reading, a run or a pipeline that moved comes in through Handle, a fire or the end of a pause
// as a task, a person's wish through the methods of operator.go.
//
// Every reaction reads the current state, decides, and commits one Batch; what it reacts to only says where to look. So
// a change may come twice, late, or before another that happened first, and the outcome is the same. What an open
// attempt does next is package orchestrator's business; whether another may open is decided in package rerun; which
// deadlines are armed, in package slamonitor. The router starts no job: where one can start at once, package orchestrator puts that
// into the commit that opens the run, and goes on from there.
package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// records is what the router needs of a store.
type records interface {
	store.Committer
	store.Sensors
	store.Reader
}

// deadlines is what the router asks of package slamonitor. All of it may be asked twice.
type deadlines interface {
	ArmOpened(ctx context.Context, e *catalog.Entry, key run.Key, now time.Time) error
	ArmRelative(ctx context.Context, e *catalog.Entry, p period.Period, arrived, now time.Time) error
	CancelFor(ctx context.Context, key run.Key, reason string, now time.Time) error
	CancelAll(ctx context.Context, id pipeline.ID, reason string, now time.Time) error
}

// jobs looks at the job of a run's latest attempt, and ends it; package orchestrator can.
type jobs interface {
	// StillRuns says whether a job that was left behind still runs. An error says that nobody can tell.
	StillRuns(ctx context.Context, r run.Run, now time.Time) (bool, error)
	// Stop asks for the end of the job of an attempt that is left, and says what is left of it; an error says why it may
	// still run. It may be asked again.
	Stop(ctx context.Context, r run.Run, now time.Time) (run.Leftover, error)
	// Sees says whether this controller can ask about the job: some belong to one controller.
	Sees(r run.Run) bool
}

// starter puts the start of its job into the batch that opens an attempt, where nothing speaks against it; package
// orchestrator can. What it gives, if not nil, is called once the batch was sent, whatever came of that.
type starter interface {
	Ahead(ctx context.Context, b *store.Batch, row store.Pipeline, now time.Time) func(sent error)
}

// Limits are the server's own limits on an attempt.
type Limits struct {
	RunTimeout   time.Duration
	StartTries   int
	StartBackoff time.Duration
	// MaxTurns, where it is not 0, is how often an attempt may look at its gate, or at its job: intervals are raised to that.
	MaxTurns int
}

// Deps is what a Router works with.
type Deps struct {
	Store     records
	Catalog   *catalog.Catalog
	Deadlines deadlines
	Jobs      jobs
	Starter   starter // may be nil: then attempts are only opened
	Limits    Limits
}

// Router reacts to changes. It keeps nothing in memory and is safe for concurrent use.
type Router struct {
	store     records
	catalog   *catalog.Catalog
	deadlines deadlines
	jobs      jobs
	starter   starter
	limits    Limits
}

// New is a router over d.
func New(d Deps) *Router {
	return &Router{store: d.Store, catalog: d.Catalog, deadlines: d.Deadlines, jobs: d.Jobs, starter: d.Starter, limits: d.Limits}
}

// Handle reacts to a change. It may be called again with the same one, also after later ones. An error means that the
// change must come again.
func (r *Router) Handle(ctx context.Context, c store.Change, now time.Time) error {
	switch c.Kind {
	case store.ReadingWritten:
		return r.readingWritten(ctx, c, now)
	case store.RunMoved:
		return r.runMoved(ctx, c, now)
	case store.PipelineMoved:
		return r.pipelineMoved(ctx, c.Pipeline, now)
	default:
		return fmt.Errorf("handle change %d: kind %q is unknown", c.Position, c.Kind)
	}
}

// maxTries is how often a decision is made anew because something changed between reading and committing.
const maxTries = 10

// again repeats f while it finds that something changed meanwhile.
func again(f func() error) error {
	var err error
	for range maxTries {
		if err = f(); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
}

// commit hands b over, unless there is nothing in it.
func (r *Router) commit(ctx context.Context, b store.Batch, now time.Time) error {
	if b.Empty() {
		return nil
	}
	if err := r.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("commit %s: %w", b.ID, err)
	}
	return nil
}

// pipelineRow gives a pipeline's own row; the zero row, which is not in force, if there is none.
func (r *Router) pipelineRow(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	row, err := r.store.Pipeline(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Pipeline{}, fmt.Errorf("read pipeline %s: %w", id, err)
	}
	return row, nil
}

// inForce gives a pipeline and its row, and nil for one that is not in force. A replica that has not heard of the newest
// version yet fetches it first.
func (r *Router) inForce(ctx context.Context, id pipeline.ID) (*catalog.Entry, store.Pipeline, error) {
	return r.catalog.InForce(ctx, id)
}

// look evaluates a pipeline's own gate for a period.
func (r *Router) look(ctx context.Context, e *catalog.Entry, p period.Period, now time.Time) (gate.View, error) {
	return gate.Look(ctx, r.store, r.question(e, p), now)
}

func (r *Router) question(e *catalog.Entry, p period.Period) gate.Question {
	return gate.Question{Definition: e.Definition, Upstream: r.catalog.Current().Definition, Period: p}
}

// startMet says whether the start condition holds for a period on what the store shows now.
func (r *Router) startMet(ctx context.Context, e *catalog.Entry, p period.Period, now time.Time) (bool, error) {
	if e.Start == nil {
		return false, nil
	}
	q := r.question(e, p)
	q.Gate = e.Start.Gate
	view, err := gate.Look(ctx, r.store, q, now)
	return view.Open(), err
}

// instant is a time in the one form that survives every store unchanged.
func instant(t time.Time) time.Time { return t.Round(0).UTC() }

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
