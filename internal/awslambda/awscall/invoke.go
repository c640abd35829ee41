package awscall

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// Invoker calls Lambda functions.
type Invoker struct{ client *lambda.Client }

// NewInvoker returns an Invoker for the functions of the account.
func NewInvoker(c aws.Config) *Invoker { return &Invoker{client: lambda.NewFromConfig(c)} }

// Call calls a function and waits for its answer.
func (i *Invoker) Call(ctx context.Context, function string, payload []byte) ([]byte, error) {
	out, err := i.client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: payload})
	if err != nil {
		return nil, err
	}
	if out.FunctionError != nil {
		return nil, fmt.Errorf("function %s failed (%s): %s", function, *out.FunctionError, out.Payload)
	}
	return out.Payload, nil
}

// Send returns as soon as Lambda has accepted the call.
func (i *Invoker) Send(ctx context.Context, function string, payload []byte) error {
	_, err := i.client.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(function), InvocationType: types.InvocationTypeEvent, Payload: payload})
	return err
}
