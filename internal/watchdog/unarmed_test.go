package watchdog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// The calendar excluded tomorrow when a reading for it arrived, and so suppressed it; the exclusion
// has been lifted since.
func TestSuppressedPeriodNeedsNoDeadline(t *testing.T) {
	w := newWorld(t, landed+"sla: {deadline: \"10:00\"}\n")
	next := run.Key{Pipeline: "orders", Schedule: pipeline.ByStream, Period: periodtest.Parse(t, "2026-03-04")}
	b := store.Batch{ID: "suppress it", Finished: []string{"arm/orders"}}
	b.SetMark(store.ExcludedMark(next), time.Time{})
	if err := w.store.Commit(ctx, b, eight); err != nil {
		t.Fatal(err)
	}
	w.pass(eight.Add(2 * time.Minute))
	if task, err := w.store.Task(ctx, "arm/orders"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("task %+v, %v", task, err)
	}
}
