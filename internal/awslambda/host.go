package awslambda

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/otlp"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
)

// lease is how long the task of a dead function stays claimed.
const lease = 30 * time.Second

// MaxTurns bounds the loops of one execution: Step Functions limits an execution's history to
// 25,000 events.
const MaxTurns = 1000

// Margin is how long before its execution an attempt reaches its time limit, so that the execution
// can still record the timeout. If window and poll window use up all the time, the watchdog ends
// the attempt instead.
const Margin = 5 * time.Minute

// startBackoff is the wait after the first rejected start.
const startBackoff = 30 * time.Second

// replica is the replica name of all functions: on AWS no job belongs to a machine.
const replica = "aws"

// Parts are the dependencies of a function that works on the tables.
type Parts struct {
	Settings
	Store   store.Store
	Catalog *catalog.Catalog
	Narrow  *Narrow // the store that Catalog reads, if it does not read all pipelines
	// Jobs start jobs. A function without them may not start any, and asks Remote about running
	// ones.
	Jobs   map[string]job.Type
	Expand func(a job.Attempt, j *pipeline.Job) (job.Attempt, error)
	Remote Remote
	// Evaluator asks probes: directly in the orchestrator, which has the secrets, and through the
	// orchestrator in the watchdog.
	Evaluator Evaluator
	Now       func() time.Time
	Logger    *slog.Logger
	Meter     *Meter        // nil: nothing is measured
	Tracing   *otlp.Tracing // nil: traces are only passed on
}

// Evaluator asks one probe; the error is a *probe.Failure or the context's.
type Evaluator interface {
	Evaluate(ctx context.Context, r probe.Request) (probe.Answer, error)
}

// Remote asks the orchestrator about jobs: it alone has permission to read their status.
type Remote interface {
	StillRuns(ctx context.Context, r run.Run, now time.Time) (bool, error)
	Stop(ctx context.Context, r run.Run, now time.Time) (run.Leftover, error)
	Sees(r run.Run) bool
}

// Host is the handlers, assembled as in the server.
type Host struct {
	Parts
	router  *router.Router
	steps   *orchestrator.Orchestrator
	monitor *slamonitor.Monitor
	probes  *prober.Prober

	deadlines recent // runs that have deadlines
}

// NewHost assembles the handlers.
func NewHost(p Parts) *Host {
	if p.Tracing == nil {
		p.Tracing = otlp.Off()
	}
	h := &Host{Parts: p, monitor: slamonitor.New(p.Store, p.Catalog)}
	h.steps = orchestrator.New(orchestrator.Deps{
		AlwaysPresent: true,
		Store:         p.Store, Catalog: p.Catalog, Jobs: p.Jobs, Expand: p.Expand, Replica: replica, Lease: lease,
		LongestStart: job.MaxAWSStart.D(), Span: p.Tracing.Step,
	})
	deps := router.Deps{
		Store: p.Store, Catalog: p.Catalog, Deadlines: h.monitor, Jobs: h.steps,
		Limits: router.Limits{RunTimeout: p.TimeLimit - Margin, StartTries: p.StartTries, StartBackoff: startBackoff, MaxTurns: MaxTurns, LearnPolls: true},
	}
	if p.Jobs == nil {
		deps.Jobs = p.Remote
	}
	h.router = router.New(deps)
	h.probes = prober.New(prober.Deps{Store: p.Store, Catalog: p.Catalog, Evaluator: p.Evaluator})
	return h
}
