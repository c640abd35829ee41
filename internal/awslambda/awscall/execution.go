// Package awscall is how the functions speak to the services of AWS that wait for them and listen to them: Step Functions,
// EventBridge Scheduler, EventBridge, Lambda, SQS, Secrets Manager. Every call may be made again: names make the second one
// harmless.
//
// It decides nothing; what is called when is in internal/awslambda.
package awscall

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// Executions starts executions of one state machine.
type Executions struct {
	client  *sfn.Client
	machine string
	spent   error
}

// NewExecutions starts those of the machine with that ARN. Where a name has been used, the answer is spent.
func NewExecutions(c aws.Config, machine string, spent error) *Executions {
	return &Executions{client: sfn.NewFromConfig(c), machine: machine, spent: spent}
}

// Start starts an execution, or finds the one of that name and input that runs. Step Functions answers alike in both cases;
// only the time tells them apart.
func (e *Executions) Start(ctx context.Context, name, input string) (time.Time, error) {
	out, err := e.client.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &e.machine, Name: &name, Input: &input})
	var exists *types.ExecutionAlreadyExists
	if errors.As(err, &exists) {
		return time.Time{}, e.spent
	}
	if err != nil {
		return time.Time{}, err
	}
	return aws.ToTime(out.StartDate), nil
}
