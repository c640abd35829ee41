package glue

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	service "github.com/aws/aws-sdk-go-v2/service/glue"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/run"
)

// states are the run states that Glue documents. A run whose state is not Done is running.
var states = map[types.JobRunState]job.Status{
	types.JobRunStateStarting: {},
	types.JobRunStateRunning:  {},
	types.JobRunStateStopping: {},
	types.JobRunStateWaiting:  {},

	types.JobRunStateSucceeded: {Done: true, Result: run.ResultSuccess},
	types.JobRunStateFailed:    {Done: true, Result: run.ResultFail},
	types.JobRunStateError:     {Done: true, Result: run.ResultFail, Category: run.Transient},
	types.JobRunStateStopped:   {Done: true, Result: run.ResultFail, Category: run.Transient},
	types.JobRunStateTimeout:   {Done: true, Result: run.ResultTimeout, Category: run.Timeout},
	types.JobRunStateExpired:   {Done: true, Result: run.ResultTimeout, Category: run.Timeout},
}

// Status reads a run, and checks the logs of one that reports success.
func (t *Type) Status(ctx context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	g, err := t.api(ctx, a)
	if err != nil {
		return job.Status{}, err
	}
	r, err := g.look(ctx, h)
	if err != nil {
		return job.Status{}, err
	}
	status, err := awsapi.StatusOf(g.request("get"), states, r.JobRunState)
	switch {
	case err != nil || !status.Done:
		return status, err
	case status.Result == run.ResultSuccess:
		return t.crossCheck(ctx, g, r, status)
	}
	return awsapi.Told(a.Secrets, status, string(r.JobRunState), aws.ToString(r.ErrorMessage)), nil
}

// look reads a run.
func (g api) look(ctx context.Context, h run.Handle) (types.JobRun, error) {
	out, err := awsapi.Call(ctx, g.request("get"), g.get, &service.GetJobRunInput{JobName: &g.JobName, RunId: aws.String(string(h))})
	switch {
	case awsapi.HasCode(err, "EntityNotFoundException"):
		return types.JobRun{}, fmt.Errorf("%w: %w", err, job.ErrUnknownHandle)
	case err != nil:
		return types.JobRun{}, err
	case out.JobRun == nil || out.JobRun.JobRunState == "":
		return types.JobRun{}, fmt.Errorf("%s: answered without a state", g.what("get"))
	}
	return *out.JobRun, nil
}
