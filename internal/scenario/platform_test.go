package scenario_test

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/sensor"
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
	group    = controller.Group
	replica  = "here"
	lease    = 30 * time.Second
	interval = time.Minute // of the watchdog
)

var limits = router.Limits{RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second}

// parts are a controller and its store.
type parts struct {
	*controller.Controller
	store store.Store
}

func newParts(ctx context.Context, s store.Store, jobs *target) (*parts, error) {
	c := controller.New(controller.Parts{
		Store: s, Catalog: catalog.New(s, all.Kinds()), Now: time.Now, Probes: jobs, Limits: limits,
		Steps:    orchestrator.Deps{Jobs: jobs.types(), Replica: replica, Lease: lease, AlwaysPresent: true},
		Watchdog: watchdog.Deps{Interval: interval},
	})
	return &parts{c, s}, c.Catalog.Load(ctx)
}

func (p *parts) watch(ctx context.Context, _ time.Time) error {
	_, err := p.Watch(ctx)
	return err
}

func (p *parts) apply(ctx context.Context, files catalog.Files) error {
	_, err := p.Catalog.Apply(ctx, files, time.Now())
	return err
}

// put stores a reading as the API does.
func (p *parts) put(ctx context.Context, id pipeline.ID, key string, fields sensor.Fields) error {
	name, suffix, err := sensor.ExternalKey(key)
	if err != nil {
		return err
	}
	date, err := sensor.PeriodOf(fields, suffix)
	if err != nil {
		return err
	}
	w := store.Write{Pipeline: id, Reading: sensor.Reading{Key: name, Period: date, Fields: fields, Deleted: fields == nil}}
	_, err = p.store.PutReadings(ctx, []store.Write{w}, time.Now())
	return err
}
