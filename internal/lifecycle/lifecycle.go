// Package lifecycle decides what an open attempt does next, and when. It is the same decision on
// every platform: the process and the simulator call Next in a loop, AWS Step Functions branches on
// its answer.
//
// One attempt, from open to end:
//
//	evaluate            at once, then each interval, and one last time at the end of the window
//	  closed to the end → validation-exhausted
//	  open              → trigger: store TRIGGERING with the snapshot, make the start call
//	    refused         → wait the backoff, evaluate again, trigger again (or wait for the gate again)
//	    no answer       → check-job: look whether the job is there before anything is repeated
//	    held            → wait for an operator
//	  open, external    → offered: TRIGGERING until a worker claims it; evaluated again each interval
//	    unclaimed       → validation-exhausted at the end of the window
//	    claimed         → wait for its result; a missed heartbeat is check-job, the end of the poll window
//	                      job-poll-exhausted
//	    started         → check-job each poll interval, and one last time at the end of the poll window;
//	                      polls before the job usually ends may be left out (AfterPoll)
//	      result        → complete-trigger: COMPLETED, or FAILED, which waits to be settled
//	      none          → job-poll-exhausted, then complete-trigger: FAILED_FINAL
//	past the time limit → infra-failure, from any of these
//
// A start needs an evaluation that found the gate open since the attempt opened and since the last
// start call; an open verdict is valid for one interval. While the attempt waits for a slot, its
// window and time limit stop. Next does not know about pauses and free slots: the steps check
// those. It performs nothing; package orchestrator has the steps, package run the states.
package lifecycle

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
)

// TaskID returns the id of the task that advances a run, whichever attempt is open.
func TaskID(key run.Key) string { return "advance/" + key.String() }

// Kind is the kind of a step.
type Kind string

// The kinds of steps.
const (
	Evaluate            Kind = "evaluate"
	Trigger             Kind = "trigger"
	CheckJob            Kind = "check-job"
	ValidationExhausted Kind = "validation-exhausted"
	JobPollExhausted    Kind = "job-poll-exhausted"
	CompleteTrigger     Kind = "complete-trigger"
	InfraFailure        Kind = "infra-failure"
	Wait                Kind = "wait"
	None                Kind = "none"
)

// Step is the next step of an attempt.
type Step struct {
	Kind Kind `json:"kind"`
	// For Wait, Due is when to call Next again unless the run changes before. For None it is zero.
	// For all others it is the instant since which the step has been due, at or before now.
	Due    time.Time `json:"due,omitzero"`
	Reason string    `json:"reason"`
}

// Next returns the step that r takes at now. It has an answer for every run, even one that no valid
// history leads to, and returns the same answer until r changes or Due is reached.
func Next(r run.Run, now time.Time) Step {
	p := r.Progress
	switch {
	case r.Status.Ended():
		return Step{Kind: None, Reason: fmt.Sprintf("the run has ended: %s", r.Status)}
	case !r.Status.Open():
		return Step{Kind: None, Reason: fmt.Sprintf("no step is possible in state %q", r.Status)}
	case r.Status == run.Failed: // its job is over, so no time limit applies
		return Step{Kind: None, Reason: "the failure is being handled, or waits for the end of a pause"}
	case r.Status == run.JobPollExhausted:
		return due(CompleteTrigger, r.UpdatedAt, now, "the job returned no result within its poll window")
	case p.Report.Result != "":
		return due(CompleteTrigger, p.Report.At, now, "the job has ended: "+string(p.Report.Result))
	case r.Status == run.Pending && !p.WaitingSince.IsZero(): // the window and the time limit stop meanwhile
		return waiting(p, now)
	case !now.Before(p.LimitAt):
		return pastLimit(r, now)
	}
	switch r.Status {
	case run.Pending:
		return pending(p, now)
	case run.Triggering:
		if r.Offered() {
			return offered(p, now)
		}
		return triggering(p, now)
	case run.Running:
		if r.Claimed() {
			return claimed(p, now)
		}
		return running(p, now)
	default:
		return Step{Kind: None, Reason: fmt.Sprintf("no step is possible in state %q", r.Status)}
	}
}

// due returns a step to take now, and since when it has been due. If since is in the future,
// because another clock was ahead, it is now.
func due(k Kind, since, now time.Time, reason string) Step {
	return Step{Kind: k, Due: period.Earlier(since, now).UTC(), Reason: reason}
}

func until(at time.Time, reason string) Step {
	return Step{Kind: Wait, Due: at.UTC(), Reason: reason}
}

// waiting evaluates again each interval, or as soon as a freed slot wakes the run. Only the deadline
// of the start condition ends the attempt: the jobs that hold the slots have their own limits.
func waiting(p run.Progress, now time.Time) Step {
	next := p.Opening.StartBy(p.NextEvaluation)
	switch {
	case p.Opening.TooLate(now):
		return due(ValidationExhausted, p.Opening.Until, now, "no slot was free until the start condition's deadline at "+period.Stamp(p.Opening.Until))
	case verdictHolds(p, now):
		return due(Trigger, p.LastEvaluation, now, "the gate is still open; claim a slot if one is free")
	case now.Before(next):
		return until(next, "the gate is open; waiting for a free slot since "+period.Stamp(p.WaitingSince))
	default:
		return due(Evaluate, next, now, "check again whether the gate is open and a slot is free")
	}
}

// pastLimit ends the attempt, after one last poll of a job that may have ended since the last one.
func pastLimit(r run.Run, now time.Time) Step {
	p := r.Progress
	if p.LimitAt.IsZero() {
		return due(InfraFailure, r.UpdatedAt, now, "the attempt has no time limit, so nothing else would end it")
	}
	if r.Status == run.Running && polls(p) && p.LastPoll.Before(p.LimitAt) {
		return due(CheckJob, p.LimitAt, now, "the time limit is over: poll the job one last time")
	}
	return due(InfraFailure, p.LimitAt, now, "the attempt's time limit ended at "+period.Stamp(p.LimitAt))
}

// pending evaluates the gate until it is open or its window has ended.
func pending(p run.Progress, now time.Time) Step {
	if verdictHolds(p, now) {
		return due(Trigger, p.LastEvaluation, now, "the gate is open")
	}
	if !p.GateOpen && !p.LastEvaluation.IsZero() && !p.LastEvaluation.Before(p.WindowEnd) {
		return due(ValidationExhausted, p.LastEvaluation, now, "the gate stayed closed until its window ended at "+period.Stamp(p.WindowEnd))
	}
	next := period.Earlier(p.NextEvaluation, p.WindowEnd)
	switch {
	case now.Before(next) && p.LastEvaluation.IsZero():
		return until(period.Earlier(next, p.LimitAt), "the window starts at "+period.Stamp(p.WindowStart))
	case now.Before(next):
		return until(period.Earlier(next, p.LimitAt), fmt.Sprintf("the gate is closed; next evaluation at %s, window until %s", period.Stamp(next), period.Stamp(p.WindowEnd)))
	case p.LastEvaluation.IsZero():
		return due(Evaluate, next, now, "the attempt is open")
	case now.Before(p.WindowEnd):
		return due(Evaluate, next, now, "the next evaluation of the gate is due")
	default:
		return due(Evaluate, next, now, "the window is over: evaluate the gate one last time")
	}
}

// triggering follows a start call until it has a response.
func triggering(p run.Progress, now time.Time) Step {
	switch {
	case p.Held.Reason != "":
		return until(p.LimitAt, fmt.Sprintf("held since %s, until an operator decides: %s", period.Stamp(p.Held.Since), p.Held.Reason))
	case !p.AskedAt.IsZero():
		return due(CheckJob, p.AskedAt, now, "the start call was not answered: search for its job first")
	case now.Before(p.NextTry) && !p.Opening.TooLate(now):
		return until(period.Earlier(p.Opening.StartBy(p.NextTry), p.LimitAt), "the start was refused; next try at "+period.Stamp(p.NextTry))
	case verdictHolds(p, now):
		return due(Trigger, p.LastEvaluation, now, "the gate is still open: repeat the start")
	default:
		return due(Evaluate, p.NextTry, now, "evaluate the gate again before the start is repeated")
	}
}

// offered waits for a worker until the window has ended. The gate is evaluated meanwhile: if it
// closes, the offer is withdrawn.
func offered(p run.Progress, now time.Time) Step {
	end := p.OfferEnd()
	next := period.Earlier(p.NextEvaluation, end)
	switch {
	case !now.Before(end):
		return due(ValidationExhausted, end, now, "no worker claimed it; it was offered from "+period.Stamp(p.Offer.Since)+" until "+period.Stamp(end))
	case now.Before(next):
		return until(period.Earlier(next, p.LimitAt), fmt.Sprintf("waiting for a worker since %s, until %s", period.Stamp(p.Offer.Since), period.Stamp(end)))
	default:
		return due(Evaluate, next, now, "evaluate the gate of the offer again")
	}
}

// claimed waits for the result that the worker reports.
func claimed(p run.Progress, now time.Time) Step {
	lost := p.NextBy()
	switch {
	case p.Lost(now) && lost.Before(p.PollEnd): // otherwise its time was over first
		return due(CheckJob, lost, now, fmt.Sprintf("worker %s stopped reporting", p.Offer.Worker))
	case !now.Before(p.PollEnd):
		return due(JobPollExhausted, p.PollEnd, now, fmt.Sprintf("worker %s reported no result by %s", p.Offer.Worker, period.Stamp(p.PollEnd)))
	}
	next := p.PollEnd
	if !lost.IsZero() {
		next = period.Earlier(next, lost)
	}
	return until(period.Earlier(next, p.LimitAt), fmt.Sprintf("worker %s runs the job; its next heartbeat or result is due at %s", p.Offer.Worker, period.Stamp(next)))
}

// running polls the job until its poll window has ended.
func running(p run.Progress, now time.Time) Step {
	if !polls(p) {
		return until(p.LimitAt, "the job's result will be reported from outside")
	}
	if !p.LastPoll.IsZero() && !p.LastPoll.Before(p.PollEnd) {
		return due(JobPollExhausted, p.PollEnd, now, "the job returned no result by "+period.Stamp(p.PollEnd))
	}
	next := period.Earlier(p.NextPoll, p.PollEnd)
	if now.Before(next) {
		return until(period.Earlier(next, p.LimitAt), fmt.Sprintf("the job is running; next poll at %s, poll window until %s", period.Stamp(next), period.Stamp(p.PollEnd)))
	}
	return due(CheckJob, next, now, "the next poll of the job is due")
}

// verdictHolds reports whether the last open verdict is recent enough for a start.
func verdictHolds(p run.Progress, now time.Time) bool {
	return p.GateOpen && !p.LastEvaluation.IsZero() && now.Before(p.NextEvaluation)
}

// polls reports whether the job's status can be polled.
func polls(p run.Progress) bool { return p.Opening.Limits.PollInterval > 0 }
