package sim

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/store"
)

// pool is a bounded number of workers, as in package engine.
type pool struct {
	free int
	line []*act // acts that wait for a worker
}

// take acquires a worker as soon as one is free, and reports whether it had to wait. It fails if
// ctx ends first.
func (p *pool) take(ctx context.Context, w *World) (waited bool, err error) {
	a := w.current
	for p.free == 0 {
		p.line = append(p.line, a)
		a.parked = true
		w.wait(w.now.Add(forever))
		a.parked = false
		p.line = slices.DeleteFunc(p.line, func(other *act) bool { return other == a })
		waited = true
		if err := ctx.Err(); err != nil {
			return true, err
		}
	}
	p.free--
	return waited, nil
}

const forever = 100 * 365 * 24 * time.Hour

// room returns how many workers are free and not waited for.
func (p *pool) room() int { return max(p.free-len(p.line), 0) }

// try acquires a worker if one is free.
func (p *pool) try() bool {
	if p.room() == 0 {
		return false
	}
	p.free--
	return true
}

// give returns a worker and wakes the first act that waits for one.
func (p *pool) give(w *World) {
	p.free++
	if len(p.line) > 0 {
		p.line[0].wakes = w.now
	}
}

// pools limit what a controller does at once: tasks by class, calls to targets by job type, and
// start calls that are the job.
type pools struct {
	timers, steps, blocking *pool
	calls                   map[string]*pool
	workers                 int
}

func newPools(workers int) pools {
	one := func() *pool { return &pool{free: workers} }
	return pools{timers: one(), steps: one(), blocking: one(), calls: map[string]*pool{}, workers: workers}
}

var (
	stepKinds  = controller.Of(controller.Steps)
	timerKinds = controller.Of(controller.Urgent, controller.Timers, controller.Probes, controller.Changes)
)

// of returns the pool of a task kind.
func (p *pools) of(kind store.TaskKind) *pool {
	if slices.Contains(stepKinds, kind) {
		return p.steps
	}
	return p.timers
}

// query returns the task kinds that have free workers, nil for all, and how many to claim.
func (p *pools) query() (kinds []store.TaskKind, limit int) {
	steps, timers := p.steps.room(), p.timers.room()
	switch {
	case steps > 0 && timers > 0:
		return nil, max(steps, timers)
	case steps > 0:
		return stepKinds, steps
	default:
		return timerKinds, timers
	}
}

// enter moves an act from its worker to one for calls to targets of a job type, or for calls that
// are the job.
func (h *host) enter(ctx context.Context, jobType string, blocking bool) (waited bool, err error) {
	a, to := h.world.current, h.pools.blocking
	if !blocking {
		if h.pools.calls[jobType] == nil {
			h.pools.calls[jobType] = &pool{free: h.pools.workers}
		}
		to = h.pools.calls[jobType]
	}
	if a == nil || a.worker == nil || a.worker == to { // an external request has no worker
		return false, nil
	}
	a.leave()
	waited, err = to.take(ctx, h.world)
	if err == nil {
		a.worker = to
	}
	return waited, err
}

// leave returns the worker of an act, if it has one.
func (a *act) leave() {
	if a.worker != nil {
		a.worker.give(a.host.world)
		a.worker = nil
		a.host.woken()
	}
}
