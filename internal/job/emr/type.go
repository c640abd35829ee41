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
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/run"
)

// maxName is how long a step's name may be.
const maxName = 256

// Type adds steps to clusters and polls them. EMR does not recognise a repeated request, but lists the names of its
// steps: those of an attempt end in its id. A job's handle is the ids of its steps.
type Type struct{ clients *awsapi.Clients[calls] }

// calls are the EMR operations that the type uses.
type calls struct {
	add             call[service.AddJobFlowStepsInput, service.AddJobFlowStepsOutput]
	listSteps       call[service.ListStepsInput, service.ListStepsOutput]
	cancel          call[service.CancelStepsInput, service.CancelStepsOutput]
	describeCluster call[service.DescribeClusterInput, service.DescribeClusterOutput]
}

type call[In, Out any] = awsapi.Operation[In, Out, service.Options]

var (
	_ job.Type    = (*Type)(nil)
	_ job.Finder  = (*Type)(nil)
	_ job.Stopper = (*Type)(nil)
	_ job.Checker = (*Type)(nil)
)

// New returns a Type that uses the configuration of c.
func New(c *awsapi.Cloud) *Type {
	return &Type{awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) calls {
		client := service.NewFromConfig(cfg, func(o *service.Options) { o.HTTPClient = via(o.BaseEndpoint) })
		return calls{client.AddJobFlowSteps, client.ListSteps, client.CancelSteps, client.DescribeCluster}
	})}
}

// cluster is the cluster of one attempt.
type cluster struct {
	*Config
	calls
	attempt job.Attempt
}

func (t *Type) cluster(ctx context.Context, a job.Attempt) (cluster, error) {
	c, ok := a.Config.(*Config)
	if !ok {
		return cluster{}, job.Refuse(run.Permanent, "start emr job: its config is a %T", a.Config)
	}
	made, err := t.clients.In(ctx, c.Region)
	return cluster{c, made, a}, err
}

// what returns the beginning of an error about a call.
func (c cluster) what(verb string) string {
	return c.attempt.Secrets.Text(fmt.Sprintf("%s EMR cluster %s", verb, c.ClusterID))
}

func (c cluster) request(verb string) awsapi.Request {
	return awsapi.Request{Attempt: c.attempt, What: c.what(verb), Errors: serviceErrors}
}

// serviceErrors are the verdicts on the errors of the EMR operations that the type uses.
var serviceErrors = awsapi.Errors{
	"InternalServerError":     awsapi.Open, // HTTP 400: some steps may have been added
	"InternalServerException": awsapi.Open,
	"InvalidRequestException": awsapi.RefusedPermanent,
}

// stepLimit changes the category to TRANSIENT if the cluster has too many unfinished steps: EMR rejects the request
// as invalid, but accepts it once some of them have ended.
func stepLimit(err error) error {
	if f := (*awsapi.Failure)(nil); errors.As(err, &f) && f.Certain && strings.Contains(f.Text, "Maximum number of active steps") {
		f.Category = run.Transient
	}
	return err
}

// Start adds the steps, unless the cluster has them already.
func (t *Type) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	c, err := t.cluster(ctx, a)
	if err != nil {
		return job.Started{}, err
	}
	if ids, err := c.find(ctx, 1); len(ids) > 0 || err != nil {
		return job.Started{Handle: handleOf(ids)}, awsapi.Before(err)
	}
	out, err := awsapi.Call(ctx, c.request("add steps to"), c.add, &service.AddJobFlowStepsInput{JobFlowId: &c.ClusterID, Steps: c.steps()},
		func(o *service.Options) { o.Retryer = awsapi.Once })
	if err != nil {
		return job.Started{}, awsapi.Started(stepLimit(err))
	}
	if len(out.StepIds) != len(c.Steps) {
		return job.Started{}, fmt.Errorf("%s: answered with %d ids for %d steps", c.what("add steps to"), len(out.StepIds), len(c.Steps))
	}
	return job.Started{Handle: handleOf(out.StepIds)}, nil
}

// handleOf returns the handle of a job with these steps.
func handleOf(ids []string) run.Handle { return run.Handle(strings.Join(ids, ",")) }

// stepsOf returns the ids of a job's steps.
func stepsOf(h run.Handle) []string { return strings.Split(string(h), ",") }

// suffix returns the end of the names of the attempt's steps.
func (c cluster) suffix() string { return " " + string(c.attempt.ID) }

// steps converts the file's steps for the API, with the attempt's id in their names.
func (c cluster) steps() []types.StepConfig {
	var steps []types.StepConfig
	for _, s := range c.Steps {
		name := strings.ToValidUTF8(s.Name[:min(len(s.Name), maxName-len(c.suffix()))], "")
		steps = append(steps, types.StepConfig{
			Name: aws.String(name + c.suffix()), ActionOnFailure: types.ActionOnFailure(s.ActionOnFailure),
			HadoopJarStep: &types.HadoopJarStepConfig{Jar: &s.Jar, Args: document.Strings(s.Args), MainClass: s.mainClass(), Properties: s.properties()},
		})
	}
	return steps
}

func (s Step) mainClass() *string {
	if s.MainClass == "" {
		return nil
	}
	return &s.MainClass
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
func (t *Type) Find(ctx context.Context, a job.Attempt) (run.Handle, bool, error) {
	c, err := t.cluster(ctx, a)
	if err != nil {
		return "", false, err
	}
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
	out, err := awsapi.Call(ctx, c.request("list the steps of"), c.listSteps, in)
	if err == nil && out.Steps == nil {
		err = fmt.Errorf("%s: answered without a list", c.what("list the steps of"))
	}
	return out, err
}

// Check reads the cluster.
func (t *Type) Check(ctx context.Context, a job.Attempt) error {
	c, err := t.cluster(ctx, a)
	if err != nil {
		return err
	}
	out, err := awsapi.Call(ctx, c.request("get"), c.describeCluster, &service.DescribeClusterInput{ClusterId: &c.ClusterID})
	if err != nil {
		return awsapi.Checked(err)
	}
	if out.Cluster == nil || out.Cluster.Status == nil || out.Cluster.Status.State == "" {
		return fmt.Errorf("%s: answered without a state", c.what("get"))
	}
	switch state := out.Cluster.Status.State; state {
	case types.ClusterStateTerminating, types.ClusterStateTerminated, types.ClusterStateTerminatedWithErrors:
		return job.Refuse(run.Permanent, "%s: it is %s; name a running one in job.config.clusterID", c.what("get"), state)
	}
	return nil
}

// Stop cancels the steps that have not ended.
func (t *Type) Stop(ctx context.Context, a job.Attempt, h run.Handle) error {
	c, err := t.cluster(ctx, a)
	if err != nil {
		return err
	}
	out, err := awsapi.Call(ctx, c.request("cancel steps of"), c.cancel, &service.CancelStepsInput{
		ClusterId: &c.ClusterID, StepIds: stepsOf(h), StepCancellationOption: types.StepCancellationOptionTerminateProcess,
	})
	if err != nil {
		return err
	}
	if len(out.CancelStepsInfoList) > 0 && !slices.ContainsFunc(out.CancelStepsInfoList, refused) {
		return nil
	}
	seen, err := c.look(ctx, h)
	if err != nil {
		return err
	}
	for _, s := range seen {
		if !states[stateOf(s)].Done && stateOf(s) != types.StepStateCancelPending {
			return fmt.Errorf("%s: %s", c.what("cancel steps of"), a.Secrets.Text(whyNotCancelled(out.CancelStepsInfoList)))
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
	return "answered without saying whether they will end"
}
