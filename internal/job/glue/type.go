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

// Type starts runs of Glue jobs and polls them. Glue does not recognise a repeated start, but lists the arguments of
// its runs: a run whose start was not answered is found by its --interlock_run_id.
type Type struct {
	glue *awsapi.Clients[calls]
	logs *awsapi.Clients[filterLogs]
}

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

var (
	_ job.Type    = (*Type)(nil)
	_ job.Finder  = (*Type)(nil)
	_ job.Stopper = (*Type)(nil)
	_ job.Checker = (*Type)(nil)
)

// New returns a Type that uses the configuration of c.
func New(c *awsapi.Cloud) *Type {
	return &Type{
		glue: awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) calls {
			client := service.NewFromConfig(cfg, func(o *service.Options) { o.HTTPClient = via(o.BaseEndpoint) })
			return calls{client.StartJobRun, client.GetJobRuns, client.GetJobRun, client.BatchStopJobRun}
		}),
		logs: awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) filterLogs {
			return cloudwatchlogs.NewFromConfig(cfg, func(o *cloudwatchlogs.Options) {
				o.HTTPClient = via(o.BaseEndpoint)
				o.Retryer = retry.NewStandard() // the logs are read only once
			}).FilterLogEvents
		}),
	}
}

// api is Glue with one attempt's config.
type api struct {
	*Config
	calls
	attempt job.Attempt
}

func (t *Type) api(ctx context.Context, a job.Attempt) (api, error) {
	c, ok := a.Config.(*Config)
	if !ok {
		return api{}, job.Refuse(run.Permanent, "start glue job: its config is a %T", a.Config)
	}
	made, err := t.glue.In(ctx, c.Region)
	return api{c, made, a}, err
}

// what returns the beginning of an error about a call.
func (g api) what(verb string) string {
	return g.attempt.Secrets.Text(fmt.Sprintf("%s glue job %q", verb, g.JobName))
}

func (g api) request(verb string) awsapi.Request {
	return awsapi.Request{Attempt: g.attempt, What: g.what(verb), Errors: serviceErrors}
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
func (t *Type) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	g, err := t.api(ctx, a)
	if err != nil {
		return job.Started{}, err
	}
	if id, found, err := g.find(ctx, 1); found || err != nil {
		return job.Started{Handle: run.Handle(id)}, awsapi.Before(err)
	}
	out, err := awsapi.Call(ctx, g.request("start"), g.start, &service.StartJobRunInput{JobName: &g.JobName, Arguments: g.arguments()},
		func(o *service.Options) { o.Retryer = awsapi.Once })
	if err != nil {
		return job.Started{}, awsapi.Started(err)
	}
	if aws.ToString(out.JobRunId) == "" {
		return job.Started{}, fmt.Errorf("%s: answered without the run's id", g.what("start"))
	}
	return job.Started{Handle: run.Handle(*out.JobRunId)}, nil
}

const (
	perPage = 100 // runs in one page
	pages   = 10  // that a search reads
)

// Find searches the latest runs for the attempt's argument.
func (t *Type) Find(ctx context.Context, a job.Attempt) (run.Handle, bool, error) {
	g, err := t.api(ctx, a)
	if err != nil {
		return "", false, err
	}
	id, found, err := g.find(ctx, pages)
	return run.Handle(id), found, err
}

// find searches the given number of pages of runs, the latest first.
func (g api) find(ctx context.Context, pages int) (id string, found bool, err error) {
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
			if r.Arguments[runIDArgument] == string(g.attempt.ID) {
				return aws.ToString(r.Id), true, nil
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
	out, err := awsapi.Call(ctx, g.request("list the runs of"), g.list, &service.GetJobRunsInput{JobName: &g.JobName, MaxResults: &most, NextToken: next})
	if err == nil && out.JobRuns == nil {
		err = fmt.Errorf("%s: answered without a list", g.what("list the runs of"))
	}
	return out, err
}

// Check lists the latest run, which requires that the job exists, and no permission that a start does not require.
func (t *Type) Check(ctx context.Context, a job.Attempt) error {
	g, err := t.api(ctx, a)
	if err != nil {
		return err
	}
	_, err = g.runs(ctx, 1, nil)
	return awsapi.Checked(err)
}

// Stop asks Glue to stop the run.
func (t *Type) Stop(ctx context.Context, a job.Attempt, h run.Handle) error {
	g, err := t.api(ctx, a)
	if err != nil {
		return err
	}
	out, err := awsapi.Call(ctx, g.request("stop"), g.batchStop, &service.BatchStopJobRunInput{JobName: &g.JobName, JobRunIds: []string{string(h)}})
	if err != nil {
		return err
	}
	if len(out.SuccessfulSubmissions) > 0 {
		return nil
	}
	r, err := g.look(ctx, h)
	if err != nil {
		return err
	}
	if states[r.JobRunState].Done || r.JobRunState == types.JobRunStateStopping {
		return nil
	}
	return fmt.Errorf("%s: %s", g.what("stop"), a.Secrets.Text(whyNotStopped(out.Errors)))
}

func whyNotStopped(errors []types.BatchStopJobRunError) string {
	for _, e := range errors {
		if e.ErrorDetail != nil {
			return aws.ToString(e.ErrorDetail.ErrorCode) + ": " + aws.ToString(e.ErrorDetail.ErrorMessage)
		}
	}
	return "answered without saying whether it will end"
}
