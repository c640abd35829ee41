package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/store"
)

// hour is longer than any of these tests.
const hour = time.Hour

func (h *host) add(id string, kind store.TaskKind) {
	h.Helper()
	b := store.Batch{ID: "add " + id}
	b.Schedule(store.Task{ID: id, Kind: kind, Pipeline: "orders", Due: time.Now()})
	if err := h.store.Commit(h.Context(), b, time.Now()); err != nil {
		h.Fatal(err)
	}
}

// done is a handler that finishes its task.
func (h *host) done(ctx context.Context, c store.Claim) error {
	h.note("%s", c.Task.ID)
	return h.finish(ctx, c)
}

func TestTimersDoNotWaitForSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.options.ProbeWorkers = 1
		h.tasks[store.Advance] = func(ctx context.Context, _ store.Claim) error {
			<-ctx.Done()
			return ctx.Err()
		}
		for _, kind := range []store.TaskKind{store.FireDeadline, store.Fire, store.Arm, store.RunProbe} {
			h.tasks[kind] = h.done
		}
		for i := range 10 * h.options.Workers {
			h.add(fmt.Sprintf("step-%d", i), store.Advance)
		}
		h.start(0)
		h.pass(time.Minute)
		want := []string{"deadline", "fire", "arm", "probe"}
		for i, kind := range []store.TaskKind{store.FireDeadline, store.Fire, store.Arm, store.RunProbe} {
			h.add(want[i], kind)
			h.pass(time.Second)
		}
		h.end()
		if diff := cmp.Diff(want, h.noted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// entering makes tasks enter a pool before they hang for an hour: ids starting with "blocking" the
// pool for blocking start calls, "airflow" and "command" that of the type. Others finish at once.
func (h *host) entering(e **engine.Engine) {
	h.tasks[store.Advance] = func(ctx context.Context, c store.Claim) error {
		kind, _, _ := strings.Cut(c.Task.ID, "-")
		if kind == "plain" {
			return h.done(ctx, c)
		}
		waited, err := (*e).Enter(ctx, kind, kind == "blocking")
		if err != nil {
			return err
		}
		h.note("%s waited %t", kind, waited)
		select {
		case <-time.After(hour):
			return h.finish(ctx, c)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestTaskThatEntersAPoolLeavesItsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.options.BlockingStarts = 3
		var e *engine.Engine
		h.entering(&e)
		e = h.start(0)
		for i := range 5 {
			h.add(fmt.Sprintf("blocking-%d", i), store.Advance)
		}
		for i := range 4 {
			h.add(fmt.Sprintf("airflow-%d", i), store.Advance)
		}
		h.pass(time.Minute)
		h.add("command-0", store.Advance)
		h.add("plain", store.Advance)
		h.pass(time.Second)
		noted := h.noted()
		slices.Sort(noted[:5])
		slices.Sort(noted[5:])
		want := []string{
			"airflow waited false", "airflow waited false", "blocking waited false", "blocking waited false", "blocking waited false",
			"command waited false", "plain",
		}
		if diff := cmp.Diff(want, noted); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"": 2, "airflow": 2, "command": 0}, e.Health(t.Context(), time.Minute).Waiting); diff != "" {
			t.Errorf("waiting (-want +got):\n%s", diff)
		}
		h.pass(hour)
		noted = h.noted()[len(want):]
		slices.Sort(noted)
		want = []string{"airflow waited true", "airflow waited true", "blocking waited true", "blocking waited true"}
		if diff := cmp.Diff(want, noted); diff != "" {
			t.Errorf("after an hour (-want +got):\n%s", diff)
		}
		h.end()
	})
}

func TestStoppingReleasesTasksThatWaitForAPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.options.BlockingStarts = 1
		var e *engine.Engine
		h.entering(&e)
		e = h.start(2 * hour)
		h.add("blocking-0", store.Advance)
		synctest.Wait()
		h.add("blocking-1", store.Advance)
		h.pass(time.Minute)
		h.end() // the first one has time to finish
		if diff := cmp.Diff([]string{"blocking waited false"}, h.noted()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		claims, err := h.store.Claim(t.Context(), store.ClaimQuery{Limit: 10, Lease: time.Minute}, time.Now())
		if err != nil || len(claims) != 1 || claims[0].Task.Failures > 0 {
			t.Errorf("released: %+v, %v", claims, err)
		}
	})
}
