// Package sim is the host that is a world of its own: some controllers on one store, the targets that their jobs run on,
// and everything around them, with virtual time. It is single-threaded, and one seed decides everything that happens: what
// is written and asked for, what fails, who dies, in which order things happen that could happen at once. The same seed is
// the same history.
//
// The controllers are put together from the same handlers as in the process: catalog, router, orchestrator, slamonitor and
// watchdog. Only what waits and what answers is simulated. After every step the promises of docs/GUARANTEES.md are checked
// on the rows of the store, on what the targets saw, and on the events: each is an invariant with a name, in a file of its
// own. What goes wrong in a world, and how often, is in docs/RELIABILITY.md.
//
// World is the clock and the loop; host.go is a controller, act.go what one is doing, line.go what it sees of the store,
// target.go what jobs run on, plan.go what a seed means, fault.go what may go wrong.
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

// Options are what a world is made of. The zero value is one controller without pipelines, with the usual limits.
type Options struct {
	Start    time.Time // when it begins; the year 2000 unless said
	Hosts    int       // how many controllers there are; one unless said
	Files    catalog.Files
	Jobs     map[string]job.Type // by the names that pipeline files use; targets of the world itself unless said
	Probes   Evaluator           // answers the probes of pipeline files, which all pass unless said
	Watchdog time.Duration       // how often each controller looks for what did not happen
	Lease    time.Duration
	// LostAfter is how long a task for another controller must have been due before anybody may have it.
	LostAfter time.Duration
	Workers   int // how many tasks each controller carries out at once; four unless said
	Limits    router.Limits

	chaos *chaos    // what goes wrong; nothing unless said
	until string    // see Replay
	bugs  bugs      // what tests put back
	trace io.Writer // where the history is written; nowhere unless said
}

// World is a simulated installation.
type World struct {
	Options
	now  time.Time     // as time really passes
	skew time.Duration // by how much every clock is wrong

	data   *memory.Store
	watch  *watch // the store below all controllers, with the invariants
	target *target
	pager  *pager
	hosts  []*host
	edits  int // how often the files were changed

	shifts map[run.AttemptID][]*shift // of workers outside

	clogged time.Time // until then the changes of one pipeline cannot be handled

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

// New makes a world and starts its controllers.
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

// Now is the time by the clocks of this world.
func (w *World) Now() time.Time { return w.now.Add(w.skew) }

// endless is how many steps at one instant are too many: somebody does the same again and again.
const endless = 20_000

// ended reports whether the invariant is broken that ends the world.
func (w *World) ended() bool {
	return w.until != "" && slices.ContainsFunc(w.watch.broken, func(v Violation) bool { return v.Invariant == w.until })
}

// AdvanceTo lets time pass up to an instant, with all that follows from it, also at that instant.
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

// Settle lets everything happen that can happen now.
func (w *World) Settle() { w.AdvanceTo(w.now) }

// SetFiles changes the pipeline, calendar and archetype files. Controllers see it when they look.
func (w *World) SetFiles(f catalog.Files) {
	w.Files = f
	w.edits++
}

// PutSensor writes a reading as the API does: its period is in the data, behind the key, or nowhere. A reading that the API
// would refuse is an error. Without fields it deletes.
func (w *World) PutSensor(id pipeline.ID, key string, fields sensor.Fields) error {
	write, err := reading(id, key, fields)
	if err != nil {
		return err
	}
	_, err = w.watch.PutReadings(context.Background(), []store.Write{write}, w.Now())
	return err
}

// reading is a write as the API makes it.
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

// Operate does what a person asks of a controller, at once, and lets what follows happen later.
func (w *World) Operate(ask func(ctx context.Context, r *router.Router, now time.Time) error) error {
	at := slices.IndexFunc(w.hosts, (*host).works)
	if at < 0 {
		return errors.New("no controller runs")
	}
	return ask(context.Background(), w.hosts[at].router, w.Now())
}

// Store is the store as it is, for whoever wants to look.
func (w *World) Store() store.Store { return w.data }

// Events lists what was announced, oldest first.
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

// Close ends what the controllers are doing.
func (w *World) Close() {
	w.closed = true
	for _, h := range w.hosts {
		h.die()
	}
	for _, f := range w.idle {
		f.end()
	}
}

// bugs are wrappers that tests put around a part of a world to let it misbehave in one way, so that an invariant is seen to
// break. A world without them is as the product is.
type bugs struct {
	store   func(w *World, host string, below store.Store) store.Store // what a controller sees of the store
	below   func(store.Store) store.Store                              // the store itself, below the watch
	change  func(changeHandler) changeHandler
	pools   func(*pools)                    // the workers of a controller
	insists bool                            // a change that fails is retried without end, and never set aside
	report  func(o run.Outcome) run.Outcome // a result on its way to the router
}

// changeHandler reacts to a change, as router.Router does.
type changeHandler func(ctx context.Context, c store.Change, now time.Time) error

// tell writes a line of the trace, for people who read how a world went.
func (w *World) tell(format string, args ...any) {
	if w.trace == nil {
		return
	}
	trace(w.trace, w.Now(), w.steps, marks.ReplaceAllString(fmt.Sprintf(format, args...), "/…#"))
}

// marks are what each controller puts into the names of its starts, to tell them from those of all others. They are random
// and decide nothing.
var marks = regexp.MustCompile(`/[A-Z2-7]{26}#`)

func trace(to io.Writer, at time.Time, step int, line string) {
	_, _ = fmt.Fprintf(to, "%s %5d  %s\n", at.Format("2006-01-02 15:04:05.000"), step, line) // whoever reads it sees what is missing
}
