package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// claim claims due tasks, as many as there are free workers, and carries them out.
func (h *host) claim(ctx context.Context) {
	w := h.world
	kinds, limit := h.pools.query()
	q := store.ClaimQuery{Replica: h.name, Kinds: kinds, Limit: limit, Lease: w.Lease, LostAfter: w.LostAfter}
	claims, err := h.line.Claim(ctx, q, h.clock())
	switch {
	case err != nil:
		h.claims = w.now.Add(backoff)
	case len(claims) == 0:
		h.claims = w.now.Add(nap)
	}
	for _, c := range claims {
		h.perform(c)
	}
}

// woken makes the controller claim tasks at once: one was stored or released, or a worker is free.
func (h *host) woken() {
	if h.alive && h.claims.After(h.world.now) {
		h.claims = h.world.now
	}
}

// perform carries out one task, with a worker of its pool.
func (h *host) perform(c store.Claim) {
	w, with := h.world, h.pools.of(c.Task.Kind)
	if len(h.held) == 0 {
		h.renews = w.now.Add(w.Lease / 3)
	}
	if w.chaos != nil {
		w.chaos.lease(h, c.Lease)
	}
	var a *act
	a = h.do(c.Task.ID, func(ctx context.Context) {
		defer delete(h.held, c.Lease)
		defer a.leave()
		if a.worker == nil {
			if _, err := with.take(ctx, w); err != nil {
				_ = h.line.Release(ctx, []store.Lease{c.Lease}, h.clock()) // it expires by itself
				return
			}
			a.worker = with
		}
		if err := h.carryOut(ctx, c); err != nil {
			w.tracef("%s cannot carry out %s: %v", h.name, c.Task.ID, err)
			_ = h.line.Commit(ctx, store.Postpone(c, err, h.clock()), h.clock()) // otherwise its lease expires by itself
		}
	})
	if with.try() {
		a.worker = with
	}
	a.about = c.Task.Key
	h.held[c.Lease] = a
}

// cursed is the id prefix of tasks that always fail.
const cursed = "cursed/"

// carryOut calls the handler of a task.
func (h *host) carryOut(ctx context.Context, c store.Claim) error {
	if strings.HasPrefix(c.Task.ID, cursed) && c.Task.Kind != "unheard-of" {
		return errors.New("it fails on every try")
	}
	if c.Task.Kind != store.HandleChange {
		return h.Perform(ctx, c)
	}
	if err := h.change(ctx, c.Task.Change); err != nil {
		return err
	}
	b := store.Batch{ID: fmt.Sprintf("handled/%s/%d", c.Task.ID, c.Lease.Token), Lease: &c.Lease}
	b.Finish(c.Task.ID)
	return h.line.Commit(ctx, b, h.clock())
}

// renew renews leases, and cancels the work on lost ones.
func (h *host) renew(ctx context.Context) {
	w := h.world
	h.renews = w.now.Add(w.Lease / 3)
	var leases []store.Lease
	for l := range h.held {
		leases = append(leases, l)
	}
	slices.SortFunc(leases, func(a, b store.Lease) int { return int(a.Token - b.Token) })
	kept, err := h.line.Renew(ctx, leases, w.Lease, h.clock())
	if err != nil {
		return
	}
	for _, l := range leases {
		if a := h.held[l]; a != nil && !slices.Contains(kept, l) {
			a.cancel()
			if a.parked {
				a.wakes = w.now
			}
		}
	}
}

// await completes an attempt as soon as its job ends, if the type can notice that.
func (h *host) await(key run.Key, attempt int) {
	id := key.Attempt(attempt)
	if h.awaiting[id] {
		return
	}
	h.awaiting[id] = true
	h.do("await "+string(id), func(ctx context.Context) {
		defer delete(h.awaiting, id)
		if err := h.Await(ctx, key, attempt); err != nil {
			h.world.tracef("%s cannot wait for %s: %v", h.name, id, err)
		}
	})
}

// resumeAwaits waits for the jobs that were running when the process started.
func (h *host) resumeAwaits(ctx context.Context) {
	open, err := h.line.OpenRuns(ctx, "")
	if err != nil {
		return // they are polled
	}
	for _, r := range open {
		if r.Status == run.Running {
			h.await(r.Key, r.Attempt)
		}
	}
}
