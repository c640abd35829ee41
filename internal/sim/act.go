package sim

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

// act is a piece of a controller's work: handling a change, carrying out a task. It runs until it
// waits, and continues when the world resumes it. So the steps of several acts interleave in every
// possible order, but never run at once.
type act struct {
	host   *host
	name   string
	about  run.Key   // the run of its task, if it has one
	wakes  time.Time // when its wait ends
	ctx    context.Context
	cancel context.CancelFunc
	do     func(ctx context.Context)
	fibre  *fibre // nil before it has begun
	worker *pool  // whose worker it holds
	parked bool   // it waits for a worker
	dead   bool   // its controller has died
	seen   int64  // the version of the latest reading when it began
}

// fibre is a goroutine that runs acts one after the other.
type fibre struct {
	act    *act
	yield  func(struct{}) bool
	resume func() (struct{}, bool)
	end    func()
}

// crashed is the panic that unwinds an act whose controller has died.
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

// perform runs an act until it or its controller ends.
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

// begin creates an act of a controller. It runs when the world picks it.
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

// wait yields to other acts, and returns once the instant has come and the controller is awake. It
// does not return if the controller has died.
func (w *World) wait(until time.Time) {
	a := w.current
	a.wakes = until
	if a.dead || !a.fibre.yield(struct{}{}) || a.dead {
		panic(crashed{})
	}
}

// abort ends a waiting act.
func (w *World) abort(a *act) {
	a.dead = true
	if a.fibre == nil {
		w.forget(a)
		return
	}
	w.run(a)
}

// ready reports whether an act can continue.
func (a *act) ready(now time.Time) bool {
	return !a.wakes.After(now) && !a.host.asleep.After(now)
}

// resumes returns when it can continue.
func (a *act) resumes() time.Time { return later(a.wakes, a.host.asleep) }
