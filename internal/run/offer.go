package run

import (
	"fmt"
	"time"
)

// An attempt whose job a worker outside runs has no start call. It is offered instead, and a worker claims it:
//
//	PENDING ──gate open──> TRIGGERING (offered) ──claimed──> RUNNING ──reported──> COMPLETED, FAILED
//	                          │  └──gate closed──> PENDING       └──no heartbeat──> FAILED (TIMEOUT)
//	                          └──window closed──> VALIDATION_EXHAUSTED
//
// The claim is a change of the run like any other, so the version that it swaps decides which of several workers gets it.

// Offer is how an attempt stands with the workers outside. It is zero where the controller starts the job itself.
type Offer struct {
	Since     time.Time `json:"since"`              // when the attempt was offered
	Worker    string    `json:"worker,omitempty"`   // who claimed it; "" while nobody has
	Heartbeat time.Time `json:"heartbeat,omitzero"` // when the worker was last heard of; its claim counts
	Excused   time.Time `json:"excused,omitzero"`   // silence until then is not the worker's: the controller was away
}

// The reasons of an attempt that waits for a worker, and of one that waited in vain.
const (
	waitingForWorker = "waiting for a worker"
	unclaimed        = "no worker claimed it"
)

// Offered reports whether r waits for a worker to claim it.
func (r Run) Offered() bool {
	return r.Status == Triggering && !r.Progress.Offer.Since.IsZero() && r.Progress.Offer.Worker == ""
}

// Claimed reports whether a worker runs the job of r's latest attempt.
func (r Run) Claimed() bool { return r.Status == Running && r.Progress.Offer.Worker != "" }

// Unclaimed reports whether r ended because no worker claimed it.
func (r Run) Unclaimed() bool { return r.Status == ValidationExhausted && r.Reason == unclaimed }

// OfferEnd is when an offer expires: at the end of the window. An offer that the last evaluation of a window makes gets one
// interval, since no worker could have claimed it before.
func (p Progress) OfferEnd() time.Time {
	if p.Offer.Since.Before(p.WindowEnd) {
		return p.WindowEnd
	}
	return p.Offer.Since.Add(p.Opening.Limits.Interval)
}

// HeartbeatEnd is when the worker of a claimed attempt counts as lost unless it is heard of before; zero if it never does.
func (p Progress) HeartbeatEnd() time.Time {
	limit := p.Opening.Limits.Heartbeat
	if limit <= 0 || p.Offer.Heartbeat.IsZero() {
		return time.Time{}
	}
	since := p.Offer.Heartbeat
	if p.Offer.Excused.After(since) {
		since = p.Offer.Excused
	}
	return since.Add(limit)
}

// offerPause is how long an offer rests before its gate is evaluated again. It is no longer than the silence that a worker is
// allowed: a host that cannot be woken has to notice a claim before the first heartbeat is due.
func (l Limits) offerPause() time.Duration {
	if l.Heartbeat > 0 {
		return min(l.Interval, l.Heartbeat)
	}
	return l.Interval
}

// Offer records that the gate is open and the attempt waits for a worker. It uses up the open verdict like Trigger, and needs
// the snapshot on which the gate is open.
func (r Run) Offer(s Start, now time.Time) (Run, error) {
	if r.Status != Pending {
		return r, r.refuse(OnGateOpen)
	}
	next, err := r.Trigger(s, now)
	if err != nil {
		return r, err
	}
	next.Reason = waitingForWorker
	p := &next.Progress
	p.AskedAt, p.Offer = time.Time{}, Offer{Since: next.UpdatedAt}
	p.NextEvaluation = next.UpdatedAt.Add(p.Opening.Limits.offerPause())
	return next, nil
}

// StillOffered records an evaluation that found the gate of an offered attempt open.
func (r Run) StillOffered(now time.Time) (Run, error) {
	if !r.Offered() {
		return r, fmt.Errorf("record an evaluation of run %s: it is not offered", r.ID())
	}
	next := r.touch(now)
	p := &next.Progress
	p.LastEvaluation = next.UpdatedAt
	p.NextEvaluation = next.UpdatedAt.Add(p.Opening.Limits.offerPause())
	return next, nil
}

// Claim gives an offered attempt to a worker, on facts of its own: the gate is evaluated again before. It is an error if
// the attempt is not offered, or the offer has expired.
func (r Run) Claim(worker string, s Start, now time.Time) (Run, error) {
	switch {
	case !r.Offered():
		return r, fmt.Errorf("claim run %s: it is %s and not offered", r.ID(), r.Status)
	case !now.Before(r.Progress.OfferEnd()):
		return r, fmt.Errorf("claim run %s: the offer has expired", r.ID())
	case worker == "" || s.Snapshot == "":
		return r, fmt.Errorf("claim run %s: want a worker and the snapshot its gate is open on, got %q and %q", r.ID(), worker, s.Snapshot)
	}
	next, err := r.move(OnStarted, "claimed by worker "+worker, now)
	if err != nil {
		return r, err
	}
	p, at := &next.Progress, next.UpdatedAt
	p.StartTries++
	p.Snapshot, p.Degraded = s.Snapshot, s.Degraded
	p.Handle, p.StartedAt, p.LastEvaluation = Handle(worker), at, at
	p.PollEnd = at.Add(p.Opening.Limits.PollWindow)
	p.Offer.Worker, p.Offer.Heartbeat = worker, at
	return next, nil
}

// Beat records that the worker of a claimed attempt was heard of. One that comes late counts as long as the run has not been
// given up. It is an error where the attempt is not claimed, or has its result.
func (r Run) Beat(now time.Time) (Run, error) {
	if !r.Claimed() || r.Progress.Report.Result != "" {
		return r, fmt.Errorf("record a heartbeat of run %s: no worker runs it, it is %s", r.ID(), r.Status)
	}
	next := r.touch(now)
	next.Progress.Offer.Heartbeat = next.UpdatedAt
	return next, nil
}

// Excuse records that nobody could have heard of the worker until now, so that its silence counts from here.
func (r Run) Excuse(now time.Time) (Run, error) {
	if !r.Claimed() {
		return r, fmt.Errorf("excuse the worker of run %s: no worker runs it, it is %s", r.ID(), r.Status)
	}
	next := r.touch(now)
	next.Progress.Offer.Excused = next.UpdatedAt
	return next, nil
}

// Lost reports whether the worker of a claimed attempt has been silent for too long.
func (p Progress) Lost(now time.Time) bool {
	end := p.HeartbeatEnd()
	return p.Offer.Worker != "" && !end.IsZero() && !now.Before(end)
}
