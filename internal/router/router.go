// Package router reacts to changes in the store and opens runs: it is the only place where a run,
// or a further attempt of one, begins. Changed readings, runs and pipelines come in through Handle,
// fires and the ends of pauses as tasks, and operators' requests through the methods of request.go
// and job.go.
//
// Every reaction reads the current state, decides, and commits one Batch; a change only says what
// to read. So a change may be delivered twice, late or out of order, and the outcome is the same.
// Package orchestrator advances open attempts, package rerun decides whether another may open, and
// package slamonitor arms deadlines. The router starts no job.
//
// Each kind of change, task or request has a handler type. The handlers share core, which reads and
// commits, and opener, which opens attempts.
package router

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
)

// deadlines is the part of package slamonitor that the router uses. Every call is idempotent.
type deadlines interface {
	ArmOpened(ctx context.Context, key run.Key, now time.Time) error
	ArmRelative(ctx context.Context, on slamonitor.Basis, p period.Period, arrived, now time.Time) error
	CancelFor(ctx context.Context, key run.Key, reason string, now time.Time) error
	CancelAll(ctx context.Context, id pipeline.ID, now time.Time) error
}

// jobs checks and stops the job of a run's latest attempt; package orchestrator implements it.
type jobs interface {
	// StillRuns reports whether a left job still runs. It returns an error if this is unknown.
	StillRuns(ctx context.Context, r run.Run, now time.Time) (bool, error)
	// Stop stops the job of an attempt that is given up, and returns the state of the job; an error
	// says why it may still run. It is safe to repeat.
	Stop(ctx context.Context, r run.Run, now time.Time) (run.Leftover, error)
	// Sees reports whether this controller can check the job: some jobs belong to one controller.
	Sees(r run.Run) bool
}

// Limits are the server's own limits on an attempt.
type Limits struct {
	RunTimeout   time.Duration
	StartTries   int
	StartBackoff time.Duration
	// MaxTurns, if not 0, is how often an attempt may evaluate its gate or poll its job: intervals
	// are raised to fit.
	MaxTurns int
	// LearnPolls is whether polls before a job usually ends are left out, unless its file says.
	LearnPolls bool
}

// Deps holds the dependencies of a Router.
type Deps struct {
	Store     records
	Catalog   *catalog.Catalog
	Deadlines deadlines
	Jobs      jobs
	Limits    Limits
}

// Router has the handlers of all changes, tasks and requests. It keeps no state in memory and is
// safe for concurrent use.
type Router struct {
	readingHandler
	windowHandler
	runHandler
	postRunHandler
	fireHandler
	pipelineHandler
	pauseHandler
	requestHandler
	jobHandler
	workerHandler
}

// New returns a router over d.
func New(d Deps) *Router {
	c := core{store: d.Store, catalog: d.Catalog}
	op := opener{core: c, limits: d.Limits}
	late := lateHandler{op}
	window := windowHandler{op}
	postRun := postRunHandler{op}
	reading := readingHandler{opener: op, deadlines: d.Deadlines, late: late, window: window, postRun: postRun}
	moved := runHandler{opener: op, deadlines: d.Deadlines, late: late, postRun: postRun}
	pause := pauseHandler{c}
	changed := pipelineHandler{core: c, deadlines: d.Deadlines, reading: reading, run: moved, pause: pause}
	return &Router{
		readingHandler: reading, windowHandler: window, runHandler: moved, postRunHandler: postRun,
		fireHandler:     fireHandler{op},
		pipelineHandler: changed,
		pauseHandler:    pause,
		requestHandler:  requestHandler{opener: op, jobs: d.Jobs},
		jobHandler:      jobHandler{core: c, jobs: d.Jobs, replay: changed.replaySince},
		workerHandler:   workerHandler{core: c, claims: store.NewUnique()},
	}
}

// Handle reacts to a change. It is safe to call again with the same change, even after later ones.
// If it returns an error, the change must be delivered again.
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
