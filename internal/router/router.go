// Package router reacts to what changed in the store and opens runs: it is the only place where a run, or a further
// attempt of one, begins. A reading, a run or a pipeline that moved comes in through Handle, a fire or the end of a pause
// as a task, a person's wish through the methods of request.go and job.go.
//
// Every reaction reads the current state, decides, and commits one Batch; what it reacts to only says where to look. So
// a change may come twice, late, or before another that happened first, and the outcome is the same. What an open
// attempt does next is package orchestrator's business; whether another may open is decided in package rerun; which
// deadlines are armed, in package slamonitor. The router starts no job.
//
// Each kind of change, task or request has a handler type. The handlers share core, which reads and commits, and opener,
// which opens attempts.
package router

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

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
	Limits    Limits
}

// Router is the handlers of all changes, tasks and requests. It keeps nothing in memory and is safe for concurrent use.
type Router struct {
	readingHandler
	windowHandler
	runHandler
	postRunHandler
	dryHandler
	fireHandler
	pipelineHandler
	pauseHandler
	requestHandler
	jobHandler
	workerHandler
}

// New is a router over d.
func New(d Deps) *Router {
	c := core{store: d.Store, catalog: d.Catalog}
	op := opener{core: c, limits: d.Limits}
	dry := dryHandler{c}
	late := lateHandler{opener: op, dry: dry}
	window := windowHandler{op}
	postRun := postRunHandler{opener: op, dry: dry}
	reading := readingHandler{opener: op, deadlines: d.Deadlines, late: late, window: window, postRun: postRun}
	moved := runHandler{opener: op, deadlines: d.Deadlines, late: late, postRun: postRun}
	pause := pauseHandler{c}
	return &Router{
		readingHandler: reading, windowHandler: window, runHandler: moved, postRunHandler: postRun, dryHandler: dry,
		fireHandler:     fireHandler{op},
		pipelineHandler: pipelineHandler{core: c, deadlines: d.Deadlines, reading: reading, run: moved, pause: pause},
		pauseHandler:    pause,
		requestHandler:  requestHandler{opener: op, jobs: d.Jobs},
		jobHandler:      jobHandler{core: c, jobs: d.Jobs},
		workerHandler:   workerHandler{c},
	}
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
