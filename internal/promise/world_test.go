// Package promise_test checks the product's promises: each has a test with its name that drives the
// real handlers, under the real engine and a virtual clock, on all stores. docs/GUARANTEES.md
// states the assumptions and limits of each promise. cmd/interlock/kill_test.go checks the same
// promises on the built binary, killed and restarted.
package promise_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/presence"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/store/sqlite"
	"github.com/interlock-go/interlock/internal/watchdog"
)

const (
	lease    = 30 * time.Second
	interval = time.Minute // of the watchdog
)

var kinds = all.Kinds()

// world is some controllers on one store, in a synctest bubble whose clock begins with the year
// 2000, and the targets of their jobs.
type world struct {
	*testing.T
	open   func() store.Store // opens a process's own store handle
	shared store.Store        // the test's own store handle, if several processes may have one
	target *target
	files  map[string]string
	faults faults

	mu      sync.Mutex
	running []*process
}

// onStores runs a test in a bubble for each store.
func onStores(t *testing.T, f func(w *world)) {
	t.Run("memory", func(t *testing.T) { onMemory(t, f) })
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, func() store.Store {
				s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return s
			})
			defer w.stopAll()
			f(w)
		})
	})
}

// onMemory runs a test in a bubble on the store that several processes can share.
func onMemory(t *testing.T, f func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		data := memory.New()
		w := newWorld(t, func() store.Store { return data.Open() })
		w.shared = data
		defer w.stopAll()
		f(w)
	})
}

func newWorld(t *testing.T, open func() store.Store) *world {
	w := &world{T: t, open: open, files: map[string]string{}}
	w.target = newTarget(w)
	return w
}

// process is one controller.
type process struct {
	*controller.Controller
	world  *world
	name   string
	hold   store.Store
	store  *line
	cancel context.CancelFunc
	ended  chan struct{}
}

// start starts a controller as cmd/interlock does, with scripted targets.
func (w *world) start(name string) *process {
	w.Helper()
	p := &process{world: w, name: name, hold: w.open(), ended: make(chan struct{})}
	p.store = newLine(p.hold, w.faults)
	var host *engine.Engine
	p.Controller = controller.New(controller.Parts{
		Store: p.store, Catalog: catalog.New(p.store, kinds), Now: p.clock,
		Steps: orchestrator.Deps{
			Jobs: w.target.types(), Replica: name, Lease: lease,
			Enter: func(ctx context.Context, jobType string, blocking bool) (bool, error) {
				return host.Enter(ctx, jobType, blocking)
			},
		},
		Limits:   router.Limits{RunTimeout: time.Hour, StartTries: 3, StartBackoff: 10 * time.Second},
		Watchdog: watchdog.Deps{Interval: interval},
	})
	w.check(p.Catalog.Load(w.Context()))
	p.apply()
	host = engine.New(engine.Options{
		Store: p.store, Logger: slog.New(slog.DiscardHandler), Replica: name, Workers: 4, BlockingStarts: 8, Lease: lease, LostAfter: 10 * time.Minute,
		Alone: len(w.processes()) == 0,
		Handlers: engine.Handlers{
			Change: func(ctx context.Context, c store.Change, now time.Time) error {
				return p.Router.Handle(ctx, c, p.at(now))
			},
			Task:  p.Perform,
			Await: p.Await,
			Ticks: []engine.Tick{
				{Name: "watchdog", Every: interval, First: true, Do: func(ctx context.Context, _ time.Time) error {
					_, err := p.Watch(ctx)
					return err
				}},
				{Name: "presence", Every: presence.Interval, Now: true, Do: func(ctx context.Context, now time.Time) error {
					return p.Presence.Attend(ctx, p.at(now))
				}},
			},
		},
	})
	ctx, cancel := context.WithCancel(w.Context())
	p.cancel = cancel
	w.mu.Lock()
	w.running = append(w.running, p)
	w.mu.Unlock()
	go func() {
		defer close(p.ended)
		if err := host.Run(ctx, 0); err != nil {
			w.Error(err)
		}
	}()
	synctest.Wait()
	return p
}

// clock returns the time that the controller reads, which may be wrong.
func (p *process) clock() time.Time { return p.at(time.Now()) }

func (p *process) at(now time.Time) time.Time { return now.Add(p.store.faults.skewed()) }

// apply activates the world's files.
func (p *process) apply() {
	p.world.Helper()
	var sources []pipeline.Source
	for id, text := range p.world.files {
		sources = append(sources, pipeline.Source{File: id + ".yaml", Data: []byte(text)})
	}
	slices.SortFunc(sources, func(a, b pipeline.Source) int { return strings.Compare(a.File, b.File) })
	report, err := p.Catalog.Apply(p.world.Context(), catalog.Files{Pipelines: sources}, p.clock())
	for errors.Is(err, errFault) { // repeated until it succeeds, as the server does
		report, err = p.Catalog.Apply(p.world.Context(), catalog.Files{Pipelines: sources}, p.clock())
	}
	p.world.check(err)
	if len(report.Rejected) > 0 {
		p.world.Fatalf("rejected: %v", report.Problems)
	}
}

// kill crashes a controller: from that moment on, nothing that it does has an effect. A store that
// only one process can open is closed properly; cmd/interlock/kill_test.go covers the other case.
func (p *process) kill() {
	p.world.Helper()
	if p.world.shared != nil {
		p.world.check(p.hold.Close())
	}
	p.stop()
}

// stop shuts a controller down properly.
func (p *process) stop() {
	p.world.Helper()
	p.cancel()
	<-p.ended
	p.world.mu.Lock()
	p.world.running = slices.DeleteFunc(p.world.running, func(other *process) bool { return other == p })
	p.world.mu.Unlock()
	p.world.check(p.hold.Close())
}

func (w *world) stopAll() {
	w.Helper()
	for _, p := range w.processes() {
		p.stop()
	}
}

func (w *world) processes() []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.running)
}

// data returns the store as the test sees it. One that belongs to a single process is accessible
// only while that runs.
func (w *world) data() store.Store {
	if w.shared != nil {
		return w.shared
	}
	return w.processes()[0].hold
}

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// file adds a pipeline file, or changes one; running controllers see it at once.
func (w *world) file(id, sections string) {
	w.Helper()
	w.files[id] = fmt.Sprintf("pipeline: {id: %s, owner: tests}\n%s", id, sections)
	w.reload()
}

// remove deletes a pipeline's file.
func (w *world) remove(id string) {
	w.Helper()
	delete(w.files, id)
	w.reload()
}

func (w *world) reload() {
	w.Helper()
	for _, p := range w.processes() {
		p.apply()
	}
	synctest.Wait()
}

// until advances the time to an instant of January 2000, such as "03 09:10" or "03 09:10:30".
func (w *world) until(at string) {
	w.Helper()
	layout := "2006-01-02 15:04:05"[:len("2000-01-")+len(at)]
	t, err := time.Parse(layout, "2000-01-"+at)
	w.check(err)
	if time.Now().After(t) {
		w.Fatalf("it is past %s: %s", at, time.Now())
	}
	w.pass(time.Until(t))
}

// pass advances the time.
func (w *world) pass(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

// write writes a reading: undated, or dated by a "#period" after its key. Pairs are field=value.
func (w *world) write(id, key string, pairs ...string) {
	w.Helper()
	w.put(id, key, pairs...)
	synctest.Wait()
}

func (w *world) put(id, key string, pairs ...string) {
	w.Helper()
	name, p, err := sensor.ParseKey(key)
	w.check(err)
	fields := sensor.Fields{}
	for _, pair := range pairs {
		field, value, _ := strings.Cut(pair, "=")
		fields[field] = value
	}
	_, err = w.data().PutReadings(w.Context(), []store.Write{{Pipeline: pipeline.ID(id), Reading: sensor.Reading{Key: name, Period: p, Fields: fields}}}, w.clock())
	w.check(err)
}

// clock returns the time by the controllers' clocks.
func (w *world) clock() time.Time { return time.Now().Add(w.faults.skewed()) }

// key parses a run's key, such as orders/cron/2000-01-03.
func (w *world) key(text string) run.Key {
	w.Helper()
	k, err := run.ParseKey(text)
	w.check(err)
	return k
}

func (w *world) period(text string) period.Period {
	w.Helper()
	p, err := period.Parse(text)
	w.check(err)
	return p
}

// stands returns the state of a run, such as "RUNNING 1"; "none" if there is none.
func (w *world) stands(text string) string {
	w.Helper()
	r, err := w.data().Run(w.Context(), w.key(text))
	if errors.Is(err, store.ErrNotFound) {
		return "none"
	}
	w.check(err)
	return fmt.Sprintf("%s %d", r.Status, r.Attempt)
}

func (w *world) expect(text, want string) {
	w.Helper()
	if got := w.stands(text); got != want {
		w.Fatalf("at %s %s is %s, want %s\n%s", time.Now().UTC().Format(time.DateTime), text, got, want, w.eventLog())
	}
}

// runs lists all runs.
func (w *world) runs() []run.Run {
	w.Helper()
	var all []run.Run
	q := store.RunQuery{Limit: store.MaxPage}
	for {
		page, err := w.data().Runs(w.Context(), q)
		w.check(err)
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		q.Cursor = page.Next
	}
}

// events lists the events of those types, or all, oldest first.
func (w *world) events(types ...event.Type) []event.Event {
	w.Helper()
	var all []event.Event
	for last := store.Position(0); ; {
		stored, err := w.data().EventsAfter(w.Context(), last, store.MaxPage)
		w.check(err)
		if len(stored) == 0 {
			return all
		}
		for _, s := range stored {
			last = s.Position
			w.check(s.Event.Validate())
			if len(types) == 0 || slices.Contains(types, s.Event.Type) {
				all = append(all, s.Event)
			}
		}
	}
}

// emitted lists events of those types about a pipeline as "TYPE date".
func (w *world) emitted(id string, types ...event.Type) []string {
	w.Helper()
	emitted := []string{}
	for _, e := range w.events(types...) {
		if e.Detail.Pipeline == pipeline.ID(id) {
			emitted = append(emitted, fmt.Sprintf("%s %s", e.Type, e.Detail.Date))
		}
	}
	return emitted
}

// eventLog lists all events, for a failed test.
func (w *world) eventLog() string {
	w.Helper()
	var lines strings.Builder
	for _, e := range w.events() {
		fmt.Fprintf(&lines, "%s %s %s %s %d: %s\n", e.Time.Format(time.DateTime), e.Type, e.Detail.Pipeline, e.Detail.Date, e.Detail.Attempt, e.Detail.Message)
	}
	return lines.String()
}
