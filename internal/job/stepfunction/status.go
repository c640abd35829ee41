package stepfunction

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/run"
)

const doesNotExist = "ExecutionDoesNotExist"

// states are the execution states that Step Functions documents. An execution whose state is not Done is running.
var states = map[types.ExecutionStatus]job.Status{
	types.ExecutionStatusRunning:        {},
	types.ExecutionStatusPendingRedrive: {},

	types.ExecutionStatusSucceeded: {Done: true, Result: run.ResultSuccess},
	types.ExecutionStatusFailed:    {Done: true, Result: run.ResultFail},
	types.ExecutionStatusAborted:   {Done: true, Result: run.ResultFail, Category: run.Transient},
	types.ExecutionStatusTimedOut:  {Done: true, Result: run.ResultTimeout, Category: run.Timeout},
}

// Status reads an execution.
func (t *Type) Status(ctx context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	m, err := t.machine(ctx, a)
	if err != nil {
		return job.Status{}, err
	}
	out, err := m.look(ctx, h)
	if awsapi.HasCode(err, doesNotExist) {
		return job.Status{}, fmt.Errorf("%w: %w", err, job.ErrUnknownHandle)
	}
	if err != nil {
		return job.Status{}, err
	}
	status, err := awsapi.StatusOf(m.request("get an execution of"), states, out.Status)
	switch {
	case err != nil || !status.Done:
		return status, err
	case status.Result == run.ResultSuccess:
		status.Output = awsapi.Tail(a.Secrets, aws.ToString(out.Output))
	default:
		status = awsapi.Told(a.Secrets, status, string(out.Status), strings.TrimSpace(aws.ToString(out.Error)+" "+aws.ToString(out.Cause)))
	}
	return status, nil
}

// look reads an execution.
func (m machine) look(ctx context.Context, h run.Handle) (*sfn.DescribeExecutionOutput, error) {
	out, err := awsapi.Call(ctx, m.request("get an execution of"), m.describe, &sfn.DescribeExecutionInput{ExecutionArn: m.execution(h)})
	if err == nil && out.Status == "" {
		err = fmt.Errorf("%s: answered without a state", m.what("get an execution of"))
	}
	return out, err
}
