package emrserverless

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	service "github.com/aws/aws-sdk-go-v2/service/emrserverless"
	"github.com/aws/aws-sdk-go-v2/service/emrserverless/types"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/run"
)

// states are the run states that EMR Serverless documents. A run whose state is not Done is running.
var states = map[types.JobRunState]job.Status{
	types.JobRunStateSubmitted:  {},
	types.JobRunStatePending:    {},
	types.JobRunStateScheduled:  {},
	types.JobRunStateRunning:    {},
	types.JobRunStateQueued:     {},
	types.JobRunStateCancelling: {},

	types.JobRunStateSuccess:   {Done: true, Result: run.ResultSuccess},
	types.JobRunStateFailed:    {Done: true, Result: run.ResultFail},
	types.JobRunStateCancelled: {Done: true, Result: run.ResultFail, Category: run.Transient},
}

// Status reads a run.
func (t *Type) Status(ctx context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	p, err := t.application(ctx, a)
	if err != nil {
		return job.Status{}, err
	}
	seen, err := p.look(ctx, h)
	if awsapi.HasCode(err, "ResourceNotFoundException") {
		return job.Status{}, fmt.Errorf("%w: %w", err, job.ErrUnknownHandle)
	}
	if err != nil {
		return job.Status{}, err
	}
	status, err := awsapi.StatusOf(p.request("get a job run of"), states, seen.State)
	if status.Done && status.Result != run.ResultSuccess {
		status = awsapi.Told(a.Secrets, status, string(seen.State), aws.ToString(seen.StateDetails))
	}
	return status, err
}

// look reads a run.
func (p application) look(ctx context.Context, h run.Handle) (types.JobRun, error) {
	out, err := awsapi.Call(ctx, p.request("get a job run of"), p.get, &service.GetJobRunInput{ApplicationId: &p.ApplicationID, JobRunId: aws.String(string(h))})
	switch {
	case err != nil:
		return types.JobRun{}, err
	case out.JobRun == nil || out.JobRun.State == "":
		return types.JobRun{}, fmt.Errorf("%s: answered without a state", p.what("get a job run of"))
	}
	return *out.JobRun, nil
}
