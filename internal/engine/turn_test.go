package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// queue stores that many tasks of a pipeline, due now.
func (h *host) queue(id pipeline.ID, kind store.TaskKind, n int) {
	h.Helper()
	for i := range n {
		name := fmt.Sprintf("%s/%s/%05d", kind, id, i)
		b := store.Batch{ID: "queue " + name}
		b.Schedule(store.Task{ID: name, Kind: kind, Pipeline: id, Due: time.Now()})
		if err := h.store.Commit(h.Context(), b, time.Now()); err != nil {
			h.Fatal(err)
		}
	}
}

// pipelines returns the pipelines of the tasks that ran, in order.
func pipelines(tasks []string) (ids []string) {
	for _, t := range tasks {
		ids = append(ids, strings.Split(t, "/")[1])
	}
	return ids
}

func TestDeadlinesAndFiresComeBeforeQueuedWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.options.Workers = 1
		for _, kind := range []store.TaskKind{store.FireDeadline, store.Fire, store.CheckPostRun, store.Advance} {
			h.tasks[kind] = func(ctx context.Context, c store.Claim) error {
				time.Sleep(time.Millisecond)
				return h.done(ctx, c)
			}
		}
		h.queue("flood", store.Advance, 200)
		h.queue("flood", store.CheckPostRun, 200)
		time.Sleep(time.Second)
		h.queue("orders", store.FireDeadline, 1)
		h.queue("orders", store.Fire, 1)
		h.start(0)
		h.pass(time.Minute)
		h.end()
		got := h.noted()
		if len(got) != 402 {
			t.Fatalf("%d tasks ran, want 402", len(got))
		}
		for _, id := range []string{"deadline/orders/00000", "fire/orders/00000"} {
			if at := slices.Index(got, id); at > 8 {
				t.Errorf("%s ran after %d tasks that were due before it, with one worker per class", id, at)
			}
		}
	})
}

func TestPipelinesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.options.Workers = 1
		h.tasks[store.Advance] = h.done
		h.queue("flood", store.Advance, 200)
		time.Sleep(time.Second)
		h.queue("orders", store.Advance, 5)
		h.queue("silver", store.Advance, 5)
		h.start(0)
		h.pass(time.Minute)
		h.end()
		order := pipelines(h.noted())
		if len(order) != 210 {
			t.Fatalf("%d tasks ran, want 210", len(order))
		}
		for _, id := range []string{"orders", "silver"} {
			for n := range 5 {
				at := slices.Index(order, id)
				if at > 3*(n+1)+1 {
					t.Errorf("task %d of %s was number %d; %d tasks of flood were due before it", n+1, id, at+1, 200)
				}
				order[at] = "done"
			}
		}
	})
}

func TestPipelinesTakeTurnsAtCallsOfOneJobType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var e *engine.Engine
		h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
			if _, err := e.Enter(ctx, "command", false); err != nil {
				return err
			}
			time.Sleep(time.Second)
			return h.done(ctx, c)
		}
		e = h.start(0)
		h.queue("flood", store.Advance, 100*h.options.Workers)
		h.pass(10 * time.Second)
		h.queue("orders", store.Advance, 2)
		h.pass(3 * time.Second)
		h.end()
		if n := strings.Count(strings.Join(pipelines(h.noted()), " "), "orders"); n != 2 {
			t.Errorf("%d of 2 calls of orders were made within three calls of those that waited longer", n)
		}
	})
}

func TestFeedReadsPastTheChangesOfOnePipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.options.Handlers.Change = func(ctx context.Context, c store.Change, _ time.Time) error {
			if c.Pipeline == "flood" {
				select {
				case <-time.After(time.Second): // slow, but not stuck
				case <-ctx.Done():
					return ctx.Err()
				}
				return nil
			}
			h.note("%s", c.Pipeline)
			return nil
		}
		for n := range 10000 {
			h.put("flood", n)
		}
		h.put("orders", 1)
		h.start(0)
		h.pass(5 * time.Second)
		h.end()
		if got := h.noted(); len(got) != 1 {
			t.Errorf("handled %v while another pipeline has 10,000 changes, want the one of orders", got)
		}
	})
}
