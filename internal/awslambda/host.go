package awslambda

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
)

// lease is how long a function that has died keeps others from its task.
const lease = 30 * time.Second

// maxTurns bounds the loops of one execution: Step Functions ends one at 25,000 events of its history.
const maxTurns = 1000

// Margin is how long before its execution an attempt reaches its time limit, so that the execution can still record it. One
// that cannot, because its window and poll window take all the time there is, is ended by the watchdog.
const Margin = 5 * time.Minute

// startBackoff is the wait after the first start that was refused.
const startBackoff = 30 * time.Second

// replica is who works on tasks. All functions are one: on AWS no job belongs to a machine.
const replica = "aws"

// Parts is what a function that works on the tables is made of.
type Parts struct {
	Settings
	Store   store.Store
	Catalog *catalog.Catalog
	Narrow  *Narrow // what Catalog reads, where that is not everything
	// Jobs start jobs; a function without them may not start any, and asks Remote about those that there are.
	Jobs   map[string]job.Type
	Expand func(a job.Attempt, j *pipeline.Job) (job.Attempt, error)
	Remote Remote
	// Evaluator asks probes: by itself in the orchestrator, which has the secrets, and through it in the watchdog.
	Evaluator Evaluator
	Now       func() time.Time
	Logger    *slog.Logger
}

// Evaluator asks one probe; the error is a *probe.Failure, or that of ctx.
type Evaluator interface {
	Evaluate(ctx context.Context, r probe.Request) (probe.Answer, error)
}

// Remote asks the orchestrator about jobs: it alone is allowed to look at them.
type Remote interface {
	StillRuns(ctx context.Context, r run.Run, now time.Time) (bool, error)
	Stop(ctx context.Context, r run.Run, now time.Time) (run.Leftover, error)
	Sees(r run.Run) bool
}

// Host is the handlers, put together as in the process.
type Host struct {
	Parts
	router  *router.Router
	steps   *orchestrator.Orchestrator
	monitor *slamonitor.Monitor
	probes  *prober.Prober

	deadlines recent // runs that have some
}

// NewHost puts the handlers together.
func NewHost(p Parts) *Host {
	h := &Host{Parts: p, monitor: slamonitor.New(p.Store, p.Catalog)}
	h.steps = orchestrator.New(orchestrator.Deps{
		Store: p.Store, Catalog: p.Catalog, Jobs: p.Jobs, Expand: p.Expand, Replica: replica, Lease: lease,
		LongestStart: job.MaxAWSStart.D(),
	})
	deps := router.Deps{
		Store: p.Store, Catalog: p.Catalog, Deadlines: h.monitor, Jobs: h.steps,
		Limits: router.Limits{RunTimeout: p.TimeLimit - Margin, StartTries: p.StartTries, StartBackoff: startBackoff, MaxTurns: maxTurns},
	}
	if p.Jobs == nil {
		deps.Jobs = p.Remote
	}
	h.router = router.New(deps)
	h.probes = prober.New(prober.Deps{Store: p.Store, Catalog: p.Catalog, Evaluator: p.Evaluator})
	return h
}
