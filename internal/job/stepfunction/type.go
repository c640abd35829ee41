package stepfunction

import (
	"cmp"
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

const (
	maxName  = 80        // characters of an execution's name
	maxInput = 256 << 10 // bytes of its input
)

// Type starts executions and polls them. An execution is named after its attempt, and Step
// Functions allows a name once in 90 days.
type Type struct{ job.ByTarget[Config, machine] }

// calls are the Step Functions operations that the type uses.
type calls struct {
	start           call[sfn.StartExecutionInput, sfn.StartExecutionOutput]
	describe        call[sfn.DescribeExecutionInput, sfn.DescribeExecutionOutput]
	describeMachine call[sfn.DescribeStateMachineInput, sfn.DescribeStateMachineOutput]
	stop            call[sfn.StopExecutionInput, sfn.StopExecutionOutput]
}

type call[In, Out any] = awsapi.Operation[In, Out, sfn.Options]

var _ job.Deduplicator = (*Type)(nil)

// New returns a Type that uses the configuration of c.
func New(c *awsapi.Cloud) *Type {
	clients := awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) calls {
		client := sfn.NewFromConfig(cfg, func(o *sfn.Options) { o.HTTPClient = via(o.BaseEndpoint) })
		return calls{client.StartExecution, client.DescribeExecution, client.DescribeStateMachine, client.StopExecution}
	})
	return &Type{func(ctx context.Context, a job.Attempt, c *Config) (machine, error) {
		made, err := clients.In(ctx, cmp.Or(c.Region, awsapi.RegionOf(c.StateMachineARN)))
		return machine{c, made, awsapi.Subject{Attempt: a, Name: c.StateMachineARN, Errors: serviceErrors}}, err
	}}
}

// RefusesRepeats returns true: Step Functions allows a name once.
func (t *Type) RefusesRepeats() bool { return true }

// machine is the state machine of one attempt.
type machine struct {
	*Config
	calls
	awsapi.Subject
}

// serviceErrors are the verdicts on the errors of the Step Functions operations that the type uses.
var serviceErrors = awsapi.Errors{
	"ExecutionAlreadyExists":   awsapi.Open, // Start adopts it
	doesNotExist:               awsapi.RefusedPermanent,
	"ExecutionLimitExceeded":   awsapi.RefusedTransient,
	"InvalidArn":               awsapi.RefusedPermanent,
	"InvalidExecutionInput":    awsapi.RefusedPermanent,
	"InvalidName":              awsapi.RefusedPermanent,
	"KmsAccessDeniedException": awsapi.RefusedPermanent,
	"KmsInvalidStateException": awsapi.RefusedPermanent,
	"KmsThrottlingException":   awsapi.RefusedTransient,
	"StateMachineDeleting":     awsapi.RefusedPermanent,
	"StateMachineDoesNotExist": awsapi.RefusedPermanent,
	"ValidationException":      awsapi.RefusedPermanent,
}

// plain returns the machine's ARN without a version or alias.
func (m machine) plain() string {
	parts := strings.Split(m.StateMachineARN, ":")
	return strings.Join(parts[:min(len(parts), 7)], ":")
}

// handle returns the name of the attempt's execution. An ARN contains more, some of which may be
// secret.
func (m machine) handle() run.Handle { return run.Handle(job.Name(m.Attempt.ID, maxName)) }

// execution returns the ARN of an execution.
func (m machine) execution(h run.Handle) *string {
	return aws.String(strings.Replace(m.plain(), ":stateMachine:", ":execution:", 1) + ":" + string(h))
}

// Start starts the execution, or adopts one with that name, running or ended.
func (m machine) Start(ctx context.Context) (job.Started, error) {
	input, err := m.input()
	if err != nil {
		return job.Started{}, err
	}
	if err := m.check(ctx); err != nil {
		return job.Started{}, awsapi.Before(err)
	}
	out, err := awsapi.Call(ctx, m.To("start"), m.start, &sfn.StartExecutionInput{
		StateMachineArn: &m.StateMachineARN, Name: aws.String(string(m.handle())), Input: &input,
	}, func(o *sfn.Options) { o.Retryer = awsapi.Once })
	switch {
	case awsapi.HasCode(err, "ExecutionAlreadyExists"):
	case err != nil:
		return job.Started{}, awsapi.Started(err)
	case aws.ToString(out.ExecutionArn) == "":
		return job.Started{}, fmt.Errorf("%s: answered without the execution's ARN", m.What("start"))
	}
	return job.Started{Handle: m.handle()}, nil
}

// input returns the execution's input as JSON.
func (m machine) input() (string, error) {
	text, isText := m.Input.(string)
	switch {
	case m.Input == nil:
		text = "{}"
	case !isText:
		var err error
		if text, err = job.JSON(m.Input); err != nil {
			return "", job.Refuse(run.Permanent, "write job.config.input as JSON: %s", m.Attempt.Secrets.Text(err.Error()))
		}
	}
	if len(text) > maxInput {
		return "", job.Refuse(run.Permanent, "job.config.input has %d bytes; Step Functions accepts at most %d: pass large data by reference, such as an S3 key", len(text), maxInput)
	}
	return text, nil
}

// check reads the state machine. An express one neither rejects a repeated name nor reports on
// executions.
func (m machine) check(ctx context.Context) error {
	out, err := awsapi.Call(ctx, m.To("get"), m.describeMachine, &sfn.DescribeStateMachineInput{
		StateMachineArn: aws.String(m.plain()), IncludedData: types.IncludedDataMetadataOnly,
	})
	switch {
	case err != nil:
		return err
	case out.Type == "":
		return fmt.Errorf("%s: answered without its type", m.What("get"))
	case out.Type != types.StateMachineTypeStandard:
		return job.Refuse(run.Permanent, "%s: it is of type %s, which does not reject repeated names; use one of type STANDARD", m.What("get"), out.Type)
	case out.Status == types.StateMachineStatusDeleting:
		return job.Refuse(run.Permanent, "%s: it is being deleted", m.What("get"))
	}
	return nil
}

// Check reads the state machine.
func (m machine) Check(ctx context.Context) error {
	return awsapi.Checked(m.check(ctx))
}

// Find reads the execution with the attempt's name.
func (m machine) Find(ctx context.Context) (run.Handle, bool, error) {
	_, err := m.readExecution(ctx, m.handle())
	if awsapi.HasCode(err, doesNotExist) {
		return "", false, nil
	}
	return m.handle(), err == nil, err
}

// Stop aborts the execution.
func (m machine) Stop(ctx context.Context, h run.Handle) error {
	out, err := awsapi.Call(ctx, m.To("stop an execution of"), m.stop, &sfn.StopExecutionInput{
		ExecutionArn: m.execution(h), Cause: aws.String("stopped by Interlock"),
	})
	if err == nil && out.StopDate != nil {
		return nil
	}
	seen, looked := m.readExecution(ctx, h)
	if looked == nil && states[seen.Status].Done {
		return nil
	}
	return cmp.Or(err, looked, fmt.Errorf("%s: the response does not say whether the execution will end", m.What("stop an execution of")))
}

const doesNotExist = "ExecutionDoesNotExist"

// states are the execution states that Step Functions documents. An execution whose state is not
// Done is running.
var states = map[types.ExecutionStatus]job.Status{
	types.ExecutionStatusRunning:        {},
	types.ExecutionStatusPendingRedrive: {},

	types.ExecutionStatusSucceeded: {Done: true, Result: run.ResultSuccess},
	types.ExecutionStatusFailed:    {Done: true, Result: run.ResultFail},
	types.ExecutionStatusAborted:   {Done: true, Result: run.ResultFail, Category: run.Transient},
	types.ExecutionStatusTimedOut:  {Done: true, Result: run.ResultTimeout, Category: run.Timeout},
}

// Status reads an execution.
func (m machine) Status(ctx context.Context, h run.Handle) (job.Status, error) {
	out, err := m.readExecution(ctx, h)
	if awsapi.HasCode(err, doesNotExist) {
		return job.Status{}, fmt.Errorf("%w: %w", err, job.ErrUnknownHandle)
	}
	if err != nil {
		return job.Status{}, err
	}
	status, err := awsapi.StatusOf(m.To("get an execution of"), states, out.Status, strings.TrimSpace(aws.ToString(out.Error)+" "+aws.ToString(out.Cause)))
	if status.Result == run.ResultSuccess {
		status.Output = awsapi.Tail(m.Attempt.Secrets, aws.ToString(out.Output))
	}
	return status, err
}

// readExecution reads an execution.
func (m machine) readExecution(ctx context.Context, h run.Handle) (*sfn.DescribeExecutionOutput, error) {
	out, err := awsapi.Call(ctx, m.To("get an execution of"), m.describe, &sfn.DescribeExecutionInput{ExecutionArn: m.execution(h)})
	if err == nil && out.Status == "" {
		err = fmt.Errorf("%s: answered without a state", m.What("get an execution of"))
	}
	return out, err
}
