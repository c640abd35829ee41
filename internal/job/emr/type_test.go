package emr_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/emr/types"
	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/awstest"
	"github.com/interlock-go/interlock/internal/job/emr"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

var kind = awstest.Kind{
	Type:    func(c *awsapi.Cloud) job.Type { return emr.New(c) },
	Config:  func() pipeline.JobConfig { return new(emr.Config) },
	Service: "elasticmapreduce",
}

// step is a step as EMR returns it.
type step struct {
	ID     string `json:"Id"`
	Name   string
	Status stepStatus
	sent   string
}

type stepStatus struct {
	State             string
	StateChangeReason map[string]string
	FailureDetails    map[string]string `json:",omitempty"`
}

// target is a fake EMR whose steps behave as their names say.
type target struct {
	awstest.Target
	steps []*step
}

func newTarget(t *testing.T) *target {
	s := &target{}
	s.Serve(t, kind, awstest.Operations{
		"ElasticMapReduce.AddJobFlowSteps": s.add,
		"ElasticMapReduce.ListSteps":       s.list,
		"ElasticMapReduce.CancelSteps":     s.cancel,
		"ElasticMapReduce.DescribeCluster": s.describe,
	})
	return s
}

// refusals are the answers to starts that name such a target.
var refusals = awstest.Refusals{
	"j-ENDED":     {400, "ValidationException", "A job flow that is shutting down, terminated, or finished may not be modified."},
	"j-FULL":      {400, "ValidationException", "Maximum number of active steps(State = 'Running', 'Pending' or 'Cancel_Pending') for cluster exceeded."},
	"j-BUSY":      {400, "ThrottlingException", "Rate exceeded"},
	"j-FORBIDDEN": {400, "AccessDeniedException", "not authorized to perform: elasticmapreduce:AddJobFlowSteps"},
}

func (s *target) add(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		JobFlowID string `json:"JobFlowId"`
		Steps     []json.RawMessage
	}](s.T, r)
	s.Lock()
	defer s.Unlock()
	if refusals.Answer(w, in.JobFlowID) {
		return
	}
	ids := []string{}
	for _, sent := range in.Steps {
		var named struct{ Name string }
		json.Unmarshal(sent, &named)
		created := &step{ID: fmt.Sprintf("s-%012X", len(s.steps)+1), Name: named.Name, Status: stepStatus{State: "RUNNING"}, sent: string(sent)}
		if state, ok := strings.CutPrefix(strings.Fields(named.Name)[0], "state-"); ok {
			created.Status.State = state
			created.Status.FailureDetails = map[string]string{"Reason": "Main Class Error.", "Message": "Exit 3 of " + string(sent), "LogFile": "s3://logs/stderr.gz"}
		}
		s.steps = append(s.steps, created)
		ids = append(ids, created.ID)
	}
	s.MayLose()
	awstest.Reply(w, map[string]any{"StepIds": ids})
}

func (s *target) list(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		ClusterID string   `json:"ClusterId"`
		StepIDs   []string `json:"StepIds"`
		Marker    string
	}](s.T, r)
	s.Lock()
	defer s.Unlock()
	if in.ClusterID == "j-MISSING" {
		awstest.Fail(w, 400, "InvalidRequestException", "Cluster id 'j-MISSING' is not valid.")
		return
	}
	all := []*step{}
	for i := len(s.steps) - 1; i >= 0; i-- {
		if in.StepIDs == nil || slices.Contains(in.StepIDs, s.steps[i].ID) {
			all = append(all, s.steps[i])
		}
	}
	if len(in.StepIDs) > 10 || in.StepIDs != nil && len(all) < len(in.StepIDs) {
		awstest.Fail(w, 400, "InvalidRequestException", "Step id '"+in.StepIDs[0]+"' is not valid.")
		return
	}
	from := 0
	fmt.Sscanf(in.Marker, "from-%d", &from)
	out := map[string]any{"Steps": all[min(from, len(all)):min(from+50, len(all))]}
	if from+50 < len(all) {
		out["Marker"] = fmt.Sprintf("from-%d", from+50)
	}
	awstest.Reply(w, out)
}

func (s *target) cancel(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		ClusterID              string   `json:"ClusterId"`
		StepIDs                []string `json:"StepIds"`
		StepCancellationOption string
	}](s.T, r)
	s.Lock()
	defer s.Unlock()
	infos := []map[string]string{}
	for _, known := range s.steps {
		switch {
		case !slices.Contains(in.StepIDs, known.ID):
		case known.Status.State != "RUNNING" || strings.HasPrefix(known.Name, "stubborn"):
			infos = append(infos, map[string]string{"StepId": known.ID, "Status": "FAILED", "Reason": "Cannot cancel a step in its state."})
		default:
			known.Status.State = "CANCELLED"
			infos = append(infos, map[string]string{"StepId": known.ID, "Status": "SUBMITTED"})
		}
	}
	awstest.Reply(w, map[string]any{"CancelStepsInfoList": infos})
}

func (s *target) describe(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		ClusterID string `json:"ClusterId"`
	}](s.T, r)
	state := "WAITING"
	switch in.ClusterID {
	case "j-MISSING":
		awstest.Fail(w, 400, "InvalidRequestException", "Cluster id 'j-MISSING' is not valid.")
		return
	case "j-ENDED":
		state = "TERMINATED_WITH_ERRORS"
	}
	awstest.Reply(w, map[string]any{"Cluster": map[string]any{"Id": in.ClusterID, "Name": "c", "Status": map[string]any{"State": state}}})
}

// ofAttempt returns how often the steps of an attempt were added.
func (s *target) ofAttempt(_ *testing.T, id run.AttemptID) int {
	s.Lock()
	defer s.Unlock()
	n := 0
	for _, known := range s.steps {
		if strings.HasSuffix(known.Name, " "+string(id)) {
			n++
		}
	}
	return n
}

// steps is a job with a step of each name.
func steps(names ...string) string {
	text := "clusterID: j-1\nsteps:\n"
	for _, name := range names {
		text += "- {name: " + name + ", args: [spark-submit, '${env:JOBTEST_TOKEN}']}\n"
	}
	return text
}

// ended is a job with a step that is in a state at once.
func ended(state string) string { return steps("state-" + state) }

func on(cluster string) string { return strings.Replace(steps("any"), "j-1", cluster, 1) }

func (s *target) bench() jobtest.Bench {
	failed := job.Status{Result: run.ResultFail, Message: "FAILED: Main Class Error. Exit 3"}
	cancelled := job.Status{Result: run.ResultFail, Category: run.Transient, Message: "CANCELLED: "}
	ends := []jobtest.End{
		{Name: "COMPLETED", Config: steps("state-COMPLETED"), Want: job.Status{Result: run.ResultSuccess}},
		{Name: "FAILED", Config: steps("state-FAILED"), Want: failed},
		{Name: "CANCELLED", Config: steps("state-CANCELLED"), Want: cancelled},
		{Name: "INTERRUPTED", Config: steps("state-INTERRUPTED"), Want: job.Status{Result: run.ResultFail, Category: run.Transient, Message: "INTERRUPTED: "}},
		{Name: "all of several", Config: steps("state-COMPLETED", "state-COMPLETED"), Want: job.Status{Result: run.ResultSuccess}},
		{Name: "the first that failed", Config: steps("state-COMPLETED", "state-FAILED", "state-CANCELLED"), Want: failed},
		{Name: "the first that was cancelled", Config: steps("state-CANCELLED", "state-FAILED"), Want: cancelled},
		{Name: "more than can be asked for at once", Config: steps(slices.Repeat([]string{"state-COMPLETED"}, 23)...), Want: job.Status{Result: run.ResultSuccess}},
	}
	busy := awstest.Busy(types.StepState("").Values(), ends, ended)
	busy["one of several"] = steps("state-COMPLETED", "state-FAILED", "state-RUNNING")
	return s.Bench(jobtest.Bench{
		Good: steps("state-COMPLETED"), Endless: steps("endless"), Leaking: steps("state-FAILED"),
		Ends: ends, Busy: busy,
		Undocumented: map[string]string{"a state of tomorrow": ended("DREAMING"), "that of one of several": steps("state-RUNNING", "state-DREAMING")},
		Refused: []jobtest.Refusal{
			{Name: "no such cluster", Config: on("j-MISSING"), Want: job.Refusal{Category: run.Permanent, Reason: "EMR cluster j-MISSING: InvalidRequestException: Cluster id 'j-MISSING' is not valid."}},
			{Name: "terminated", Config: on("j-ENDED"), Want: job.Refusal{Category: run.Permanent, Reason: "ValidationException"}},
			{Name: "too many steps", Config: on("j-FULL"), Want: job.Refusal{Category: run.Transient, Reason: "Maximum number of active steps"}},
			{Name: "throttled", Config: on("j-BUSY"), Want: job.Refusal{Category: run.Transient, Reason: "add steps to EMR cluster j-BUSY: ThrottlingException"}},
			{Name: "not allowed", Config: on("j-FORBIDDEN"), Want: job.Refusal{Category: run.Permanent, Reason: "elasticmapreduce:AddJobFlowSteps; the controller's AWS role lacks a permission"}},
		},
		Unfit: []jobtest.Refusal{
			{Name: "no such cluster", Config: on("j-MISSING"), Want: job.Refusal{Category: run.Permanent, Reason: "InvalidRequestException"}},
			{Name: "terminated", Config: on("j-ENDED"), Want: job.Refusal{Category: run.Permanent, Reason: "it is TERMINATED_WITH_ERRORS; name a running one in job.config.clusterID"}},
		},
		Starts: s.ofAttempt,
	})
}

func TestEMR(t *testing.T) { jobtest.Run(t, newTarget(t).bench()) }

// TestWhateverEMRAnswers knows that a start lists the steps first.
func TestWhateverEMRAnswers(t *testing.T) {
	jobtest.RunHTTP(t, jobtest.HTTPBench{
		New: kind.New, NewConfig: kind.Config, Want: awstest.RefusedBefore(), Trusted: true, Config: func(string) string { return steps("any") },
		Begins: func(r *http.Request) bool { return r.Header.Get("X-Amz-Target") == "ElasticMapReduce.AddJobFlowSteps" },
		Handle: func(run.AttemptID) run.Handle { return "s-1" },
	})
}

func TestEveryErrorOfEMRHasItsVerdict(t *testing.T) {
	newTarget(t).CheckErrors(t, awstest.ErrorBench{
		Service: "emr", Operations: []string{"AddJobFlowSteps", "ListSteps", "CancelSteps", "DescribeCluster"}, Errors: emr.ServiceErrors,
		Begins: "ElasticMapReduce.AddJobFlowSteps", Config: steps("any"),
	})
}

func TestStepsAreAddedAsTheFileHasThem(t *testing.T) {
	s := newTarget(t)
	s.Begin(t, "orders/cron/2026-03-03/1", `
clusterID: j-1
steps:
- {name: load, args: [spark-submit, --conf, 'b=1', --conf, 'a=2', s3://b/j.py, 3]}
- {name: `+strings.Repeat("ä", 200)+`, jar: s3://b/a.jar, mainClass: com.X, properties: {z: 1, a: two}, actionOnFailure: CANCEL_AND_WAIT}
`)
	want := []string{
		`{"ActionOnFailure":"CONTINUE","HadoopJarStep":{"Args":["spark-submit","--conf","b=1","--conf","a=2","s3://b/j.py","3"],"Jar":"command-runner.jar"},"Name":"load orders/cron/2026-03-03/1"}`,
		`{"ActionOnFailure":"CANCEL_AND_WAIT","HadoopJarStep":{"Args":[],"Jar":"s3://b/a.jar","MainClass":"com.X","Properties":[{"Key":"a","Value":"two"},{"Key":"z","Value":"1"}]},"Name":"` + strings.Repeat("ä", 115) + ` orders/cron/2026-03-03/1"}`,
	}
	if diff := cmp.Diff(want, []string{s.steps[0].sent, s.steps[1].sent}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStepsAreFoundBehindManyOthersAndInTheirOrder(t *testing.T) {
	s := newTarget(t)
	kind, a, started := s.Begin(t, "orders/cron/2026-03-03/1", steps("a", "b", "c"))
	s.Begin(t, "orders/cron/2026-03-03/11", steps(slices.Repeat([]string{"other"}, 98)...)) // so that a list ends among them
	h, found, err := kind.(job.Finder).Find(t.Context(), a)
	if err != nil || !found || h != started.Handle || strings.Count(string(h), ",") != 2 {
		t.Errorf("got %s, %v, %v; want %s", h, found, err, started.Handle)
	}
}

func TestAStartAdoptsTheStepsThatAnEarlierOneAdded(t *testing.T) {
	s := newTarget(t)
	_, _, first := s.Begin(t, "orders/cron/2026-03-03/1", steps("a", "b"))
	if _, _, again := s.Begin(t, "orders/cron/2026-03-03/1", steps("a", "b")); again.Handle != first.Handle || len(s.steps) != 2 {
		t.Errorf("got %s and %s, %d steps", first.Handle, again.Handle, len(s.steps))
	}
}

func TestStepsThatDoNotEndAreToldToThoseWhoStopThem(t *testing.T) {
	kind, a, started := newTarget(t).Begin(t, "orders/cron/2026-03-03/1", steps("endless", "stubborn"))
	err := kind.(job.Stopper).Stop(t.Context(), a, started.Handle)
	if err == nil || !strings.Contains(err.Error(), "Cannot cancel a step in its state.") {
		t.Errorf("got %v", err)
	}
}

func TestStepsThatTheClusterDoesNotKnowAreLost(t *testing.T) {
	s := newTarget(t)
	kind, a, _ := s.Begin(t, "orders/cron/2026-03-03/1", steps("endless"))
	if _, err := kind.Status(t.Context(), a, "s-GONE"); err == nil || !strings.Contains(err.Error(), job.ErrUnknownHandle.Error()) {
		t.Errorf("got %v", err)
	}
}
