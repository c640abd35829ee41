package lambda

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
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

// Type invokes functions. Without async the call is the job: the function's return value is its
// result. With async Lambda queues the event and invokes the function later, and the function
// reports its result.
//
// Lambda cannot be asked what became of an invocation, and invokes a function again for a repeated
// request. So an invocation that was sent but not answered is unknown.
type Type struct {
	job.Unpolled
	clients *awsapi.Clients[invoke]
}

// invoke is the Lambda operation that the type uses.
type invoke = awsapi.Operation[service.InvokeInput, service.InvokeOutput, service.Options]

var (
	_ job.Type     = (*Type)(nil)
	_ job.Blocking = (*Type)(nil)
	_ job.Checker  = (*Type)(nil)
)

// New returns a Type that uses the configuration of c.
func New(c *awsapi.Cloud) *Type {
	return &Type{clients: awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) invoke {
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
		return fmt.Errorf("%s: answered %d instead of %d", what, out.StatusCode, want)
	case ok && strings.Contains(raw.Header.Get("Content-Type"), "html"):
		return fmt.Errorf("%s: answered with an HTML page, so this is not Lambda", what)
	}
	return nil
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

// Lambda's own limits on a payload.
const (
	maxPayload      = 6 << 20
	maxAsyncPayload = 1 << 20
)

// payload returns the function's payload: a mapping with the run's id in it, or the file's text or
// list.
func (f function) payload() (string, error) {
	payload := f.Payload
	if mapping, is := payload.(map[string]any); is || payload == nil {
		payload = f.withKey(mapping)
	}
	text, isText := payload.(string)
	if !isText || !json.Valid([]byte(text)) {
		var err error
		if text, err = job.JSON(payload); err != nil {
			return "", job.Refuse(run.Permanent, "write job.config.payload as JSON: %s", f.Attempt.Secrets.Text(err.Error()))
		}
	}
	most := maxPayload
	if f.Async {
		most = maxAsyncPayload
	}
	if len(text) > most {
		return "", job.Refuse(run.Permanent, "job.config.payload has %d bytes; Lambda accepts at most %d: pass large data by reference, such as an S3 key", len(text), most)
	}
	return text, nil
}

// withKey adds what a function needs to recognise a repeated event and, if it reports its result,
// to report it.
func (f function) withKey(payload map[string]any) map[string]any {
	all := map[string]any{"interlock_run_id": string(f.Attempt.ID)}
	if f.Async && f.Attempt.Callback.URL != "" {
		all["interlock_callback_url"], all["interlock_callback_token"] = f.Attempt.Callback.URL, f.Attempt.Callback.Token
	}
	maps.Copy(all, payload)
	return all
}

// result converts an answer to the job's final status.
func (f function) result(out *service.InvokeOutput) job.Status {
	logs, err := base64.StdEncoding.DecodeString(aws.ToString(out.LogResult))
	if err != nil {
		logs = nil // they only help the reader
	}
	status := job.Status{Done: true, Result: run.ResultSuccess, Output: f.output(string(logs), string(out.Payload))}
	if kind := aws.ToString(out.FunctionError); kind != "" {
		status.Result, status.Category = run.ResultFail, run.Permanent
		status.Message = awsapi.Line(f.Attempt.Secrets, "the function failed: "+failure(kind, out.Payload))
	}
	return status
}

// output returns the end of the function's logs and its return value.
func (f function) output(logs, returned string) string {
	shown := awsapi.Tail(f.Attempt.Secrets, strings.TrimSuffix(logs, "\n"))
	if shown != "" {
		shown += "\n"
	}
	return shown + awsapi.Head(f.Attempt.Secrets, returned, len(shown))
}

// failure returns the message of a function's error, as the runtimes encode it.
func failure(kind string, payload []byte) string {
	var reply struct{ ErrorType, ErrorMessage string }
	if json.Unmarshal(payload, &reply) != nil || reply.ErrorType+reply.ErrorMessage == "" {
		return strings.TrimSuffix(kind+": "+string(payload), ": ")
	}
	parts := slices.DeleteFunc([]string{reply.ErrorType, reply.ErrorMessage}, func(part string) bool { return part == "" })
	return strings.Join(parts, ": ")
}
