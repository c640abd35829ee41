package engine_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// hangs runs a task of a kind with its own workers until it is cancelled.
func (h *host) hangs(ctx context.Context, c store.Claim) error {
	h.note("%s began", c.Task.ID)
	<-ctx.Done()
	h.note("%s was broken off", c.Task.ID)
	return ctx.Err()
}

func (h *host) probe(n int) {
	h.Helper()
	for i := range n {
		b := store.Batch{ID: fmt.Sprint("probe ", i)}
		b.Schedule(store.Task{ID: fmt.Sprintf("probe-%d", i), Kind: store.RunProbe, Pipeline: "orders", Due: time.Now()})
		if err := h.store.Commit(h.Context(), b, time.Now()); err != nil {
			h.Fatal(err)
		}
	}
}

func TestTasksWithTheirOwnWorkersDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.options.ProbeWorkers = 2
		h.tasks[store.RunProbe] = h.hangs
		h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
			h.note("%s done", c.Task.ID)
			return h.finish(ctx, c)
		}
		h.start(time.Hour)
		h.probe(5)
		h.pass(10 * time.Minute) // many leases long
		h.schedule("advance", time.Now())
		h.pass(time.Second)
		if noted := h.noted(); len(noted) != 3 || noted[2] != "advance done" {
			t.Errorf("noted %q, want two of the five and the task beside them", noted)
		}
		began := time.Now()
		h.end()
		if took := time.Since(began); took > time.Second {
			t.Errorf("stopping took %s", took)
		}
		claims, err := h.store.Claim(t.Context(), store.ClaimQuery{Limit: 10, Lease: time.Minute}, time.Now())
		if err != nil || len(claims) != 5 {
			t.Errorf("%d tasks were given back, %v", len(claims), err)
		}
	})
}
