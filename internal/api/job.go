package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
)

func (a *API) report(ctx context.Context, in *struct {
	OfRun
	Body client.JobReport
},
) (*output[client.JobReported], error) {
	key, p := in.key()
	if p != nil {
		return nil, p
	}
	attempt, err := reported(callOf(ctx), in.Body.Attempt)
	if err != nil {
		return nil, err
	}
	q := in.Body
	if err := a.redact(ctx, key, &q.Message, &q.Output); err != nil {
		return nil, err
	}
	o := run.Outcome{Key: key, Attempt: attempt, Report: run.Report{
		Result: run.Result(q.Result), Category: run.Category(q.Category), Message: q.Message,
		By: askedBy(ctx, &client.Asked{RequestedBy: q.RequestedBy}), At: a.now().UTC(),
	}}
	if q.ExitCode != nil {
		o.Exited, o.ExitCode = true, *q.ExitCode
	}
	permitted := isPermit(whoOf(ctx).callback)
	if permitted {
		o.Output = q.Output
	}
	done, err := a.operator.Report(ctx, o, a.now())
	if err != nil {
		return nil, fmt.Errorf("report the job of %s: %w", key, a.orNoRun(ctx, key, err))
	}
	if permitted && done.Late {
		return nil, a.lateProblem(done.Run, attempt)
	}
	return answer(client.JobReported{Run: a.runView(done.Run), Late: done.Late}), nil
}

// lateProblem rejects the result of a worker whose attempt is over.
func (a *API) lateProblem(r run.Run, attempt int) *Problem {
	code := router.ClaimDone
	if no := router.NotHeld(r, attempt); no != nil {
		code = no.Code
	}
	p := problem(http.StatusConflict, claimRefused+kind(code),
		"attempt %d has ended: the run is %s in attempt %d; the result is logged and changes nothing", attempt, r.Status, r.Attempt)
	v := a.runView(r)
	p.ClaimRefusal = &ClaimRefusal{Code: string(code), Worker: v.Worker, Since: v.ClaimedAt, Rules: []client.Rule{}, Run: v}
	return p
}

// provesReporter returns an error unless the client may report on an attempt of the run. An operator
// may report on any, a runner on those of a pipeline without a job, the job itself on its own.
func (a *API) provesReporter(ctx context.Context, of OfRun) error {
	if whoOf(ctx).callback != "" {
		return a.provesAttempt(ctx, of)
	}
	if p := a.mayReport(ctx, pipeline.ID(of.Pipeline)); p != nil {
		return p
	}
	return nil
}

// reported returns the attempt to report on, given the attempt that the body names; 0 means the
// latest.
func reported(c *call, asked int) (int, error) {
	if c.who.callback == "" {
		return asked, nil
	}
	if asked != 0 && asked != c.attempt {
		return 0, badRequest("the token is for attempt %d, but the body names attempt %d; leave attempt out", c.attempt, asked).at("body.attempt", "another attempt")
	}
	return c.attempt, nil
}
