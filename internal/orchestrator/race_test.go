package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// S2: at most one start per attempt.
func TestS2TwoWorkersWithOneClaimMakeOneStart(t *testing.T) {
	for _, kind := range []func(*target) job.Type{plainType, searchableType, strictType} {
		b := newBench(t, daily+glue, kind)
		b.open(b.key, run.Opening{})
		claim := b.claim("a")[0]
		other := b.controller("a", b.store) // both have the same name
		var both sync.WaitGroup
		for _, o := range []*orchestrator.Orchestrator{b.steps, b.steps, other} {
			both.Go(func() {
				if _, err := o.Step(ctx, claim, b.clock); err != nil && !errors.Is(err, store.ErrConflict) {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if len(b.target.calls) != 1 {
			t.Errorf("%d start calls", len(b.target.calls))
		}
		b.checkStarts()
	}
}

func TestS2SecondWorkerWithTheSameDecisionStartsNothing(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.open(b.key, run.Opening{})
	claim := b.claim("a")[0]
	other := b.controller("a", b.store)
	first := &overtaken{keeper: b.store}
	first.before = func() {
		if _, err := other.Step(ctx, claim, b.clock); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.controller("a", first).Step(ctx, claim, b.clock); err != nil && !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
	if b.want(run.Running); len(b.target.calls) != 1 {
		t.Errorf("%d start calls", len(b.target.calls))
	}
}

// overtaken runs a function before the first commit that stores a start.
type overtaken struct {
	keeper
	before func()
}

func (o *overtaken) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if before := o.before; before != nil && len(b.Snapshots) > 0 {
		o.before = nil
		before()
	}
	return o.keeper.Commit(ctx, b, now)
}

func TestS2LostClaimStartsNothing(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.open(b.key, run.Opening{})
	stale := b.claim("a")[0]
	b.wait(lease)
	fresh := b.claim("b")[0]
	if _, err := b.steps.Step(ctx, stale, b.clock); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the stale claim: %v", err)
	}
	if len(b.target.calls) != 0 {
		t.Fatal("the stale claim started the job")
	}
	if _, err := b.controller("b", b.store).Step(ctx, fresh, b.clock); err != nil {
		t.Fatal(err)
	}
	b.want(run.Running)
}

func TestS2LeaseLostDuringTheStartIsFoundAgain(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.open(b.key, run.Opening{})
	b.target.duringStart = func(job.Attempt) {
		b.target.duringStart = nil
		b.wait(lease)
		other := b.controller("b", b.store)
		if _, err := other.Step(ctx, b.claim("b")[0], b.clock); err != nil {
			t.Error(err)
		}
	}
	b.step()
	r := b.want(run.Running)
	if len(b.target.calls) != 1 || len(b.target.stops) != 0 || r.Progress.Handle != "job-1" {
		t.Errorf("%d start calls, %d stops, handle %s", len(b.target.calls), len(b.target.stops), r.Progress.Handle)
	}
	b.wantEvents(event.ValidationPassed, event.JobTriggered)
}

// A controller that cannot reach the store for a while is considered dead during a start call.
func TestS2StartOfAControllerThatWasTakenForGoneIsWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		kind  func(*target) job.Type
		limit time.Duration
	}{"call": {plainType, lease}, "call that is the job": {blockingType, time.Hour + lease/2}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, daily+glueRetry, c.kind)
			b.early = true
			b.open(b.key, run.Opening{})
			b.target.duringStart = func(job.Attempt) {
				b.target.duringStart = nil
				b.wait(7 * time.Second)
				if err := b.store.VoidLeases(ctx); err != nil {
					t.Fatal(err)
				}
				other := b.controller("b", b.store)
				if _, err := other.Step(ctx, b.claim("b")[0], b.clock); err != nil {
					t.Error(err)
				}
				if due := b.due(b.key).Sub(morning); due < c.limit {
					t.Errorf("the other controller checks again after %s, but the call may take %s", due, c.limit)
				}
			}
			b.step()
			if len(b.target.calls) != 1 {
				t.Errorf("%d start calls", len(b.target.calls))
			}
		})
	}
}

func TestStartOfADeadControllerIsHandledOnceItsCallIsOver(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.early = true
	b.steps = b.controller("a", b.store)
	b.open(b.key, run.Opening{})
	gone, cancel := context.WithCancel(ctx)
	b.target.duringStart = func(job.Attempt) { cancel() }
	b.target.loseAfter()
	if _, err := b.steps.Step(gone, b.claim("a")[0], b.clock); err == nil {
		t.Fatal("it has an answer")
	}
	if err := b.store.VoidLeases(ctx); err != nil {
		t.Fatal(err)
	}
	b.step()
	if r := b.want(run.Triggering); r.Progress.Held.Reason != "" {
		t.Errorf("held at once: %s", r.Progress.Held.Reason)
	}
	b.idle()
	b.wait(lease)
	b.step()
	if r := b.want(run.Triggering); r.Progress.Held.Reason == "" {
		t.Error("it is not handled")
	}
}

func TestAnswerThatOutlivesItsLeaseIsStored(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.open(b.key, run.Opening{})
	b.target.duringStart = func(job.Attempt) { b.wait(lease) }
	b.step()
	if r := b.want(run.Running); r.Progress.Handle != "job-1" {
		t.Errorf("handle %s", r.Progress.Handle)
	}
}

func TestAnswerReplacesAHold(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.open(b.key, run.Opening{})
	b.target.duringStart = func(job.Attempt) {
		b.target.duringStart = nil
		b.wait(lease)
		other := b.controller("b", b.store)
		if _, err := other.Step(ctx, b.claim("b")[0], b.clock); err != nil { // it cannot search, so it holds
			t.Error(err)
		}
	}
	b.step()
	r := b.want(run.Running)
	if r.Progress.Held.Reason != "" || len(b.target.calls) != 1 {
		t.Errorf("held %q, %d start calls", r.Progress.Held.Reason, len(b.target.calls))
	}
	if due := b.due(b.key); !due.Equal(r.Progress.NextPoll) {
		t.Errorf("the next poll is due at %s, want %s", due, r.Progress.NextPoll)
	}
}

// cancel ends the run like package router, which cannot stop a job that it does not know.
func (b *bench) cancel(left run.Leftover) {
	b.t.Helper()
	old := b.run()
	next, err := old.Cancel("ann", "mistake", left, b.now)
	if err != nil {
		b.t.Fatal(err)
	}
	batch := store.Batch{ID: fmt.Sprintf("cancel/v%d", old.Version)}
	batch.Swap(old, next)
	batch.Finish(lifecycle.TaskID(b.key))
	b.commit(batch)
}

func TestJobWhoseRunIsCancelledDuringTheStartIsLeftToBeStopped(t *testing.T) {
	for name, kind := range map[string]func(*target) job.Type{"searchable": searchableType, "plain": plainType, "strict": thoroughType} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, daily+glue, kind)
			b.open(b.key, run.Opening{})
			b.target.duringStart = func(job.Attempt) { b.cancel(run.JobStopped) } // it was not found when the run ended
			b.step()
			if p := b.want(run.Cancelled).Progress; p.Left != run.JobStopping || p.Handle != "job-1" {
				t.Errorf("left %q of job %q", p.Left, p.Handle)
			}
			b.wantEvents(event.ValidationPassed)
			b.wantLog(store.JobLate)
			if !b.due(b.key).IsZero() {
				t.Error("a cancelled run has a task")
			}
			if _, err := b.store.Task(ctx, store.LeftTask(b.run(), b.now).ID); err != nil {
				t.Errorf("the task that stops the job: %v", err)
			}
		})
	}
}

func TestAnswerAfterACancelIdentifiesTheJobToStop(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*target)
		left   run.Leftover
		log    []store.JobEvent
		slots  []int
	}{
		"started": {func(*target) {}, run.JobStopping, []store.JobEvent{store.JobLate}, []int{3}},
		"ended": {func(t *target) {
			t.will(nil, func(job.Attempt) job.Started {
				return job.Started{Handle: "h", Result: &job.Status{Done: true, Result: run.ResultSuccess}}
			})
		}, run.NothingLeft, []store.JobEvent{store.JobLate}, nil},
		"refused":   {func(t *target) { t.refuse(run.Transient) }, run.NothingLeft, nil, nil},
		"no answer": {func(t *target) { t.loseBefore() }, run.JobStopping, nil, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, limited+glue, searchableType)
			b.key = b.day(3)
			b.open(b.key, run.Opening{})
			c.answer(b.target)
			b.target.duringStart = func(job.Attempt) { b.cancel(run.JobStopping) }
			b.step()
			r := b.want(run.Cancelled)
			if r.Progress.Left != c.left || c.left == run.JobStopping && name == "started" && r.Progress.Handle != "job-1" {
				t.Errorf("left %q, handle %q", r.Progress.Left, r.Progress.Handle)
			}
			b.wantLog(c.log...)
			b.wantSlots(c.slots...)
		})
	}
}

func TestRunCancelledWhileItsJobRunsStaysCancelled(t *testing.T) {
	b := running(t, daily+glue, searchableType)
	b.wait(time.Minute)
	claim := b.claim("a")[0]
	b.target.endAll(run.ResultSuccess)
	b.cancel(run.JobMayRun)
	if _, err := b.steps.Step(ctx, claim, b.clock); err != nil && !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
	b.want(run.Cancelled)
	b.wantEvents(event.ValidationPassed, event.JobTriggered)
}

func TestResultReportedDuringTheStartCounts(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.open(b.key, run.Opening{})
	b.target.duringStart = func(job.Attempt) { b.reported(run.Report{Result: run.ResultSuccess, By: "callback"}) }
	b.step()
	b.step() // the report moved the task
	b.want(run.Completed)
	b.wantEvents(event.ValidationPassed, event.JobTriggered, event.JobCompleted)
	b.wantLog(store.JobStarted, store.JobSuccess)
	if len(b.target.stops) != 0 {
		t.Error("stopped a job that had ended")
	}
}

func TestOvertakenStartIsFollowed(t *testing.T) {
	b := newBench(t, daily+machine, strictType)
	b.open(b.key, run.Opening{})
	b.target.duringStart = func(job.Attempt) {
		b.target.duringStart = nil
		b.wait(lease)
		other := b.controller("b", b.store)
		if _, err := other.Step(ctx, b.claim("b")[0], b.clock); err != nil { // it cannot search, so it will repeat
			t.Error(err)
		}
	}
	b.step()
	r := b.want(run.Running)
	if b.target.started(r.ID()) != 1 || r.Progress.Handle != "job-1" {
		t.Errorf("%d jobs, handle %s", b.target.started(r.ID()), r.Progress.Handle)
	}
	b.wantEvents(event.ValidationPassed, event.JobTriggered)
}

func TestCommitWithALostReplyIsRepeated(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.open(b.key, run.Opening{})
	b.steps = b.controller("a", &forgetful{keeper: b.store})
	b.step()
	b.want(run.Running)
	if len(b.target.calls) != 1 {
		t.Errorf("%d start calls", len(b.target.calls))
	}
}

// forgetful applies each commit and loses the first reply to it.
type forgetful struct {
	keeper
	last string
}

func (f *forgetful) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	err := f.keeper.Commit(ctx, b, now)
	if f.last != b.ID {
		f.last = b.ID
		return errLost
	}
	return err
}

func TestStalledControllerDoesNotStart(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.open(b.key, run.Opening{})
	sleepy := &slow{keeper: b.store, after: func() { b.wait(lease) }}
	b.steps = b.controller("a", sleepy)
	b.step()
	b.want(run.Triggering)
	if len(b.target.calls) != 0 {
		t.Error("started after its lease had expired")
	}
	b.wantLog(store.JobRefused)
}

// slow advances the clock after the commit that stores a start.
type slow struct {
	keeper
	after func()
}

func (s *slow) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	err := s.keeper.Commit(ctx, b, now)
	if len(b.Snapshots) > 0 {
		s.after()
	}
	return err
}

func TestStartCallEndsWithHalfTheLease(t *testing.T) {
	for _, c := range []struct {
		kind func(*target) job.Type
		want time.Duration
	}{{plainType, lease / 2}, {blockingType, time.Hour + 5*time.Second}} { // its own limit, plus time to report it
		b := newBench(t, daily+glue, c.kind)
		watch := &deadline{Type: b.kind}
		b.kind = watch.as(b.kind)
		b.steps = b.controller("a", b.store)
		b.open(b.key, run.Opening{})
		b.step()
		if watch.left > c.want || watch.left < c.want-4*time.Second {
			t.Errorf("the call may take %s, want %s", watch.left, c.want)
		}
	}
}

// deadline records the timeout of a start call.
type deadline struct {
	job.Type
	left time.Duration
}

func (d *deadline) as(kind job.Type) job.Type {
	if limited, ok := kind.(job.Blocking); ok {
		return struct {
			*deadline
			job.Blocking
		}{d, limited}
	}
	return d
}

func (d *deadline) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	if at, ok := ctx.Deadline(); ok {
		d.left = time.Until(at)
	}
	return d.Type.Start(ctx, a)
}

func TestShutdownDuringTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		lose bool // the call had no answer
		want run.Status
	}{"answered": {false, run.Running}, "not answered": {true, run.Triggering}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, daily+glue, searchableType)
			b.open(b.key, run.Opening{})
			stopping, stop := context.WithCancel(ctx)
			if c.lose {
				b.target.loseAfter()
				b.target.duringStart = func(job.Attempt) { stop() }
			} else {
				b.kind = answered{b.kind, stop}
			}
			b.steps = b.controller("a", attentive{b.store})
			_, err := b.steps.Step(stopping, b.claim("a")[0], b.clock)
			if (err != nil) != c.lose {
				t.Errorf("error %v", err)
			}
			b.want(c.want)
			b.wait(lease)
			b.claimAndStep()
			b.want(run.Running)
			if b.target.started(b.run().ID()) != 1 {
				t.Error("started twice")
			}
		})
	}
}

// attentive does nothing if its caller has been cancelled.
type attentive struct{ keeper }

func (a attentive) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return a.keeper.Commit(ctx, b, now)
}

// answered returns its answer although it was cancelled.
type answered struct {
	job.Type
	stop func()
}

func (a answered) Start(ctx context.Context, at job.Attempt) (job.Started, error) {
	started, err := a.Type.Start(ctx, at)
	a.stop()
	return started, err
}

func (a answered) Find(ctx context.Context, at job.Attempt) (run.Handle, bool, error) {
	return a.Type.(job.Finder).Find(ctx, at)
}
