// Package sim is a simulated installation: some controllers on one store, the targets that their
// jobs run on, and their environment, in virtual time. It is single-threaded, and one seed decides
// everything: which writes and requests happen, what fails, who crashes, and the order of
// concurrent steps. The same seed gives the same history.
//
// The controllers are built from the same handlers as the server: catalog, router, orchestrator,
// slamonitor and watchdog. Only waiting and the outside world are simulated. After every step the
// promises of docs/GUARANTEES.md are checked on the rows of the store, on what the targets saw, and
// on the events: each is a named invariant in its own file. docs/RELIABILITY.md lists the faults
// and their rates.
//
// World is the clock and the loop; host.go is a controller, act.go its current work, line.go its
// connection to the store, target.go the target of jobs, plan.go the meaning of a seed, fault.go
// the faults.
package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// Options configure a world. The zero value is one controller without pipelines, with the usual
// limits.
type Options struct {
	Start    time.Time // default: the year 2000
	Hosts    int       // number of controllers; default: one
	Files    catalog.Files
	Jobs     map[string]job.Type  // by the names that pipeline files use; default: the world's own targets
	Probes   controller.Evaluator // answers the probes of pipeline files; default: all pass
	Watchdog time.Duration        // interval of each controller's watchdog
	Lease    time.Duration
	// LostAfter is how long a task for another controller must have been due before any controller
	// may claim it.
	LostAfter time.Duration
	Workers   int // concurrent tasks of each controller; default: four
	Limits    router.Limits

	chaos *chaos    // faults; nil for none
	until string    // see Replay
	bugs  bugs      // reintroduced by tests
	trace io.Writer // for the history; nil for none
}

// World is a simulated installation.
type World struct {
	Options
	now  time.Time     // real time
	skew time.Duration // error of every clock

	data   *memory.Store
	watch  *watch // the store below all controllers, with the invariants
	target *target
	pager  *pager
	hosts  []*host
	edits  int // number of changes to the files

	shifts map[run.AttemptID][]*shift // of external workers

	clogged time.Time // until then the changes of one pipeline fail

	acts    []*act
	idle    []*fibre
	current *act
	due     dueCache
	moves   []move
	steps   int
	closed  bool
}

// kinds are the job types that files may name.
var kinds = all.Kinds()

// New creates a world and starts its controllers.
func New(o Options) *World {
	if o.Start.IsZero() {
		o.Start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	o.Hosts = max(o.Hosts, 1)
	setUnlessSaid(&o.Watchdog, time.Minute)
	setUnlessSaid(&o.Lease, 30*time.Second)
	setUnlessSaid(&o.LostAfter, 10*time.Minute)
	setUnlessSaid(&o.Limits.RunTimeout, 4*time.Hour)
	setUnlessSaid(&o.Limits.StartBackoff, 30*time.Second)
	if o.Limits.StartTries == 0 {
		o.Limits.StartTries = 3
	}
	if o.Workers == 0 {
		o.Workers = 4
	}
	w := &World{Options: o, now: o.Start.UTC(), data: memory.New(), shifts: map[run.AttemptID][]*shift{}}
	w.target, w.pager = newTarget(w), &pager{world: w, got: map[string]bool{}}
	if w.Jobs == nil {
		w.Jobs = w.target.types()
	}
	if w.Probes == nil {
		w.Probes = passing{}
	}
	w.watch = newWatch(w)
	for n := range o.Hosts {
		w.hosts = append(w.hosts, newHost(w, string(rune('a'+n))))
	}
	return w
}

func setUnlessSaid(d *time.Duration, usual time.Duration) {
	if *d <= 0 {
		*d = usual
	}
}

// Now returns the time by the clocks of this world.
func (w *World) Now() time.Time { return w.now.Add(w.skew) }

// endless is the limit of steps at one instant: beyond it something loops.
const endless = 20_000

// ended reports whether the invariant that ends the world is broken.
func (w *World) ended() bool {
	return w.until != "" && slices.ContainsFunc(w.watch.broken, func(v Violation) bool { return v.Invariant == w.until })
}

// AdvanceTo advances the time to an instant, with everything that happens up to and at that
// instant.
func (w *World) AdvanceTo(t time.Time) {
	for {
		for began := w.steps; w.step(); {
			if w.ended() {
				return
			}
			if w.steps-began > endless {
				w.watch.fail(Liveness, "%d steps were taken at one instant", endless)
				return
			}
		}
		next := w.next()
		if next.IsZero() || next.After(t) {
			break
		}
		w.now = next
	}
	if t.After(w.now) {
		w.now = t
	}
}

// Settle makes all moves that are possible now.
func (w *World) Settle() { w.AdvanceTo(w.now) }

// SetFiles changes the pipeline, calendar and archetype files. Controllers notice at their next
// check.
func (w *World) SetFiles(f catalog.Files) {
	w.Files = f
	w.edits++
}

// PutSensor writes a reading as the API does: its period is in the data, in the key's suffix, or
// missing. A reading that the API would reject is an error. Without fields it deletes.
func (w *World) PutSensor(id pipeline.ID, key string, fields sensor.Fields) error {
	write, err := reading(id, key, fields)
	if err != nil {
		return err
	}
	_, err = w.watch.PutReadings(context.Background(), []store.Write{write}, w.Now())
	return err
}

// reading returns a write as the API makes it.
func reading(id pipeline.ID, key string, fields sensor.Fields) (store.Write, error) {
	name, suffix, err := sensor.ExternalKey(key)
	if err != nil {
		return store.Write{}, err
	}
	p, err := sensor.PeriodOf(fields, suffix)
	if err != nil {
		return store.Write{}, err
	}
	return store.Write{Pipeline: id, Reading: sensor.Reading{Key: name, Period: p, Fields: fields, Deleted: fields == nil}}, nil
}

// Operate carries out an operator's request at once; its consequences follow later.
func (w *World) Operate(ask func(ctx context.Context, r *router.Router, now time.Time) error) error {
	at := slices.IndexFunc(w.hosts, (*host).works)
	if at < 0 {
		return errors.New("no controller runs")
	}
	return ask(context.Background(), w.hosts[at].Router, w.Now())
}

// Store returns the store, for tests to inspect.
func (w *World) Store() store.Store { return w.data }

// Events lists the events, oldest first.
func (w *World) Events() ([]event.Event, error) {
	var all []event.Event
	for last := store.Position(0); ; {
		stored, err := w.data.EventsAfter(context.Background(), last, store.MaxPage)
		if err != nil {
			return nil, fmt.Errorf("read the events: %w", err)
		}
		if len(stored) == 0 {
			return all, nil
		}
		for _, s := range stored {
			all = append(all, s.Event)
			last = s.Position
		}
	}
}

// Close ends the work of the controllers.
func (w *World) Close() {
	w.closed = true
	for _, h := range w.hosts {
		h.die()
	}
	for _, f := range w.idle {
		f.end()
	}
}

// bugs are wrappers with which tests make a part of a world misbehave in one way, to see an
// invariant break. A world without them is like the product.
type bugs struct {
	store   func(w *World, host string, below store.Store) store.Store // a controller's view of the store
	below   func(store.Store) store.Store                              // the store itself, below the watch
	change  func(changeHandler) changeHandler
	pools   func(*pools)                    // the workers of a controller
	insists bool                            // a failing change is retried without end and never set aside
	report  func(o run.Outcome) run.Outcome // a result on its way to the router
}

// changeHandler handles a change, as router.Router does.
type changeHandler func(ctx context.Context, c store.Change, now time.Time) error

// tracef writes a line of the trace.
func (w *World) tracef(format string, args ...any) {
	if w.trace == nil {
		return
	}
	trace(w.trace, w.Now(), w.steps, marks.ReplaceAllString(fmt.Sprintf(format, args...), "/…#"))
}

// marks are what each controller puts into the names of its starts, to distinguish them from all
// others. They are random and affect nothing.
var marks = regexp.MustCompile(`/[A-Z2-7]{26}#`)

func trace(to io.Writer, at time.Time, step int, line string) {
	_, _ = fmt.Fprintf(to, "%s %5d  %s\n", at.Format("2006-01-02 15:04:05.000"), step, line) // a reader of the trace notices what is missing
}
