package emr

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	service "github.com/aws/aws-sdk-go-v2/service/emr"
	"github.com/aws/aws-sdk-go-v2/service/emr/types"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/run"
)

// states are the step states that EMR documents. A step whose state is not Done is running.
var states = map[types.StepState]job.Status{
	types.StepStatePending:       {},
	types.StepStateCancelPending: {},
	types.StepStateRunning:       {},

	types.StepStateCompleted:   {Done: true, Result: run.ResultSuccess},
	types.StepStateFailed:      {Done: true, Result: run.ResultFail},
	types.StepStateCancelled:   {Done: true, Result: run.ResultFail, Category: run.Transient},
	types.StepStateInterrupted: {Done: true, Result: run.ResultFail, Category: run.Transient},
}

// Status reads the steps. The job runs as long as one of them does; its result is that of the first step that did not
// complete.
func (t *Type) Status(ctx context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	c, err := t.cluster(ctx, a)
	if err != nil {
		return job.Status{}, err
	}
	steps, err := c.look(ctx, h)
	if err != nil {
		return job.Status{}, err
	}
	status, running := states[types.StepStateCompleted], false
	for _, s := range steps {
		step, err := awsapi.StatusOf(c.request("get the steps of"), states, stateOf(s))
		switch {
		case err != nil:
			return job.Status{}, err
		case !step.Done:
			running = true
		case status.Result == run.ResultSuccess && step.Result != run.ResultSuccess:
			status = awsapi.Told(a.Secrets, step, fmt.Sprintf("step %s %s %s", aws.ToString(s.Id), aws.ToString(s.Name), stateOf(s)), reason(s))
		}
	}
	if running {
		return job.Status{}, nil
	}
	return status, nil
}

// reason returns why a step did not complete.
func reason(s types.StepSummary) string {
	var parts []string
	if d := s.Status.FailureDetails; d != nil {
		parts = append(parts, aws.ToString(d.Reason), aws.ToString(d.Message), aws.ToString(d.LogFile))
	}
	if r := s.Status.StateChangeReason; r != nil {
		parts = append(parts, aws.ToString(r.Message))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func stateOf(s types.StepSummary) types.StepState {
	if s.Status == nil {
		return ""
	}
	return s.Status.State
}

// atOnce is how many step ids one request may contain.
const atOnce = 10

// look reads the job's steps, in their order.
func (c cluster) look(ctx context.Context, h run.Handle) ([]types.StepSummary, error) {
	var steps []types.StepSummary
	for ids := range slices.Chunk(stepsOf(h), atOnce) {
		out, err := c.list(ctx, &service.ListStepsInput{ClusterId: &c.ClusterID, StepIds: ids})
		switch {
		case awsapi.HasCode(err, "InvalidRequestException") && strings.Contains(err.Error(), "is not valid"): // the message names an id
			return nil, fmt.Errorf("%w: %w", err, job.ErrUnknownHandle)
		case err != nil:
			return nil, err
		}
		for _, id := range ids {
			i := slices.IndexFunc(out.Steps, func(s types.StepSummary) bool { return aws.ToString(s.Id) == id })
			if i < 0 {
				return nil, fmt.Errorf("%s: it has no step %q: %w", c.what("get the steps of"), id, job.ErrUnknownHandle)
			}
			if stateOf(out.Steps[i]) == "" {
				return nil, fmt.Errorf("%s: answered without a state", c.what("get the steps of"))
			}
			steps = append(steps, out.Steps[i])
		}
	}
	return steps, nil
}
