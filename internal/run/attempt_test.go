package run_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

func TestStartNeedsAnOpenGateAndASnapshot(t *testing.T) {
	r := opened(t)
	if _, err := r.Trigger(run.Start{Snapshot: "s1"}, noon); err == nil {
		t.Error("started without an evaluation")
	}
	closed, err := r.Evaluated(false, noon)
	if _, err := must(t, closed, err).Trigger(run.Start{Snapshot: "s1"}, noon); err == nil {
		t.Error("started with a closed gate")
	}
	open, err := r.Evaluated(true, noon)
	if _, err := must(t, open, err).Trigger(run.Start{}, noon); err == nil {
		t.Error("started without a snapshot")
	}
}

func TestStartConsumesItsVerdict(t *testing.T) {
	r := triggering(t)
	if _, err := r.Trigger(run.Start{Snapshot: "s2"}, noon); err == nil {
		t.Error("the same verdict started twice")
	}
	r, err := r.Refused(run.Report{Category: run.Transient}, at(1))
	if _, err := must(t, r, err).Trigger(run.Start{Snapshot: "s2"}, at(2)); err == nil {
		t.Error("a rejected start was repeated without an evaluation")
	}
}

func TestBypassedGateCountsAsOpenAndNeedsWhoAndWhy(t *testing.T) {
	key := opened(t).Key
	o := run.Opening{Cause: run.CauseManual, GateBypassed: true, Limits: limits, At: noon}
	if _, err := run.New(key, o); err == nil {
		t.Error("bypassed without who and why")
	}
	o.By, o.Reason = "ada", "source confirmed by phone"
	r, err := run.New(key, o)
	r, err = must(t, r, err).Evaluated(false, noon)
	r, err = must(t, r, err).Trigger(run.Start{Snapshot: "s1"}, noon)
	r = must(t, r, err)
	if o := r.Progress.Opening; r.Status != run.Triggering || o.By != "ada" || o.Reason == "" {
		t.Errorf("%s, bypassed by %q because %q", r.Status, o.By, o.Reason)
	}
}

func TestClosedGateBeforeARepeatGoesBackInTheSameAttempt(t *testing.T) {
	r, err := triggering(t).Refused(run.Report{Category: run.Transient, Message: "busy"}, at(1))
	r = must(t, r, err)
	if want := at(1).Add(30 * time.Second); !r.Progress.NextTry.Equal(want) {
		t.Errorf("next try %s, want %s", r.Progress.NextTry, want)
	}
	r, err = r.Evaluated(false, at(2))
	r = must(t, r, err)
	if r.Status != run.Pending || r.Attempt != 1 || !r.Progress.WindowEnd.Equal(at(60)) || r.Progress.StartTries != 1 {
		t.Errorf("%s attempt %d, window until %s, %d tries", r.Status, r.Attempt, r.Progress.WindowEnd, r.Progress.StartTries)
	}
}

func TestRejectedStartsBackOffAndThenFail(t *testing.T) {
	r := triggering(t)
	now := noon
	for i, want := range []time.Duration{30 * time.Second, time.Minute} {
		var err error
		r, err = r.Refused(run.Report{Category: run.Transient}, now)
		r = must(t, r, err)
		if got := r.Progress.NextTry.Sub(now); got != want {
			t.Errorf("refusal %d waits %s, want %s", i+1, got, want)
		}
		now = r.Progress.NextTry
		r, err = r.Evaluated(true, now)
		r, err = must(t, r, err).Trigger(run.Start{Snapshot: "s"}, now)
		r = must(t, r, err)
	}
	r, err := r.Refused(run.Report{Category: run.Transient, Message: "still busy"}, now)
	if r = must(t, r, err); r.Status != run.Failed || r.Progress.Report.Category != run.Transient || r.Progress.StartTries != 3 {
		t.Errorf("the third rejection leaves %s %+v after %d tries", r.Status, r.Progress.Report, r.Progress.StartTries)
	}
}

func TestPermanentRejectionIsNotRepeated(t *testing.T) {
	r, err := triggering(t).Refused(run.Report{Category: run.Permanent, Message: "401"}, noon)
	if r = must(t, r, err); r.Status != run.Failed || r.Reason != "401" {
		t.Errorf("%s because %q", r.Status, r.Reason)
	}
}

func TestUnansweredStartIsNotEvaluatedForARepeat(t *testing.T) {
	if r, err := triggering(t).Evaluated(true, at(1)); err == nil {
		t.Errorf("gate open is %v while it is unknown whether the job runs", r.Progress.GateOpen)
	}
}

func TestHeldStartWaitsForAReportedResult(t *testing.T) {
	r, err := triggering(t).Hold("no answer", at(1))
	r = must(t, r, err)
	if _, err := r.Evaluated(true, at(2)); err == nil {
		t.Error("a held start was evaluated for a repeat")
	}
	r, err = r.Reported(run.Outcome{Key: r.Key, Attempt: 1, Report: run.Report{Result: run.ResultSuccess, By: "ada"}}, at(3))
	r, err = must(t, r, err).Complete(at(3))
	if r = must(t, r, err); r.Status != run.Completed || r.Progress.Held.Reason != "" {
		t.Errorf("%s, held %q", r.Status, r.Progress.Held.Reason)
	}
}

func TestWaitingForASlotMovesWindowAndLimit(t *testing.T) {
	r, err := opened(t).Evaluated(true, at(10))
	r, err = must(t, r, err).WaitForSlot(at(10))
	r, err = must(t, r, err).Evaluated(true, at(100))
	r, err = must(t, r, err).WaitForSlot(at(100))
	r = must(t, r, err)
	if !r.Progress.WaitingSince.Equal(at(10)) {
		t.Errorf("waiting since %s, want the first time %s", r.Progress.WaitingSince, at(10))
	}
	for name, next := range map[string]func() (run.Run, error){
		"gate found closed": func() (run.Run, error) { return r.Evaluated(false, at(130)) },
		"slot taken": func() (run.Run, error) {
			open, err := r.Evaluated(true, at(130))
			return must(t, open, err).Trigger(run.Start{Snapshot: "s"}, at(130))
		},
	} {
		got, err := next()
		p := must(t, got, err).Progress
		if !p.WindowEnd.Equal(at(60+120)) || !p.LimitAt.Equal(at(240+120)) || !p.WaitingSince.IsZero() {
			t.Errorf("%s: window until %s, limit %s, waiting since %s", name, p.WindowEnd, p.LimitAt, p.WaitingSince)
		}
	}
}

func TestWakeNeverShortensABackoff(t *testing.T) {
	r := ended(t, run.Report{Result: run.ResultFail, Category: run.Transient})
	r, err := r.NextAttempt(run.Opening{Cause: run.CauseTransient, Limits: limits, At: at(2), From: at(5)})
	r, err = must(t, r, err).Wake(at(3))
	if r = must(t, r, err); !r.Progress.NextEvaluation.Equal(at(5)) {
		t.Errorf("evaluates at %s, want %s", r.Progress.NextEvaluation, at(5))
	}
	r, err = r.Evaluated(false, at(5))
	r, err = must(t, r, err).Wake(at(6))
	if r = must(t, r, err); !r.Progress.NextEvaluation.Equal(at(6)) {
		t.Errorf("woken, evaluates at %s, want %s", r.Progress.NextEvaluation, at(6))
	}
}

func TestStartRecordsItsSnapshotAndReplica(t *testing.T) {
	r, err := opened(t).Evaluated(true, at(2))
	r, err = must(t, r, err).Trigger(run.Start{Snapshot: "s7", Replica: "blue"}, at(3))
	p := must(t, r, err).Progress
	if p.Snapshot != "s7" || p.Replica != "blue" || !p.AskedAt.Equal(at(3)) {
		t.Errorf("started on %q by %q, asked at %s", p.Snapshot, p.Replica, p.AskedAt)
	}
}

func TestWaitForASlotConsumesItsVerdict(t *testing.T) {
	if _, err := opened(t).WaitForSlot(noon); err == nil {
		t.Error("waits for a slot without an open gate")
	}
	r, err := opened(t).Evaluated(true, noon)
	r, err = must(t, r, err).WaitForSlot(at(1))
	r = must(t, r, err)
	if !r.Progress.NextEvaluation.Equal(at(6)) {
		t.Errorf("evaluates again at %s, want %s", r.Progress.NextEvaluation, at(6))
	}
	if _, err := r.Trigger(run.Start{Snapshot: "s1"}, at(2)); err == nil {
		t.Error("took a slot on the verdict from before the wait")
	}
}

func TestStartedJobIsPolled(t *testing.T) {
	held, err := triggering(t).Hold("no answer", at(1))
	r, err := must(t, held, err).Started("pid 7", at(2))
	p := must(t, r, err).Progress
	if p.Handle != "pid 7" || !p.StartedAt.Equal(at(2)) || !p.NextPoll.Equal(at(2).Add(30*time.Second)) || !p.PollEnd.Equal(at(62)) {
		t.Errorf("%q started at %s, polled at %s until %s", p.Handle, p.StartedAt, p.NextPoll, p.PollEnd)
	}
	if !p.AskedAt.IsZero() || p.Held.Reason != "" {
		t.Errorf("asked at %s and held for %q, though it has started", p.AskedAt, p.Held.Reason)
	}
	r, err = r.Polled(at(3))
	if p := must(t, r, err).Progress; !p.LastPoll.Equal(at(3)) || !p.NextPoll.Equal(at(3).Add(30*time.Second)) || !p.PollEnd.Equal(at(62)) {
		t.Errorf("polled at %s, next at %s until %s", p.LastPoll, p.NextPoll, p.PollEnd)
	}
}

// A controller that was suspended during its start call gets the answer late.
func TestJobIsFollowedWhateverBecameOfItsStart(t *testing.T) {
	refused, err := triggering(t).Refused(run.Report{Category: run.Transient}, at(1))
	refused = must(t, refused, err)
	closed, err := refused.Evaluated(false, at(2))
	closed = must(t, closed, err)
	for _, r := range []run.Run{refused, closed} {
		got, err := r.Started("job 1", at(3))
		if got = must(t, got, err); got.Status != run.Running || got.Progress.Handle != "job 1" || !got.Progress.NextTry.IsZero() {
			t.Errorf("from %s: %s with job %q, next try %s", r.Status, got.Status, got.Progress.Handle, got.Progress.NextTry)
		}
	}
	if _, err := opened(t).Started("job 1", at(1)); err == nil {
		t.Error("a job without a start call was recorded")
	}
}

func TestStartCallHasOneResponse(t *testing.T) {
	r, err := triggering(t).Refused(run.Report{Category: run.Transient}, at(1))
	r = must(t, r, err)
	for name, answer := range map[string]func() (run.Run, error){
		"refused": func() (run.Run, error) { return r.Refused(run.Report{Category: run.Transient}, at(2)) },
		"none":    func() (run.Run, error) { return r.Hold("no answer", at(2)) },
	} {
		if got, err := answer(); err == nil || got != r {
			t.Errorf("%s: a second answer to one start call: %s, %v", name, got.Status, err)
		}
	}
	if got, err := triggering(t).Refused(run.Report{Category: "BAD"}, at(1)); err == nil {
		t.Errorf("rejected with an unknown category: %+v", got.Progress)
	}
}

func TestHoldRecordsWhyAndSinceWhen(t *testing.T) {
	if _, err := triggering(t).Hold("", at(1)); err == nil {
		t.Error("held for no reason")
	}
	r, err := triggering(t).Hold("no answer", at(1))
	r, err = must(t, r, err).Hold("still none", at(5))
	if got, want := must(t, r, err).Progress.Held, (run.Held{Reason: "no answer", Since: at(1)}); got != want {
		t.Errorf("held %+v, want %+v", got, want)
	}
}
