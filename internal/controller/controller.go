// Package controller puts a controller together: the handlers of changes, tasks and ticks on one
// store. Everything that runs one builds it here: the process, the functions on AWS, the simulator,
// scenarios, promises and test kits. They differ only in the Parts that they pass in. kind.go is
// the table of the kinds of tasks.
//
// It starts no goroutine and reads no clock of its own: hosts (packages engine, awslambda and sim)
// decide when something is called.
package controller

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/presence"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// Group is the name under which controllers receive the changes of a store: each change goes to one
// of them.
const Group = "router"

// Parts are what one controller has and another has not. New fills in the fields of Steps, Watchdog
// and Alerts that are the same for all: stores, catalogs, and the other handlers.
type Parts struct {
	Store   store.Store
	Catalog *catalog.Catalog // of Store, or of what the controller shall see of it
	Now     func() time.Time // the time by which tasks are carried out

	Steps  orchestrator.Deps
	Limits router.Limits
	// Jobs checks and stops jobs for the router, if not the controller's own steps do.
	Jobs Jobs
	// Probes runs probes. Nil: tasks that need it fail.
	Probes   Evaluator
	Watchdog watchdog.Deps
	// Alerts are how events reach people. Nil: they do not.
	Alerts *notify.Options
	// Elsewhere lists kinds of tasks that this controller must not carry out.
	Elsewhere []store.TaskKind
}

// Jobs checks and stops the jobs of attempts, as orchestrator.Orchestrator does.
type Jobs interface {
	StillRuns(ctx context.Context, r run.Run, now time.Time) (bool, error)
	Stop(ctx context.Context, r run.Run, now time.Time) (run.Leftover, error)
	Sees(r run.Run) bool
}

// Evaluator runs one probe; the error is a *probe.Failure or the context's.
type Evaluator interface {
	Evaluate(ctx context.Context, r probe.Request) (probe.Answer, error)
}

// Controller is the handlers of one controller. It is safe for concurrent use, except for Watchdog
// and Presence, whose calls must not overlap.
type Controller struct {
	Catalog  *catalog.Catalog
	Router   *router.Router
	Steps    *orchestrator.Orchestrator
	Monitor  *slamonitor.Monitor
	Watchdog *watchdog.Watchdog
	Presence *presence.Replica
	Prober   *prober.Prober   // nil without Parts.Probes
	Notifier *notify.Notifier // nil without Parts.Alerts

	clock     func() time.Time
	elsewhere []store.TaskKind
}

// New puts a controller together.
func New(p Parts) *Controller {
	c := &Controller{
		Catalog: p.Catalog, Monitor: slamonitor.New(p.Store, p.Catalog), Presence: presence.New(p.Store), clock: p.Now, elsewhere: p.Elsewhere,
	}
	steps := p.Steps
	steps.Store, steps.Catalog = p.Store, p.Catalog
	c.Steps = orchestrator.New(steps)
	if p.Jobs == nil {
		p.Jobs = c.Steps
	}
	c.Router = router.New(router.Deps{Store: p.Store, Catalog: p.Catalog, Deadlines: c.Monitor, Jobs: p.Jobs, Limits: p.Limits})
	watch := p.Watchdog
	watch.Store, watch.Catalog, watch.Router, watch.Deadlines, watch.Group = p.Store, p.Catalog, c.Router, c.Monitor, Group
	c.Watchdog = watchdog.New(watch)
	if p.Probes != nil {
		c.Prober = prober.New(prober.Deps{Store: p.Store, Catalog: p.Catalog, Evaluator: p.Probes})
	}
	if p.Alerts != nil {
		alerts := *p.Alerts
		alerts.Subject = c.subject
		if alerts.Store == nil {
			alerts.Store = p.Store
		}
		c.Notifier = notify.New(alerts)
	}
	return c
}

// subject returns what alerts and their routes say of a pipeline.
func (c *Controller) subject(id pipeline.ID) notify.Subject {
	if e := c.Catalog.Current().Get(id); e != nil {
		return notify.Subject{Owner: e.Owner, Tags: e.Tags}
	}
	return notify.Subject{}
}

// Await waits for the end of an attempt's job, if its type can notice that, and completes the
// attempt.
func (c *Controller) Await(ctx context.Context, key run.Key, attempt int) error {
	return c.Steps.Await(ctx, key, attempt, c.clock)
}

// Watch makes one pass of the watchdog.
func (c *Controller) Watch(ctx context.Context) (watchdog.Report, error) {
	return c.Watchdog.Pass(ctx, c.clock)
}
