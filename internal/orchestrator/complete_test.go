package orchestrator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

const watched = "postRun: {rules: [{key: out, check: gt, field: count, value: 0}, {key: report, check: exists}]}\n"

// arm stores a deadline of the run.
func (b *bench) arm(kind store.DeadlineKind, breach time.Time) {
	b.t.Helper()
	batch := store.Batch{ID: "arm/" + string(kind)}
	row, err := b.store.Pipeline(ctx, b.key.Pipeline)
	if err != nil {
		b.t.Fatal(err)
	}
	batch.SwapDeadline(store.Deadline{}, store.Deadline{
		Key: b.key, Kind: kind, Config: row.Config, ArmedAt: b.now, Deadline: sla.Deadline{State: sla.Armed, BreachAt: breach},
	})
	b.commit(batch)
}

func (b *bench) deadlines() map[store.DeadlineKind]store.Deadline {
	b.t.Helper()
	page, err := b.store.Deadlines(ctx, store.DeadlineQuery{Key: b.key})
	if err != nil {
		b.t.Fatal(err)
	}
	rows := map[store.DeadlineKind]store.Deadline{}
	for _, d := range page.Items {
		rows[d.Kind] = d
	}
	return rows
}

// recorder is a store that records commits.
type recorder struct {
	*memory.Store
	commits []store.Batch
}

func (r *recorder) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	r.commits = append(r.commits, b)
	return r.Store.Commit(ctx, b, now)
}

func TestCompletionIsOneCommit(t *testing.T) {
	b := newBench(t, strings.ReplaceAll(daily, "cron:", "maxActive: 1, cron:")+glue+watched, plainType)
	kept := &recorder{Store: b.store}
	b.steps = b.controller("a", kept)
	b.arm(store.Absolute, morning.Add(time.Hour))
	b.arm(store.Relative, morning.Add(2*time.Hour))
	b.write("out", sensor.Fields{"count": int64(7)})
	b.open(b.key, run.Opening{})
	b.step()
	b.target.endAll(run.ResultSuccess)
	b.wait(time.Minute)
	before := len(kept.commits)
	b.step()
	b.want(run.Completed)
	if got := len(kept.commits) - before; got != 1 {
		t.Fatalf("%d commits, want 1", got)
	}
	c := kept.commits[before]
	if len(c.Runs) != 1 || len(c.Log) != 1 || len(c.Deadlines) != 2 || len(c.PostRuns) != 1 || len(c.Pipelines) != 1 || len(c.Finished) != 1 || c.Lease == nil {
		t.Errorf("the commit has %d runs, %d log lines, %d deadlines, %d baselines, %d pipelines, %d finished tasks", len(c.Runs), len(c.Log), len(c.Deadlines), len(c.PostRuns), len(c.Pipelines), len(c.Finished))
	}
	b.wantEvents(event.ValidationPassed, event.JobTriggered, event.JobCompleted, event.SLAMet, event.SLAMet, event.PostRunBaselineCaptured)
}

func TestLargestCompletionFitsIntoOneCommit(t *testing.T) {
	b := newBench(t, strings.ReplaceAll(daily, "cron:", "maxActive: 1, cron:")+glue+watched, blockingType)
	b.target.will(nil, func(a job.Attempt) job.Started {
		return job.Started{Handle: b.target.begin(a), Result: &job.Status{Done: true, Result: run.ResultSuccess}}
	})
	b.arm(store.Absolute, morning.Add(time.Hour))
	b.arm(store.Relative, morning.Add(2*time.Hour))
	b.write("out", sensor.Fields{"count": int64(7)})
	b.open(b.key, run.Opening{})
	b.step()
	b.want(run.Completed)
}

func TestDeadlineOfACompletedRunIsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		breach time.Time
		state  sla.State
		event  event.Type
		late   int64
	}{
		"in time": {morning.Add(time.Hour), sla.Met, event.SLAMet, 0},
		"late":    {morning.Add(30 * time.Second), sla.Breached, event.SLABreach, 30},
	} {
		t.Run(name, func(t *testing.T) {
			b := running(t, daily+glue, plainType)
			b.arm(store.Absolute, c.breach)
			b.target.endAll(run.ResultSuccess)
			b.wait(time.Minute)
			b.step()
			b.want(run.Completed)
			d := b.deadlines()[store.Absolute]
			if d.State != c.state || !d.DoneAt.Equal(b.now) || !d.ClosedAt.Equal(b.now) {
				t.Errorf("deadline %+v", d)
			}
			if extra := b.last(c.event).Detail.Extra.(event.Deadline); extra.LateSeconds != c.late {
				t.Errorf("got %+v", extra)
			}
		})
	}
}

func TestBreachedDeadlineRecordsTheLateness(t *testing.T) {
	b := running(t, daily+glue, plainType)
	batch := store.Batch{ID: "breached"}
	batch.SwapDeadline(store.Deadline{}, store.Deadline{
		Key: b.key, Kind: store.Absolute, ClosedAt: morning, Deadline: sla.Deadline{State: sla.Breached, BreachAt: morning},
	})
	b.commit(batch)
	b.target.endAll(run.ResultSuccess)
	b.wait(time.Minute)
	b.step()
	if d := b.deadlines()[store.Absolute]; d.State != sla.Breached || !d.DoneAt.Equal(b.now) {
		t.Errorf("deadline %+v", d)
	}
	b.wantEvents(event.ValidationPassed, event.JobTriggered, event.JobCompleted)
	late := b.now.Sub(morning).Round(time.Second).String() + " after its deadline"
	if message := b.last(event.JobCompleted).Detail.Message; !strings.HasSuffix(message, late) {
		t.Errorf("got %q, want it to contain %q", message, late)
	}
}

func TestFailureLeavesTheDeadlineArmed(t *testing.T) {
	b := running(t, daily+glue, plainType)
	b.arm(store.Absolute, morning.Add(time.Hour))
	b.target.endAll(run.ResultFail)
	b.wait(time.Minute)
	b.step()
	b.want(run.Failed)
	if d := b.deadlines()[store.Absolute]; d.State != sla.Armed {
		t.Errorf("deadline %+v", d)
	}
}

func TestBaselineHoldsThePostRunValues(t *testing.T) {
	b := running(t, daily+glue+watched, plainType)
	b.write("out", sensor.Fields{"count": int64(7)})
	b.target.endAll(run.ResultSuccess)
	b.wait(time.Minute)
	b.step()
	p, err := b.store.PostRun(ctx, b.key)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]sensor.Fields{"out": {"count": int64(7)}} // report has no reading yet
	if diff := cmp.Diff(want, p.Baseline); diff != "" || p.Attempt != 1 || !p.CompletedAt.Equal(b.now) {
		t.Errorf("baseline (-want +got):\n%s%+v", diff, p)
	}
	if extra := b.last(event.PostRunBaselineCaptured).Detail.Extra.(event.Sensors); !cmp.Equal(extra.Sensors, []string{"out"}) {
		t.Errorf("got %+v", extra)
	}
	b.write("out", sensor.Fields{"count": int64(9)})
	b.again(run.CauseLateData)
	b.step()
	b.target.endAll(run.ResultSuccess)
	b.wait(time.Minute)
	b.step()
	if p, err := b.store.PostRun(ctx, b.key); err != nil || p.Attempt != 2 || p.Baseline["out"]["count"] != int64(9) {
		t.Errorf("second baseline %+v, %v", p, err)
	}
}

func TestBaselineThatDoesNotFitIsReported(t *testing.T) {
	var rules []string
	for i := range 6 {
		rules = append(rules, fmt.Sprintf("{key: out%d, check: exists}", i))
	}
	b := running(t, daily+glue+"postRun: {rules: ["+strings.Join(rules, ", ")+"]}\n", plainType)
	for i := range 6 {
		b.write(sensor.Key(fmt.Sprintf("out%d", i)), sensor.Fields{"text": strings.Repeat("x", 60<<10)})
	}
	b.target.endAll(run.ResultSuccess)
	b.wait(time.Minute)
	b.step()
	b.want(run.Completed)
	kept := b.last(event.PostRunBaselineCaptured).Detail.Extra.(event.Sensors).Sensors
	dropped := b.last(event.BaselineCaptureFailed).Detail.Extra.(event.Sensors).Sensors
	if len(kept) != 4 || len(dropped) != 2 {
		t.Errorf("kept %v, dropped %v", kept, dropped)
	}
}

func TestResultFromOutsideCompletesWithoutAPoll(t *testing.T) {
	b := running(t, daily+glue, plainType)
	b.reported(run.Report{Result: run.ResultSuccess, By: "callback", Message: "done"})
	b.step()
	b.want(run.Completed)
	if b.target.looks != 0 {
		t.Error("the job was polled although its result is known")
	}
	if entry := b.log()[1]; entry.By != "callback" || entry.Event != store.JobSuccess {
		t.Errorf("log %+v", entry)
	}
}

func TestResultOfAnOldAttemptNeverAffectsTheNewOne(t *testing.T) {
	b := running(t, daily+glue, plainType)
	b.target.end("job-1", job.Status{Result: run.ResultFail, Category: run.Transient})
	b.wait(time.Minute)
	b.step()
	b.want(run.Failed)
	b.again(run.CauseTransient)
	b.step()
	b.wait(time.Minute)
	b.step()
	r := b.want(run.Running)
	if r.Attempt != 2 || r.Progress.Handle != "job-2" || r.Progress.Report.Result != "" {
		t.Errorf("attempt %d follows %s with %+v", r.Attempt, r.Progress.Handle, r.Progress.Report)
	}
}

// failing rejects a commit a few times, as if others were faster.
type failing struct {
	*memory.Store
	conflicts int
}

func (f *failing) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if f.conflicts > 0 {
		f.conflicts--
		return fmt.Errorf("commit %s: %w", b.ID, store.ErrConflict)
	}
	return f.Store.Commit(ctx, b, now)
}

func TestConflictIsRetriedWithoutASecondStart(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	s := &failing{Store: b.store}
	b.steps = b.controller("a", s)
	b.open(b.key, run.Opening{})
	s.conflicts = 2
	b.target.duringStart = func(job.Attempt) { s.conflicts = 2 }
	b.step()
	b.want(run.Running)
	if len(b.target.calls) != 1 {
		t.Errorf("%d start calls", len(b.target.calls))
	}
}

func TestEndlessConflictIsReturned(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.steps = b.controller("a", &failing{Store: b.store, conflicts: 1000})
	b.open(b.key, run.Opening{})
	claims := b.claim("a")
	if _, err := b.steps.Step(ctx, claims[0], b.clock); err == nil || !strings.Contains(err.Error(), store.ErrConflict.Error()) {
		t.Errorf("got %v", err)
	}
	if len(b.target.calls) != 0 {
		t.Error("started without a commit")
	}
}

func TestStopAndStillRuns(t *testing.T) {
	b := running(t, daily+glue, searchableType)
	r := b.run()
	r.Progress.Left = run.JobMayRun
	if runs, err := b.steps.StillRuns(ctx, r, b.now); err != nil || !runs {
		t.Errorf("a running job: %v, %v", runs, err)
	}
	ended := r
	ended.Progress.Report.Result = run.ResultSuccess
	if runs, err := b.steps.StillRuns(ctx, ended, b.now); err != nil || runs {
		t.Errorf("a job that has reported its end: %v, %v", runs, err)
	}
	b.cancel(run.JobStopping)
	if left, err := b.steps.Stop(ctx, b.run(), b.now); err != nil || left != run.JobStopped {
		t.Errorf("stop: %q, %v", left, err)
	}
	if runs, err := b.steps.StillRuns(ctx, r, b.now); err != nil || runs {
		t.Errorf("a stopped job: %v, %v", runs, err)
	}
	r.Progress.Left = run.NothingLeft
	if runs, err := b.steps.StillRuns(ctx, r, b.now); err != nil || runs {
		t.Errorf("nothing was left: %v, %v", runs, err)
	}
}

func TestStopOfAStartWithoutAnAnswerFindsItsJob(t *testing.T) {
	b := newBench(t, daily+glue, searchableType)
	b.target.loseAfter()
	b.target.findErr = errLost
	b.open(b.key, run.Opening{})
	b.step()
	b.want(run.Triggering)
	b.cancel(run.JobStopping)
	r := b.want(run.Cancelled)
	if left, err := b.steps.Stop(ctx, r, b.now); err == nil || left != run.JobStopping {
		t.Errorf("not found: %q, %v", left, err)
	}
	if runs, err := b.steps.StillRuns(ctx, r, b.now); err != nil || !runs {
		t.Errorf("its call is in progress: %v, %v", runs, err)
	}
	b.wait(lease)
	if _, err := b.steps.StillRuns(ctx, r, b.now); err == nil {
		t.Error("it is unknown, but there is no error")
	}
	b.target.findErr = nil
	if runs, err := b.steps.StillRuns(ctx, r, b.now); err != nil || !runs {
		t.Errorf("found: %v, %v", runs, err)
	}
	if left, err := b.steps.Stop(ctx, b.run(), b.now); err != nil || left != run.JobStopped {
		t.Errorf("stop: %q, %v", left, err)
	}
}

func TestObservedEndCompletesAtOnce(t *testing.T) {
	var kind waits
	b := running(t, daily+command, func(t *target) job.Type {
		kind = waits{thorough{searchable{plain{t}}}, make(chan struct{})}
		return kind
	})
	done := make(chan error)
	go func() { done <- b.steps.Await(ctx, b.key, 1, b.clock) }()
	b.target.endAll(run.ResultSuccess)
	close(kind.ended)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	b.want(run.Completed)
	if !b.due(b.key).IsZero() {
		t.Error("an ended run has a task")
	}
	if err := b.steps.Await(ctx, b.key, 1, b.clock); err != nil {
		t.Errorf("an ended run: %v", err)
	}
}

func TestAwaitReturnsAtOnceForOtherTypes(t *testing.T) {
	b := running(t, daily+glue, plainType)
	if err := b.steps.Await(ctx, b.key, 1, b.clock); err != nil {
		t.Error(err)
	}
	b.want(run.Running)
}
