package glue

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	service "github.com/aws/aws-sdk-go-v2/service/glue"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/run"
)

// Type starts runs of Glue jobs and polls them. Glue does not recognise a repeated start, but lists
// the arguments of its runs: a run whose start was not answered is found by its --interlock_run_id.
type Type struct{ job.ByTarget[Config, api] }

// calls are the Glue operations that the type uses.
type calls struct {
	start     call[service.StartJobRunInput, service.StartJobRunOutput]
	list      call[service.GetJobRunsInput, service.GetJobRunsOutput]
	get       call[service.GetJobRunInput, service.GetJobRunOutput]
	batchStop call[service.BatchStopJobRunInput, service.BatchStopJobRunOutput]
}

type (
	call[In, Out any] = awsapi.Operation[In, Out, service.Options]
	filterLogs        = awsapi.Operation[cloudwatchlogs.FilterLogEventsInput, cloudwatchlogs.FilterLogEventsOutput, cloudwatchlogs.Options]
)

// New returns a Type that uses the configuration of c.
func New(c *awsapi.Cloud) *Type {
	clients := awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) calls {
		client := service.NewFromConfig(cfg, func(o *service.Options) { o.HTTPClient = via(o.BaseEndpoint) })
		return calls{client.StartJobRun, client.GetJobRuns, client.GetJobRun, client.BatchStopJobRun}
	})
	logs := awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) filterLogs {
		return cloudwatchlogs.NewFromConfig(cfg, func(o *cloudwatchlogs.Options) {
			o.HTTPClient = via(o.BaseEndpoint)
			o.Retryer = retry.NewStandard() // the logs are read only once
		}).FilterLogEvents
	})
	return &Type{func(ctx context.Context, a job.Attempt, c *Config) (api, error) {
		made, err := clients.In(ctx, c.Region)
		return api{c, made, awsapi.Subject{Attempt: a, Name: fmt.Sprintf("glue job %q", c.JobName), Errors: serviceErrors}, logs}, err
	}}
}

// api is Glue with one attempt's config.
type api struct {
	*Config
	calls
	awsapi.Subject
	logs *awsapi.Clients[filterLogs]
}

// serviceErrors are the verdicts on the errors of the Glue operations that the type uses.
var serviceErrors = awsapi.Errors{
	"ConcurrentRunsExceededException":      awsapi.RefusedTransient,
	"EntityNotFoundException":              awsapi.RefusedPermanent,
	"InternalServiceException":             awsapi.Open,
	"InvalidInputException":                awsapi.RefusedPermanent,
	"OperationTimeoutException":            awsapi.Open, // HTTP 400, but the run may have been created
	"ResourceNumberLimitExceededException": awsapi.RefusedTransient,
}

// Start starts a run, unless this attempt has one already.
func (g api) Start(ctx context.Context) (job.Started, error) {
	if h, found, err := g.find(ctx, 1); found || err != nil {
		return job.Started{Handle: h}, awsapi.Before(err)
	}
	out, err := awsapi.Call(ctx, g.To("start"), g.start, &service.StartJobRunInput{JobName: &g.JobName, Arguments: g.arguments()},
		func(o *service.Options) { o.Retryer = awsapi.Once })
	if err != nil {
		return job.Started{}, awsapi.Started(err)
	}
	if aws.ToString(out.JobRunId) == "" {
		return job.Started{}, fmt.Errorf("%s: answered without the run's id", g.What("start"))
	}
	return job.Started{Handle: run.Handle(*out.JobRunId)}, nil
}

const (
	perPage = 100 // runs in one page
	pages   = 10  // that a search reads
)

// Find searches the latest runs for the attempt's argument.
func (g api) Find(ctx context.Context) (run.Handle, bool, error) {
	return g.find(ctx, pages)
}

// find searches the given number of pages of runs, the latest first.
func (g api) find(ctx context.Context, pages int) (h run.Handle, found bool, err error) {
	if !g.searchable() {
		return "", false, nil
	}
	var next *string
	for range pages {
		out, err := g.runs(ctx, perPage, next)
		if err != nil {
			return "", false, err
		}
		for _, r := range out.JobRuns {
			if r.Arguments[runIDArgument] == string(g.Attempt.ID) {
				return run.Handle(aws.ToString(r.Id)), true, nil
			}
		}
		if next = out.NextToken; aws.ToString(next) == "" {
			break
		}
	}
	return "", false, nil
}

// runs returns a page of the job's runs.
func (g api) runs(ctx context.Context, most int32, next *string) (*service.GetJobRunsOutput, error) {
	out, err := awsapi.Call(ctx, g.To("list the runs of"), g.list, &service.GetJobRunsInput{JobName: &g.JobName, MaxResults: &most, NextToken: next})
	if err == nil && out.JobRuns == nil {
		err = fmt.Errorf("%s: answered without a list", g.What("list the runs of"))
	}
	return out, err
}

// Check lists the latest run, which requires that the job exists, and no permission that a start
// does not require.
func (g api) Check(ctx context.Context) error {
	_, err := g.runs(ctx, 1, nil)
	return awsapi.Checked(err)
}

// Stop asks Glue to stop the run.
func (g api) Stop(ctx context.Context, h run.Handle) error {
	out, err := awsapi.Call(ctx, g.To("stop"), g.batchStop, &service.BatchStopJobRunInput{JobName: &g.JobName, JobRunIds: []string{string(h)}})
	if err != nil {
		return err
	}
	if len(out.SuccessfulSubmissions) > 0 {
		return nil
	}
	r, err := g.readRun(ctx, h)
	if err != nil {
		return err
	}
	if states[r.JobRunState].Done || r.JobRunState == types.JobRunStateStopping {
		return nil
	}
	return fmt.Errorf("%s: %s", g.What("stop"), g.Attempt.Secrets.Text(whyNotStopped(out.Errors)))
}

func whyNotStopped(errors []types.BatchStopJobRunError) string {
	for _, e := range errors {
		if e.ErrorDetail != nil {
			return aws.ToString(e.ErrorDetail.ErrorCode) + ": " + aws.ToString(e.ErrorDetail.ErrorMessage)
		}
	}
	return "the response does not say whether the job will end"
}

// states are the run states that Glue documents. A run whose state is not Done is running.
var states = map[types.JobRunState]job.Status{
	types.JobRunStateStarting: {},
	types.JobRunStateRunning:  {},
	types.JobRunStateStopping: {},
	types.JobRunStateWaiting:  {},

	types.JobRunStateSucceeded: {Done: true, Result: run.ResultSuccess},
	types.JobRunStateFailed:    {Done: true, Result: run.ResultFail},
	types.JobRunStateError:     {Done: true, Result: run.ResultFail, Category: run.Transient},
	types.JobRunStateStopped:   {Done: true, Result: run.ResultFail, Category: run.Transient},
	types.JobRunStateTimeout:   {Done: true, Result: run.ResultTimeout, Category: run.Timeout},
	types.JobRunStateExpired:   {Done: true, Result: run.ResultTimeout, Category: run.Timeout},
}

// Status reads a run, and checks the logs of one that reports success.
func (g api) Status(ctx context.Context, h run.Handle) (job.Status, error) {
	r, err := g.readRun(ctx, h)
	if err != nil {
		return job.Status{}, err
	}
	status, err := awsapi.StatusOf(g.To("get"), states, r.JobRunState, aws.ToString(r.ErrorMessage))
	if status.Result == run.ResultSuccess {
		return g.crossCheck(ctx, r, status)
	}
	return status, err
}

// readRun reads a run.
func (g api) readRun(ctx context.Context, h run.Handle) (types.JobRun, error) {
	out, err := awsapi.Call(ctx, g.To("get"), g.get, &service.GetJobRunInput{JobName: &g.JobName, RunId: aws.String(string(h))})
	switch {
	case awsapi.HasCode(err, "EntityNotFoundException"):
		return types.JobRun{}, fmt.Errorf("%w: %w", err, job.ErrUnknownHandle)
	case err != nil:
		return types.JobRun{}, err
	case out.JobRun == nil || out.JobRun.JobRunState == "":
		return types.JobRun{}, fmt.Errorf("%s: answered without a state", g.What("get"))
	}
	return *out.JobRun, nil
}
