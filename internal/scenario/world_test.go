package scenario_test

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sim"
	"github.com/interlock-go/interlock/internal/store"
)

// world is the simulator, without faults.
type world struct {
	begins time.Time
	plays  map[string]play
	tells  map[string][]said
	every  time.Duration // watchdog interval
	sim    *sim.World
}

func (w *world) start() {
	if w.sim == nil {
		clock := func() time.Time { return w.sim.Now() }
		jobs := newTarget(w.plays, clock)
		jobs.tells, jobs.begin = w.tells, w.begins
		w.sim = sim.New(sim.Options{Start: w.begins, Jobs: jobs.types(), Probes: jobs, Watchdog: w.every, Lease: lease, Limits: limits})
	}
	w.sim.Start()
	w.sim.Settle()
}

func (w *world) stop() { w.sim.Stop() }

func (w *world) now() time.Time { return w.sim.Now() }

func (w *world) until(at time.Time) { w.sim.AdvanceTo(at) }

func (w *world) apply(files catalog.Files) error {
	w.sim.SetFiles(files)
	return nil
}

func (w *world) operate(ask func(ctx context.Context, r *router.Router, now time.Time) error) error {
	return w.sim.Operate(ask)
}

func (w *world) put(id pipeline.ID, key string, fields sensor.Fields) error {
	return w.sim.PutSensor(id, key, fields)
}

func (w *world) unseen() { w.sim.LoseChange() }

func (w *world) store() store.Store { return w.sim.Store() }
