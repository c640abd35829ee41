package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// lossy is a target that deduplicates by id. While lose is set, it acts on every call, and its answers
// are lost.
type lossy struct {
	running map[run.AttemptID]bool
	lose    bool
	slow    bool // its jobs continue for long after they were asked to stop
}

var errLossy = errors.New("connection reset")

func (l *lossy) answer() error {
	if l.lose {
		return errLossy
	}
	return nil
}

func (l *lossy) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	l.running[a.ID] = true
	return job.Started{Handle: run.Handle(a.ID)}, l.answer()
}

func (l *lossy) Status(_ context.Context, a job.Attempt, _ run.Handle) (job.Status, error) {
	if l.running[a.ID] {
		return job.Status{}, l.answer()
	}
	return job.Status{Done: true, Result: run.ResultSuccess}, l.answer()
}

func (l *lossy) Find(_ context.Context, a job.Attempt) (run.Handle, bool, error) {
	return run.Handle(a.ID), l.running[a.ID], l.answer()
}

func (l *lossy) Stop(_ context.Context, a job.Attempt, _ run.Handle) error {
	if !l.lose && !l.slow {
		delete(l.running, a.ID)
	}
	return l.answer()
}

func (l *lossy) RefusesRepeats() bool { return true }

const mayRun = `
pipeline: {id: orders, owner: data}
schedule: {trigger: {key: a, check: equals, field: status, value: ready}, evaluation: {window: 10m, interval: 1m}%s}
validation: {rules: [{key: b, check: equals, field: ok, value: yes}]}
job: {type: command, config: {command: "true"}}
`

const mayRunKey = "orders/stream/2026-03-03"

// lost is a controller with an attempt whose start call had no answer, and whose gate has closed
// before the call could be repeated. Its job runs.
type lost struct {
	*testing.T
	*controllertest.Controller
	target *lossy
}

func newLost(t *testing.T, schedule string) *lost {
	t.Helper()
	l := &lossy{running: map[run.AttemptID]bool{}, lose: true}
	c := &lost{t, controllertest.New(t, memory.New(), map[string]job.Type{"command": l}), l}
	c.Apply(fmt.Sprintf(mayRun, schedule))
	c.Settle()
	c.Put("orders", "b#2026-03-03", "ok=yes")
	c.Write("orders", "a#2026-03-03", "status=ready")
	c.Pass(5 * time.Second)
	c.Write("orders", "b#2026-03-03", "ok=no")
	c.Pass(time.Minute)
	if r := c.run(); r.Status != run.Pending || !r.MayHaveJob() {
		t.Fatalf("the run is %s, unanswered: %t", r.Status, r.Progress.Unanswered)
	}
	return c
}

func (c *lost) run() run.Run {
	c.Helper()
	r, err := c.Store.Run(ctx, c.Key(mayRunKey))
	c.Check(err)
	return r
}

// alone fails unless at most one job is running.
func (c *lost) alone() {
	c.Helper()
	if len(c.target.running) > 1 {
		c.Errorf("%d jobs are running at once: %v", len(c.target.running), c.target.running)
	}
}

func TestRunIsNotReopenedBesideAJobThatMayRun(t *testing.T) {
	c := newLost(t, "")
	c.Pass(15 * time.Minute) // past the window
	if r := c.run(); r.Status != run.ValidationExhausted || r.Progress.Left != run.JobStopping {
		t.Errorf("after its window the run is %s, its job %q", r.Status, r.Progress.Left)
	}
	c.Put("orders", "b#2026-03-03", "ok=yes")
	c.Write("orders", "a#2026-03-03", "status=ready", "v=2")
	c.alone()
	c.target.lose = false // the target can be reached again, and the job is stopped
	c.Pass(time.Minute)
	c.alone()
	if r := c.run(); r.Status != run.Running || r.Attempt != 2 {
		t.Errorf("once its job has stopped, the new data reopens the run: it is %s in attempt %d", r.Status, r.Attempt)
	}
}

func TestJobThatMayRunKeepsItsSlot(t *testing.T) {
	c := newLost(t, ", maxActive: 1")
	c.target.lose = false
	c.Put("orders", "b#2026-03-04", "ok=yes")
	c.Write("orders", "a#2026-03-04", "status=ready")
	c.Pass(time.Minute)
	c.alone()
	_, err := c.Router.Cancel(ctx, c.Key(mayRunKey), "ada", "tested", c.Now())
	c.Check(err)
	c.Pass(time.Minute)
	if !c.target.running["orders/stream/2026-03-04/1"] {
		t.Error("once the job has stopped, its slot is free for the next run")
	}
	c.alone()
}

func TestCancelStopsAJobThatMayRun(t *testing.T) {
	c := newLost(t, "")
	c.target.lose, c.target.slow = false, true
	r, err := c.Router.Cancel(ctx, c.Key(mayRunKey), "ada", "tested", c.Now())
	c.Check(err)
	if r.Progress.Left != run.JobStopping {
		t.Errorf("the job of the cancelled run is %q", r.Progress.Left)
	}
	c.Put("orders", "b#2026-03-03", "ok=yes")
	c.Settle()
	answer, err := c.Router.Rerun(ctx, router.RerunRequest{ID: "r", Pipeline: "orders", Period: c.Period("2026-03-03"), By: "ada", Reason: "again"}, c.Now())
	c.Check(err)
	c.Settle()
	if answer.Accepted {
		t.Error("a rerun without --force was accepted while the cancelled job is still being stopped")
	}
	c.alone()
}

func TestForcedRerunDoesNotReplaceAnAttemptWhoseJobMayRun(t *testing.T) {
	c := newLost(t, "")
	c.target.lose = false
	answer, err := c.Router.Rerun(ctx, router.RerunRequest{
		ID: "r", Pipeline: "orders", Period: c.Period("2026-03-03"), By: "ada", Reason: "r", Force: true, BypassGate: true,
	}, c.Now())
	c.Check(err)
	c.Settle()
	if answer.Accepted || !strings.Contains(answer.Why, "cancel it first") {
		t.Errorf("accepted: %t, %s", answer.Accepted, answer.Why)
	}
	c.alone()
}

func TestResultOfAJobThatMayRunCounts(t *testing.T) {
	c := newLost(t, "")
	_, err := c.Router.Report(ctx, run.Outcome{Key: c.Key(mayRunKey), Attempt: 1, Report: run.Report{Result: run.ResultSuccess, By: "etl"}}, c.Now())
	c.Check(err)
	c.Settle()
	page, err := c.Store.Events(ctx, store.EventQuery{Type: event.JobCompleted})
	c.Check(err)
	if len(page.Items) != 1 || page.Items[0].Detail.Attempt != 1 {
		t.Errorf("completed: %v", page.Items)
	}
}

// sleepy is a target whose first call is made by a controller that is suspended before the request is
// sent: another worker takes over meanwhile. The target rejects the next calls.
type sleepy struct {
	lossy
	c     *controllertest.Controller
	calls int
}

func (s *sleepy) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	switch s.calls++; s.calls {
	case 1:
		s.c.Move(s.c.Now().Add(2 * time.Minute)) // beyond its lease
		s.c.Settle()
	case 2, 3:
		return job.Started{}, job.Refuse(run.Transient, "the target answered 503")
	}
	return s.lossy.Start(ctx, a)
}

func TestJobOfAnOvertakenStartIsFollowed(t *testing.T) {
	s := &sleepy{lossy: lossy{running: map[run.AttemptID]bool{}}}
	c := controllertest.New(t, memory.New(), map[string]job.Type{"command": s})
	s.c = c
	c.Apply(`
pipeline: {id: orders, owner: data}
schedule: {trigger: {key: a, check: equals, field: status, value: ready}}
job: {type: command, config: {command: "true"}, maxRetries: 2}
`)
	c.Settle()
	c.Write("orders", "a#2026-03-03", "status=ready")
	c.Pass(10 * time.Minute)
	if len(s.running) != 1 {
		t.Errorf("jobs of one run: %v", s.running)
	}
	r, err := c.Store.Run(ctx, c.Key(mayRunKey))
	c.Check(err)
	if r.Status != run.Running || r.Attempt != 1 || r.Progress.Handle != mayRunKey+"/1" {
		t.Errorf("the run is %s in attempt %d and follows %q", r.Status, r.Attempt, r.Progress.Handle)
	}
}

// killed is a target whose jobs end as failed while Stop is still under way, which other workers
// notice.
type killed struct {
	c    *controllertest.Controller
	over bool
}

func (k *killed) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	return job.Started{Handle: run.Handle(a.ID)}, nil
}

func (k *killed) Status(context.Context, job.Attempt, run.Handle) (job.Status, error) {
	if k.over {
		return job.Status{Done: true, Result: run.ResultFail, Category: run.Transient, Message: "killed by signal 15"}, nil
	}
	return job.Status{}, nil
}

func (k *killed) Stop(context.Context, job.Attempt, run.Handle) error {
	if !k.over {
		k.over = true
		k.c.Move(k.c.Now().Add(31 * time.Second)) // the next poll falls into the call
		k.c.Settle()
	}
	return nil
}

// killable is a controller with one running job.
func killable(t *testing.T, jobLimits string) (*controllertest.Controller, func() run.Run) {
	k := &killed{}
	c := controllertest.New(t, memory.New(), map[string]job.Type{"command": k})
	k.c = c
	c.Apply(`
pipeline: {id: orders, owner: data}
schedule: {trigger: {key: a, check: equals, field: status, value: ready}}
sla: {deadline: "10:00"}
job: {type: command, config: {command: "true"}` + jobLimits + `}
`)
	c.Settle()
	c.Write("orders", "a#2026-03-03", "status=ready")
	return c, func() run.Run {
		r, err := c.Store.Run(ctx, c.Key(mayRunKey))
		c.Check(err)
		return r
	}
}

func TestCancelThatKillsItsJobIsACancel(t *testing.T) {
	c, current := killable(t, ", maxRetries: 2")
	_, err := c.Router.Cancel(ctx, c.Key(mayRunKey), "ada", "tested", c.Now())
	c.Check(err)
	c.Pass(2 * time.Hour)
	if r := current(); r.Status != run.Cancelled || r.Progress.Left != run.JobStopped {
		t.Errorf("the run is %s: %s; its job is %q", r.Status, r.Reason, r.Progress.Left)
	}
	page, err := c.Store.Events(ctx, store.EventQuery{Type: event.RetryExhausted})
	c.Check(err)
	if len(page.Items) > 0 {
		t.Errorf("the cancel was reported as %s", page.Items[0].Detail.Message)
	}
}

func TestPollWindowThatKillsItsJobIsNoFailureOfTheJob(t *testing.T) {
	c, current := killable(t, ", maxRetries: 2, jobPollWindowSeconds: 60")
	c.Pass(10 * time.Minute)
	if r := current(); r.Status != run.FailedFinal || r.Attempt != 1 || r.Progress.Left != run.JobStopped {
		t.Errorf("the run is %s in attempt %d: %s; its job is %q", r.Status, r.Attempt, r.Reason, r.Progress.Left)
	}
}
