package router_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

const outside = `
pipeline: {id: nightly, owner: data}
schedule: {cron: "0 9 * * *", evaluation: {window: 1h, interval: 5m}}
validation: {rules: [{key: landed, check: equals, field: state, value: ready}]}
job: {type: external, config: {heartbeat: 2m}, maxRetries: 1, retryBackoff: 1s, classify: [{match: disk full, category: PERMANENT}]}
`

const nightly = "nightly/cron/2026-03-03"

// crew is a controller whose job external workers run.
type crew struct {
	*testing.T
	*controllertest.Controller
}

func newCrew(t *testing.T, file string) *crew {
	t.Helper()
	c := &crew{t, controllertest.New(t, memory.New(), nil)}
	c.Move(controllertest.Tuesday.Add(-time.Hour)) // 08:10, before the fire
	c.Apply(file)
	c.Settle()
	c.Pass(time.Hour)
	return c
}

func (c *crew) claim(worker string) error {
	_, err := c.Router.Claim(ctx, router.ClaimRequest{Key: c.Key(nightly), Worker: worker}, c.Now())
	c.Settle()
	return err
}

func (c *crew) beat(attempt int, output string) error {
	_, err := c.Router.Heartbeat(ctx, c.Key(nightly), attempt, router.Heartbeat{Output: output}, c.Now())
	c.Settle()
	return err
}

func (c *crew) report(attempt int, rep run.Report, output string) router.Reported {
	c.Helper()
	done, err := c.Router.Report(ctx, run.Outcome{Key: c.Key(nightly), Attempt: attempt, Report: rep, Output: output}, c.Now())
	c.Check(err)
	c.Settle()
	return done
}

// stands checks the run's status, attempt and reason.
func (c *crew) stands(want string) run.Run {
	c.Helper()
	r, err := c.Store.Run(ctx, c.Key(nightly))
	c.Check(err)
	if got := fmt.Sprintf("%s %d: %s", r.Status, r.Attempt, r.Reason); !strings.Contains(got, want) {
		c.Errorf("the run is %q, want %q", got, want)
	}
	return r
}

// refused checks that a claim or heartbeat was refused for that reason.
func (c *crew) refused(err error, code router.ClaimCode, says string) {
	c.Helper()
	var no *router.ClaimRefused
	if !errors.As(err, &no) || no.Code != code || !strings.Contains(no.Reason, says) {
		c.Errorf("got %v, want %s with %q", err, code, says)
	}
}

func (c *crew) events(types ...event.Type) []string {
	c.Helper()
	page, err := c.Store.Events(ctx, store.EventQuery{Ascending: true, Limit: 100})
	c.Check(err)
	var events []string
	for _, e := range page.Items {
		for _, t := range types {
			if e.Type == t {
				events = append(events, e.Detail.Message)
			}
		}
	}
	return events
}

func TestOneOfManyClaimsIsGranted(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.stands("TRIGGERING 1: waiting for a worker")
	var all sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		all.Go(func() {
			_, errs[i] = c.Router.Claim(ctx, router.ClaimRequest{Key: c.Key(nightly), Worker: fmt.Sprintf("w%d", i)}, c.Now())
		})
	}
	all.Wait()
	granted := 0
	for _, err := range errs {
		if err == nil {
			granted++
			continue
		}
		c.refused(err, router.ClaimHeld, "has held attempt 1")
	}
	if events := c.events(event.JobTriggered); granted != 1 || len(events) != 1 || !strings.Contains(events[0], "claimed by worker w") {
		t.Errorf("%d claims were granted, with events %q", granted, events)
	}
}

func TestClaimHasItsOwnSnapshot(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	offered := c.stands("TRIGGERING 1").Progress.Snapshot
	c.Move(c.Now().Add(time.Minute))
	c.Check(c.claim("w1"))
	r := c.stands("RUNNING 1: claimed by worker w1")
	s, err := c.Store.Snapshot(ctx, r.Progress.Snapshot)
	c.Check(err)
	if s.ID == offered || !s.At.Equal(r.Progress.StartedAt) || s.Outcome != rule.Pass {
		t.Errorf("the claim's snapshot is %+v", s)
	}
}

func TestClosingGateWithdrawsTheOffer(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Write("nightly", "landed#2026-03-03", "state=wrong")
	c.stands("PENDING 1: gate closed before a worker claimed it")
	c.refused(c.claim("w1"), router.ClaimNotOffered, `landed: state is "wrong"`)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Check(c.claim("w1"))
}

func TestClaimEvaluatesTheGateAgain(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Put("nightly", "landed#2026-03-03", "state=wrong") // the change is not handled yet
	_, err := c.Router.Claim(ctx, router.ClaimRequest{Key: c.Key(nightly), Worker: "w1"}, c.Now())
	c.refused(err, router.ClaimNotOffered, `landed: state is "wrong"`)
	c.Settle()
	c.stands("PENDING 1")
}

func TestOfferExpiresWithItsWindow(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Pass(49 * time.Minute) // 09:59
	c.stands("TRIGGERING 1")
	c.Pass(time.Minute)
	if r := c.stands("VALIDATION_EXHAUSTED 1: no worker claimed it"); !r.Unclaimed() {
		t.Error("the run is not exhausted as an unclaimed offer")
	}
	c.refused(c.claim("w1"), router.ClaimDone, "no worker claimed it")
	if events := c.events(event.ValidationExhausted); len(events) != 1 || !strings.HasPrefix(events[0], "no worker claimed it") {
		t.Errorf("events: %q", events)
	}
}

func TestSilentWorkerLosesItsAttempt(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Check(c.claim("w1"))
	for range 10 { // heartbeats keep it
		c.Pass(110 * time.Second)
		c.Check(c.beat(1, "so far"))
	}
	c.Pass(119 * time.Second)
	c.stands("RUNNING 1")
	c.Pass(3 * time.Second)
	r := c.stands("TRIGGERING 2: waiting for a worker")
	if r.Counters.Retries != 1 {
		t.Errorf("the retry used %+v", r.Counters)
	}
	if events := c.events(event.JobTimeout); len(events) != 1 || !strings.Contains(events[0], "worker w1 stopped reporting") {
		t.Errorf("events: %q", events)
	}
	c.Check(c.claim("w2"))
	c.refused(c.beat(1, ""), router.ClaimLost, "attempt 1 of run "+nightly+" has ended")
	if done := c.report(1, run.Report{Result: run.ResultSuccess}, ""); !done.Late {
		t.Error("the late result counts")
	}
	c.stands("RUNNING 2: claimed by worker w2")
	c.report(2, run.Report{Result: run.ResultSuccess}, "")
	c.stands("COMPLETED 2")
	if err := c.claim("w3"); err == nil || err.Error() != "run "+nightly+" is COMPLETED in attempt 2" {
		t.Errorf("a claim of a completed run: %v", err)
	}
}

func TestSilenceDuringADowntimeIsExcused(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Check(c.claim("w1"))
	c.Down(10 * time.Minute)
	c.Settle()
	c.stands("RUNNING 1")
	c.Pass(119 * time.Second)
	c.Check(c.beat(1, ""))
	c.Pass(119 * time.Second)
	c.stands("RUNNING 1")
	c.Pass(3 * time.Second)
	c.stands("TRIGGERING 2")
}

func TestOutputIsStoredAndClassified(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Check(c.claim("w1"))
	c.Check(c.beat(1, "step 1"))
	c.report(1, run.Report{Result: run.ResultFail, Message: "exit code 1", Exited: true, ExitCode: 1}, "step 2\ndisk full\n")
	logs, err := c.Store.JobLogs(ctx, []run.Key{c.Key(nightly)})
	c.Check(err)
	log := logs[c.Key(nightly)]
	last := log[len(log)-1]
	if last.Output != "step 2\ndisk full\n" || last.Category != run.Permanent || last.Handle != "w1" {
		t.Errorf("the job log says %+v", last)
	}
}

func TestPausedPipelineGrantsNoClaim(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	_, err := c.Router.Pause(ctx, "nightly", store.Pause{By: "ada", Why: "repairs"}, c.Now())
	c.Check(err)
	c.Settle()
	c.refused(c.claim("w1"), router.ClaimPaused, "paused by ada: repairs")
	c.Check(c.Router.Resume(ctx, "nightly", "ada", "done", c.Now()))
	c.Settle()
	c.Check(c.claim("w1"))
}

func TestHeartbeatOfACancelledRunIsRefused(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Check(c.claim("w1"))
	_, err := c.Router.Cancel(ctx, c.Key(nightly), "ada", "wrong day", c.Now())
	c.Check(err)
	if r := c.stands("CANCELLED 1"); r.Progress.Left != run.JobStopping {
		t.Errorf("the job is %q", r.Progress.Left)
	}
	c.refused(c.beat(1, ""), router.ClaimDone, "cancelled by ada: wrong day")
	c.Pass(3 * time.Minute) // as long as a worker may be silent
	if r := c.stands("CANCELLED 1"); r.Progress.Left != run.JobStopped {
		t.Errorf("the job is %q", r.Progress.Left)
	}
}

func TestClaimNeedsAnExternalJob(t *testing.T) {
	c := newCrew(t, strings.Replace(outside, "job: {type: external, config: {heartbeat: 2m}, maxRetries: 1, retryBackoff: 1s, classify: [{match: disk full, category: PERMANENT}]}", "", 1))
	var no *router.Refusal
	if err := c.claim("w1"); !errors.As(err, &no) || !strings.Contains(no.Reason, "job: {type: external}") {
		t.Errorf("answered with %v", err)
	}
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	if err := c.claim("w1"); !errors.As(err, &no) || !strings.Contains(no.Reason, "job: {type: external}") {
		t.Errorf("answered with %v", err)
	}
}

func TestWorkerWithoutHeartbeatLimitRunsUntilThePollWindowEnds(t *testing.T) {
	c := newCrew(t, strings.Replace(outside, "heartbeat: 2m", "heartbeat: 0", 1))
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Check(c.claim("w1"))
	c.Pass(59 * time.Minute)
	c.stands("RUNNING 1")
	c.Pass(time.Minute)
	if r := c.stands("FAILED_FINAL 1: the job returned no result within its poll window"); r.Progress.Left != run.JobMayRun {
		t.Errorf("the job is %q", r.Progress.Left)
	}
}

func TestOnlyOneOfEqualClaimsIsGranted(t *testing.T) {
	for round := range 50 {
		c := newCrew(t, outside)
		c.Write("nightly", "landed#2026-03-03", "state=ready")
		var all sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			all.Go(func() {
				_, errs[i] = c.Router.Claim(ctx, router.ClaimRequest{Key: c.Key(nightly), Worker: "etl"}, c.Now())
			})
		}
		all.Wait()
		granted := 0
		for _, err := range errs {
			if err == nil {
				granted++
				continue
			}
			c.refused(err, router.ClaimHeld, "worker etl has held attempt 1")
		}
		if granted != 1 {
			t.Fatalf("round %d: %d of 8 equal claims were granted", round, granted)
		}
	}
}

func TestClaimAfterTheResultIsRefused(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.stands("TRIGGERING 1: waiting for a worker")
	_, err := c.Router.Report(ctx, run.Outcome{Key: c.Key(nightly), Attempt: 1, Report: run.Report{Result: run.ResultSuccess, By: "ada"}}, c.Now())
	c.Check(err)
	// The completion is not stored yet.
	_, err = c.Router.Claim(ctx, router.ClaimRequest{Key: c.Key(nightly), Worker: "w1"}, c.Now())
	c.refused(err, router.ClaimDone, "attempt 1 of run nightly/cron/2026-03-03 already has its result: success")
	c.Settle()
	c.stands("COMPLETED 1")
}

// A busy controller takes each step late, but hears every heartbeat.
func TestDeadWorkerIsNoticedByABusyController(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Check(c.claim("w1"))
	began := c.Now()
	for c.stands("").Attempt == 1 {
		next, err := c.Store.NextDue(ctx, store.ClaimQuery{})
		c.Check(err)
		c.Move(next.Add(11 * time.Second))
		c.Settle()
	}
	if waited := c.Now().Sub(began); waited > 5*time.Minute {
		t.Errorf("its heartbeat is 2m, but the worker was given up after %s", waited)
	}
}

func TestCancelledWorkerDoesNotCountAsStoppedAfterADowntime(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Check(c.claim("w1"))
	c.Pass(30 * time.Second)
	c.Check(c.beat(1, ""))
	_, err := c.Router.Cancel(ctx, c.Key(nightly), "ada", "tested", c.Now())
	c.Check(err)
	c.Settle()
	c.Down(10 * time.Minute)
	c.Settle()
	if r := c.stands("CANCELLED 1"); r.Progress.Left != run.JobStopping {
		t.Errorf("the job counts as %q as soon as the controller is back, before its worker was asked to stop", r.Progress.Left)
	}
	c.Pass(3 * time.Minute) // a heartbeat interval after that, its worker has not reported
	if r := c.stands("CANCELLED 1"); r.Progress.Left != run.JobStopped {
		t.Errorf("the job is %q", r.Progress.Left)
	}
}

// The absence is recorded, however long it was, and excuses a worker once.
func TestWorkerIsExcusedForAnAbsenceOfTheController(t *testing.T) {
	for _, away := range []time.Duration{3 * time.Minute, 40 * time.Minute} {
		c := newCrew(t, strings.Replace(outside, "maxRetries", "jobPollWindowSeconds: 86400, maxRetries", 1))
		c.Write("nightly", "landed#2026-03-03", "state=ready")
		c.Check(c.claim("w1"))
		c.Down(away)
		c.Settle()
		c.Pass(110 * time.Second)
		c.stands("RUNNING 1")
		c.Check(c.beat(1, ""))
		c.Pass(110 * time.Second)
		c.stands("RUNNING 1")
		c.Pass(time.Minute)
		c.stands("2") // given up, and retried
	}
}
