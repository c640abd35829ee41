package sim

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Replay configures how a seed is played.
type Replay struct {
	Only  []string  // if it is not nil, only these faults and errands happen
	Trace io.Writer // for the history; nil for none

	until string // the invariant whose violation ends the world; "" for none
	bugs  bugs
	tune  func(p *plan) // makes something happen more often
}

// Outcome is the result of a seed.
type Outcome struct {
	Seed     uint64
	Broken   []Violation
	Faults   []Fault
	Happened []string // the faults and errands that happened, by id
	Virtual  time.Duration
	Steps    int
}

// Fails reports whether an invariant was broken; any, if it is "".
func (o Outcome) Fails(invariant string) bool {
	return slices.ContainsFunc(o.Broken, func(v Violation) bool { return invariant == "" || v.Invariant == invariant })
}

// Play plays a seed: a storm of some hours with faults of all kinds, and then a calm without
// faults, long enough for all work to finish.
func Play(seed uint64, r Replay) Outcome {
	p := newPlan(seed, r)
	w := New(p.options)
	defer w.Close()
	if p.quiet {
		w.watch.expectPrompt(p.options.Start)
	}
	w.AdvanceTo(p.calm)
	p.becalm(w)
	w.watch.expectPrompt(p.calm.Add(settling))
	w.AdvanceTo(p.end)
	if !w.ended() {
		w.watch.settled(p.calm.Add(w.skew), p.end.Add(w.skew))
	}
	return Outcome{
		Seed: seed, Broken: w.watch.broken, Faults: w.chaos.fired, Happened: w.chaos.happened,
		Virtual: w.now.Sub(p.options.Start), Steps: w.steps,
	}
}

// calmness is how long the calm after a storm is: longer than any attempt may take.
const calmness = 3*time.Hour + 30*time.Minute

// plan is what a seed determines.
type plan struct {
	seed      uint64
	dice      dice
	options   Options
	folder    folder
	templates []template
	calm, end time.Time
	writes    time.Duration // interval of producers' writes
	wishes    time.Duration // interval of people's requests
	edits     time.Duration // interval of edits
	quiet     bool          // store, controllers and clocks work: only jobs, producers and people cause faults
	errands   int
}

func newPlan(seed uint64, r Replay) *plan {
	p := &plan{seed: seed, dice: throw(seed, "plan", 0)}
	d := &p.dice
	where := places[d.under(len(places))]
	where.start = where.start.Add(d.span(6 * time.Hour).Truncate(time.Second))
	p.folder = folder{place: where, texts: map[string]string{}}
	p.choose()
	p.calm = where.start.Add(time.Hour + d.span(4*time.Hour))
	p.end = p.calm.Add(calmness)
	p.options = Options{
		Start: where.start, Hosts: one(d, 1, 1, 1, 2, 2, 3), Files: p.folder.files(), Watchdog: one(d, 5*time.Minute, 10*time.Minute, 10*time.Minute), Workers: one(d, 2, 4),
		Lease: 30 * time.Second, LostAfter: 10 * time.Minute, until: r.until, bugs: r.bugs, trace: r.Trace,
		Limits: router.Limits{RunTimeout: time.Hour, StartTries: 3, StartBackoff: 30 * time.Second},
		chaos:  &chaos{seed: seed, passed: map[string]int{}, rates: p.rates(), turns: one(d, 0.02, 0.1, 0.3)},
	}
	p.writes = one(d, 3*time.Minute, 8*time.Minute, 20*time.Minute)
	p.wishes = one(d, 20*time.Minute, time.Hour)
	p.edits = one(d, time.Hour, 3*time.Hour)
	if d.chance(0.25) {
		p.hush()
	}
	if r.tune != nil {
		r.tune(p)
		p.options.Files = p.folder.files()
	}
	if r.Only != nil {
		p.options.chaos.only = map[string]bool{}
		for _, id := range r.Only {
			p.options.chaos.only[id] = true
		}
	}
	p.fill(p.options.chaos)
	return p
}

// choose picks some of the pipelines.
func (p *plan) choose() {
	d := &p.dice
	for _, t := range templates {
		wanted := t.id == "lands" || d.chance(0.3)
		if t.with != "" {
			wanted = p.folder.texts[t.with] != ""
		}
		if wanted {
			p.templates = append(p.templates, t)
			p.folder.set(t, d.under(len(t.variants)))
		}
	}
}

// usual is the usual rate of each kind of fault.
var usual = map[Kind]float64{
	ErrorBefore: 0.02, ErrorAfter: 0.02, CrashBefore: 0.003, CrashAfter: 0.003, Asleep: 0.004, Overslept: 0.003, Slow: 0.01,
	Repeated: 0.15, Delayed: 0.1, LeaseLost: 0.02,
	StartTimedOut: 0.06, StartLost: 0.05, StartRefused: 0.08, StartForbidden: 0.02, StartSlow: 0.1,
	Raced:      0.02,
	WorkerDied: 0.1, WorkerSilent: 0.15,
	StopSlow: 0.3, AlertFailed: 0.05, AlertUnanswered: 0.05,
	StatusFailed: 0.05, StatusLied: 0.01, JobLost: 0.005, SearchFailed: 0.1, SearchMissed: 0.1, JobFailed: 0.15, JobHung: 0.03,
}

// loud are the kinds that a quiet world excludes.
var loud = []Kind{ErrorBefore, ErrorAfter, CrashBefore, CrashAfter, Asleep, Overslept, Slow, Delayed, LeaseLost}

// rates returns the usual rates, some raised and some lowered, so that seeds differ in their
// emphasis.
func (p *plan) rates() map[Kind]float64 {
	rates := map[Kind]float64{}
	for _, kind := range kindsInOrder() {
		rates[kind] = usual[kind] * one(&p.dice, 0.2, 1, 1, 2)
	}
	return rates
}

// hush makes the world a quiet one.
func (p *plan) hush() {
	p.quiet = true
	for _, kind := range loud {
		p.options.chaos.rates[kind] = 0
	}
}

func kindsInOrder() []Kind {
	var all []Kind
	for kind := range usual {
		all = append(all, kind)
	}
	slices.Sort(all)
	return all
}

// fill puts the external events on the agenda.
func (p *plan) fill(c *chaos) {
	every := func(mean time.Duration, do func(at time.Time)) {
		for at := p.options.Start.Add(p.dice.span(2 * mean)); at.Before(p.calm); at = at.Add(time.Second + p.dice.span(2*mean)) {
			do(at)
		}
	}
	d := &p.dice
	every(p.writes, func(at time.Time) { p.add(c, p.sensor(at)) })
	if timed := p.timed(); len(timed) > 0 {
		every(p.writes, func(at time.Time) { p.add(c, p.part(at, timed)) })
	}
	every(p.wishes, func(at time.Time) { p.add(c, p.wish(at)) })
	every(p.edits, func(at time.Time) { p.add(c, p.edit(at)) })
	if p.folder.texts[handed] != "" {
		every(3*time.Minute, func(at time.Time) { p.add(c, p.seekWork(at)) })
	}
	if d.chance(0.2) {
		p.add(c, p.curse(p.during()))
	}
	if d.chance(0.2) {
		p.add(c, p.clog(p.during()))
	}
	if d.chance(0.2) {
		p.add(c, p.failOver(p.during()))
	}
	c.rival = p.rival
	if p.quiet {
		return
	}
	every(one(d, 45*time.Minute, 4*time.Hour), func(at time.Time) { p.add(c, p.kill(at)) })
	every(one(d, 6*time.Hour, 24*time.Hour), func(at time.Time) { p.add(c, p.jump(at)) })
}

// timed returns the pipelines that producers write slices for.
func (p *plan) timed() []template {
	return slices.DeleteFunc(slices.Clone(p.templates), func(t template) bool {
		return !slices.Contains([]string{"sums", "daily", "weekly", "monthly"}, t.id)
	})
}

// during returns an instant before the calm.
func (p *plan) during() time.Time {
	return p.options.Start.Add(p.dice.span(p.calm.Sub(p.options.Start)))
}

// own returns the dice of the next errand.
func (p *plan) own() dice { return throw(p.seed, "errand", p.errands+1) }

// add puts an errand with a number on the agenda.
func (p *plan) add(c *chaos, e *errand) {
	p.errands++
	e.id = fmt.Sprintf("errand#%d", p.errands)
	c.plan(e)
}

// kill crashes a controller between two steps.
func (p *plan) kill(at time.Time) *errand {
	away := p.own()
	n := away.under(p.options.Hosts)
	return &errand{at: at, kind: Killed, what: "a controller is killed", do: func(w *World) {
		if h := w.hosts[n]; h.alive {
			w.crash(h, w.chaos.away(&away))
		}
	}}
}

// jump sets all clocks.
func (p *plan) jump(at time.Time) *errand {
	e := &errand{at: at, kind: ClockAhead, what: "all clocks jump ahead by an hour", do: func(w *World) { w.skew += time.Hour }}
	if p.dice.chance(0.5) {
		e.kind, e.what, e.do = ClockBack, "all clocks jump back by an hour", func(w *World) {
			ahead := w.Now()
			w.skew -= time.Hour
			w.watch.clocksSetBack(ahead)
		}
	}
	return e
}

// curse stores some tasks that always fail, and some of an unknown kind.
func (p *plan) curse(at time.Time) *errand {
	d := p.own()
	return &errand{at: at, kind: TaskFails, what: "tasks are stored that fail on every try", do: func(w *World) {
		var b store.Batch
		for n := range 1 + d.under(6) {
			b.Schedule(store.Task{ID: fmt.Sprintf("%s%d", cursed, n), Kind: one(&d, store.Fire, store.Advance, "unheard-of"), Due: w.Now()})
		}
		b.ID = cursed
		if err := w.watch.heldBy(w.data).Commit(context.Background(), b, w.Now()); err != nil {
			panic(err) // it has no conditions, so it cannot conflict
		}
	}}
}

// clog makes the changes of one pipeline fail for up to an hour, and writes more of them than a
// controller holds at once.
func (p *plan) clog(at time.Time) *errand {
	d := p.own()
	return &errand{at: at, kind: ChangeFails, what: "the changes of a pipeline cannot be handled", do: func(w *World) {
		w.clogged = w.now.Add(d.span(time.Hour))
		writes := make([]store.Write, 2*inFlight)
		for n := range writes {
			writes[n] = store.Write{Pipeline: clogged, Reading: sensor.Reading{Key: "rows", Fields: sensor.Fields{"count": n}}}
		}
		w.ask("the write of many readings", 0, func(ctx context.Context, h *host) error {
			_, err := h.line.PutReadings(ctx, writes, h.clock())
			return err
		})
	}}
}

// failOver makes the store lose its latest events, some of which sinks may have read.
func (p *plan) failOver(at time.Time) *errand {
	d := p.own()
	return &errand{at: at, kind: EventsLost, what: "the store loses its latest events", do: func(w *World) {
		w.watch.lost(w.data.LoseEvents(1 + d.under(5)))
	}}
}

// becalm ends the storm: no faults happen any more, and no pipeline stays paused.
func (p *plan) becalm(w *World) {
	w.tracef("the calm begins")
	w.chaos.calm = true
	for _, wait := range []time.Duration{0, 75 * time.Minute} { // removed files are back after an hour
		w.chaos.plan(&errand{at: w.now.Add(wait), what: "all pauses end", again: true, do: func(w *World) {
			w.resumeAll()
			for _, t := range p.templates {
				w.resume(t.id)
			}
		}})
	}
}
