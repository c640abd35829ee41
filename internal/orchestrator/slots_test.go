package orchestrator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

var limited = strings.ReplaceAll(daily, "cron:", "maxActive: 1, cron:")

// day returns the run of a day in March.
func (b *bench) day(n int) run.Key {
	b.t.Helper()
	key := b.key
	key.Period = periodtest.Parse(b.t, fmt.Sprintf("2026-03-%02d", n))
	return key
}

func (b *bench) slots() []run.AttemptID {
	b.t.Helper()
	row, err := b.store.Pipeline(ctx, "orders")
	if err != nil {
		b.t.Fatal(err)
	}
	return row.Slots
}

func (b *bench) wantSlots(days ...int) {
	b.t.Helper()
	var want []run.AttemptID
	for _, n := range days {
		want = append(want, b.day(n).Attempt(1))
	}
	if diff := cmp.Diff(want, b.slots()); diff != "" {
		b.t.Errorf("slots (-want +got):\n%s", diff)
	}
}

func TestNoMoreJobsThanSlots(t *testing.T) {
	b := newBench(t, limited+glue, plainType)
	b.open(b.day(3), run.Opening{})
	b.step()
	b.wantSlots(3)
	b.open(b.day(4), run.Opening{})
	b.step()
	r := b.runOf(b.day(4))
	if r.Status != run.Pending || r.Progress.WaitingSince.IsZero() {
		t.Errorf("the second is %s, waits since %s", r.Status, r.Progress.WaitingSince)
	}
	b.target.endAll(run.ResultSuccess)
	b.wait(time.Minute)
	b.step()
	b.wantSlots()
	b.wake(b.day(4))
	b.wait(time.Second)
	b.step()
	b.wantSlots(4)
	if got := b.runOf(b.day(4)); got.Status != run.Running || !got.Progress.WindowEnd.Equal(r.Progress.WindowEnd.Add(61*time.Second)) {
		t.Errorf("the second is %s, its window ends at %s", got.Status, got.Progress.WindowEnd)
	}
}

func TestWindowDoesNotRunWhileWaitingForASlot(t *testing.T) {
	b := newBench(t, strings.ReplaceAll(limited+glue, "600", "86400"), plainType)
	b.open(b.day(3), run.Opening{})
	b.step()
	b.open(b.day(4), run.Opening{})
	b.key = b.day(4)
	for b.now.Before(morning.Add(3 * time.Hour)) {
		b.claimAndStep()
		b.wait(time.Minute)
	}
	if r := b.want(run.Pending); r.Progress.WaitingSince.IsZero() {
		t.Error("it no longer waits")
	}
	b.target.endAll(run.ResultSuccess)
	for b.run().Status == run.Pending && b.now.Before(morning.Add(4*time.Hour)) {
		b.claimAndStep()
		b.wait(time.Minute)
	}
	b.want(run.Running)
}

func TestOldestPeriodTakesTheSlotFirst(t *testing.T) {
	b := newBench(t, limited+glue, plainType)
	b.open(b.day(3), run.Opening{})
	b.step()
	for _, n := range []int{4, 5} {
		b.open(b.day(n), run.Opening{})
		b.step()
	}
	b.target.endAll(run.ResultSuccess)
	b.wait(time.Minute)
	b.step()
	b.wake(b.day(5)) // the younger one is evaluated first
	b.step()
	b.wantSlots()
	b.wake(b.day(4))
	b.step()
	b.wantSlots(4)
}

func TestOlderPeriodDueForEvaluationTakesTheSlotFirst(t *testing.T) {
	b := newBench(t, limited+glue, plainType)
	b.open(b.day(3), run.Opening{})
	b.open(b.day(4), run.Opening{})
	claims := b.claim("a")
	for _, n := range []int{1, 0} { // the younger run's worker is faster
		if _, err := b.steps.Step(ctx, claims[n], b.clock); err != nil {
			t.Fatal(err)
		}
	}
	b.wantSlots(3)
}

func TestRunThatWaitsForASlotOfARemovedAndPausedPipelineEndsWithItsWindow(t *testing.T) {
	b := newBench(t, limited+glue, plainType)
	b.open(b.day(3), run.Opening{})
	b.step()
	b.open(b.day(4), run.Opening{})
	b.step()
	b.pause(store.Pause{By: "ann", Why: "migration", Since: b.now})
	row, err := b.store.Pipeline(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	removed := row
	removed.Config = ""
	batch := store.Batch{ID: "remove"}
	batch.SwapPipeline(row, removed)
	b.commit(batch)
	b.target.endAll(run.ResultSuccess)
	b.key = b.day(4)
	for range 100 {
		if b.run().Status.Ended() {
			break
		}
		b.claimAndStep()
		b.wait(time.Minute)
	}
	b.want(run.ValidationExhausted)
}

func TestSlotIsReleasedHoweverTheJobEnds(t *testing.T) {
	for name, end := range map[string]func(b *bench){
		"failed": func(b *bench) {
			b.step()
			b.target.endAll(run.ResultFail)
			b.wait(time.Minute)
			b.step()
			b.want(run.Failed)
		},
		"start refused": func(b *bench) {
			b.target.refuse(run.Permanent)
			b.step()
			b.want(run.Failed)
		},
		"gate closed before a repeat": func(b *bench) {
			b.target.refuse(run.Transient)
			b.step()
			b.wantSlots(3)
			b.rows(3)
			b.wait(30 * time.Second)
			b.step()
			b.want(run.Pending)
		},
		"reported": func(b *bench) {
			b.step()
			b.reported(run.Report{Result: run.ResultSuccess})
			b.step()
			b.want(run.Completed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, limited+gated+glue, searchableType)
			b.rows(12)
			b.open(b.key, run.Opening{})
			end(b)
			b.wantSlots()
		})
	}
}

// It is released when the job has stopped, by package router.
func TestSlotIsKeptWhileAJobMayHaveToBeStopped(t *testing.T) {
	for name, end := range map[string]func(b *bench){
		"poll window over": func(b *bench) {
			b.runUntilIdle()
			b.want(run.FailedFinal)
		},
		"time limit": func(b *bench) {
			b.target.loseAfter()
			b.target.findErr = errLost
			b.step()
			b.now = b.run().Progress.LimitAt
			b.step()
			b.want(run.FailedFinal)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, limited+gated+glue, searchableType)
			b.rows(12)
			b.open(b.key, run.Opening{})
			end(b)
			b.wantSlots(3)
		})
	}
}

func TestRepeatedStartKeepsItsSlot(t *testing.T) {
	b := newBench(t, limited+glue, searchableType)
	b.target.refuse(run.Transient)
	b.open(b.key, run.Opening{})
	b.step()
	b.wantSlots(3)
	b.wait(30 * time.Second)
	b.step()
	b.want(run.Running)
	b.wantSlots(3)
}

func TestSlotOfAnEndedAttemptIsTaken(t *testing.T) {
	b := newBench(t, limited+glue, plainType)
	b.open(b.day(3), run.Opening{})
	b.step()
	old := b.runOf(b.day(3))
	ended, err := old.Cancel("ann", "why", run.JobMayRun, b.now)
	if err != nil {
		t.Fatal(err)
	}
	batch := store.Batch{ID: "cancel without giving the slot back"}
	batch.Swap(old, ended)
	b.commit(batch)
	b.open(b.day(4), run.Opening{})
	b.step()
	b.wantSlots(4)
	b.wantEvents(event.ValidationPassed, event.JobTriggered, event.ValidationPassed, event.JobTriggered)
}
