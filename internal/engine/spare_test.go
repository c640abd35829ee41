package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/store"
)

// started is an engine that runs, of which workers can be asked for.
func (h *host) started(grace time.Duration) *engine.Engine {
	h.Helper()
	h.options.Handlers.Tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
		h.note("%s claimed", c.Task.ID)
		return h.finish(ctx, c)
	}
	return h.start(grace)
}

// known gives the claim of a task that is held from the beginning to whoever asks.
func (h *host) known(id string) func(context.Context) (store.Claim, error) {
	c := h.held(id)
	return func(context.Context) (store.Claim, error) { return c, nil }
}

// held stores a task that is held from the beginning.
func (h *host) held(id string) store.Claim {
	h.Helper()
	b := store.Batch{ID: "hold " + id}
	t := store.Task{ID: id, Kind: store.Advance, Pipeline: "orders", Due: time.Now()}
	b.Schedule(t)
	b.Hold = &store.Hold{Task: id, For: h.options.Lease}
	if err := h.store.Commit(h.Context(), b, time.Now()); err != nil {
		h.Fatal(err)
	}
	return store.Claim{Task: t, Lease: b.Hold.Given}
}

func TestSpareWorkerKeepsTheTaskForAsLongAsItsStepTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		e := h.started(time.Second)
		e.Spare(false).Carry(h.known("a"), func(ctx context.Context, c store.Claim, clock func() time.Time) error {
			begin := clock()
			time.Sleep(5 * h.options.Lease)
			h.note("a carried for %s", clock().Sub(begin))
			return h.finish(ctx, c)
		})
		h.pass(6 * h.options.Lease)
		h.end()
		if diff := cmp.Diff([]string{"a carried for 2m30s"}, h.noted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestStepOfASpareWorkerThatFailsIsLeftToWhoeverClaimsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		e := h.started(time.Second)
		e.Spare(false).Carry(h.known("a"), func(context.Context, store.Claim, func() time.Time) error { return errors.New("no") })
		h.pass(h.options.Lease / 2)
		h.end()
		if diff := cmp.Diff([]string{"a claimed"}, h.noted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestSpareWorkersAreAsManyAsWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		if engine.New(h.options).Spare(false) != nil {
			t.Error("an engine that does not run has a worker")
		}
		e := h.started(time.Second)
		first, second := e.Spare(false), e.Spare(false)
		if first == nil || second == nil || e.Spare(false) != nil {
			t.Error("of two workers there are others than two")
		}
		first.Dismiss()
		third := e.Spare(false)
		if third == nil {
			t.Fatal("a worker that was dismissed is not free")
		}
		third.Carry(h.known("a"), func(ctx context.Context, c store.Claim, _ func() time.Time) error { return h.finish(ctx, c) })
		synctest.Wait()
		third = e.Spare(false)
		if third == nil {
			t.Fatal("a worker that is done is not free")
		}
		third.Dismiss()
		second.Dismiss()
		h.end()
	})
}

func TestStoppingWaitsForSpareWorkersAndGivesNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		e := h.started(10 * time.Second)
		late := e.Spare(false)
		e.Spare(false).Carry(h.known("a"), func(ctx context.Context, c store.Claim, _ func() time.Time) error {
			time.Sleep(5 * time.Second)
			h.note("a carried")
			return h.finish(ctx, c)
		})
		h.stop()
		synctest.Wait()
		if e.Spare(false) != nil {
			t.Error("an engine that stops gives another worker")
		}
		late.Carry(h.known("b"), func(ctx context.Context, c store.Claim, _ func() time.Time) error { // it was given before
			h.note("b carried")
			return h.finish(ctx, c)
		})
		<-h.stopped
		if diff := cmp.Diff([]string{"b carried", "a carried"}, h.noted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestSpareWorkerAsksForItsClaimUntilItKnows(t *testing.T) {
	for name, c := range map[string]struct {
		last error
		want []string
	}{
		"there is one":  {nil, []string{"asked", "asked", "asked", "a carried"}},
		"there is none": {store.ErrConflict, []string{"asked", "asked", "asked"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				e := h.started(time.Second)
				known, answers := h.known("a"), []error{errors.New("away"), errors.New("away"), c.last}
				ask := func(ctx context.Context) (store.Claim, error) {
					h.note("asked")
					err := answers[0]
					answers = answers[1:]
					if err != nil {
						return store.Claim{}, err
					}
					return known(ctx)
				}
				e.Spare(false).Carry(ask, func(ctx context.Context, c store.Claim, _ func() time.Time) error {
					h.note("a carried")
					return h.finish(ctx, c)
				})
				h.pass(h.options.Lease / 2)
				if diff := cmp.Diff(c.want, h.noted()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				h.end()
			})
		})
	}
}
