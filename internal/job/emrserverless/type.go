package emrserverless

import (
	"cmp"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	service "github.com/aws/aws-sdk-go-v2/service/emrserverless"
	"github.com/aws/aws-sdk-go-v2/service/emrserverless/types"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/run"
)

// maxToken is how long a client token may be.
const maxToken = 64

// Type starts job runs and polls them. A run's client token and name contain its attempt's id: EMR
// Serverless answers a repeated token with the existing run, and the name identifies the run.
type Type struct {
	job.ByTarget[Config, application]
}

// calls are the EMR Serverless operations that the type uses.
type calls struct {
	start          call[service.StartJobRunInput, service.StartJobRunOutput]
	list           call[service.ListJobRunsInput, service.ListJobRunsOutput]
	get            call[service.GetJobRunInput, service.GetJobRunOutput]
	cancel         call[service.CancelJobRunInput, service.CancelJobRunOutput]
	getApplication call[service.GetApplicationInput, service.GetApplicationOutput]
}

type call[In, Out any] = awsapi.Operation[In, Out, service.Options]

var _ job.Deduplicator = (*Type)(nil)

// New returns a Type that uses the configuration of c.
func New(c *awsapi.Cloud) *Type {
	clients := awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) calls {
		client := service.NewFromConfig(cfg, func(o *service.Options) { o.HTTPClient = via(o.BaseEndpoint) })
		return calls{client.StartJobRun, client.ListJobRuns, client.GetJobRun, client.CancelJobRun, client.GetApplication}
	})
	return &Type{func(ctx context.Context, a job.Attempt, c *Config) (application, error) {
		made, err := clients.In(ctx, c.Region)
		about := awsapi.Subject{Attempt: a, Name: fmt.Sprintf("EMR Serverless application %q", c.ApplicationID), Errors: serviceErrors}
		return application{c, made, about, job.Name(a.ID, maxToken)}, err
	}}
}

// RefusesRepeats returns true: EMR Serverless starts one run per token.
func (t *Type) RefusesRepeats() bool { return true }

// application is the application of one attempt's run.
type application struct {
	*Config
	calls
	awsapi.Subject
	token string
}

// serviceErrors are the verdicts on the errors of the EMR Serverless operations that the type uses.
var serviceErrors = awsapi.Errors{
	"ConflictException":         awsapi.RefusedTransient, // if no run has the token: see adopt
	"InternalServerException":   awsapi.Open,
	"ResourceNotFoundException": awsapi.RefusedPermanent,
	"ValidationException":       awsapi.RefusedPermanent,
}

// Start starts the run, or adopts the one that an earlier call with the same token started.
func (p application) Start(ctx context.Context) (job.Started, error) {
	overrides, err := p.overrides()
	if err != nil {
		return job.Started{}, job.Refuse(run.Permanent, "job.config.configurationOverrides: %s", p.Attempt.Secrets.Text(err.Error()))
	}
	out, err := awsapi.Call(ctx, p.To("start a job of"), p.start, &service.StartJobRunInput{
		ApplicationId: &p.ApplicationID, ClientToken: &p.token, Name: &p.token, ExecutionRoleArn: &p.ExecutionRoleArn,
		JobDriver: p.JobDriver.asAPI(), ConfigurationOverrides: overrides,
	}, func(o *service.Options) { o.Retryer = awsapi.Once })
	switch {
	case awsapi.HasCode(err, "ConflictException"):
		return p.adopt(ctx, err)
	case err != nil:
		return job.Started{}, awsapi.Started(err)
	case aws.ToString(out.JobRunId) == "":
		return job.Started{}, fmt.Errorf("%s: answered without the run's id", p.What("start a job of"))
	}
	return job.Started{Handle: run.Handle(*out.JobRunId)}, nil
}

// adopt handles a conflict. Either the token belongs to a request with different contents, for
// example because a secret has changed since, and its run is adopted; or the application
// temporarily accepts no runs.
func (p application) adopt(ctx context.Context, conflict error) (job.Started, error) {
	h, found, err := p.Find(ctx)
	switch {
	case err != nil:
		return job.Started{}, err // a run may exist, so this is no refusal
	case !found:
		return job.Started{}, awsapi.Started(conflict)
	}
	return job.Started{Handle: h}, nil
}

const (
	perPage = 50 // runs in one page
	pages   = 20 // that a search reads
)

// Find searches the application's runs for the attempt's name.
func (p application) Find(ctx context.Context) (run.Handle, bool, error) {
	in := &service.ListJobRunsInput{ApplicationId: &p.ApplicationID, MaxResults: aws.Int32(perPage)}
	for range pages {
		out, err := awsapi.Call(ctx, p.To("list the jobs of"), p.list, in)
		if err != nil {
			return "", false, err
		}
		if out.JobRuns == nil {
			return "", false, fmt.Errorf("%s: answered without a list", p.What("list the jobs of"))
		}
		for _, r := range out.JobRuns {
			if aws.ToString(r.Name) == p.token {
				return run.Handle(aws.ToString(r.Id)), true, nil
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	return "", false, nil
}

// Check reads the application. A stopped one starts by itself.
func (p application) Check(ctx context.Context) error {
	out, err := awsapi.Call(ctx, p.To("get"), p.getApplication, &service.GetApplicationInput{ApplicationId: &p.ApplicationID})
	switch {
	case err != nil:
		return awsapi.Checked(err)
	case out.Application == nil || out.Application.State == "":
		return fmt.Errorf("%s: answered without a state", p.What("get"))
	case out.Application.State == types.ApplicationStateTerminated:
		return job.Refuse(run.Permanent, "%s: it is TERMINATED; name another in job.config.applicationID", p.What("get"))
	}
	return nil
}

// Stop cancels the run.
func (p application) Stop(ctx context.Context, h run.Handle) error {
	out, err := awsapi.Call(ctx, p.To("stop a job of"), p.cancel, &service.CancelJobRunInput{ApplicationId: &p.ApplicationID, JobRunId: aws.String(string(h))})
	if err == nil && aws.ToString(out.JobRunId) != "" {
		return nil
	}
	seen, looked := p.readRun(ctx, h)
	if states[seen.State].Done || seen.State == types.JobRunStateCancelling {
		return nil
	}
	return cmp.Or(err, looked, fmt.Errorf("%s: the response does not say whether the job will end", p.What("stop a job of")))
}

// states are the run states that EMR Serverless documents. A run whose state is not Done is
// running.
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
func (p application) Status(ctx context.Context, h run.Handle) (job.Status, error) {
	seen, err := p.readRun(ctx, h)
	if awsapi.HasCode(err, "ResourceNotFoundException") {
		return job.Status{}, fmt.Errorf("%w: %w", err, job.ErrUnknownHandle)
	}
	if err != nil {
		return job.Status{}, err
	}
	return awsapi.StatusOf(p.To("get a job run of"), states, seen.State, aws.ToString(seen.StateDetails))
}

// readRun reads a run.
func (p application) readRun(ctx context.Context, h run.Handle) (types.JobRun, error) {
	out, err := awsapi.Call(ctx, p.To("get a job run of"), p.get, &service.GetJobRunInput{ApplicationId: &p.ApplicationID, JobRunId: aws.String(string(h))})
	switch {
	case err != nil:
		return types.JobRun{}, err
	case out.JobRun == nil || out.JobRun.State == "":
		return types.JobRun{}, fmt.Errorf("%s: answered without a state", p.What("get a job run of"))
	}
	return *out.JobRun, nil
}
