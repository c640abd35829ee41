package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// AcquireRequest says which attempt Acquire waits for and claims.
type AcquireRequest struct {
	Pipeline    string
	Date        string        // the period; the pipeline's current one by default
	Worker      string        // the name of the worker that claims it
	Wait        time.Duration // how long to wait for the gate; 0: do not wait
	Patience    time.Duration // how long to retry a server that was never reached; Wait unless it is above 0 and shorter
	Traceparent string        // the trace that the claim belongs to

	// Standby waits for a run that another worker has, and takes its next attempt if that one fails:
	// until Wait is over or, with a Wait of 0, until the run ends.
	Standby bool
	// Grace is how long the job needs to end after it was asked to; see Lease.Grace. DefaultGrace
	// if 0, none if negative.
	Grace time.Duration
}

// Refused is the kind of reason why Acquire claimed nothing.
type Refused string

// Why no attempt was claimed.
const (
	RefusedCompleted   Refused = "completed"   // the run is COMPLETED: there is nothing to do
	RefusedClosed      Refused = "closed"      // the gate stayed closed
	RefusedHeld        Refused = "held"        // another worker holds it
	RefusedUnavailable Refused = "unavailable" // excluded, paused, a dry run, or no such period or pipeline
	RefusedJob         Refused = "job"         // the pipeline's job is not run by workers
)

// RefusedError is returned if no attempt was claimed.
type RefusedError struct {
	Why    Refused
	Reason string // one sentence
	Gate   *Gate  // its last known state; nil if it was never read
}

func (e *RefusedError) Error() string { return e.Reason }

// ContactLostError means that Acquire lost a server that had answered for the run. Another worker
// may have it, or this one: the answer to a claim may have been lost.
type ContactLostError struct{ Err error }

func (e *ContactLostError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the last call.
func (e *ContactLostError) Unwrap() error { return e.Err }

// Acquire waits until a start of a pipeline's run is allowed, and claims its attempt. It opens the
// run if no schedule does. If there is nothing to run, the error is a *RefusedError. It retries a
// server that cannot be reached until the wait is over; then the error is an *UnreachableError, in a
// *ContactLostError if the server has answered before. No request takes longer than 10 seconds, in
// addition to the time for which it asks the server to hold it.
//
// The caller must end the lease with Finish. Until then it sends heartbeats.
func (c *Client) Acquire(ctx context.Context, q AcquireRequest) (*Lease, error) {
	w := &waiter{c: c, q: q, key: rand.Text(), since: time.Now()}
	for {
		a, err := w.step(ctx)
		if !errors.Is(err, errAgain) {
			return a, err
		}
	}
}

// errAgain tells Acquire to take another step.
var errAgain = errors.New("ask again")

// waiter is the state of one Acquire.
type waiter struct {
	c     *Client
	q     AcquireRequest
	key   string // the idempotency key of the claim
	since time.Time

	gate     *Gate     // its last known state
	answered time.Time // when the server last answered with the gate's state
	other    bool      // another worker had the run
	pipeline *Pipeline // nil until it is read
	early    int       // responses that came early without ending the wait, less one for each that did not come early
	failed   int       // failed requests in a row
	acted    bool      // the run was opened or claimed, by this client or another, since the last request
	conflict *Problem  // the latest 409 response to opening or claiming
}

// The timing of a wait.
const (
	offerGrace = 10 * time.Second // how long to wait for an attempt that is about to be offered, whatever Wait says
	soon       = 5 * time.Second  // a gate that opens within this time is awaited, whatever Wait says
	maxHold    = time.Minute      // the longest that a server holds a request
	mostEarly  = 5                // early responses after which the pace is one request per maxHold
	slowest    = 15 * time.Second // the longest wait between two attempts to reach a server
	most       = 10 * time.Second // the longest that a request may take, besides the time for which it is held
	awayLimit  = 5 * time.Minute  // how long a standby without Wait tries to reach the server again
	settlePace = 50 * time.Millisecond
)

// step sends one request and acts on the response. It returns errAgain, after a pause if needed,
// while there is more to do.
func (w *waiter) step(ctx context.Context) (*Lease, error) {
	asked, hold := time.Now(), w.hold()
	g, err := w.ask(ctx, hold)
	if err != nil {
		return nil, w.unanswered(ctx, err)
	}
	w.failed, w.acted, w.gate, w.q.Date, w.answered = 0, false, &g, g.Date, time.Now()
	if g.Open && g.Run != nil {
		a, err := w.claim(ctx)
		switch {
		case err == nil:
			return a, nil
		case !conflict(err):
			return nil, w.unanswered(ctx, err)
		}
		_ = errors.As(err, &w.conflict) // err is a *Problem here
		// If another worker was faster, the next request for the gate shows it. If it never does,
		// the rejection becomes the result once the wait is over.
		w.acted = true
		if err := w.checkJob(ctx); err != nil {
			return nil, err
		}
		if w.overdue() {
			return nil, w.refuse(RefusedClosed, "%s", w.conflict.Detail)
		}
		return nil, w.pause(ctx, time.Second)
	}
	if err := w.checkJob(ctx); err != nil {
		return nil, err
	}
	if g.Run == nil && *w.pipeline.Schedule == "manual" && !w.blocked("excluded", "paused", "dry-run") {
		if w.conflict != nil && w.overdue() {
			return nil, w.refuse(RefusedUnavailable, "the run of %s for %s was not opened: %s", g.Pipeline, g.Date, w.conflict.Detail)
		}
		return nil, w.open(ctx)
	}
	if g.settling() && !w.overdue() {
		return nil, rest(ctx, settlePace)
	}
	if err := w.refusal(); err != nil {
		return nil, err
	}
	return nil, w.pause(ctx, hold-time.Since(asked))
}

// settling reports whether the run's job has ended and its result is about to be acted on.
func (g Gate) settling() bool {
	return g.Run != nil && (g.Run.Status == Failed || g.Run.Status == Running && g.Run.Result != nil)
}

// ask requests the gate; the server holds the response for up to hold.
func (w *waiter) ask(ctx context.Context, hold time.Duration) (Gate, error) {
	if hold <= 0 {
		return w.c.Gate(ctx, w.q.Pipeline, w.q.Date, Within(most))
	}
	return w.c.AwaitGate(ctx, w.q.Pipeline, w.q.Date, hold.Round(time.Millisecond), Within(hold+most))
}

// left returns the rest of the wait.
func (w *waiter) left() time.Duration {
	if w.untilEnd() {
		return maxHold
	}
	return w.q.Wait - time.Since(w.since)
}

// untilEnd reports whether the wait lasts until the end of a run that another worker has.
func (w *waiter) untilEnd() bool { return w.q.Standby && w.other && w.q.Wait <= 0 }

// overdue reports whether the wait is over, including the time that a run needs to be opened,
// offered and settled.
func (w *waiter) overdue() bool { return w.left() <= -offerGrace }

// hold returns how long the server should hold the next request: not the first one, because the
// gate is mostly open.
func (w *waiter) hold() time.Duration {
	if w.gate == nil || w.acted {
		return 0 // the server would hold the request while another worker has the run
	}
	hold := min(max(w.left(), w.grace()), maxHold)
	for _, b := range w.gate.BlockedBy {
		if b.Until != nil && time.Until(*b.Until) > 0 {
			hold = min(hold, time.Until(*b.Until)+100*time.Millisecond)
		}
	}
	return max(hold, 0)
}

// grace returns how long to wait for the gate even without Wait: runs are opened and offered a
// moment after their time, and clocks differ a little.
func (w *waiter) grace() time.Duration {
	for _, b := range w.gate.BlockedBy {
		switch {
		case b.Code == "not-opened", b.Code == "not-offered":
		case b.Code == "not-due" && b.Until != nil && time.Until(*b.Until) < soon:
		default:
			return 0
		}
	}
	return offerGrace - time.Since(w.since)
}

// open opens the run. It is no error if another client has opened it meanwhile.
func (w *waiter) open(ctx context.Context) error {
	_, err := w.c.Trigger(ctx, TriggerRequest{Pipeline: w.q.Pipeline, Date: w.q.Date, Asked: Asked{Reason: "a worker asked for it", RequestedBy: w.q.Worker}},
		IdempotencyKey("open/"+w.key), Traceparent(w.q.Traceparent), Within(most))
	if err != nil && !conflict(err) {
		return w.unanswered(ctx, err)
	}
	_ = errors.As(err, &w.conflict) // err, if any, is a *Problem here
	w.acted = true
	return w.pause(ctx, time.Second)
}

// checkJob returns an error if workers do not run the pipeline's job.
func (w *waiter) checkJob(ctx context.Context) error {
	if w.pipeline != nil {
		return nil
	}
	p, err := w.c.Pipeline(ctx, w.q.Pipeline, Within(most))
	if err != nil {
		return w.unanswered(ctx, err)
	}
	switch {
	case p.JobType == nil:
		return w.refuse(RefusedJob, "pipeline %s has no job; add job: {type: external} to its file to let workers run it", p.ID)
	case *p.JobType != "external":
		return w.refuse(RefusedJob, "Interlock itself runs the job of pipeline %s (type %s); write job: {type: external} in its file to let workers run it", p.ID, *p.JobType)
	case p.Schedule == nil:
		return w.refuse(RefusedUnavailable, "pipeline %s is not active: %s", p.ID, p.State)
	}
	w.pipeline = &p
	return nil
}

// refuse returns the error if nothing is claimed. To a standby, a run that another worker had and
// that is not COMPLETED is held.
func (w *waiter) refuse(why Refused, format string, args ...any) error {
	if w.q.Standby && w.other && why != RefusedCompleted {
		why = RefusedHeld
	}
	return &RefusedError{Why: why, Reason: fmt.Sprintf(format, args...), Gate: w.gate}
}

// blocked reports whether one of the codes blocks a start.
func (w *waiter) blocked(codes ...string) bool {
	return slices.ContainsFunc(w.gate.BlockedBy, func(b StartBlock) bool { return slices.Contains(codes, b.Code) })
}

// refusal returns an error if waiting is pointless; nil otherwise.
func (w *waiter) refusal() error {
	g, reason := w.gate, ""
	if len(g.BlockedBy) > 0 {
		reason = g.BlockedBy[0].Reason
	}
	switch {
	case w.blocked("completed"):
		return w.refuse(RefusedCompleted, "%s", reason)
	case w.blocked("excluded", "dry-run"):
		return w.refuse(RefusedUnavailable, "%s", reason)
	case w.blocked("running", "held") && g.Run != nil && (g.Run.Status == Running || g.Run.Status == Triggering):
		w.other = true
		if w.q.Standby && w.left() > 0 {
			return nil
		}
		return w.refuse(RefusedHeld, "%s", reason)
	case w.blocked("ended", "start-deadline"):
		return w.refuse(RefusedClosed, "%s", reason)
	case w.left() > 0 || w.grace() > 0:
		return nil
	case w.blocked("paused"):
		return w.refuse(RefusedUnavailable, "%s", reason)
	case w.blocked("not-opened"):
		return w.refuse(RefusedUnavailable, "%s", reason)
	}
	return w.refuse(RefusedClosed, "the gate of %s is closed for %s: %s", g.Pipeline, g.Date, reason)
}

// noSuchPeriod is the type of the problem if a period does not exist.
const noSuchPeriod = "urn:interlock:problem:unknown-period"

// unanswered returns the error of a failed call, or errAgain after a pause if a retry makes sense.
func (w *waiter) unanswered(ctx context.Context, err error) error {
	problem, rejected := errors.AsType[*Problem](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case rejected && (problem.Status == http.StatusNotFound || problem.Type == noSuchPeriod):
		return w.refuse(RefusedUnavailable, "%s", problem.Detail)
	case final(err):
		return err
	}
	switch left := w.patience(); {
	case left > 0:
		w.failed++
		return rest(ctx, min(left, backoff(time.Second, slowest, w.failed)))
	case w.gate != nil:
		return &ContactLostError{err}
	}
	return err
}

// patience returns for how much longer to retry a server that cannot be reached.
func (w *waiter) patience() time.Duration {
	switch {
	case w.untilEnd():
		return awayLimit - time.Since(w.answered)
	case w.gate == nil && w.q.Patience > 0:
		return min(w.left(), w.q.Patience-time.Since(w.since))
	}
	return w.left()
}

// pause returns errAgain. If it is called often, it first waits for the rest of the hold.
func (w *waiter) pause(ctx context.Context, left time.Duration) error {
	if left <= 0 {
		w.early = max(w.early-1, 0)
		return errAgain
	}
	if w.early++; w.early <= mostEarly {
		return errAgain
	}
	return rest(ctx, left)
}

// backoff returns the wait after that many consecutive failures: the first one doubled, at most most.
func backoff(first, most time.Duration, failures int) time.Duration {
	return min(first<<min(failures-1, 10), most)
}

// rest returns errAgain after d, or the error of ctx.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return errAgain
	case <-ctx.Done():
		return ctx.Err()
	}
}

// conflict reports whether the server rejected the request because of the current state: 409.
func conflict(err error) bool {
	problem, ok := errors.AsType[*Problem](err)
	return ok && problem.Status == http.StatusConflict
}

// final reports whether a retry would get the same response.
func final(err error) bool {
	problem, ok := errors.AsType[*Problem](err)
	return ok && problem.Status < http.StatusInternalServerError && problem.Status != http.StatusTooManyRequests
}

// Traceparent makes a call part of a trace (W3C Trace Context); "" has no effect.
func Traceparent(parent string) CallOption {
	return func(r *call) {
		if parent != "" {
			r.header.Set("Traceparent", parent)
		}
	}
}
