package scenario_test

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// platform is a host with a store.
type platform interface {
	// start starts the controller on the stored data, and stop ends it; the data stays.
	start()
	stop()
	now() time.Time
	// until advances the time to an instant and does all that becomes due. If the instant is now,
	// it only does what is due.
	until(at time.Time)
	// apply handles changed files, operate an operator's request, put a producer's write. To put
	// nil is to delete.
	apply(files catalog.Files) error
	operate(ask func(ctx context.Context, r *router.Router, now time.Time) error) error
	put(id pipeline.ID, key string, fields sensor.Fields) error
	// unseen drops the next change before it reaches the controller.
	unseen()
	// store returns the stored data.
	store() store.Store
}

// Settings of the controllers.
const (
	group    = engine.Group
	replica  = "here"
	lease    = 30 * time.Second
	interval = time.Minute // of the watchdog
)

var limits = router.Limits{RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second}

// controller is the handlers, assembled as in the binary.
type controller struct {
	store   store.Store
	catalog *catalog.Catalog
	router  *router.Router
	steps   *orchestrator.Orchestrator
	monitor *slamonitor.Monitor
	dog     *watchdog.Watchdog
	probes  *prober.Prober
}

func newController(ctx context.Context, s store.Store, jobs *target) (*controller, error) {
	c := &controller{store: s, catalog: catalog.New(s, all.Kinds())}
	if err := c.catalog.Load(ctx); err != nil {
		return nil, err
	}
	c.monitor = slamonitor.New(s, c.catalog)
	c.steps = orchestrator.New(orchestrator.Deps{Store: s, Catalog: c.catalog, Jobs: jobs.types(), Replica: replica, Lease: lease, AlwaysPresent: true})
	c.router = router.New(router.Deps{Store: s, Catalog: c.catalog, Deadlines: c.monitor, Jobs: c.steps, Limits: limits})
	c.probes = prober.New(prober.Deps{Store: s, Catalog: c.catalog, Evaluator: jobs})
	c.dog = watchdog.New(watchdog.Deps{Store: s, Catalog: c.catalog, Router: c.router, Deadlines: c.monitor, Group: group, Interval: interval})
	return c, nil
}

// tasks returns the handler of each kind of task.
func (c *controller) tasks() map[store.TaskKind]func(context.Context, store.Claim) error {
	now := func(f func(context.Context, store.Claim, time.Time) error) func(context.Context, store.Claim) error {
		return func(ctx context.Context, claim store.Claim) error { return f(ctx, claim, time.Now()) }
	}
	return map[store.TaskKind]func(context.Context, store.Claim) error{
		store.Advance: func(ctx context.Context, claim store.Claim) error {
			_, err := c.steps.Step(ctx, claim, time.Now)
			return err
		},
		store.AdvanceDry:    now(c.router.AdvanceDry),
		store.Fire:          now(c.router.Fire),
		store.ReopenPeriods: now(c.router.Reopen),
		store.ResumePaused:  now(c.router.ResumeDue),
		store.CheckPostRun:  now(c.router.CheckPostRun),
		store.CheckLeft:     now(c.router.CheckLeft),
		store.Arm:           now(c.monitor.Arm),
		store.FireDeadline:  now(c.monitor.Fire),
		store.RunProbe:      func(ctx context.Context, claim store.Claim) error { return c.probes.Run(ctx, claim, time.Now) },
	}
}

// perform carries out one task.
func (c *controller) perform(ctx context.Context, claim store.Claim) error {
	handler, ok := c.tasks()[claim.Task.Kind]
	if !ok {
		return fmt.Errorf("there is no handler for tasks of kind %q", claim.Task.Kind)
	}
	return handler(ctx, claim)
}

func (c *controller) watch(ctx context.Context, now time.Time) error {
	_, err := c.dog.Pass(ctx, func() time.Time { return now })
	return err
}

func (c *controller) apply(ctx context.Context, files catalog.Files) error {
	_, err := c.catalog.Apply(ctx, files, time.Now())
	return err
}

// put stores a reading as the API does.
func (c *controller) put(ctx context.Context, id pipeline.ID, key string, fields sensor.Fields) error {
	name, suffix, err := sensor.ExternalKey(key)
	if err != nil {
		return err
	}
	date, err := sensor.PeriodOf(fields, suffix)
	if err != nil {
		return err
	}
	w := store.Write{Pipeline: id, Reading: sensor.Reading{Key: name, Period: date, Fields: fields, Deleted: fields == nil}}
	_, err = c.store.PutReadings(ctx, []store.Write{w}, time.Now())
	return err
}
