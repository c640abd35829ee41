package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/watchdog"
)

const (
	received = 32               // changes received at once
	inFlight = 64               // changes received but not handled yet
	nap      = 10 * time.Second // before a task for another controller is claimed again
	backoff  = 250 * time.Millisecond
	trimming = 2 * time.Hour
)

// host is one controller: its process, which crashes and restarts, and its current work.
type host struct {
	world *World
	name  string

	alive  bool      // its process runs
	begun  bool      // it has read its files
	starts time.Time // when it restarts, if it is down
	asleep time.Time // it is suspended until then
	doomed bool      // it is crashing: nothing that it does has an effect any more
	away   time.Duration

	*controller.Controller
	hold    *memory.Store
	line    *line
	courier courier

	fed      bool // there may be changes that it has not received
	lanes    lanes
	busy     map[string]bool // work that it does one at a time
	held     map[store.Lease]*act
	pools    pools
	claims   time.Time // it asks for tasks from then on
	renews   time.Time
	looks    time.Time // the next pass of its watchdog; zero before the first
	trims    time.Time
	attends  time.Time // it records that it can accept heartbeats from then on
	reads    time.Time // it looks at the files from then on
	edits    int       // the files that it has read
	awaiting map[run.AttemptID]bool
}

func newHost(w *World, name string) *host {
	return &host{world: w, name: name, starts: w.now}
}

// works reports whether the controller runs and has begun to work.
func (h *host) works() bool { return h.alive && h.begun }

// start starts the process: it opens the store, and reads the active versions and its files.
func (h *host) start() {
	w := h.world
	*h = host{
		world: w, name: h.name, alive: true, hold: w.data.Open(), fed: true,
		pools: newPools(w.Workers), busy: map[string]bool{}, held: map[store.Lease]*act{}, awaiting: map[run.AttemptID]bool{},
		claims: w.now, attends: w.now, renews: w.now.Add(w.Lease / 3), trims: w.now.Add(trimming), reads: w.now,
	}
	if w.bugs.pools != nil {
		w.bugs.pools(&h.pools)
	}
	h.assemble()
	w.tracef("%s starts", h.name)
	h.do("start", h.load)
}

// assemble builds the controller on a store whose calls can fail.
func (h *host) assemble() {
	w := h.world
	below := w.watch.heldBy(h.hold)
	if w.bugs.store != nil {
		below = w.bugs.store(w, h.name, below)
	}
	h.line = &line{Store: below, host: h}
	h.Controller = controller.New(controller.Parts{
		Store: h.line, Catalog: catalog.New(&line{Store: below, host: h, whole: true}, kinds), Now: h.clock, Probes: w.Probes, Limits: w.Limits,
		Steps:    orchestrator.Deps{Jobs: w.Jobs, Replica: h.name, Lease: w.Lease, Enter: h.enter, AlwaysPresent: w.chaos == nil},
		Watchdog: watchdog.Deps{Interval: w.Watchdog},
		Alerts:   &notify.Options{Sinks: []sink.Sink{w.pager}, Since: w.Options.Start},
	})
	h.courier = courier{next: w.now}
}

// load is the start-up work of a process. If it fails, the process ends and is restarted.
func (h *host) load(ctx context.Context) {
	w := h.world
	err := h.Catalog.Load(ctx)
	if err == nil {
		err = h.apply(ctx)
	}
	if err == nil && w.Hosts == 1 {
		err = h.line.VoidLeases(ctx)
	}
	if err != nil {
		w.tracef("%s cannot start: %v", h.name, err)
		if !h.doomed {
			h.doomed, h.away = true, time.Second
		}
		panic(crashed{})
	}
	h.begun = true
	h.resumeAwaits(ctx)
}

// apply activates the files.
func (h *host) apply(ctx context.Context) error {
	edits := h.world.edits
	if _, err := h.Catalog.Apply(ctx, h.world.Files, h.clock()); err != nil {
		return err
	}
	h.edits = edits
	return nil
}

// clock returns the time that the controller reads.
func (h *host) clock() time.Time { return h.world.Now() }

// do begins an act of the controller.
func (h *host) do(name string, f func(ctx context.Context)) *act { return h.world.begin(h, name, f) }

// once begins an act and marks its name busy until it ends. Callers check busy first.
func (h *host) once(name string, f func(ctx context.Context)) {
	h.busy[name] = true
	h.do(name, func(ctx context.Context) {
		defer delete(h.busy, name)
		f(ctx)
	})
}

// read rereads the files.
func (h *host) read(ctx context.Context) {
	if err := h.apply(ctx); err != nil {
		h.reads = h.world.now.Add(time.Second)
	}
}

// watchdogPass runs a watchdog pass.
func (h *host) watchdogPass(ctx context.Context) {
	h.looks = h.world.now.Add(h.world.Watchdog)
	if _, err := h.Watch(ctx); err != nil {
		h.world.tracef("%s: the watchdog pass failed: %v", h.name, err)
	}
}

// caughtUp reports whether the feed has nothing left for the controller.
func (h *host) caughtUp() bool {
	n, _, err := h.world.data.Backlog(context.Background(), controller.Group)
	return err == nil && n == 0
}

// trim deletes history past its retention.
func (h *host) trim(ctx context.Context) {
	w := h.world
	h.trims = w.now.Add(trimming)
	const day = 24 * time.Hour
	keep := store.Retention{Events: 90 * day, History: 30 * day, JobLog: 30 * day}
	for range 100 {
		if n, err := h.line.Trim(ctx, keep, h.clock()); n == 0 || err != nil {
			return
		}
	}
}

// die ends the process: from that moment on, nothing that it does has an effect.
func (h *host) die() {
	if !h.alive {
		return
	}
	w := h.world
	h.alive, h.begun = false, false
	for _, a := range slices.Clone(w.acts) {
		if a.host == h && a != w.current {
			w.abort(a)
		}
	}
	if err := h.hold.Close(); err != nil {
		panic(errors.Join(errors.New("close the store"), err))
	}
	for _, other := range w.hosts {
		other.fed = true // the leases that it held are free
	}
}

// gone ends an act of a crashing controller. The catalog may call from another goroutine, which
// gets an error instead.
func (h *host) gone(l *line) error {
	if l.whole {
		return errFault
	}
	panic(crashed{})
}

// crash kills a controller, which restarts after a while.
func (w *World) crash(h *host, away time.Duration) {
	w.tracef("%s dies, and is away for %s", h.name, away)
	h.die()
	h.starts = w.now.Add(away)
}

// passing is an evaluator for which every probe passes.
type passing struct{}

func (passing) Evaluate(context.Context, probe.Request) (probe.Answer, error) {
	return probe.Answer{Status: probe.Pass}, nil
}
