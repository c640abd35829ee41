package orchestrator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func TestOpenGateStartsTheJobOnce(t *testing.T) {
	b := newBench(t, daily+gated+glue, plainType)
	b.rows(12)
	b.open(b.key, run.Opening{})
	next := b.step()
	r := b.want(run.Running)
	if r.Progress.Handle != "job-1" || b.target.started(r.ID()) != 1 {
		t.Errorf("handle %q, %d jobs", r.Progress.Handle, b.target.started(r.ID()))
	}
	if next.Kind != lifecycle.Wait {
		t.Errorf("next is %+v, want to wait for the first poll", next)
	}
	b.wantDue(time.Minute)
	b.wantEvents(event.ValidationPassed, event.JobTriggered)
	b.wantLog(store.JobStarted)
	b.checkStarts()
}

func TestClosedGateWaitsForTheInterval(t *testing.T) {
	b := newBench(t, daily+gated+glue, plainType)
	b.rows(3)
	b.open(b.key, run.Opening{})
	b.step()
	b.want(run.Pending)
	b.wantDue(5 * time.Minute)
	b.wantEvents()
	b.wait(time.Minute)
	b.idle()
	b.rows(10)
	b.wake(b.key)
	b.step()
	b.want(run.Running)
}

func TestWindowEndsWithALastEvaluation(t *testing.T) {
	for _, c := range []struct {
		rows int64
		want run.Status
	}{{3, run.ValidationExhausted}, {12, run.Running}} {
		t.Run(fmt.Sprint(c.rows), func(t *testing.T) {
			b := newBench(t, daily+gated+glue, plainType)
			b.rows(3)
			b.open(b.key, run.Opening{})
			b.step()
			b.wait(29 * time.Minute)
			b.step()
			b.wantDue(time.Minute)
			b.rows(c.rows)
			b.wait(time.Minute)
			b.step()
			b.want(c.want)
		})
	}
}

func TestExhaustedWindowNamesTheClosedRule(t *testing.T) {
	b := newBench(t, daily+gated+glue, plainType)
	b.rows(3)
	b.open(b.key, run.Opening{})
	b.wait(time.Hour)
	b.step()
	b.want(run.ValidationExhausted)
	if !b.due(b.key).IsZero() {
		t.Error("an ended run has a task")
	}
	b.wantEvents(event.ValidationExhausted)
	rules := b.last(event.ValidationExhausted).Detail.Extra.(event.Gate).Rules
	if len(rules) != 1 || rules[0].Outcome != "fail" || rules[0].Value != "3" {
		t.Errorf("rules %+v", rules)
	}
}

func TestUnstoredExhaustionIsCaughtUp(t *testing.T) {
	b := newBench(t, daily+gated+glue, plainType)
	b.rows(3)
	b.open(b.key, run.Opening{})
	b.wait(time.Hour)
	old := b.run()
	evaluated, err := old.Evaluated(false, b.now) // another host performs evaluation and exhaustion as two steps
	if err != nil {
		t.Fatal(err)
	}
	batch := store.Batch{ID: "evaluated"}
	batch.Swap(old, evaluated)
	b.commit(batch)
	b.step()
	b.want(run.ValidationExhausted)
	b.wantEvents(event.ValidationExhausted)
}

func TestEachStartHasItsOwnEvaluation(t *testing.T) {
	b := newBench(t, daily+gated+glue, plainType)
	b.rows(12)
	b.open(b.key, run.Opening{})
	old := b.run()
	evaluated, err := old.Evaluated(true, b.now)
	if err != nil {
		t.Fatal(err)
	}
	batch := store.Batch{ID: "evaluated"}
	batch.Swap(old, evaluated)
	b.commit(batch)
	b.rows(3) // it closes between the evaluation and the start
	b.step()
	b.want(run.Pending)
	if len(b.target.calls) != 0 {
		t.Error("started on a gate that had closed")
	}
}

func TestBypassedGateIsRecordedWithItsOutcome(t *testing.T) {
	b := newBench(t, daily+gated+glue, plainType)
	b.rows(3)
	b.open(b.key, run.Opening{Cause: run.CauseManual, By: "ann", Reason: "backlog", Forced: true, GateBypassed: true})
	b.step()
	r := b.want(run.Running)
	s, err := b.store.Snapshot(ctx, r.Progress.Snapshot)
	if err != nil || !s.Bypassed || s.Outcome != rule.Fail {
		t.Errorf("snapshot %+v, %v", s, err)
	}
	if message := b.last(event.ValidationPassed).Detail.Message; !strings.Contains(message, "bypassed by ann: backlog") {
		t.Errorf("message %q", message)
	}
	b.checkStarts()
}

func TestSnapshotHoldsVersionsConfigAndInstant(t *testing.T) {
	b := newBench(t, daily+gated+glue, plainType)
	b.rows(12)
	b.open(b.key, run.Opening{})
	b.wait(time.Second)
	b.step()
	r := b.run()
	s, err := b.store.Snapshot(ctx, r.Progress.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if s.Config != b.catalog.Current().Get("orders").Version || !s.At.Equal(b.now) || s.Attempt != 1 || s.Key != b.key {
		t.Errorf("snapshot %+v", s)
	}
	if len(s.Sensors) != 1 || s.Sensors[0].Version == 0 || s.Sensors[0].Content == "" || len(s.Leaves) != 1 || s.Leaves[0].Outcome != rule.Pass {
		t.Errorf("facts %+v, %+v", s.Sensors, s.Leaves)
	}
}

// pause pauses the pipeline; the zero Pause resumes it.
func (b *bench) pause(p store.Pause) {
	b.t.Helper()
	row, err := b.store.Pipeline(ctx, "orders")
	if err != nil {
		b.t.Fatal(err)
	}
	next := row
	next.Pause = p
	batch := store.Batch{ID: fmt.Sprintf("pause/v%d", row.Version)}
	batch.SwapPipeline(row, next)
	b.commit(batch)
}

func TestPausedPipelineStartsNothing(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.open(b.key, run.Opening{})
	b.pause(store.Pause{By: "ann", Why: "migration", Since: b.now})
	version := b.run().Version
	next := b.step()
	if b.want(run.Pending).Version != version || !strings.Contains(next.Reason, "paused by ann") {
		t.Errorf("next %+v", next)
	}
	b.wantDue(5 * time.Minute)
	b.wait(5 * time.Minute)
	b.step()
	b.want(run.Pending)
	b.pause(store.Pause{})
	b.wake(b.key)
	b.step()
	b.want(run.Running)
}

func TestPauseThatOutlastsTheWindowIsReported(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.open(b.key, run.Opening{})
	b.pause(store.Pause{By: "ann", Why: "migration", Since: b.now})
	b.wait(2 * time.Minute)
	for b.run().Status == run.Pending && b.now.Before(morning.Add(time.Hour)) {
		b.step()
		b.now = b.now.Add(max(0, b.due(b.key).Sub(b.now)))
	}
	b.want(run.ValidationExhausted)
	if got := b.now.Sub(morning); got != 30*time.Minute {
		t.Errorf("ended after %s, want the window's 30m", got)
	}
	if message := b.last(event.ValidationExhausted).Detail.Message; !strings.Contains(message, "paused by ann") {
		t.Errorf("message %q", message)
	}
	if len(b.target.calls) != 0 {
		t.Error("started while paused")
	}
}

func TestPauseEndsWhenLiftedAndNotByTheClock(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.open(b.key, run.Opening{})
	b.pause(store.Pause{By: "ann", Why: "migration", Since: b.now, Until: b.now.Add(2 * time.Minute)})
	b.wait(40 * time.Minute) // the window has ended too, and the task that lifts the pause is late
	b.step()
	b.want(run.Pending)
	b.pause(store.Pause{})
	b.wake(b.key)
	b.step()
	b.want(run.Running)
}

func TestRunningJobIsPolledWhilePaused(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.open(b.key, run.Opening{})
	b.step()
	b.pause(store.Pause{By: "ann", Why: "migration", Since: b.now})
	b.target.endAll(run.ResultSuccess)
	b.wait(time.Minute)
	b.step()
	b.want(run.Completed)
}

func TestAttemptKeepsTheVersionItOpenedWith(t *testing.T) {
	b := newBench(t, daily+gated+glue, plainType)
	b.rows(12)
	b.open(b.key, run.Opening{})
	old := b.catalog.Current().Get("orders").Version
	b.apply(daily + strings.ReplaceAll(gated, "10", "100") + glue)
	b.step()
	r := b.want(run.Running)
	if s, err := b.store.Snapshot(ctx, r.Progress.Snapshot); err != nil || s.Config != old {
		t.Errorf("decided by version %s, want %s (%v)", s.Config, old, err)
	}
	b.checkStarts()
}

func TestMissingVersionIsReportedAndEndsWithTheTimeLimit(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.open(b.key, run.Opening{})
	old := b.run()
	next := old
	next.Version++
	next.Progress.Opening.ConfigVersion = "gone"
	batch := store.Batch{ID: "lose the version"}
	batch.Swap(old, next)
	b.commit(batch)
	b.step()
	b.want(run.Pending)
	b.wait(5 * time.Minute)
	b.step()
	b.wantEvents(event.InfraFailure)
	b.wait(5 * time.Hour)
	b.step()
	b.want(run.FailedFinal)
	b.wantEvents(event.InfraFailure, event.SFNTimeout)
}

func TestPipelineWithoutAJobWaitsForItsResult(t *testing.T) {
	b := newBench(t, daily+gated, plainType)
	b.rows(12)
	b.open(b.key, run.Opening{})
	next := b.step()
	r := b.want(run.Running)
	if !next.Due.Equal(r.Progress.LimitAt) || r.Progress.Snapshot == "" {
		t.Errorf("next %+v, run %+v", next, r)
	}
	b.wantEvents(event.ValidationPassed)
	b.reported(run.Report{Result: run.ResultSuccess, By: "airflow"})
	b.step()
	b.want(run.Completed)
	b.wantEvents(event.ValidationPassed, event.JobCompleted)
}
