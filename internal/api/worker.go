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
	Code   string        `json:"code" required:"false" enum:"held,done,not-offered,paused" doc:"held: another worker holds the attempt. done: the attempt or the run has ended. not-offered: the attempt is not offered. paused: the pipeline is paused."`
	Worker *string       `json:"worker" required:"false" doc:"The worker that holds the attempt, or held it last."`
	Since  *time.Time    `json:"since" required:"false" doc:"When the worker claimed it."`
	Rules  []client.Rule `json:"rules" required:"false" doc:"The rules that keep the gate closed."`
	Run    client.Run    `json:"run" required:"false"`
}

// Heartbeat is a heartbeat of the worker that claimed an attempt.
type Heartbeat struct {
	Output string `json:"output,omitempty" maxLength:"65536" doc:"The last output of the job so far, at most 64 KiB."`
}

func (a *API) workerRoutes(h huma.API) {
	claim := post("/runs/{pipeline}/{schedule}/{date}/claim", "claim", "Workers", "Claim the offered attempt of an external job; exactly one claim succeeds")
	claim.role, claim.needs = RoleNone, needsRole(RoleRunner) // the handler checks the role; the job log records claims
	register(h, claim, a.claim)
	beat := post("/runs/{pipeline}/{schedule}/{date}/heartbeat", "heartbeat", "Workers", "Send a heartbeat and the last output of a claimed attempt")
	beat.role, beat.needs = RoleNone, "Needs the permit from the claim, as the bearer token." // the handler checks it
	register(h, beat, a.heartbeat)
}

func (a *API) claim(ctx context.Context, in *struct {
	OfRun
	Once
	Body ClaimRequest
},
) (*output[client.Claim], error) {
	key, p := in.key()
	if p != nil {
		return nil, p
	}
	if p := whoOf(ctx).may(RoleRunner, key.Pipeline); p != nil {
		return nil, p
	}
	for _, c := range in.Body.Worker {
		if unicode.IsControl(c) {
			return nil, badRequest("the worker's name contains a control character").at("body.worker", "control character")
		}
	}
	// The permit is not part of the stored response: each repeat signs it again.
	fresh := false
	view := func(r run.Run) (*output[client.Claim], *Problem) { return answer(a.claimView(r)), nil }
	out, err := once(ctx, a, in.Once, []any{"claim", key.String(), in.Body}, view, func(o router.Once[run.Run]) (run.Run, error) {
		r, err := a.operator.Claim(ctx, router.ClaimRequest{Once: o, Key: key, Worker: in.Body.Worker, By: whoOf(ctx).name}, a.now())
		if err != nil {
			return run.Run{}, fmt.Errorf("claim run %s: %w", key, a.workerRefused(err))
		}
		fresh = true
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	// A worker that repeats its claim has not started the job yet, so the attempt must still be its
	// own. The repeat counts as a heartbeat.
	if !fresh {
		if _, err := a.operator.Heartbeat(ctx, key, out.Body.Attempt, "", a.now()); err != nil {
			return nil, fmt.Errorf("claim run %s: %w", key, a.workerRefused(err))
		}
	}
	trace, err := a.operator.Trace(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("claim run %s: %w", key, err)
	}
	a.permit(&out.Body, key, trace)
	return out, nil
}

// claimView returns a claim without its permit.
func (a *API) claimView(r run.Run) client.Claim {
	return client.Claim{
		RunID: string(r.ID()), Attempt: r.Attempt, HeartbeatSeconds: int64(r.Progress.Opening.Limits.Heartbeat / time.Second), Deadline: r.Progress.PollEnd.UTC(),
		Worker: r.Progress.Offer.Worker, Run: a.runView(r),
	}
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

func (a *API) heartbeat(ctx context.Context, in *struct {
	OfRun
	Body *Heartbeat
},
) (*output[client.HeartbeatTaken], error) {
	key, p := in.key()
	if p != nil {
		return nil, p
	}
	who := whoOf(ctx)
	if !isPermit(who.callback) {
		return nil, problem(http.StatusForbidden, plainKind, "a heartbeat needs the permit of the attempt: send the header Authorization: Bearer PERMIT")
	}
	attempt, err := a.permits.attempt(ctx, who.callback, key)
	if err != nil {
		return nil, err
	}
	message, sent := "", "" // a heartbeat has no message
	if in.Body != nil {
		sent = in.Body.Output
	}
	if err := a.redact(ctx, key, &message, &sent); err != nil {
		return nil, err
	}
	r, err := a.operator.Heartbeat(ctx, key, attempt, sent, a.now())
	if err != nil {
		return nil, fmt.Errorf("heartbeat of run %s: %w", key, a.workerRefused(err))
	}
	return answer(client.HeartbeatTaken{
		RunID: string(r.ID()), Attempt: r.Attempt, NextBy: instant(r.Progress.HeartbeatEnd()), Deadline: r.Progress.PollEnd.UTC(),
	}), nil
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
