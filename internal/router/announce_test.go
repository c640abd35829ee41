package router_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
)

// long is a pipeline whose job may take a day.
var long = strings.Replace(outside, "maxRetries", "jobPollWindowSeconds: 86400, maxRetries", 1)

// claimedBy returns a crew whose run a worker has claimed.
func claimedBy(t *testing.T, worker, file string) *crew {
	t.Helper()
	c := newCrew(t, file)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.Check(c.claim(worker))
	return c
}

// announce sends a heartbeat with a number that announces a silence, and returns the next one's time.
func (c *crew) announce(within time.Duration, seq int64) time.Time {
	c.Helper()
	r, err := c.Router.Heartbeat(ctx, c.Key(nightly), 1, router.Heartbeat{Heartbeat: run.Heartbeat{Within: within, Seq: seq}}, c.Now())
	c.Check(err)
	c.Settle()
	return r.Progress.NextBy()
}

// nextBy checks when the worker of attempt 1 counts as lost, as minutes from now.
func (c *crew) nextBy(what string, minutes int) {
	c.Helper()
	if got := c.stands("1").Progress.NextBy().Sub(c.Now()); got != time.Duration(minutes)*time.Minute {
		c.Errorf("%s: the next heartbeat is due in %s, want %dm", what, got, minutes)
	}
}

func TestAnnouncedSilenceKeepsTheAttempt(t *testing.T) {
	c := claimedBy(t, "w1", long)
	deadline := c.stands("RUNNING 1").Progress.Deadline()
	c.announce(6*time.Hour, 0)
	c.nextBy("announced", 360)
	c.Pass(6*time.Hour - time.Second)
	c.stands("RUNNING 1")
	c.Check(c.beat(1, "")) // it is back
	c.nextBy("back", 2)
	c.announce(30*time.Second, 0) // shorter than the heartbeat
	c.nextBy("a short one", 2)
	if got := c.stands("RUNNING 1").Progress.Deadline(); !got.Equal(deadline) {
		t.Errorf("the deadline has moved from %s to %s", deadline, got)
	}
	c.Pass(3 * time.Minute)
	c.stands("TRIGGERING 2: waiting for a worker")
}

func TestAnnouncedSilenceThatIsOverLosesTheAttempt(t *testing.T) {
	c := claimedBy(t, "w1", long)
	c.announce(time.Hour, 0)
	c.Pass(time.Hour + time.Minute)
	c.stands("TRIGGERING 2: waiting for a worker")
}

func TestSilenceIsGrantedUntilTheDeadline(t *testing.T) {
	for _, within := range []time.Duration{2 * time.Hour, 1000 * time.Hour, 1<<63 - 1} {
		c := claimedBy(t, "w1", outside)
		if got, deadline := c.announce(within, 0), c.stands("RUNNING 1").Progress.Deadline(); !got.Equal(deadline) {
			t.Errorf("%s: granted until %s, the deadline is %s", within, got, deadline)
		}
		c.Pass(61 * time.Minute)
		c.stands("FAILED_FINAL 1")
	}
}

func TestDelayedHeartbeatChangesNothing(t *testing.T) {
	c := claimedBy(t, "w1", long)
	c.announce(6*time.Hour, 7)
	c.Pass(time.Minute)
	before := c.stands("RUNNING 1")
	if got := c.announce(0, 6); !got.Equal(before.Progress.NextBy()) || c.stands("RUNNING 1") != before {
		t.Errorf("a heartbeat with a lower number moved the next one to %s, or changed the run", got)
	}
	c.announce(0, 7) // a copy
	c.nextBy("a copy", 2)
	c.announce(time.Hour, 8)
	c.nextBy("the next one", 60)
	c.Check(c.beat(1, "")) // one without a number counts
	c.nextBy("without a number", 2)
}

// A cancelled job keeps its slot as long as its worker may be silent, unless a person knows better.
func TestCancelDuringAnAnnouncedSilenceKeepsTheSlot(t *testing.T) {
	file := strings.Replace(long, "schedule: {", "schedule: {maxActive: 1, ", 1)
	for _, complete := range []bool{false, true} {
		c := claimedBy(t, "w1", file)
		c.announce(6*time.Hour, 0)
		_, err := c.Router.Cancel(ctx, c.Key(nightly), "ada", "tested", c.Now())
		c.Check(err)
		c.Settle()
		c.Pass(5 * time.Hour)
		if r := c.stands("CANCELLED 1"); r.Progress.Left != run.JobStopping || !r.HoldsSlot() {
			t.Errorf("the job is %q after 5h of the silence", r.Progress.Left)
		}
		if complete {
			_, err := c.Router.Report(ctx, run.Outcome{Key: c.Key(nightly), Attempt: 1, Report: run.Report{Result: run.ResultFail, By: "ada"}}, c.Now())
			c.Check(err)
			c.Settle()
		} else {
			c.Pass(time.Hour + time.Minute)
		}
		if r := c.stands("CANCELLED 1"); r.HoldsSlot() {
			t.Errorf("complete %t: the job is %q", complete, r.Progress.Left)
		}
	}
}

// The controllers are away for ten minutes that begin after these minutes of a silence of an hour. The
// heartbeat is 2m.
func TestAbsenceDuringAnAnnouncedSilence(t *testing.T) {
	for name, one := range map[string]struct {
		after time.Duration
		left  int // minutes until the worker is lost, when the controllers are back
	}{
		"in the middle":      {20 * time.Minute, 30},
		"ends just before":   {49 * time.Minute, 2},
		"across its end":     {55 * time.Minute, 2},
		"begins at its end":  {59 * time.Minute, 2},
		"as soon as claimed": {0, 50},
	} {
		c := claimedBy(t, "w1", long)
		c.announce(time.Hour, 0)
		c.Pass(one.after)
		c.Down(10 * time.Minute)
		c.Settle()
		c.Pass(time.Duration(one.left)*time.Minute - 10*time.Second)
		if r, err := c.Store.Run(ctx, c.Key(nightly)); err != nil || r.Status != run.Running || r.Attempt != 1 {
			t.Errorf("%s: the worker was given up while it could not be heard: %s %d, %v", name, r.Status, r.Attempt, err)
		}
		c.Pass(time.Minute)
		c.stands("TRIGGERING 2")
	}
}

func (c *crew) claimWith(key, worker string) (run.Run, error) {
	r, err := c.Router.Claim(ctx, router.ClaimRequest{Once: key, Key: c.Key(nightly), Worker: worker}, c.Now())
	c.Settle()
	return r, err
}

func TestClaimKeyIsValidAsLongAsItsAttemptIsOpen(t *testing.T) {
	c := newCrew(t, long)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	_, err := c.claimWith("mine", "host-1")
	c.Check(err)
	c.announce(20*time.Hour, 0)
	c.Pass(19 * time.Hour)
	if r, err := c.claimWith("mine", "host-2"); err != nil || r.Attempt != 1 || r.Progress.Offer.Worker != "host-1" {
		t.Fatalf("claimed attempt %d of %q, %v", r.Attempt, r.Progress.Offer.Worker, err)
	}
	c.nextBy("a repeated claim ends no announced silence", 60)
	_, err = c.claimWith("another", "host-1")
	c.refused(err, router.ClaimHeld, "worker host-1 has held attempt 1")
	c.Pass(62 * time.Minute) // it is lost
	c.stands("TRIGGERING 2: waiting for a worker")
	_, err = c.claimWith("mine", "host-1")
	c.refused(err, router.ClaimLost, "attempt 1 of run "+nightly+" has ended")
	if r, err := c.claimWith("another", "host-1"); err != nil || r.Attempt != 2 {
		t.Errorf("claimed attempt %d, %v", r.Attempt, err)
	}
	c.report(2, run.Report{Result: run.ResultSuccess}, "")
	_, err = c.claimWith("another", "host-1")
	c.refused(err, router.ClaimDone, "has ended: the run is COMPLETED")
}

// The controllers were away beyond the deadline, and have not ended the attempt yet.
func TestClaimKeyIsValidForAnAttemptThatIsOpenAfterADay(t *testing.T) {
	c := newCrew(t, long)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	_, err := c.claimWith("mine", "host-1")
	c.Check(err)
	c.Move(c.Now().Add(26 * time.Hour))
	r, err := c.Router.Claim(ctx, router.ClaimRequest{Once: "mine", Key: c.Key(nightly), Worker: "host-2"}, c.Now())
	if err != nil || r.Attempt != 1 {
		t.Errorf("claimed attempt %d, %v", r.Attempt, err)
	}
	c.Settle() // its deadline has passed
	c.stands("FAILED_FINAL 1")
	_, err = c.claimWith("mine", "host-1")
	c.refused(err, router.ClaimLost, "FAILED_FINAL in attempt 1")
}

func TestKeyOfAClaimIsOfOneRun(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	_, err := c.claimWith("mine", "w1")
	c.Check(err)
	_, err = c.Router.Trigger(ctx, router.TriggerRequest{Pipeline: "nightly", Period: c.Period("2026-03-02"), By: "ada"}, c.Now())
	c.Check(err)
	c.Settle()
	key := c.Key("nightly/cron/2026-03-02")
	if _, err := c.Router.Claim(ctx, router.ClaimRequest{Once: "mine", Key: key, Worker: "w1"}, c.Now()); !errors.Is(err, router.ErrKeyReused) {
		t.Errorf("answered with %v", err)
	}
}

// Whatever ended the attempt, the next heartbeat of its worker says that it is over, and how.
func TestHeartbeatOfAPermitThatIsNoLongerValid(t *testing.T) {
	fails := func(c *crew) { c.report(1, run.Report{Result: run.ResultFail, Message: "disk full", By: "w1"}, "") }
	silent := func(c *crew) { c.Pass(3 * time.Minute) }
	for name, one := range map[string]struct {
		file string
		ends func(c *crew)
		code router.ClaimCode
		says string
	}{
		"given up and offered again": {outside, silent, router.ClaimLost, "TRIGGERING in attempt 2"},
		"claimed by the next worker": {
			outside, func(c *crew) { silent(c); c.Check(c.claim("w2")) }, router.ClaimLost, "RUNNING in attempt 2, claimed by worker w2",
		},
		"given up for good": {
			strings.Replace(outside, "maxRetries: 1", "maxRetries: 0", 1), silent, router.ClaimLost, "FAILED_FINAL in attempt 1",
		},
		"past the deadline": {
			strings.Replace(outside, "2m", "0", 1), func(c *crew) { c.Pass(61 * time.Minute) }, router.ClaimLost, "FAILED_FINAL in attempt 1",
		},
		"completed": {
			outside, func(c *crew) { c.report(1, run.Report{Result: run.ResultSuccess}, "") }, router.ClaimDone, "COMPLETED in attempt 1",
		},
		"completed by a person": {
			outside, func(c *crew) { c.report(1, run.Report{Result: run.ResultSuccess, By: "ada"}, "") }, router.ClaimDone, "COMPLETED in attempt 1",
		},
		"failed": {strings.Replace(strings.Replace(outside, "PERMANENT", "TRANSIENT", 1), "maxRetries: 1", "maxRetries: 0", 1), fails, router.ClaimDone, "FAILED_FINAL in attempt 1"},
		"failed, and retried": {
			strings.Replace(outside, "PERMANENT", "TRANSIENT", 1), func(c *crew) { fails(c); c.Pass(time.Minute) }, router.ClaimLost, "TRIGGERING in attempt 2",
		},
		"cancelled": {outside, func(c *crew) {
			_, err := c.Router.Cancel(ctx, c.Key(nightly), "ada", "wrong day", c.Now())
			c.Check(err)
		}, router.ClaimDone, "CANCELLED in attempt 1, cancelled by ada"},
		"its result is being stored": {outside, func(c *crew) {
			_, err := c.Router.Report(ctx, run.Outcome{Key: c.Key(nightly), Attempt: 1, Report: run.Report{Result: run.ResultSuccess}}, c.Now())
			c.Check(err)
		}, router.ClaimDone, "RUNNING in attempt 1"},
	} {
		t.Run(name, func(t *testing.T) {
			c := claimedBy(t, "w1", one.file)
			one.ends(c)
			_, err := c.Router.Heartbeat(ctx, c.Key(nightly), 1, router.Heartbeat{}, c.Now())
			c.refused(err, one.code, one.says)
		})
	}
}
