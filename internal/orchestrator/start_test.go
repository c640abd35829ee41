package orchestrator_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func TestRefusedStartIsRepeatedAfterABackoffAndThenFails(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	for range 3 {
		b.target.refuse(run.Transient)
	}
	b.open(b.key, run.Opening{})
	b.step()
	b.want(run.Triggering)
	b.wantDue(30 * time.Second)
	b.wait(30 * time.Second)
	b.step()
	b.wantDue(time.Minute)
	b.wait(time.Minute)
	b.step()
	r := b.want(run.Failed)
	if r.Progress.Report.Category != run.Transient || r.Reason != "TRANSIENT refusal" {
		t.Errorf("failed with %+v, %q", r.Progress.Report, r.Reason)
	}
	b.wantEvents(event.ValidationPassed, event.JobFailed)
	b.wantLog(store.JobRefused, store.JobRefused, store.JobRefused)
	b.checkStarts()
}

func TestRefusedStartSucceedsOnTheSecondTry(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.target.refuse(run.Transient)
	b.open(b.key, run.Opening{})
	b.step()
	b.wait(30 * time.Second)
	b.step()
	b.want(run.Running)
	b.wantEvents(event.ValidationPassed, event.JobTriggered)
	b.wantLog(store.JobRefused, store.JobStarted)
	b.checkStarts()
}

func TestControllerThatLacksResourcesPostponesTheStart(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	const times = 10 // more than any budget
	for range times {
		b.target.will(job.RefuseOver(fmt.Errorf("open: %w", syscall.EMFILE), run.Transient, "too many open files"), b.target.nothing)
	}
	b.target.refuse(run.Transient)
	b.open(b.key, run.Opening{})
	for n := range times {
		b.step()
		b.want(run.Triggering)
		b.wait(min(time.Second<<n, time.Minute))
	}
	b.step()
	b.want(run.Triggering)
	b.wantDue(30 * time.Second) // a refusal by the target is the first that counts
	b.wait(30 * time.Second)
	b.step()
	b.want(run.Running)
	b.wantEvents(event.ValidationPassed, event.InfraFailure, event.JobTriggered)
	b.checkStarts()
}

func TestPermanentRefusalIsNotRepeated(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.target.refuse(run.Permanent)
	b.open(b.key, run.Opening{})
	b.step()
	if r := b.want(run.Failed); r.Progress.Report.Category != run.Permanent {
		t.Errorf("failed with %+v", r.Progress.Report)
	}
	if extra := b.last(event.JobFailed).Detail.Extra.(event.Finished); extra.Category != run.Permanent {
		t.Errorf("got %+v", extra)
	}
}

func TestTargetsRetryAfterIsHonoured(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.target.will(&job.Refusal{Category: run.Transient, Reason: "slow down", After: 2 * time.Minute}, b.target.nothing)
	b.open(b.key, run.Opening{})
	b.step()
	b.wantDue(2 * time.Minute)
}

func TestTargetsRetryAfterIsBounded(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.target.will(&job.Refusal{Category: run.Transient, Reason: "come back tomorrow", After: 24 * time.Hour}, b.target.nothing)
	b.open(b.key, run.Opening{})
	b.step()
	b.wantDue(15 * time.Minute)
}

func TestAdoptedJobIsPolledAtOnce(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.open(b.key, run.Opening{})
	b.crashInStart()
	b.target.endAll(run.ResultSuccess)
	b.wait(lease)
	b.step()
	b.want(run.Running)
	b.step()
	b.want(run.Completed)
	b.wantLog(store.JobStarted, store.JobSuccess)
}

func TestUsersClassesComeFirst(t *testing.T) {
	b := newBench(t, daily+strings.ReplaceAll(glue, "pollInterval", "classify: [{match: 'TRANSIENT refusal', category: PERMANENT}], pollInterval"), searchableType)
	b.target.refuse(run.Transient)
	b.open(b.key, run.Opening{})
	b.step()
	b.want(run.Failed)
}

func TestGateClosedBeforeARetryMakesTheRunWait(t *testing.T) {
	b := newBench(t, daily+gated+glue, searchableType)
	b.target.refuse(run.Transient)
	b.rows(12)
	b.open(b.key, run.Opening{})
	b.step()
	b.rows(3)
	b.wait(30 * time.Second)
	b.step()
	r := b.want(run.Pending)
	if r.Attempt != 1 || !r.Progress.WindowEnd.Equal(morning.Add(30*time.Minute)) {
		t.Errorf("attempt %d, window until %s", r.Attempt, r.Progress.WindowEnd)
	}
	if len(b.target.calls) != 1 {
		t.Errorf("%d start calls", len(b.target.calls))
	}
	b.rows(12)
	b.wake(b.key)
	b.step()
	b.want(run.Running)
	if b.target.calls[1] != r.ID() {
		t.Errorf("repeated as %s, want the same key", b.target.calls[1])
	}
	b.wantEvents(event.ValidationPassed, event.JobTriggered)
	b.checkStarts()
}

func TestGateClosedBeforeARetryExhaustsTheWindow(t *testing.T) {
	b := newBench(t, daily+gated+glue, searchableType)
	b.target.refuse(run.Transient)
	b.rows(12)
	b.open(b.key, run.Opening{})
	b.step()
	b.rows(3)
	b.runUntilIdle()
	b.want(run.ValidationExhausted)
}

func TestStartWithoutAnAnswer(t *testing.T) {
	tests := map[string]struct {
		file string
		kind func(*target) job.Type
		lose func(*target)
		then run.Status
		held bool
		jobs int // final number of jobs of the attempt
	}{
		"found at once and adopted":              {glue, searchableType, (*target).loseAfter, run.Running, false, 1},
		"not there, held":                        {glue, searchableType, (*target).loseBefore, run.Triggering, true, 0},
		"not there, and the file takes the risk": {glueRetry, searchableType, (*target).loseBefore, run.Running, false, 1},
		"cannot be searched, held":               {glue, plainType, (*target).loseAfter, run.Triggering, true, 1},
		"refuses repeats, was started":           {machine, strictType, (*target).loseAfter, run.Running, false, 1},
		"refuses repeats, was not started":       {machine, strictType, (*target).loseBefore, run.Running, false, 1},
		"refuses repeats and is found":           {machine, thoroughType, (*target).loseAfter, run.Running, false, 1},
		"refuses repeats and is not there":       {machine, thoroughType, (*target).loseBefore, run.Running, false, 1},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, daily+c.file, c.kind)
			c.lose(b.target)
			b.open(b.key, run.Opening{})
			for b.run().Status != c.then || b.due(b.key).Equal(b.now) || c.then == run.Triggering && b.run().Progress.Held.Reason == "" {
				if b.now.After(morning.Add(time.Hour)) {
					break
				}
				if len(b.claimAndStep()) == 0 {
					b.wait(10 * time.Second)
				}
			}
			r := b.want(c.then)
			if held := r.Progress.Held.Reason != ""; held != c.held {
				t.Errorf("held is %v (%s), want %v", held, r.Progress.Held.Reason, c.held)
			}
			if got := b.target.started(r.ID()); got != c.jobs {
				t.Errorf("%d jobs, want %d", got, c.jobs)
			}
			b.checkStarts()
		})
	}
}

// claimAndStep performs every step that is due.
func (b *bench) claimAndStep() []store.Claim {
	b.t.Helper()
	claims := b.claim("a")
	for _, c := range claims {
		if _, err := b.steps.Step(ctx, c, b.clock); err != nil {
			b.t.Fatal(err)
		}
	}
	return claims
}

func TestHeldStartIsReportedAndWaitsForAnOperator(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.target.loseAfter()
	b.open(b.key, run.Opening{})
	next := b.step()
	r := b.want(run.Triggering)
	if next.Kind != lifecycle.Wait || !next.Due.Equal(r.Progress.LimitAt) {
		t.Errorf("next %+v", next)
	}
	b.wantEvents(event.ValidationPassed, event.InfraFailure)
	if extra := b.last(event.InfraFailure).Detail.Extra.(event.Infra); !extra.Held || !strings.Contains(extra.Error, errLost.Error()) {
		t.Errorf("got %+v", extra)
	}
	b.wantLog(store.JobHeld)
	b.reported(run.Report{Result: run.ResultSuccess, By: "ann"})
	b.step()
	b.want(run.Completed)
	b.wantLog(store.JobHeld, store.JobStarted, store.JobSuccess)
	b.wantEvents(event.ValidationPassed, event.InfraFailure, event.JobTriggered, event.JobCompleted)
}

// reported stores an external result, as package router does.
func (b *bench) reported(rep run.Report) {
	b.t.Helper()
	old := b.run()
	next, err := old.Reported(run.Outcome{Key: old.Key, Attempt: old.Attempt, Report: rep}, b.now)
	if err != nil {
		b.t.Fatal(err)
	}
	batch := store.Batch{ID: fmt.Sprintf("report/%s/v%d", old.Key, old.Version)}
	batch.Swap(old, next)
	batch.Schedule(advance(old.Key, b.now))
	b.commit(batch)
}

func TestHeldStartEndsWithItsTimeLimit(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.target.loseAfter()
	b.open(b.key, run.Opening{})
	b.step()
	b.now = b.run().Progress.LimitAt
	b.step()
	if r := b.want(run.FailedFinal); r.Progress.Left != run.JobStopping {
		t.Errorf("left is %q", r.Progress.Left)
	}
	if left, err := b.steps.Stop(ctx, b.run(), b.now); left != run.JobMayRun || err == nil {
		t.Errorf("the stop left %q, %v", left, err)
	}
	if extra := b.last(event.SFNTimeout).Detail.Extra.(event.Left); !extra.JobMayRun {
		t.Errorf("got %+v", extra)
	}
}

func TestFailedSearchIsRetried(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.target.loseAfter()
	b.target.findErr = errors.New("throttled")
	b.open(b.key, run.Opening{})
	b.step()
	b.want(run.Triggering)
	b.wantDue(30 * time.Second)
	b.wantEvents(event.ValidationPassed)
	b.wait(30 * time.Second)
	b.target.findErr = nil
	b.step()
	b.want(run.Running)
	b.wantEvents(event.ValidationPassed, event.JobTriggered)
	if b.target.started(b.run().ID()) != 1 {
		t.Error("started twice")
	}
}

func TestUnsearchableTargetIsHeld(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.target.loseAfter()
	b.target.findErr = errors.New("forbidden")
	b.open(b.key, run.Opening{})
	b.runUntilIdle()
	if r := b.want(run.Triggering); !strings.Contains(r.Progress.Held.Reason, "forbidden") {
		t.Errorf("held: %q", r.Progress.Held.Reason)
	}
	if b.target.started(b.run().ID()) != 1 {
		t.Error("started twice")
	}
}

func TestSilentDeduplicatingTargetIsHeldOnceTriesAreUsedUp(t *testing.T) {
	b := newBench(t, daily+machine, strictType)
	for range 3 {
		b.target.loseBefore()
	}
	b.open(b.key, run.Opening{})
	b.runUntilIdle()
	b.want(run.Triggering)
	if len(b.target.calls) != 3 || b.run().Progress.Held.Reason == "" {
		t.Errorf("%d start calls, held %q", len(b.target.calls), b.run().Progress.Held.Reason)
	}
}

// TestRefusalAfterALostAnswerDoesNotFailTheAttempt is for targets that deduplicate by id: a refusal
// of the second call says nothing about the first one, whose job may be running.
func TestRefusalAfterALostAnswerDoesNotFailTheAttempt(t *testing.T) {
	tests := map[string]struct {
		file string
		kind func(*target) job.Type
		then func(*bench)
		want run.Status
		held bool
	}{
		"refused for good":        {machine, strictType, func(b *bench) { b.target.refuse(run.Permanent) }, run.Triggering, true},
		"refused to the last try": {machine, strictType, func(b *bench) { b.target.refuse(run.Transient); b.target.refuse(run.Transient) }, run.Triggering, true},
		"classified as permanent": {strings.Replace(machine, "}\n", ", classify: [{match: connection reset, category: PERMANENT}]}\n", 1), strictType, func(*bench) {}, run.Triggering, true},
		"found after all": {machine, thoroughType, func(b *bench) {
			b.target.refuse(run.Permanent)
			b.target.duringStart = func(job.Attempt) {
				if len(b.target.calls) == 2 {
					b.target.findErr = nil
					b.target.endAll(run.ResultSuccess)
				}
			}
		}, run.Completed, false},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, daily+c.file, c.kind)
			b.target.loseAfter()
			c.then(b)
			b.target.findErr = errors.New("throttled")
			b.open(b.key, run.Opening{})
			b.runUntilIdle()
			r := b.want(c.want)
			if held := r.Progress.Held.Reason; (held != "") != c.held || c.held && !strings.Contains(held, "was not answered") {
				t.Errorf("held: %q", held)
			}
			b.checkStarts()
		})
	}
}

// A worker that lost its lease is still in its start call while another one searches for the job.
// That the job does not exist yet proves nothing, so a refusal of the repeated start does not fail
// the attempt.
func TestSearchDuringAStartCallDoesNotDecideOnItsJob(t *testing.T) {
	b := newBench(t, daily+machine, thoroughType)
	b.open(b.key, run.Opening{})
	b.target.answer, b.target.fails = []func(job.Attempt) job.Started{func(a job.Attempt) job.Started {
		b.target.mu.Unlock() // before the call has its effect
		defer b.target.mu.Lock()
		if err := b.store.VoidLeases(ctx); err != nil {
			t.Error(err)
		}
		if _, err := b.controller("b", b.store).Step(ctx, b.claim("b")[0], b.clock); err != nil {
			t.Error(err)
		}
		return b.target.succeed(a)
	}}, []error{nil}
	b.target.refuse(run.Permanent)
	b.step()
	if r := b.want(run.Running); r.Progress.Handle != "job-1" {
		t.Errorf("the run follows job %q, but job-1 is running", r.Progress.Handle)
	}
	b.checkStarts()
}

func TestCancelledAttemptWithALostAnswerMayLeaveAJob(t *testing.T) {
	b := newBench(t, daily+machine, strictType)
	b.target.loseAfter()
	b.open(b.key, run.Opening{})
	b.step()
	b.want(run.Triggering)
	b.cancel(run.JobStopping)
	b.wait(lease) // the call is over
	if left, err := b.steps.Stop(ctx, b.run(), b.now); left != run.JobMayRun || err == nil {
		t.Errorf("left %q, %v", left, err)
	}
}

func TestSilentTargetWithoutAJobFailsOnceTriesAreUsedUp(t *testing.T) {
	b := newBench(t, daily+machine, thoroughType)
	for range 3 {
		b.target.loseBefore()
	}
	b.open(b.key, run.Opening{})
	b.runUntilIdle()
	if r := b.want(run.Failed); r.Progress.Report.Category != run.Transient {
		t.Errorf("failed with %+v", r.Progress.Report)
	}
}

func TestAnswerThatIsTheResultCompletesAtOnce(t *testing.T) {
	for _, c := range []struct {
		result run.Result
		want   run.Status
		event  event.Type
		log    store.JobEvent
	}{
		{run.ResultSuccess, run.Completed, event.JobCompleted, store.JobSuccess},
		{run.ResultFail, run.Failed, event.JobFailed, store.JobFail},
		{run.ResultTimeout, run.Failed, event.JobTimeout, store.JobTimeout},
	} {
		t.Run(string(c.result), func(t *testing.T) {
			b := newBench(t, daily+glue, blockingType)
			b.target.will(nil, func(a job.Attempt) job.Started {
				return job.Started{Handle: b.target.begin(a), Result: &job.Status{Done: true, Result: c.result, Output: "the end"}}
			})
			b.target.duringStart = func(job.Attempt) {
				b.renew(time.Hour) // as the host does
				b.wait(20 * time.Minute)
			}
			b.open(b.key, run.Opening{})
			b.step()
			r := b.want(c.want)
			if got := r.UpdatedAt.Sub(r.Progress.StartedAt); got != 20*time.Minute {
				t.Errorf("took %s, want 20m", got)
			}
			b.wantEvents(event.ValidationPassed, event.JobTriggered, c.event)
			b.wantLog(store.JobStarted, c.log)
			if entry := b.log()[1]; entry.Output != "the end" {
				t.Errorf("log %+v", entry)
			}
		})
	}
}

// renew extends the lease of the step in progress.
func (b *bench) renew(d time.Duration) {
	b.t.Helper()
	if held, err := b.store.Renew(ctx, []store.Lease{b.claimed}, d, b.now); err != nil || len(held) != 1 {
		b.t.Errorf("renew: %v, %v", held, err)
	}
}

func TestInvalidResultOfATypeIsAFailure(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.open(b.key, run.Opening{})
	b.step()
	b.target.end("job-1", job.Status{Result: "fine, thanks", Category: "WHATEVER", Message: "trust me"})
	b.wait(time.Minute)
	b.step()
	r := b.want(run.Failed)
	if r.Progress.Report.Category != run.Unknown || !strings.Contains(r.Reason, "fine, thanks") {
		t.Errorf("failed with %+v", r.Progress.Report)
	}
}

func TestUnknownJobTypeIsAPermanentRefusal(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.steps = orchestrator.New(orchestrator.Deps{Store: b.store, Catalog: b.catalog, Replica: "a", Lease: lease})
	b.open(b.key, run.Opening{})
	b.step()
	if r := b.want(run.Failed); r.Progress.Report.Category != run.Permanent {
		t.Errorf("failed with %+v", r.Progress.Report)
	}
}

func TestConfigThatCannotBePreparedIsARefusedStart(t *testing.T) {
	for err, want := range map[error]run.Status{
		job.Refuse(run.Permanent, "variable not allowed"): run.Failed,
		errors.New("disk trouble"):                        run.Triggering,
	} {
		t.Run(err.Error(), func(t *testing.T) {
			b := newBench(t, daily+glue, searchableType)
			b.steps = orchestrator.New(orchestrator.Deps{
				Store: b.store, Catalog: b.catalog, Replica: "a", Lease: lease, Jobs: map[string]job.Type{"glue": b.kind},
				Expand: func(a job.Attempt, _ *pipeline.Job) (job.Attempt, error) { return a, err },
			})
			b.open(b.key, run.Opening{})
			b.step()
			b.want(want)
			b.wantLog(store.JobRefused)
			if len(b.target.calls) != 0 {
				t.Error("started without its config")
			}
		})
	}
}

func TestAttemptGetsItsNamesAndExpandedConfig(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	expanded := all.Kinds()[4].NewConfig()
	var seen job.Attempt
	b.target.duringStart = func(a job.Attempt) { seen = a }
	b.steps = orchestrator.New(orchestrator.Deps{
		Store: b.store, Catalog: b.catalog, Replica: "a", Lease: lease, Jobs: map[string]job.Type{"glue": b.kind},
		Expand: func(a job.Attempt, j *pipeline.Job) (job.Attempt, error) {
			if j != b.def.Job {
				t.Error("another job's config")
			}
			a.Config, a.Callback = expanded, job.Callback{URL: "http://localhost/callback", Token: "t"}
			return a, nil
		},
	})
	b.open(b.key, run.Opening{})
	b.step()
	if seen.ID != b.run().ID() || seen.Pipeline != "orders" || seen.Schedule != pipeline.ByCron || seen.Period != b.key.Period || seen.Number != 1 {
		t.Errorf("attempt %+v", seen)
	}
	if seen.Config != expanded || seen.Callback.Token != "t" {
		t.Errorf("config %v, callback %v", seen.Config, seen.Callback)
	}
}

func TestStartWithAMissingSecretIsRefused(t *testing.T) {
	b := newBench(t, daily+glue, func(of *target) job.Type {
		return plain{of}
	})
	b.steps = orchestrator.New(orchestrator.Deps{
		Store: b.store, Catalog: b.catalog, Replica: "a", Lease: lease, Jobs: map[string]job.Type{"glue": b.kind},
		Expand: func(a job.Attempt, _ *pipeline.Job) (job.Attempt, error) {
			return a, job.Refuse(run.Permanent, "no such secret")
		},
	})
	b.open(b.key, run.Opening{})
	b.step()
	b.wantLog(store.JobRefused)
	if n := b.target.started(b.run().ID()); n != 0 {
		t.Errorf("the job was started %d times", n)
	}
}
