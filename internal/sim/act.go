package sim

import (
	"context"
	"iter"
	"slices"
	"time"
)

// act is something that a controller is doing: handling a change, carrying out a task. It runs until it waits, and goes on
// when the world lets it, so that what several of them do falls between one another in every way, and never at once.
type act struct {
	host   *host
	name   string
	wakes  time.Time // it waits until then
	ctx    context.Context
	cancel context.CancelFunc
	yield  func(struct{}) bool
	resume func() (struct{}, bool)
	end    func()
	seen   int64 // the version of the last reading that was there when it began
}

// crashed is what unwinds an act whose controller has died.
type crashed struct{}

// begin starts an act of a controller. It runs when the world takes it up.
func (w *World) begin(h *host, name string, do func(ctx context.Context)) *act {
	a := &act{host: h, name: name, wakes: w.now, seen: w.watch.lastVersion}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.resume, a.end = iter.Pull(func(yield func(struct{}) bool) {
		a.yield = yield
		defer a.unwind()
		do(a.ctx)
	})
	w.acts = append(w.acts, a)
	return a
}

// unwind ends an act whose controller has died, and lets any other panic go on.
func (a *act) unwind() {
	if what := recover(); what != nil {
		if _, is := what.(crashed); !is {
			panic(what)
		}
	}
}

// takeUp runs an act until it waits or ends.
func (w *World) takeUp(a *act) {
	before := w.current
	w.current = a
	_, more := a.resume()
	w.current = before
	if !more {
		w.forget(a)
	}
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
	if !a.yield(struct{}{}) || !a.host.alive {
		panic(crashed{})
	}
}

// abort ends an act where it waits.
func (w *World) abort(a *act) {
	before := w.current
	w.current = a
	a.end()
	w.current = before
	w.forget(a)
}

// ready says that an act can go on.
func (a *act) ready(now time.Time) bool {
	return !a.wakes.After(now) && !a.host.asleep.After(now)
}

// resumes is when it can.
func (a *act) resumes() time.Time {
	if a.host.asleep.After(a.wakes) {
		return a.host.asleep
	}
	return a.wakes
}
