package orchestrator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// running returns a bench whose job has just started.
func running(t *testing.T, file string, kind func(*target) job.Type) *bench {
	t.Helper()
	b := newBench(t, file, kind)
	b.open(b.key, run.Opening{})
	b.step()
	b.want(run.Running)
	return b
}

func TestJobIsPolledAtItsInterval(t *testing.T) {
	b := running(t, daily+glue, plainType)
	for n := range 3 {
		b.wait(time.Minute)
		b.step()
		b.want(run.Running)
		b.wantDue(time.Minute)
		if b.target.looks != n+1 {
			t.Errorf("%d polls, want %d", b.target.looks, n+1)
		}
	}
	b.target.end("job-1", job.Status{Result: run.ResultSuccess})
	b.wait(time.Minute)
	b.step()
	r := b.want(run.Completed)
	if !r.EndedAt.Equal(b.now) || !b.due(b.key).IsZero() {
		t.Errorf("ended at %s, task due %s", r.EndedAt, b.due(b.key))
	}
	b.wantEvents(event.ValidationPassed, event.JobTriggered, event.JobCompleted)
	b.wantLog(store.JobStarted, store.JobSuccess)
}

func TestFailureCarriesItsCategoryExitCodeAndOutput(t *testing.T) {
	b := running(t, daily+glue, plainType)
	b.target.end("job-1", job.Status{
		Result: run.ResultFail, Category: run.Permanent, Message: "no such table", Exited: true, ExitCode: 2, Output: "Traceback",
	})
	b.wait(time.Minute)
	b.step()
	b.want(run.Failed)
	entry := b.log()[1]
	if entry.Event != store.JobFail || entry.Category != run.Permanent || entry.Message != "no such table" || entry.Output != "Traceback" {
		t.Errorf("log %+v", entry)
	}
	extra := b.last(event.JobFailed).Detail.Extra.(event.Finished)
	if extra.Category != run.Permanent || extra.ExitCode == nil || *extra.ExitCode != 2 || extra.DurationSeconds != 60 {
		t.Errorf("got %+v", extra)
	}
}

func TestLongMessageIsCutAtACharacterBoundary(t *testing.T) {
	b := running(t, daily+glue, plainType)
	b.target.end("job-1", job.Status{Result: run.ResultFail, Message: "x" + strings.Repeat("é", 5000)})
	b.wait(time.Minute)
	b.step()
	if r := b.want(run.Failed); len(r.Reason) > 2010 || !utf8.ValidString(r.Reason) || !strings.HasSuffix(r.Reason, "é…") {
		t.Errorf("%d bytes, ending in %q", len(r.Reason), r.Reason[len(r.Reason)-8:])
	}
}

func TestClassesMatchTheOutputToo(t *testing.T) {
	b := running(t, daily+strings.ReplaceAll(glue, "pollInterval", "classify: [{match: 'OutOfMemory', category: TRANSIENT}], pollInterval"), plainType)
	b.target.end("job-1", job.Status{Result: run.ResultFail, Category: run.Permanent, Message: "exit 1", Output: "java.lang.OutOfMemoryError"})
	b.wait(time.Minute)
	b.step()
	if r := b.want(run.Failed); r.Progress.Report.Category != run.Transient || r.Reason != "exit 1" {
		t.Errorf("failed with %+v", r.Progress.Report)
	}
}

func TestTimeoutHasItsOwnEvent(t *testing.T) {
	b := running(t, daily+glue, plainType)
	b.target.end("job-1", job.Status{Result: run.ResultTimeout})
	b.wait(time.Minute)
	b.step()
	if r := b.want(run.Failed); r.Progress.Report.Category != run.Timeout {
		t.Errorf("failed with %+v", r.Progress.Report)
	}
	b.wantEvents(event.ValidationPassed, event.JobTriggered, event.JobTimeout)
}

func TestJobWithUnreadableStatusHasNotFailed(t *testing.T) {
	b := running(t, daily+glue, plainType)
	b.target.statusErr = errors.New("no route to host")
	b.wait(time.Minute)
	b.step()
	if r := b.want(run.Running); !strings.Contains(r.Reason, "no route to host") {
		t.Errorf("reason %q", r.Reason)
	}
	b.target.statusErr = nil
	b.target.endAll(run.ResultSuccess)
	b.wait(time.Minute)
	b.step()
	b.want(run.Completed)
}

// A job whose status cannot be read is reported after three polls, once, and stays marked until a
// poll succeeds.
func TestUnreadableStatusIsReportedOncePerAttempt(t *testing.T) {
	b := running(t, daily+glue, plainType)
	warnings := func() (n int) {
		for _, e := range b.events() {
			if e.Type == event.InfraFailure {
				n++
			}
		}
		return n
	}
	poll := func(err error, polls int, warned bool) {
		t.Helper()
		b.target.statusErr = err
		b.wait(time.Minute)
		b.step()
		u := b.want(run.Running).Progress.Unread
		if u.Polls != polls || (u.Reason != "") != (err != nil) {
			t.Errorf("unread %+v, want %d polls", u, polls)
		}
		if (warnings() > 0) != warned {
			t.Errorf("after %d polls: %d warnings, want one: %v", polls, warnings(), warned)
		}
	}
	unknown := errors.New(`unknown state "FROZEN"`)
	poll(unknown, 1, false)
	poll(unknown, 2, false)
	poll(nil, 0, false)
	poll(unknown, 1, false)
	since := b.now
	poll(unknown, 2, false)
	poll(unknown, 3, true)
	e := b.last(event.InfraFailure)
	if !strings.Contains(e.Detail.Message, "since "+since.UTC().Format(time.RFC3339)) || !strings.Contains(e.Detail.Message, "FROZEN") || e.Detail.Severity != event.Warning {
		t.Errorf("got %+v", e.Detail)
	}
	poll(nil, 0, true)
	for polls := 1; polls < 3; polls++ {
		poll(unknown, polls, true)
	}
	b.runUntilIdle() // again a third failure, and the end of the poll window
	if r := b.want(run.FailedFinal); !strings.Contains(r.Reason, "FROZEN") {
		t.Errorf("reason %q", r.Reason)
	}
	if n := warnings(); n != 1 {
		t.Errorf("reported %d times", n)
	}
}

func TestJobUnknownToItsTargetHasFailed(t *testing.T) {
	b := running(t, daily+glue, plainType)
	delete(b.target.jobs, "job-1")
	b.wait(time.Minute)
	b.step()
	if r := b.want(run.Failed); r.Progress.Report.Category != run.Unknown || !strings.Contains(r.Reason, "lost") {
		t.Errorf("failed with %+v", r.Progress.Report)
	}
}

// The job is stopped after its run has ended: its end must not be taken for a result.
func TestPollWindowEndsWithALastPollAndThenAStop(t *testing.T) {
	for name, c := range map[string]struct {
		job    string
		kind   func(*target) job.Type
		left   run.Leftover
		mayRun bool // the event says that it may still run
		log    []store.JobEvent
	}{
		"searchable": {glue, searchableType, run.JobStopping, false, []store.JobEvent{store.JobStarted, store.JobStopping}},
		"strict":     {glue, thoroughType, run.JobStopping, false, []store.JobEvent{store.JobStarted, store.JobStopping}},
		"unstoppable": {
			strings.Replace(glue, "{type: glue, config: {jobName: x}", "{type: http, config: {url: 'https://example.com', callback: true}", 1),
			plainType, run.JobMayRun, true,
			[]store.JobEvent{store.JobStarted},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := running(t, daily+c.job, c.kind)
			b.runUntilIdle()
			r := b.want(run.FailedFinal)
			if r.Progress.Left != c.left || b.now.Sub(morning) != 10*time.Minute {
				t.Errorf("left %q after %s", r.Progress.Left, b.now.Sub(morning))
			}
			b.wantEvents(event.ValidationPassed, event.JobTriggered, event.JobPollExhausted)
			if extra := b.last(event.JobPollExhausted).Detail.Extra.(event.Left); extra.JobMayRun != c.mayRun {
				t.Errorf("got %+v", extra)
			}
			b.wantLog(c.log...)
			if len(b.target.stops) != 0 {
				t.Error("the job was stopped before its run had ended")
			}
			if c.left != run.JobStopping {
				return
			}
			if left, err := b.steps.Stop(ctx, r, b.now); err != nil || left != run.JobStopped {
				t.Errorf("the stop left %q, %v", left, err)
			}
		})
	}
}

func TestPollExhaustedIsAStateOfItsOwn(t *testing.T) {
	b := running(t, daily+glue, searchableType)
	b.wait(10 * time.Minute)
	b.step() // the last poll
	b.step()
	b.want(run.JobPollExhausted)
	b.step()
	b.want(run.FailedFinal)
}

func TestResultInTheLastPollCounts(t *testing.T) {
	b := running(t, daily+glue, searchableType)
	b.target.endAll(run.ResultSuccess)
	b.wait(8 * time.Hour) // no poll for a long time
	b.step()
	b.want(run.Completed)
	if len(b.target.stops) != 0 {
		t.Error("stopped a job that had ended")
	}
}

func TestTimeLimitEndsAnAttemptWhoseJobHasNoResult(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(b *bench)
		left    run.Leftover
	}{
		"pending": {func(b *bench) {
			b.open(b.key, run.Opening{})
			b.pause(store.Pause{By: "ann", Why: "x", Since: b.now})
		}, run.NothingLeft},
		"waiting for a repeat": {func(b *bench) {
			b.target.refuse(run.Transient)
			b.open(b.key, run.Opening{})
			b.step()
			b.pause(store.Pause{By: "ann", Why: "x", Since: b.now})
		}, run.NothingLeft},
		"running": {func(b *bench) {
			b.open(b.key, run.Opening{})
			b.step()
			b.target.statusErr = errors.New("gone")
		}, run.JobStopping},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, strings.ReplaceAll(daily+glue, "600", "86400"), searchableType)
			c.prepare(b)
			b.now = b.run().Progress.LimitAt
			for range 3 { // one last poll comes first
				if b.run().Status.Open() {
					b.step()
				}
			}
			if r := b.want(run.FailedFinal); r.Progress.Left != c.left {
				t.Errorf("left %q, want %q", r.Progress.Left, c.left)
			}
			if !b.due(b.key).IsZero() {
				t.Error("an ended run has a task")
			}
			b.last(event.SFNTimeout)
		})
	}
}

func TestFailureWaitsForTheRouter(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.target.refuse(run.Permanent)
	b.open(b.key, run.Opening{})
	b.step()
	if due := b.due(b.key); !due.IsZero() {
		t.Errorf("due at %s, want no task: nothing limits how long a pause lasts", due)
	}
	b.again(run.CauseCode)
	b.step()
	r := b.want(run.Running)
	if r.Attempt != 2 || b.target.started(r.ID()) != 1 {
		t.Errorf("attempt %d, %d jobs", r.Attempt, b.target.started(r.ID()))
	}
	b.checkStarts()
}

func TestTaskOfAnEndedOrMissingRunIsDropped(t *testing.T) {
	b := running(t, daily+glue, searchableType)
	b.target.endAll(run.ResultSuccess)
	b.wait(time.Minute)
	b.step()
	stray := b.key
	stray.Period = periodtest.Parse(t, "2020-01-01")
	for _, key := range []run.Key{b.key, stray} {
		b.commit(store.Batch{ID: "stray " + key.String(), Tasks: []store.Task{advance(key, b.now)}})
		b.step()
		if !b.due(key).IsZero() {
			t.Errorf("%s still has a task", key)
		}
	}
}

func TestOnlyAJobOfThisControllerIsSignalledAsRunning(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		kind func(*target) job.Type
		want []run.AttemptID
	}{
		"local":  {daily + command, localType, []run.AttemptID{"orders/cron/2026-03-03/1"}},
		"remote": {daily + glue, plainType, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.file, c.kind)
			var got []run.AttemptID
			d := b.steps.Deps
			d.Running = func(key run.Key, attempt int) { got = append(got, key.Attempt(attempt)) }
			b.steps = orchestrator.New(d)
			b.open(b.key, run.Opening{})
			b.step()
			b.want(run.Running)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLocalJobBelongsToTheControllerThatStartedIt(t *testing.T) {
	b := running(t, daily+command, localType)
	if r := b.run(); r.Progress.Replica != "a" {
		t.Errorf("it belongs to %q", r.Progress.Replica)
	}
	b.wait(time.Minute)
	if claims := b.claim("b"); len(claims) != 0 {
		t.Errorf("another controller can poll: %+v", claims)
	}
	b.step()
	b.wait(time.Minute)
	if claims := b.claim("b"); len(claims) != 0 {
		t.Errorf("another controller can make the second poll: %+v", claims)
	}
}

func TestUnansweredLocalStartIsPassedToItsController(t *testing.T) {
	b := newBench(t, daily+command, localType)
	b.open(b.key, run.Opening{})
	b.crashInStart()
	b.wait(lease)
	other := b.controller("b", b.store)
	claims := b.claim("b")
	if len(claims) != 1 {
		t.Fatalf("%d claims", len(claims))
	}
	if _, err := other.Step(ctx, claims[0], b.clock); err != nil {
		t.Fatal(err)
	}
	if claims := b.claim("b"); len(claims) != 0 {
		t.Errorf("the other controller keeps it: %+v", claims)
	}
	b.step()
	b.want(run.Running)
	if b.target.started(b.run().ID()) != 1 {
		t.Error("started twice")
	}
}

func TestLocalStartOfALostControllerIsHeld(t *testing.T) {
	b := newBench(t, daily+command, localType)
	b.open(b.key, run.Opening{})
	b.crashInStart()
	other := b.controller("b", b.store)
	for range 2 {
		b.wait(10 * time.Minute)
		for _, c := range b.claim("b") {
			if _, err := other.Step(ctx, c, b.clock); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r := b.want(run.Triggering); !strings.Contains(r.Progress.Held.Reason, "controller a") {
		t.Errorf("held: %q", r.Progress.Held.Reason)
	}
	if len(b.target.calls) != 1 {
		t.Error("started by another controller")
	}
}

// A cancel reaches a controller that cannot stop the job: a task asks the job's own controller.
func TestLocalJobIsStoppedByItsOwnController(t *testing.T) {
	b := running(t, daily+command, localType)
	other := b.controller("b", b.store)
	b.cancel(run.JobStopping)
	left, err := other.Stop(ctx, b.run(), b.now)
	if left != run.JobStopping || err == nil || len(b.target.stops) != 0 || other.Sees(b.run()) {
		t.Fatalf("the other controller left %q, %v, and asked for %d stops", left, err, len(b.target.stops))
	}
	if task := store.LeftTask(b.run(), b.now); task.Replica != "a" {
		t.Errorf("the task is for %q", task.Replica)
	}
	if left, err := b.steps.Stop(ctx, b.run(), b.now); left != run.JobStopped || err != nil || !b.steps.Sees(b.run()) {
		t.Errorf("its own controller left %q, %v", left, err)
	}
}

func TestLocalJobOfALostControllerIsReportedAndExhausted(t *testing.T) {
	b := running(t, daily+command, localType)
	other := b.controller("b", b.store)
	for b.run().Status.Open() && b.now.Before(morning.Add(3*time.Hour)) {
		b.wait(5 * time.Minute)
		for _, c := range b.claim("b") {
			if _, err := other.Step(ctx, c, b.clock); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r := b.want(run.FailedFinal); r.Progress.Left != run.JobStopping {
		t.Errorf("left %q", r.Progress.Left)
	}
	if b.target.looks != 0 || len(b.target.stops) != 0 {
		t.Error("another controller polled the job")
	}
	b.wantEvents(event.ValidationPassed, event.JobTriggered, event.InfraFailure, event.JobPollExhausted)
}
