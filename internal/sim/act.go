package sim

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

// act is something that a controller is doing: handling a change, carrying out a task. It runs until it waits, and goes on
// when the world lets it, so that what several of them do falls between one another in every way, and never at once.
type act struct {
	host   *host
	name   string
	about  run.Key   // the run that it is about, where it is a task's
	wakes  time.Time // it waits until then
	ctx    context.Context
	cancel context.CancelFunc
	do     func(ctx context.Context)
	fibre  *fibre // nil before it has begun
	worker *pool  // of which it has a worker
	parked bool   // it waits for a worker
	dead   bool   // its controller is no longer there
	seen   int64  // the version of the last reading that was there when it began
}

// fibre is what acts run on, one after the other.
type fibre struct {
	act    *act
	yield  func(struct{}) bool
	resume func() (struct{}, bool)
	end    func()
}

// crashed is what unwinds an act whose controller has died.
type crashed struct{}

func newFibre() *fibre {
	f := &fibre{}
	f.resume, f.end = iter.Pull(func(yield func(struct{}) bool) {
		f.yield = yield
		for f.perform(); yield(struct{}{}); f.perform() {
		}
	})
	return f
}

// perform runs an act to its end, or to that of its controller.
func (f *fibre) perform() {
	defer func() {
		f.act = nil
		if what := recover(); what != nil {
			if _, is := what.(crashed); !is {
				panic(what)
			}
		}
	}()
	f.act.do(f.act.ctx)
}

// begin starts an act of a controller. It runs when the world takes it up.
func (w *World) begin(h *host, name string, do func(ctx context.Context)) *act {
	a := &act{host: h, name: name, wakes: w.now, seen: w.watch.lastVersion, do: do}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	w.acts = append(w.acts, a)
	return a
}

// takeUp runs an act until it waits or ends.
func (w *World) takeUp(a *act) {
	w.run(a)
	if h := a.host; h.doomed && h.alive {
		w.crash(h, h.away)
	}
}

func (w *World) run(a *act) {
	if a.fibre == nil {
		a.fibre = w.idleFibre()
		a.fibre.act = a
	}
	before := w.current
	w.current = a
	a.fibre.resume()
	w.current = before
	if a.fibre.act == nil {
		w.idle = append(w.idle, a.fibre)
		w.forget(a)
	}
}

func (w *World) idleFibre() *fibre {
	last := len(w.idle) - 1
	if last < 0 {
		return newFibre()
	}
	f := w.idle[last]
	w.idle = w.idle[:last]
	return f
}

func (w *World) forget(a *act) {
	a.cancel()
	if at := slices.Index(w.acts, a); at >= 0 {
		w.acts = slices.Delete(w.acts, at, at+1)
	}
}

// wait lets others go on, and returns once an instant has come and the controller is awake. It does not return if the
// controller has died.
func (w *World) wait(until time.Time) {
	a := w.current
	a.wakes = until
	if a.dead || !a.fibre.yield(struct{}{}) || a.dead {
		panic(crashed{})
	}
}

// abort ends an act where it waits.
func (w *World) abort(a *act) {
	a.dead = true
	if a.fibre == nil {
		w.forget(a)
		return
	}
	w.run(a)
}

// ready says that an act can go on.
func (a *act) ready(now time.Time) bool {
	return !a.wakes.After(now) && !a.host.asleep.After(now)
}

// resumes is when it can.
func (a *act) resumes() time.Time { return later(a.wakes, a.host.asleep) }
