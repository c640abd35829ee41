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

// Type starts executions and polls them. An execution is named after its attempt, and Step Functions allows a name
// once in 90 days.
type Type struct{ clients *awsapi.Clients[calls] }

// calls are the Step Functions operations that the type uses.
type calls struct {
	start           call[sfn.StartExecutionInput, sfn.StartExecutionOutput]
	describe        call[sfn.DescribeExecutionInput, sfn.DescribeExecutionOutput]
	describeMachine call[sfn.DescribeStateMachineInput, sfn.DescribeStateMachineOutput]
	stop            call[sfn.StopExecutionInput, sfn.StopExecutionOutput]
}

type call[In, Out any] = awsapi.Operation[In, Out, sfn.Options]

var (
	_ job.Type         = (*Type)(nil)
	_ job.Finder       = (*Type)(nil)
	_ job.Stopper      = (*Type)(nil)
	_ job.Deduplicator = (*Type)(nil)
	_ job.Checker      = (*Type)(nil)
)

// New returns a Type that uses the configuration of c.
func New(c *awsapi.Cloud) *Type {
	return &Type{awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) calls {
		client := sfn.NewFromConfig(cfg, func(o *sfn.Options) { o.HTTPClient = via(o.BaseEndpoint) })
		return calls{client.StartExecution, client.DescribeExecution, client.DescribeStateMachine, client.StopExecution}
	})}
}

// RefusesRepeats returns true: Step Functions allows a name once.
func (t *Type) RefusesRepeats() bool { return true }

// machine is the state machine of one attempt.
type machine struct {
	*Config
	calls
	attempt job.Attempt
}

func (t *Type) machine(ctx context.Context, a job.Attempt) (machine, error) {
	c, ok := a.Config.(*Config)
	if !ok {
		return machine{}, job.Refuse(run.Permanent, "start step-function job: its config is a %T", a.Config)
	}
	made, err := t.clients.In(ctx, cmp.Or(c.Region, awsapi.RegionOf(c.StateMachineARN)))
	return machine{c, made, a}, err
}

// what returns the beginning of an error about a call.
func (m machine) what(verb string) string {
	return m.attempt.Secrets.Text(verb + " " + m.StateMachineARN)
}

func (m machine) request(verb string) awsapi.Request {
	return awsapi.Request{Attempt: m.attempt, What: m.what(verb), Errors: serviceErrors}
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

// handle returns the name of the attempt's execution. An ARN contains more, some of which may be secret.
func (m machine) handle() run.Handle { return run.Handle(job.Name(m.attempt.ID, maxName)) }

// execution returns the ARN of an execution.
func (m machine) execution(h run.Handle) *string {
	return aws.String(strings.Replace(m.plain(), ":stateMachine:", ":execution:", 1) + ":" + string(h))
}

// Start starts the execution, or adopts one with that name, running or ended.
func (t *Type) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	m, err := t.machine(ctx, a)
	if err != nil {
		return job.Started{}, err
	}
	input, err := m.input()
	if err != nil {
		return job.Started{}, err
	}
	if err := m.check(ctx); err != nil {
		return job.Started{}, awsapi.Before(err)
	}
	out, err := awsapi.Call(ctx, m.request("start"), m.start, &sfn.StartExecutionInput{
		StateMachineArn: &m.StateMachineARN, Name: aws.String(string(m.handle())), Input: &input,
	}, func(o *sfn.Options) { o.Retryer = awsapi.Once })
	switch {
	case awsapi.HasCode(err, "ExecutionAlreadyExists"):
	case err != nil:
		return job.Started{}, awsapi.Started(err)
	case aws.ToString(out.ExecutionArn) == "":
		return job.Started{}, fmt.Errorf("%s: answered without the execution's ARN", m.what("start"))
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
		if text, err = awsapi.JSON(m.Input); err != nil {
			return "", job.Refuse(run.Permanent, "write job.config.input as JSON: %s", m.attempt.Secrets.Text(err.Error()))
		}
	}
	if len(text) > maxInput {
		return "", job.Refuse(run.Permanent, "job.config.input has %d bytes; Step Functions accepts at most %d: pass large data by reference, such as an S3 key", len(text), maxInput)
	}
	return text, nil
}

// check reads the state machine. An express one neither rejects a repeated name nor reports on executions.
func (m machine) check(ctx context.Context) error {
	out, err := awsapi.Call(ctx, m.request("get"), m.describeMachine, &sfn.DescribeStateMachineInput{
		StateMachineArn: aws.String(m.plain()), IncludedData: types.IncludedDataMetadataOnly,
	})
	switch {
	case err != nil:
		return err
	case out.Type == "":
		return fmt.Errorf("%s: answered without its type", m.what("get"))
	case out.Type != types.StateMachineTypeStandard:
		return job.Refuse(run.Permanent, "%s: it is of type %s, which does not reject repeated names; use one of type STANDARD", m.what("get"), out.Type)
	case out.Status == types.StateMachineStatusDeleting:
		return job.Refuse(run.Permanent, "%s: it is being deleted", m.what("get"))
	}
	return nil
}

// Check reads the state machine.
func (t *Type) Check(ctx context.Context, a job.Attempt) error {
	m, err := t.machine(ctx, a)
	if err != nil {
		return err
	}
	return awsapi.Checked(m.check(ctx))
}

// Find reads the execution with the attempt's name.
func (t *Type) Find(ctx context.Context, a job.Attempt) (run.Handle, bool, error) {
	m, err := t.machine(ctx, a)
	if err != nil {
		return "", false, err
	}
	_, err = m.look(ctx, m.handle())
	if awsapi.HasCode(err, doesNotExist) {
		return "", false, nil
	}
	return m.handle(), err == nil, err
}

// Stop aborts the execution.
func (t *Type) Stop(ctx context.Context, a job.Attempt, h run.Handle) error {
	m, err := t.machine(ctx, a)
	if err != nil {
		return err
	}
	out, err := awsapi.Call(ctx, m.request("stop an execution of"), m.stop, &sfn.StopExecutionInput{
		ExecutionArn: m.execution(h), Cause: aws.String("stopped by Interlock"),
	})
	if err == nil && out.StopDate != nil {
		return nil
	}
	seen, looked := m.look(ctx, h)
	if looked != nil {
		return cmp.Or(err, looked)
	}
	if states[seen.Status].Done {
		return nil
	}
	return cmp.Or(err, fmt.Errorf("%s: answered without saying whether it will end", m.what("stop an execution of")))
}
