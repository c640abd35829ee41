package emr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	service "github.com/aws/aws-sdk-go-v2/service/emr"
	"github.com/aws/aws-sdk-go-v2/service/emr/types"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/run"
)

// maxName is how long a step's name may be.
const maxName = 256

// Type adds steps to clusters and polls them. EMR does not recognise a repeated request, but lists
// the names of its steps: those of an attempt end in its id. A job's handle is the ids of its
// steps.
type Type struct{ job.ByTarget[Config, cluster] }

// calls are the EMR operations that the type uses.
type calls struct {
	add             call[service.AddJobFlowStepsInput, service.AddJobFlowStepsOutput]
	listSteps       call[service.ListStepsInput, service.ListStepsOutput]
	cancel          call[service.CancelStepsInput, service.CancelStepsOutput]
	describeCluster call[service.DescribeClusterInput, service.DescribeClusterOutput]
}

type call[In, Out any] = awsapi.Operation[In, Out, service.Options]

// New returns a Type that uses the configuration of c.
func New(c *awsapi.Cloud) *Type {
	clients := awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) calls {
		client := service.NewFromConfig(cfg, func(o *service.Options) { o.HTTPClient = via(o.BaseEndpoint) })
		return calls{client.AddJobFlowSteps, client.ListSteps, client.CancelSteps, client.DescribeCluster}
	})
	return &Type{func(ctx context.Context, a job.Attempt, c *Config) (cluster, error) {
		made, err := clients.In(ctx, c.Region)
		return cluster{c, made, awsapi.Subject{Attempt: a, Name: "EMR cluster " + c.ClusterID, Errors: serviceErrors}}, err
	}}
}

// cluster is the cluster of one attempt.
type cluster struct {
	*Config
	calls
	awsapi.Subject
}

// serviceErrors are the verdicts on the errors of the EMR operations that the type uses.
var serviceErrors = awsapi.Errors{
	"InternalServerError":     awsapi.Open, // HTTP 400: some steps may have been added
	"InternalServerException": awsapi.Open,
	"InvalidRequestException": awsapi.RefusedPermanent,
}

// stepLimit changes the category to TRANSIENT if the cluster has too many unfinished steps: EMR
// rejects the request as invalid, but accepts it once some of them have ended.
func stepLimit(err error) error {
	if f, ok := errors.AsType[*awsapi.Failure](err); ok && f.Certain && strings.Contains(f.Text, "Maximum number of active steps") {
		f.Category = run.Transient
	}
	return err
}

// Start adds the steps, unless the cluster has them already.
func (c cluster) Start(ctx context.Context) (job.Started, error) {
	if ids, err := c.find(ctx, 1); len(ids) > 0 || err != nil {
		return job.Started{Handle: handleOf(ids)}, awsapi.Before(err)
	}
	out, err := awsapi.Call(ctx, c.To("add steps to"), c.add, &service.AddJobFlowStepsInput{JobFlowId: &c.ClusterID, Steps: c.steps()},
		func(o *service.Options) { o.Retryer = awsapi.Once })
	if err != nil {
		return job.Started{}, awsapi.Started(stepLimit(err))
	}
	if len(out.StepIds) != len(c.Steps) {
		return job.Started{}, fmt.Errorf("%s: answered with %d ids for %d steps", c.What("add steps to"), len(out.StepIds), len(c.Steps))
	}
	return job.Started{Handle: handleOf(out.StepIds)}, nil
}

// handleOf returns the handle of a job with these steps.
func handleOf(ids []string) run.Handle { return run.Handle(strings.Join(ids, ",")) }

// stepsOf returns the ids of a job's steps.
func stepsOf(h run.Handle) []string { return strings.Split(string(h), ",") }

// suffix returns the end of the names of the attempt's steps.
func (c cluster) suffix() string { return " " + string(c.Attempt.ID) }

// steps converts the file's steps for the API, with the attempt's id in their names.
func (c cluster) steps() []types.StepConfig {
	var steps []types.StepConfig
	for _, s := range c.Steps {
		name := excerpt.Head(s.Name, maxName-len(c.suffix()))
		steps = append(steps, types.StepConfig{
			Name: aws.String(name + c.suffix()), ActionOnFailure: types.ActionOnFailure(s.ActionOnFailure),
			HadoopJarStep: &types.HadoopJarStepConfig{Jar: &s.Jar, Args: document.Strings(s.Args), MainClass: awsapi.Optional(s.MainClass), Properties: s.properties()},
		})
	}
	return steps
}

// properties returns the step's properties in order of their names.
func (s Step) properties() []types.KeyValue {
	var all []types.KeyValue
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		all = append(all, types.KeyValue{Key: &name, Value: aws.String(string(s.Properties[name]))})
	}
	return all
}

// pages is how many pages of 50 steps a search reads.
const pages = 20

// Find searches the cluster's latest steps for the attempt's id.
func (c cluster) Find(ctx context.Context) (run.Handle, bool, error) {
	ids, err := c.find(ctx, pages)
	return handleOf(ids), len(ids) > 0, err
}

// find searches the given number of pages for the attempt's steps, the latest first.
func (c cluster) find(ctx context.Context, pages int) ([]string, error) {
	var ids []string
	in := &service.ListStepsInput{ClusterId: &c.ClusterID}
	// The steps of an attempt were added together, but a page may end among them.
	for page := 0; page < pages || page == pages && len(ids) > 0; page++ {
		out, err := c.list(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, s := range out.Steps {
			if strings.HasSuffix(aws.ToString(s.Name), c.suffix()) {
				ids = append(ids, aws.ToString(s.Id))
			}
		}
		if in.Marker = out.Marker; len(ids) >= len(c.Steps) || aws.ToString(in.Marker) == "" {
			break
		}
	}
	slices.Reverse(ids)
	return ids, nil
}

func (c cluster) list(ctx context.Context, in *service.ListStepsInput) (*service.ListStepsOutput, error) {
	out, err := awsapi.Call(ctx, c.To("list the steps of"), c.listSteps, in)
	if err == nil && out.Steps == nil {
		err = fmt.Errorf("%s: answered without a list", c.What("list the steps of"))
	}
	return out, err
}

// Check reads the cluster.
func (c cluster) Check(ctx context.Context) error {
	out, err := awsapi.Call(ctx, c.To("get"), c.describeCluster, &service.DescribeClusterInput{ClusterId: &c.ClusterID})
	if err != nil {
		return awsapi.Checked(err)
	}
	if out.Cluster == nil || out.Cluster.Status == nil || out.Cluster.Status.State == "" {
		return fmt.Errorf("%s: answered without a state", c.What("get"))
	}
	switch state := out.Cluster.Status.State; state {
	case types.ClusterStateTerminating, types.ClusterStateTerminated, types.ClusterStateTerminatedWithErrors:
		return job.Refuse(run.Permanent, "%s: it is %s; name a running one in job.config.clusterID", c.What("get"), state)
	}
	return nil
}

// Stop cancels the steps that have not ended.
func (c cluster) Stop(ctx context.Context, h run.Handle) error {
	out, err := awsapi.Call(ctx, c.To("cancel steps of"), c.cancel, &service.CancelStepsInput{
		ClusterId: &c.ClusterID, StepIds: stepsOf(h), StepCancellationOption: types.StepCancellationOptionTerminateProcess,
	})
	if err != nil {
		return err
	}
	if len(out.CancelStepsInfoList) > 0 && !slices.ContainsFunc(out.CancelStepsInfoList, refused) {
		return nil
	}
	seen, err := c.readSteps(ctx, h)
	if err != nil {
		return err
	}
	for _, s := range seen {
		if !states[stateOf(s)].Done && stateOf(s) != types.StepStateCancelPending {
			return fmt.Errorf("%s: %s", c.What("cancel steps of"), c.Attempt.Secrets.Text(whyNotCancelled(out.CancelStepsInfoList)))
		}
	}
	return nil
}

func refused(i types.CancelStepsInfo) bool {
	return i.Status != types.CancelStepsRequestStatusSubmitted
}

func whyNotCancelled(infos []types.CancelStepsInfo) string {
	for _, i := range infos {
		if refused(i) {
			return aws.ToString(i.StepId) + ": " + aws.ToString(i.Reason)
		}
	}
	return "the response does not say whether the steps will end"
}

// states are the step states that EMR documents. A step whose state is not Done is running.
var states = map[types.StepState]job.Status{
	types.StepStatePending:       {},
	types.StepStateCancelPending: {},
	types.StepStateRunning:       {},

	types.StepStateCompleted:   {Done: true, Result: run.ResultSuccess},
	types.StepStateFailed:      {Done: true, Result: run.ResultFail},
	types.StepStateCancelled:   {Done: true, Result: run.ResultFail, Category: run.Transient},
	types.StepStateInterrupted: {Done: true, Result: run.ResultFail, Category: run.Transient},
}

// Status reads the steps. The job runs as long as one of them does; its result is that of the first
// step that did not complete.
func (c cluster) Status(ctx context.Context, h run.Handle) (job.Status, error) {
	steps, err := c.readSteps(ctx, h)
	if err != nil {
		return job.Status{}, err
	}
	status, running := states[types.StepStateCompleted], false
	for _, s := range steps {
		step, err := awsapi.StatusOf(c.To("get the steps of"), states, stateOf(s), reason(s))
		switch {
		case err != nil:
			return job.Status{}, err
		case !step.Done:
			running = true
		case status.Result == run.ResultSuccess && step.Result != run.ResultSuccess:
			status = awsapi.Failed(c.Attempt.Secrets, step, fmt.Sprintf("step %s %s %s", aws.ToString(s.Id), aws.ToString(s.Name), stateOf(s)), reason(s))
		}
	}
	if running {
		return job.Status{}, nil
	}
	return status, nil
}

// reason returns why a step did not complete.
func reason(s types.StepSummary) string {
	var parts []string
	if d := s.Status.FailureDetails; d != nil {
		parts = append(parts, aws.ToString(d.Reason), aws.ToString(d.Message), aws.ToString(d.LogFile))
	}
	if r := s.Status.StateChangeReason; r != nil {
		parts = append(parts, aws.ToString(r.Message))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func stateOf(s types.StepSummary) types.StepState {
	if s.Status == nil {
		return ""
	}
	return s.Status.State
}

// atOnce is how many step ids one request may contain.
const atOnce = 10

// readSteps reads the job's steps, in their order.
func (c cluster) readSteps(ctx context.Context, h run.Handle) ([]types.StepSummary, error) {
	var steps []types.StepSummary
	for ids := range slices.Chunk(stepsOf(h), atOnce) {
		out, err := c.list(ctx, &service.ListStepsInput{ClusterId: &c.ClusterID, StepIds: ids})
		switch {
		case awsapi.HasCode(err, "InvalidRequestException") && strings.Contains(err.Error(), "is not valid"): // the message names an id
			return nil, fmt.Errorf("%w: %w", err, job.ErrUnknownHandle)
		case err != nil:
			return nil, err
		}
		for _, id := range ids {
			i := slices.IndexFunc(out.Steps, func(s types.StepSummary) bool { return aws.ToString(s.Id) == id })
			if i < 0 {
				return nil, fmt.Errorf("%s: it has no step %q: %w", c.What("get the steps of"), id, job.ErrUnknownHandle)
			}
			if stateOf(out.Steps[i]) == "" {
				return nil, fmt.Errorf("%s: answered without a state", c.What("get the steps of"))
			}
			steps = append(steps, out.Steps[i])
		}
	}
	return steps, nil
}
