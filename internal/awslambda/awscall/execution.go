// Package awscall has the clients for the AWS services that the functions call: Step Functions,
// EventBridge Scheduler, EventBridge, Lambda, SQS, Secrets Manager. Every call may be repeated:
// names make the second one harmless.
//
// It decides nothing; internal/awslambda decides what to call and when.
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

// NewExecutions returns the Executions of the state machine with that ARN. Start returns spent if
// the name has been used.
func NewExecutions(c aws.Config, machine string, spent error) *Executions {
	return &Executions{client: sfn.NewFromConfig(c), machine: machine, spent: spent}
}

// Start starts an execution, or returns the start time of a running one with the same name and
// input. Step Functions gives the same answer in both cases; only the start time tells them apart.
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
