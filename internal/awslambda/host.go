package awslambda

import (
	"log/slog"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/otlp"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/watchdog"
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
	Remote controller.Jobs // the orchestrator alone has permission to read the status of jobs
	// Evaluator asks probes: directly in the orchestrator, which has the secrets, and through the
	// orchestrator in the watchdog.
	Evaluator controller.Evaluator
	// Overview lists for the watchdog what happened in all pipelines. Nil: it reads each pipeline.
	Overview watchdog.Overview
	Now      func() time.Time
	Logger   *slog.Logger
	Meter    *Meter        // nil: nothing is measured
	Tracing  *otlp.Tracing // nil: traces are only passed on
}

// Host is a controller, and how its function works.
type Host struct {
	Parts
	controller *controller.Controller

	deadlines recent // runs that have deadlines
}

// lookers is how many pipelines the watchdog checks concurrently: reads made at the same time are
// batched.
const lookers = 200

// NewHost puts the controller of a function together. The steps of attempts are for executions, which
// call the orchestrator.
func NewHost(p Parts) *Host {
	if p.Tracing == nil {
		p.Tracing = otlp.Off()
	}
	parts := controller.Parts{
		Store: p.Store, Catalog: p.Catalog, Now: p.Now, Probes: p.Evaluator, Elsewhere: []store.TaskKind{store.Advance},
		Steps: orchestrator.Deps{
			AlwaysPresent: true, Jobs: p.Jobs, Expand: p.Expand, Replica: replica, Lease: lease, LongestStart: job.MaxAWSStart.D(),
			Span: p.Tracing.Step,
		},
		Limits: router.Limits{
			RunTimeout: p.TimeLimit - Margin, StartTries: p.StartTries, StartBackoff: startBackoff, MaxTurns: MaxTurns, LearnPolls: true,
		},
		Watchdog: watchdog.Deps{Interval: p.Watch, Workers: lookers, History: retention.History, Overview: p.Overview},
	}
	if p.Jobs == nil {
		parts.Jobs = p.Remote
	}
	return &Host{Parts: p, controller: controller.New(parts)}
}
