package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
)

// ClaimRequest is a worker's request to run the job of a run's open attempt.
type ClaimRequest struct {
	Worker string `json:"worker" minLength:"1" maxLength:"200" doc:"The worker's name, such as host-7/4711. It is shown with the run."`
}

// ClaimRefusal holds the additional fields of a problem if a worker was rejected.
type ClaimRefusal struct {
	Code   string        `json:"code" required:"false" enum:"held,done,lost,not-offered,paused" doc:"held: another worker holds the attempt. done: the attempt or the run has ended. lost: the worker's attempt was given up, or another one was opened. not-offered: the attempt is not offered. paused: the pipeline is paused."`
	Worker *string       `json:"worker" required:"false" doc:"The worker that holds the attempt, or held it last."`
	Since  *time.Time    `json:"since" required:"false" doc:"When the worker claimed it."`
	Rules  []client.Rule `json:"rules" required:"false" doc:"The rules that keep the gate closed."`
	Run    client.Run    `json:"run" required:"false"`
}

// ClaimKey is the header of a claim that names its execution.
type ClaimKey struct {
	Key string `header:"Idempotency-Key" maxLength:"100" doc:"A random key, made once for each execution of the job and kept while it is deferred. A repeated claim with the same key returns the same permit as long as the attempt is open, whatever the worker's name; after that it is rejected. The same key for another run returns 422."`
}

// Heartbeat is a heartbeat of the worker that claimed an attempt.
type Heartbeat struct {
	NextWithin string `json:"nextWithin,omitempty" doc:"Announces a silence that is longer than the heartbeat interval, such as 6h. It is granted until the deadline at most; nextBy says how much." example:"6h"`
	Seq        int64  `json:"seq,omitempty" minimum:"1" doc:"Numbers the heartbeats of an attempt. One with a lower number than an earlier one changes nothing."`
	Output     string `json:"output,omitempty" maxLength:"65536" doc:"The last output of the job so far, at most 64 KiB."`
}

func (a *API) workerRoutes(h huma.API) {
	claim := post("/runs/{pipeline}/{schedule}/{date}/claim", "claim", "Workers", "Claim the offered attempt of an external job; exactly one claim succeeds")
	claim.role, claim.small, claim.ofJobs = RoleRunner, maxRequest, true // the job log records claims
	register(h, claim, a.claim)
	beat := post("/runs/{pipeline}/{schedule}/{date}/heartbeat", "heartbeat", "Workers", "Send a heartbeat and the last output of a claimed attempt")
	beat.role, beat.needs = RoleNone, "Needs the permit from the claim, as the bearer token."
	beat.small, beat.ofJobs, beat.proves = maxJobReport, true, (*API).provesPermit
	register(h, beat, a.heartbeat)
}

func (a *API) claim(ctx context.Context, in *struct {
	OfRun
	ClaimKey
	Body ClaimRequest
},
) (*output[client.Claim], error) {
	key, p := in.key()
	if p != nil {
		return nil, p
	}
	for _, c := range in.Body.Worker {
		if unicode.IsControl(c) {
			return nil, badRequest("the worker's name contains a control character").at("body.worker", "control character")
		}
	}
	q := router.ClaimRequest{Key: key, Worker: in.Body.Worker, By: whoOf(ctx).name}
	if in.Key != "" {
		q.Once = requestKey(ctx, in.Key)
	}
	r, err := a.operator.Claim(ctx, q, a.now())
	if errors.Is(err, router.ErrKeyReused) {
		return nil, reusedKey()
	}
	if err != nil {
		return nil, fmt.Errorf("claim run %s: %w", key, a.workerRefused(err))
	}
	trace, err := a.operator.Trace(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("claim run %s: %w", key, err)
	}
	c := a.claimView(r)
	a.permit(&c, key, trace)
	return answer(c), nil
}

// claimView returns a claim without its permit.
func (a *API) claimView(r run.Run) client.Claim {
	p := r.Progress
	c := client.Claim{
		RunID: string(r.ID()), Attempt: r.Attempt, HeartbeatSeconds: int64(p.Opening.Limits.Heartbeat / time.Second),
		Deadline: p.Deadline().UTC(), NextBy: instant(p.NextBy()), Seq: p.Offer.Seq, OnSilence: client.OnSilenceContinue,
		Worker: p.Offer.Worker, Run: a.runView(r),
	}
	if p.Opening.Limits.StopOnSilence {
		c.OnSilence = client.OnSilenceStop
	}
	return c
}

// permit adds the permit, which only the worker gets, and the trace that its job continues.
func (a *API) permit(c *client.Claim, key run.Key, trace string) {
	c.Permit = a.permits.sign(permitPrefix, key, c.Attempt)
	of := job.Attempt{ID: key.Attempt(c.Attempt), Pipeline: key.Pipeline, Schedule: key.Schedule, Period: key.Period, Number: c.Attempt}
	if a.permits.Base != "" {
		of.Callback = job.Callback{URL: a.permits.url(key), Token: c.Permit}
	}
	c.Env, c.Traceparent = of.Env(), text(trace)
	if trace != "" {
		c.Env["TRACEPARENT"] = trace
	}
}

// provesPermit returns an error unless the request has the permit of an attempt of the run.
func (a *API) provesPermit(ctx context.Context, of OfRun) error {
	if !isPermit(whoOf(ctx).callback) {
		return problem(http.StatusForbidden, plainKind, "a heartbeat needs the permit of the attempt: send the header Authorization: Bearer PERMIT")
	}
	return a.provesAttempt(ctx, of)
}

// provesAttempt verifies the callback token or permit of the request, and sets its attempt.
func (a *API) provesAttempt(ctx context.Context, of OfRun) error {
	key, p := of.key()
	if p != nil {
		return p
	}
	attempt, err := a.permits.attempt(ctx, whoOf(ctx).callback, key)
	callOf(ctx).attempt = attempt
	return err
}

func (a *API) heartbeat(ctx context.Context, in *struct {
	OfRun
	Body *Heartbeat
},
) (*output[client.HeartbeatTaken], error) {
	key, p := in.key()
	if p != nil {
		return nil, p
	}
	beat, p := in.Body.read()
	if p != nil {
		return nil, p
	}
	message := "" // a heartbeat has no message
	if err := a.redact(ctx, key, &message, &beat.Output); err != nil {
		return nil, err
	}
	r, err := a.operator.Heartbeat(ctx, key, callOf(ctx).attempt, beat, a.now())
	if err != nil {
		return nil, fmt.Errorf("heartbeat of run %s: %w", key, a.workerRefused(err))
	}
	return answer(client.HeartbeatTaken{
		RunID: string(r.ID()), Attempt: r.Attempt, NextBy: instant(r.Progress.NextBy()), Deadline: r.Progress.Deadline().UTC(), Seq: r.Progress.Offer.Seq,
	}), nil
}

// read returns the heartbeat that a request carries; the usual one if it has no body.
func (b *Heartbeat) read() (router.Heartbeat, *Problem) {
	if b == nil {
		return router.Heartbeat{}, nil
	}
	beat := router.Heartbeat{Output: b.Output, Heartbeat: run.Heartbeat{Seq: b.Seq}}
	if b.NextWithin == "" {
		return beat, nil
	}
	d, err := document.ParseDuration(b.NextWithin)
	if err != nil || d <= 0 {
		return beat, badRequest("nextWithin %.60q is not a duration above 0; write it like 90s, 6h or 2d", b.NextWithin).
			at("body.nextWithin", "not a duration above 0")
	}
	beat.Within = d
	return beat, nil
}

// workerRefused turns a worker's rejection into a problem; other errors stay as they are.
func (a *API) workerRefused(err error) error {
	if errors.As(err, new(*router.Refusal)) {
		return problemOf(err) // not a response to store: the same claim may be granted later
	}
	no, is := errors.AsType[*router.ClaimRefused](err)
	if !is {
		return err
	}
	p := problem(http.StatusConflict, claimRefused+kind(no.Code), "%s", no.Reason)
	o := no.Run.Progress.Offer
	p.ClaimRefusal = &ClaimRefusal{Code: string(no.Code), Worker: text(o.Worker), Rules: a.closedRules(no.Gate), Run: a.runView(no.Run)}
	if o.Worker != "" {
		p.ClaimRefusal.Since = instant(no.Run.Progress.StartedAt)
	}
	return p
}

// closedRules returns the rules that keep a gate closed.
func (a *API) closedRules(g *gate.Answer) []client.Rule {
	closed := []client.Rule{}
	if g == nil {
		return closed
	}
	for i, leaf := range g.Leaves() {
		if seen := g.Verdict.Leaves[i]; seen.Closes() {
			closed = append(closed, liveRule(leaf, seen, a.now()))
		}
	}
	return closed
}
