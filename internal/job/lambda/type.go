package lambda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	service "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Type invokes functions. Without async the call is the job: the function's return value is its result. With async
// Lambda queues the event and invokes the function later, and the function reports its result.
//
// Lambda cannot be asked what became of an invocation, and invokes a function again for a repeated request. So an
// invocation that was sent but not answered is unknown.
type Type struct{ clients *awsapi.Clients[invoke] }

// invoke is the Lambda operation that the type uses.
type invoke = awsapi.Operation[service.InvokeInput, service.InvokeOutput, service.Options]

var (
	_ job.Type     = (*Type)(nil)
	_ job.Blocking = (*Type)(nil)
	_ job.Checker  = (*Type)(nil)
)

// New returns a Type that uses the configuration of c.
func New(c *awsapi.Cloud) *Type {
	return &Type{awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) invoke {
		return service.NewFromConfig(cfg, func(o *service.Options) {
			o.HTTPClient = via(o.BaseEndpoint)
			o.Retryer = awsapi.Once
		}).Invoke
	})}
}

// Limit returns the timeout of an invocation that is the job itself.
func (t *Type) Limit(config pipeline.JobConfig) (time.Duration, bool) {
	c, ok := config.(*Config)
	if !ok || c.Async {
		return 0, false
	}
	return c.limit(), true
}

// function is the function of one attempt.
type function struct {
	*Config
	awsapi.Subject
	call invoke
}

func (t *Type) function(ctx context.Context, a job.Attempt) (function, error) {
	c, err := job.ConfigOf[Config](a)
	if err != nil {
		return function{}, err
	}
	call, err := t.clients.In(ctx, cmp.Or(c.Region, awsapi.RegionOf(c.FunctionName)))
	return function{c, awsapi.Subject{Attempt: a, Name: fmt.Sprintf("lambda function %q", c.FunctionName), Errors: serviceErrors}, call}, err
}

// Start invokes the function.
func (t *Type) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	f, err := t.function(ctx, a)
	if err != nil {
		return job.Started{}, err
	}
	payload, err := f.payload()
	if err != nil {
		return job.Started{}, err
	}
	out, err := f.invoke(ctx, payload)
	if err != nil {
		return job.Started{}, err
	}
	started := job.Started{Handle: run.Handle(a.ID)}
	if !f.Async {
		result := f.result(out)
		started.Result = &result
	}
	return started, nil
}

// invoke makes the call with the file's timeout.
func (f function) invoke(ctx context.Context, payload string) (*service.InvokeOutput, error) {
	// Only the answer can contain the end of the function's logs.
	kind, logs, want := types.InvocationTypeRequestResponse, types.LogTypeTail, http.StatusOK
	if f.Async {
		kind, logs, want = types.InvocationTypeEvent, types.LogTypeNone, http.StatusAccepted
	}
	limited, cancel := context.WithTimeout(ctx, f.limit())
	defer cancel()
	out, err := awsapi.Call(limited, f.To("invoke"), f.call, &service.InvokeInput{
		FunctionName: &f.FunctionName, InvocationType: kind, LogType: logs, Payload: []byte(payload),
	})
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil && !errors.As(err, new(*awsapi.Failure)):
		return nil, fmt.Errorf("%s: no answer within the timeout of %s: %w", f.What("invoke"), document.Duration(f.limit()), context.DeadlineExceeded)
	case err != nil:
		return nil, awsapi.Started(err)
	}
	return out, f.isLambdas(out, want, f.What("invoke"))
}

// isLambdas returns an error if the answer did not come from Lambda.
func (f function) isLambdas(out *service.InvokeOutput, want int, what string) error {
	raw, ok := middleware.GetRawResponse(out.ResultMetadata).(*smithyhttp.Response)
	switch {
	case out.StatusCode != int32(want):
		return fmt.Errorf("%s: answered %d, where Lambda answers %d", what, out.StatusCode, want)
	case ok && strings.Contains(raw.Header.Get("Content-Type"), "html"):
		return fmt.Errorf("%s: answered with a page, which Lambda does not", what)
	}
	return nil
}

// Status always fails: an async job reports its own result, and any other has ended with its start.
func (t *Type) Status(_ context.Context, a job.Attempt, _ run.Handle) (job.Status, error) {
	if c, ok := a.Config.(*Config); ok && c.Async {
		return job.Status{}, nil
	}
	return job.Status{}, job.ErrUnknownHandle
}

// Check makes a dry run, in which Lambda checks that the function exists and may be invoked.
func (t *Type) Check(ctx context.Context, a job.Attempt) error {
	f, err := t.function(ctx, a)
	if err != nil {
		return err
	}
	out, err := awsapi.Call(ctx, f.To("make a dry run of"), f.call, &service.InvokeInput{FunctionName: &f.FunctionName, InvocationType: types.InvocationTypeDryRun})
	if err != nil {
		return awsapi.Checked(err)
	}
	return f.isLambdas(out, http.StatusNoContent, f.What("make a dry run of"))
}
