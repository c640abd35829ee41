package run

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// An attempt whose job a worker outside runs has no start call. It is offered instead, and a worker
// claims it:
//
//	PENDING ──gate open──> TRIGGERING (offered) ──claimed──> RUNNING ──reported──> COMPLETED, FAILED
//	                          │  └──gate closed──> PENDING       └──no heartbeat──> FAILED (TIMEOUT)
//	                          └──window closed──> VALIDATION_EXHAUSTED
//
// The claim is a change of the run like any other, so the version that it swaps decides which of
// several workers gets it.

// Offer is the state of an attempt that an external worker runs. It is zero if the controller
// starts the job itself.
type Offer struct {
	Since     time.Time `json:"since"`              // when the attempt was offered
	Worker    string    `json:"worker,omitempty"`   // who claimed it; "" until claimed
	Heartbeat time.Time `json:"heartbeat,omitzero"` // the last heartbeat of the worker, or its claim
	Excused   time.Time `json:"excused,omitzero"`   // silence before this time does not count: no replica could accept heartbeats
	Announced time.Time `json:"announced,omitzero"` // until when the worker has announced to be silent
	Seq       int64     `json:"seq,omitempty"`      // the highest number of a heartbeat
}

// Heartbeat is what a worker says with a heartbeat.
type Heartbeat struct {
	Within time.Duration // announces a silence of that length; 0: the usual heartbeat interval
	Seq    int64         // numbers the heartbeats of an attempt from 1 up, so that a delayed one changes nothing; 0: not numbered
}

// The reasons of an attempt that waits for a worker, and of one that no worker claimed.
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

// OfferEnd returns when an offer expires: at the end of the window. An offer made by the last
// evaluation of a window gets one more interval, since no worker could have claimed it before.
func (p Progress) OfferEnd() time.Time {
	if p.Offer.Since.Before(p.WindowEnd) {
		return p.WindowEnd
	}
	return p.Opening.StartBy(p.Offer.Since.Add(p.Opening.Limits.Interval))
}

// Deadline returns the end of the time that a started attempt has for its result. It never moves.
func (p Progress) Deadline() time.Time {
	if p.LimitAt.IsZero() {
		return p.PollEnd
	}
	return period.Earlier(p.PollEnd, p.LimitAt)
}

// NextBy returns when the worker of a claimed attempt counts as lost without another heartbeat; zero
// if it never does. Heartbeats move it, and absences of all replicas.
func (p Progress) NextBy() time.Time {
	limit := p.Opening.Limits.Heartbeat
	if limit <= 0 || p.Offer.Heartbeat.IsZero() {
		return time.Time{}
	}
	return period.Later(period.Later(p.Offer.Heartbeat, p.Offer.Excused).Add(limit), p.Offer.Announced)
}

// GivenUp reports whether the controller ended the latest attempt without a result of its worker,
// which was silent for too long or had no result in time.
func (r Run) GivenUp() bool {
	switch p := r.Progress; {
	case p.Offer.Worker == "":
		return false
	case r.Status == JobPollExhausted || r.Status == FailedFinal && p.Report.Result == "":
		return true
	default:
		return p.Report.Result == ResultFail && p.Report.Category == Timeout && p.Report.By == ""
	}
}

// offerPause returns the time until the gate of an offer is evaluated again. It is at most the
// heartbeat limit: a host that cannot be woken must notice a claim before the first heartbeat is
// due.
func (l Limits) offerPause() time.Duration {
	if l.Heartbeat > 0 {
		return min(l.Interval, l.Heartbeat)
	}
	return l.Interval
}

// Offer records that the gate is open and the attempt waits for a worker. Like Trigger it consumes
// the open verdict, and needs the snapshot of the gate.
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
	p.AskedAt, p.CalledAt, p.Offer = time.Time{}, time.Time{}, Offer{Since: next.UpdatedAt}
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

// Claim assigns an offered attempt to a worker. The gate is evaluated again before, and s has the
// snapshot of that evaluation. It returns an error if the attempt is not offered, or the offer has
// expired.
func (r Run) Claim(worker string, s Start, now time.Time) (Run, error) {
	switch {
	case !r.Offered():
		return r, fmt.Errorf("claim run %s: it is %s and not offered", r.ID(), r.Status)
	case r.Progress.Report.Result != "":
		return r, fmt.Errorf("claim run %s: it already has its result, %s", r.ID(), r.Progress.Report.Result)
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

// Beat records a heartbeat of the worker of a claimed attempt. A late one counts as long as the run
// has not been given up. One with a lower number than an earlier one changes nothing. It returns an
// error if the attempt is not claimed, or has its result.
func (r Run) Beat(h Heartbeat, now time.Time) (Run, error) {
	if !r.Claimed() || r.Progress.Report.Result != "" {
		return r, fmt.Errorf("record a heartbeat of run %s: no worker runs it, it is %s", r.ID(), r.Status)
	}
	if h.Seq != 0 && h.Seq < r.Progress.Offer.Seq {
		return r, nil
	}
	next := r.touch(now)
	p := &next.Progress
	at := period.Later(p.Offer.Heartbeat, next.UpdatedAt) // replicas' clocks differ
	p.Offer.Heartbeat, p.Offer.Announced, p.Offer.Seq = at, time.Time{}, max(h.Seq, p.Offer.Seq)
	if h.Within > p.Opening.Limits.Heartbeat && p.Opening.Limits.Heartbeat > 0 {
		p.Offer.Announced = period.Earlier(at.Add(min(h.Within, longest)), p.Deadline())
	}
	return next, nil
}

// Excuse records that an absence of all replicas moves the instant at which the worker counts as lost
// to lost.
func (r Run) Excuse(lost, now time.Time) (Run, error) {
	limit := r.Progress.Opening.Limits.Heartbeat
	if !r.Claimed() || limit <= 0 || !lost.After(r.Progress.NextBy()) {
		return r, fmt.Errorf("excuse the worker of run %s until %s: it is %s, and counts as lost at %s",
			r.ID(), period.Stamp(lost), r.Status, period.Stamp(r.Progress.NextBy()))
	}
	next := r.touch(now)
	next.Progress.Offer.Excused = period.Instant(lost.Add(-limit))
	return next, nil
}

// Lost reports whether the worker of a claimed attempt has been silent for too long.
func (p Progress) Lost(now time.Time) bool {
	end := p.NextBy()
	return p.Offer.Worker != "" && !end.IsZero() && !now.Before(end)
}
