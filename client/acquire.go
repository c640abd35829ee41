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

// AcquireRequest is what Acquire waits for and claims.
type AcquireRequest struct {
	Pipeline    string
	Date        string        // the period; the pipeline's current one by default
	Worker      string        // who claims it
	Wait        time.Duration // how long to wait for the gate; 0: not at all
	Patience    time.Duration // how long to go on asking a server that was never reached; Wait unless it is above 0 and shorter
	Traceparent string        // of the trace that the claim belongs to
}

// Refused says why Acquire claimed nothing.
type Refused string

// Why an attempt was not claimed.
const (
	RefusedCompleted   Refused = "completed"   // the run is COMPLETED: there is nothing to do
	RefusedClosed      Refused = "closed"      // the gate stayed closed
	RefusedHeld        Refused = "held"        // another worker has it
	RefusedUnavailable Refused = "unavailable" // excluded, paused, a dry run, or no such period or pipeline
	RefusedJob         Refused = "job"         // the pipeline's job is not run by workers
)

// RefusedError says that no attempt was claimed.
type RefusedError struct {
	Why    Refused
	Reason string // one sentence
	Gate   *Gate  // as it was seen last; nil if it never was
}

func (e *RefusedError) Error() string { return e.Reason }

// Acquire waits until a start of a pipeline's run is allowed, and claims its attempt. It opens the run if the pipeline's schedule
// leaves that to people. Where there is nothing to run, the error is a *RefusedError. A server that cannot be reached is asked
// again until the wait is over; then the error is an *UnreachableError.
//
// The lease must be ended with Finish. Until then it sends heartbeats.
func (c *Client) Acquire(ctx context.Context, q AcquireRequest) (*Lease, error) {
	w := &waiter{c: c, q: q, key: rand.Text(), since: time.Now()}
	for {
		a, err := w.step(ctx)
		if !errors.Is(err, errAgain) {
			return a, err
		}
	}
}

// errAgain says that there is more to do.
var errAgain = errors.New("ask again")

// waiter is the way to a claim.
type waiter struct {
	c     *Client
	q     AcquireRequest
	key   string // under which the claim is made
	since time.Time

	gate     *Gate     // as it was seen last
	pipeline *Pipeline // nil until it was asked for
	early    int       // answers that came before the end of their wait and did not help, less one for each that did not
	failed   int       // questions in a row that were not answered
	acted    bool      // the run has been opened or claimed, by this client or another, since the last question
	conflict *Problem  // the latest answer 409 to opening or claiming
}

// The pace of a wait.
const (
	offerGrace = 10 * time.Second // how long an attempt that is about to be offered is waited for in any case
	soon       = 5 * time.Second  // a gate that opens by itself within this is waited for in any case
	maxHold    = time.Minute      // the longest that a server holds a question
	mostEarly  = 5                // early answers after which the pace is one question per maxHold
	slowest    = 15 * time.Second // between two tries to reach a server
	settlePace = 50 * time.Millisecond
)

// step asks once and acts on the answer. It returns errAgain, after a pause if need be, while there is more to do.
func (w *waiter) step(ctx context.Context) (*Lease, error) {
	asked, hold := time.Now(), w.hold()
	g, err := w.ask(ctx, hold)
	if err != nil {
		return nil, w.unanswered(ctx, err)
	}
	w.failed, w.acted, w.gate, w.q.Date = 0, false, &g, g.Date
	if g.Open && g.Run != nil {
		a, err := w.claim(ctx)
		switch {
		case err == nil:
			return a, nil
		case !conflict(err):
			return nil, w.unanswered(ctx, err)
		}
		_ = errors.As(err, &w.conflict) // it is one
		w.acted = true                  // the gate, asked again, says what has become of the run
		if err := w.checkJob(ctx); err != nil {
			return nil, err
		}
		return nil, w.contested(ctx)
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

// settling reports whether the run's job has ended, and what follows from its result is about to be decided.
func (g Gate) settling() bool {
	return g.Run != nil && (g.Run.Status == Failed || g.Run.Status == Running && g.Run.Result != nil)
}

// ask asks for the gate, and has the server hold its answer for that long.
func (w *waiter) ask(ctx context.Context, hold time.Duration) (Gate, error) {
	if hold <= 0 {
		return w.c.Gate(ctx, w.q.Pipeline, w.q.Date)
	}
	ctx, cancel := context.WithTimeout(ctx, hold+usually)
	defer cancel()
	return w.c.AwaitGate(ctx, w.q.Pipeline, w.q.Date, hold.Round(time.Millisecond))
}

// left is what is left of the wait.
func (w *waiter) left() time.Duration { return w.q.Wait - time.Since(w.since) }

// overdue reports whether the wait is over, and with it the time that a run needs to be opened, offered and settled.
func (w *waiter) overdue() bool { return time.Since(w.since) >= w.q.Wait+offerGrace }

// hold is how long the server is to hold the next question: not the first one, which is mostly answered with yes.
func (w *waiter) hold() time.Duration {
	if w.gate == nil || w.acted {
		return 0 // a question is held while another worker has the run
	}
	hold := min(max(w.left(), w.grace()), maxHold)
	for _, b := range w.gate.BlockedBy {
		if b.Until != nil && time.Until(*b.Until) > 0 {
			hold = min(hold, time.Until(*b.Until)+100*time.Millisecond)
		}
	}
	return max(hold, 0)
}

// grace is how long the gate is waited for whatever the request says: runs are opened and offered a moment after their time,
// and clocks differ a little.
func (w *waiter) grace() time.Duration {
	for _, b := range w.gate.BlockedBy {
		switch {
		case b.Code == "not-offered":
		case b.Code == "not-due" && b.Until != nil && time.Until(*b.Until) < soon:
		default:
			return 0
		}
	}
	return offerGrace - time.Since(w.since)
}

// open opens the run. One that another client has opened meanwhile is as good.
func (w *waiter) open(ctx context.Context) error {
	_, err := w.c.Trigger(ctx, TriggerRequest{Pipeline: w.q.Pipeline, Date: w.q.Date, Asked: Asked{Reason: "a worker asked for it", RequestedBy: w.q.Worker}},
		IdempotencyKey("open/"+w.key), Traceparent(w.q.Traceparent))
	if err != nil && !conflict(err) {
		return w.unanswered(ctx, err)
	}
	_ = errors.As(err, &w.conflict) // it is one, if there is an error
	w.acted = true
	return w.pause(ctx, time.Second)
}

// contested returns errAgain after a claim that was refused though the gate was open. That another worker was faster the gate
// says when it is asked again; where it never does, the refusal stands once the wait is over.
func (w *waiter) contested(ctx context.Context) error {
	if w.overdue() {
		return w.refuse(RefusedClosed, "%s", w.conflict.Detail)
	}
	return w.pause(ctx, time.Second)
}

// checkJob returns an error if the pipeline's job is not one that workers run.
func (w *waiter) checkJob(ctx context.Context) error {
	if w.pipeline != nil {
		return nil
	}
	p, err := w.c.Pipeline(ctx, w.q.Pipeline)
	if err != nil {
		return w.unanswered(ctx, err)
	}
	switch {
	case p.JobType == nil:
		return w.refuse(RefusedJob, "pipeline %s has no job; to have workers run it, add job: {type: external} to its file", p.ID)
	case *p.JobType != "external":
		return w.refuse(RefusedJob, "Interlock itself runs the job of pipeline %s (type %s); to have workers run it, write job: {type: external} in its file", p.ID, *p.JobType)
	case p.Schedule == nil:
		return w.refuse(RefusedUnavailable, "pipeline %s is not active: %s", p.ID, p.State)
	}
	w.pipeline = &p
	return nil
}

func (w *waiter) refuse(why Refused, format string, args ...any) error {
	return &RefusedError{Why: why, Reason: fmt.Sprintf(format, args...), Gate: w.gate}
}

// blocked reports whether one of these blocks a start.
func (w *waiter) blocked(codes ...string) bool {
	return slices.ContainsFunc(w.gate.BlockedBy, func(b StartBlock) bool { return slices.Contains(codes, b.Code) })
}

// refusal returns why nothing more is waited for; nil while there is something to wait for.
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
		return w.refuse(RefusedHeld, "%s", reason)
	case w.blocked("ended", "start-deadline"):
		return w.refuse(RefusedClosed, "%s", reason)
	case w.left() > 0 || w.grace() > 0:
		return nil
	case w.blocked("paused"):
		return w.refuse(RefusedUnavailable, "%s", reason)
	case g.Open:
		return w.refuse(RefusedUnavailable, "there is no run of %s for %s: its schedule has not opened one. `interlock trigger %s --date %s` opens it",
			g.Pipeline, g.Date, g.Pipeline, g.Date)
	}
	return w.refuse(RefusedClosed, "the gate of %s is closed for %s: %s", g.Pipeline, g.Date, reason)
}

// claim claims the attempt, under one key however often it is asked for.
func (w *waiter) claim(ctx context.Context) (*Lease, error) {
	key := w.gate.Run.Key()
	name := fmt.Sprintf("claim/%s/%d", w.key, w.gate.Run.Attempt)
	claim, err := w.c.Claim(ctx, key, w.q.Worker, IdempotencyKey(name), Traceparent(w.q.Traceparent))
	if err != nil {
		return nil, err
	}
	return newLease(w.c, key, claim), nil
}

// unanswered returns the error of a call that failed, or errAgain after a pause if it is worth another try.
func (w *waiter) unanswered(ctx context.Context, err error) error {
	var problem *Problem
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &problem) && problem.Status == http.StatusNotFound:
		return w.refuse(RefusedUnavailable, "%s", problem.Detail)
	case final(err):
		return err
	}
	limit := w.q.Wait
	if w.gate == nil && w.q.Patience > 0 {
		limit = min(limit, w.q.Patience)
	}
	left := limit - time.Since(w.since)
	if left <= 0 {
		return err
	}
	w.failed++
	return rest(ctx, min(left, slowest, time.Second<<min(w.failed-1, 4)))
}

// pause returns errAgain. If it is called often it first lets the rest of a wait pass.
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

// conflict reports whether the server refused because of how things stand: 409.
func conflict(err error) bool {
	var problem *Problem
	return errors.As(err, &problem) && problem.Status == http.StatusConflict
}

// final reports whether the server's answer will be the same if it is asked again.
func final(err error) bool {
	var problem *Problem
	return errors.As(err, &problem) && problem.Status < http.StatusInternalServerError && problem.Status != http.StatusTooManyRequests
}

// Traceparent makes a call part of a trace (W3C Trace Context); an empty one does nothing.
func Traceparent(parent string) CallOption {
	return func(r *call) {
		if parent != "" {
			r.header.Set("Traceparent", parent)
		}
	}
}
