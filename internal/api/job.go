package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
)

// JobReport is the result of a run's job.
type JobReport struct {
	Result      string `json:"result" enum:"success,fail,timeout" doc:"How it ended."`
	Attempt     int    `json:"attempt,omitempty" minimum:"0" doc:"The attempt; default that of the callback token, else the latest."`
	Message     string `json:"message,omitempty" maxLength:"4000" doc:"What happened."`
	Category    string `json:"category,omitempty" enum:"PERMANENT,TRANSIENT,TIMEOUT" doc:"Whose fault a failure is."`
	ExitCode    *int   `json:"exitCode,omitempty"`
	Output      string `json:"output,omitempty" maxLength:"65536" doc:"The end of what the job printed, at most 64 KiB. It is kept of claimed attempts."`
	RequestedBy string `json:"requestedBy,omitempty" maxLength:"200" doc:"Who reports it."`
}

// JobReported is what became of a result.
type JobReported struct {
	Run  Run  `json:"run"`
	Late bool `json:"late" doc:"The attempt had already ended: the result is logged and changes nothing."`
}

func (a *API) report(ctx context.Context, in *struct {
	OfRun
	Body JobReport
},
) (*output[JobReported], error) {
	key, p := in.key()
	if p != nil {
		return nil, p
	}
	attempt, err := a.reports(ctx, key, in.Body.Attempt)
	if err != nil {
		return nil, err
	}
	q := in.Body
	o := run.Outcome{Key: key, Attempt: attempt, Report: run.Report{
		Result: run.Result(q.Result), Category: run.Category(q.Category), Message: q.Message,
		By: (&Asked{RequestedBy: q.RequestedBy}).by(ctx), At: a.now().UTC(),
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
		return nil, fmt.Errorf("report the job of %s: %w", key, err)
	}
	if permitted && done.Late {
		return nil, lateProblem(a.runView(done.Run), attempt)
	}
	return answer(JobReported{Run: a.runView(done.Run), Late: done.Late}), nil
}

// lateProblem refuses the result of a worker that has no say any more.
func lateProblem(r Run, attempt int) *Problem {
	p := problem(http.StatusConflict, claimRefused+kind(router.ClaimDone),
		"attempt %d is over: the run is %s in attempt %d; the result is logged and changes nothing", attempt, r.Status, r.Attempt)
	p.ClaimRefusal = &ClaimRefusal{Code: string(router.ClaimDone), Worker: r.Worker, Since: r.ClaimedAt, Rules: []Rule{}, Run: r}
	return p
}

// reports is the attempt of key that whoever asks may report on, given which one was asked for: an operator on any, a runner
// on one without a job, the job itself on its own.
func (a *API) reports(ctx context.Context, key run.Key, asked int) (int, error) {
	who := whoOf(ctx)
	if who.callback == "" {
		if p := a.mayReport(ctx, key.Pipeline); p != nil {
			return 0, p
		}
		return asked, nil
	}
	own, err := a.permits.attempt(ctx, who.callback, key)
	if err == nil && asked != 0 && asked != own {
		return 0, badRequest("the callback token is that of attempt %d, the body speaks of attempt %d", own, asked)
	}
	return own, err
}
