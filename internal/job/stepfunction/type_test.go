package stepfunction_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/awstest"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/job/stepfunction"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

var kind = awstest.Kind{
	Type:    func(c *awsapi.Cloud) job.Type { return stepfunction.New(c) },
	Config:  func() pipeline.JobConfig { return new(stepfunction.Config) },
	Service: "states",
}

const machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:"

// execution is an execution as Step Functions returns it.
type execution struct {
	ExecutionArn    string  `json:"executionArn"`
	StateMachineArn string  `json:"stateMachineArn"`
	Name            string  `json:"name"`
	Status          string  `json:"status"`
	StartDate       float64 `json:"startDate"`
	Input           string  `json:"input"`
	Output          string  `json:"output,omitempty"`
	Error           string  `json:"error,omitempty"`
	Cause           string  `json:"cause,omitempty"`
}

// target is a fake Step Functions whose state machines behave as their names say.
type target struct {
	awstest.Target
	executions map[string]*execution
}

func newTarget(t *testing.T) *target {
	s := &target{executions: map[string]*execution{}}
	s.Serve(t, kind, awstest.Operations{
		"AWSStepFunctions.StartExecution":       s.start,
		"AWSStepFunctions.DescribeExecution":    s.describe,
		"AWSStepFunctions.DescribeStateMachine": s.describeMachine,
		"AWSStepFunctions.StopExecution":        s.stop,
	})
	return s
}

// refusals are the answers to starts that name such a target.
var refusals = awstest.Refusals{
	"throttled": {400, "ThrottlingException", "Rate exceeded"},
	"crowded":   {400, "ExecutionLimitExceeded", "The maximum number of running executions has been reached"},
	"forbidden": {400, "AccessDeniedException", "not authorized to perform: states:StartExecution"},
}

func (s *target) start(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		StateMachineArn string `json:"stateMachineArn"`
		Name            string `json:"name"`
		Input           string `json:"input"`
	}](s.T, r)
	s.Lock()
	defer s.Unlock()
	kind := strings.Split(strings.TrimPrefix(in.StateMachineArn, machine), ":")[0]
	if refusals.Answer(w, kind) {
		return
	}
	arn := "arn:aws:states:eu-west-1:123456789012:execution:" + kind + ":" + in.Name
	created := &execution{ExecutionArn: arn, StateMachineArn: in.StateMachineArn, Name: in.Name, Status: "RUNNING", StartDate: 1772521200.5, Input: in.Input}
	if state, ok := strings.CutPrefix(kind, "state-"); ok {
		if created.Status = state; state == "SUCCEEDED" {
			created.Output = `{"rows": 3}`
		} else {
			created.Error, created.Cause = "States.TaskFailed", "the task said "+in.Input
		}
	}
	known := s.executions[arn]
	if known == nil {
		s.executions[arn] = created
	}
	s.MayLose()
	if known != nil && (known.Input != in.Input || known.Status != "RUNNING") {
		awstest.Fail(w, 400, "ExecutionAlreadyExists", "Execution Already Exists: '"+arn+"'")
		return
	}
	awstest.Reply(w, map[string]any{"executionArn": arn, "startDate": 1772521200.5})
}

func (s *target) describeMachine(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		StateMachineArn string `json:"stateMachineArn"`
		IncludedData    string `json:"includedData"`
	}](s.T, r)
	out := map[string]any{"stateMachineArn": in.StateMachineArn, "name": "m", "status": "ACTIVE", "type": "STANDARD", "definition": "{}", "roleArn": "arn:aws:iam::123456789012:role/x", "creationDate": 1772521200.5}
	switch name := strings.TrimPrefix(in.StateMachineArn, machine); {
	case name == "missing":
		awstest.Fail(w, 400, "StateMachineDoesNotExist", "State Machine Does Not Exist: '"+in.StateMachineArn+"'")
		return
	case name == "deleted":
		out["status"] = "DELETING"
	case name == "express":
		out["type"] = "EXPRESS"
	case strings.Contains(name, ":"):
		s.T.Errorf("described %s, which may be an alias", in.StateMachineArn)
	}
	awstest.Reply(w, out)
}

func (s *target) describe(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		ExecutionArn string `json:"executionArn"`
	}](s.T, r)
	s.Lock()
	defer s.Unlock()
	switch known := s.executions[in.ExecutionArn]; {
	case known != nil:
		awstest.Reply(w, known)
	case strings.HasPrefix(in.ExecutionArn, "arn:"):
		awstest.Fail(w, 400, "ExecutionDoesNotExist", "Execution Does Not Exist: '"+in.ExecutionArn+"'")
	default:
		awstest.Fail(w, 400, "InvalidArn", "Invalid Arn: 'Invalid ARN prefix: "+in.ExecutionArn+"'")
	}
}

func (s *target) stop(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		ExecutionArn string `json:"executionArn"`
		Cause        string `json:"cause"`
	}](s.T, r)
	s.Lock()
	defer s.Unlock()
	known := s.executions[in.ExecutionArn]
	if known == nil || known.Status != "RUNNING" || strings.Contains(known.StateMachineArn, "stubborn") {
		awstest.Fail(w, 400, "ValidationException", "cannot be stopped")
		return
	}
	known.Status, known.Cause = "ABORTED", in.Cause
	awstest.Reply(w, map[string]any{"stopDate": 1772521200.5})
}

// ofAttempt returns how many executions an attempt has.
func (s *target) ofAttempt(_ *testing.T, id run.AttemptID) int {
	s.Lock()
	defer s.Unlock()
	n := 0
	for _, e := range s.executions {
		if strings.Contains(e.Input, string(id)) {
			n++
		}
	}
	return n
}

func config(name string) string {
	return "stateMachineARN: " + machine + name + "\ninput: {run: '${RUN_ID}', token: '${env:JOBTEST_TOKEN}'}\n"
}

func ended(state string) string { return config("state-" + state) }

func (s *target) bench() jobtest.Bench {
	ends := []jobtest.End{
		{Name: "SUCCEEDED", Config: ended("SUCCEEDED"), Want: job.Status{Result: run.ResultSuccess, Output: `{"rows": 3}`}},
		{Name: "FAILED", Config: ended("FAILED"), Want: job.Status{Result: run.ResultFail, Message: "FAILED: States.TaskFailed the task said "}},
		{Name: "ABORTED", Config: ended("ABORTED"), Want: job.Status{Result: run.ResultFail, Category: run.Transient, Message: "ABORTED: "}},
		{Name: "TIMED_OUT", Config: ended("TIMED_OUT"), Want: job.Status{Result: run.ResultTimeout, Category: run.Timeout, Message: "TIMED_OUT: "}},
	}
	busy := awstest.Busy(types.ExecutionStatus("").Values(), ends, ended)
	return s.Bench(jobtest.Bench{
		Good: ended("SUCCEEDED"), Endless: config("endless"), Leaking: ended("FAILED"),
		Ends: ends, Busy: busy,
		Undocumented: map[string]string{"a state of tomorrow": ended("DREAMING")},
		Refused: []jobtest.Refusal{
			{Name: "no such machine", Config: config("missing"), Want: job.Refusal{Category: run.Permanent, Reason: "StateMachineDoesNotExist"}},
			{Name: "deleted", Config: config("deleted"), Want: job.Refusal{Category: run.Permanent, Reason: "it is being deleted"}},
			{Name: "express", Config: config("express"), Want: job.Refusal{Category: run.Permanent, Reason: "use one of type STANDARD"}},
			{Name: "not allowed", Config: config("forbidden"), Want: job.Refusal{Category: run.Permanent, Reason: "states:StartExecution; the controller's AWS role lacks a permission"}},
			{Name: "throttled", Config: config("throttled"), Want: job.Refusal{Category: run.Transient, Reason: "ThrottlingException"}},
			{Name: "too many", Config: config("crowded"), Want: job.Refusal{Category: run.Transient, Reason: "ExecutionLimitExceeded"}},
			{Name: "too large", Config: "stateMachineARN: " + machine + "endless\ninput: ['${RUN_ID}', '" + strings.Repeat("x", 256<<10) + "']\n", Want: job.Refusal{Category: run.Permanent, Reason: "Step Functions accepts at most 262144"}},
		},
		Unfit: []jobtest.Refusal{
			{Name: "no such machine", Config: config("missing"), Want: job.Refusal{Category: run.Permanent, Reason: "get " + machine + "missing: StateMachineDoesNotExist"}},
			{Name: "express", Config: config("express"), Want: job.Refusal{Category: run.Permanent, Reason: "use one of type STANDARD"}},
		},
		Starts: s.ofAttempt,
	})
}

func TestStepFunction(t *testing.T) { jobtest.Run(t, newTarget(t).bench()) }

// TestWhateverStepFunctionsAnswers knows that a start reads the state machine first.
func TestWhateverStepFunctionsAnswers(t *testing.T) {
	jobtest.RunHTTP(t, jobtest.HTTPBench{
		New: kind.New, NewConfig: kind.Config, Want: awstest.RefusedBefore(), Trusted: true, Config: func(string) string { return config("any-${env:JOBTEST_TOKEN}") },
		Begins: func(r *http.Request) bool { return r.Header.Get("X-Amz-Target") == "AWSStepFunctions.StartExecution" },
		Handle: func(run.AttemptID) run.Handle { return "x" },
	})
}

func TestEveryErrorOfStepFunctionsHasItsVerdict(t *testing.T) {
	newTarget(t).CheckErrors(t, awstest.ErrorBench{
		Service: "sfn", Operations: []string{"StartExecution", "DescribeExecution", "DescribeStateMachine", "StopExecution"}, Errors: stepfunction.ServiceErrors,
		Adopted: []string{"ExecutionAlreadyExists"},
		Begins:  "AWSStepFunctions.StartExecution", Config: config("any"),
	})
}

func TestTheInputIsJSON(t *testing.T) {
	for input, want := range map[string]string{
		"": "{}", "input: {a: '<&', b: [1, true]}\n": `{"a":"<&","b":[1,true]}`, "input: '{\"hour\": ${ATTEMPT}}'\n": `{"hour": 1}`, "input: [1]\n": "[1]", "input: 5\n": "5",
	} {
		s := newTarget(t)
		_, _, started := s.Begin(t, "orders/cron/2026-03-03/1", "stateMachineARN: "+machine+"endless\n"+input)
		if got := s.executions["arn:aws:states:eu-west-1:123456789012:execution:endless:"+string(started.Handle)].Input; got != want {
			t.Errorf("%s: got %s, want %s", input, got, want)
		}
	}
}

// TestAVersionOrAliasIsStartedAsItIs also shows that its executions are found under the machine's
// own name.
func TestAVersionOrAliasIsStartedAsItIs(t *testing.T) {
	for _, qualifier := range []string{":7", ":prod"} {
		s := newTarget(t)
		kind, a, started := s.Begin(t, "orders/cron/2026-03-03/1", "stateMachineARN: "+machine+"endless"+qualifier+"\n")
		if got := s.executions["arn:aws:states:eu-west-1:123456789012:execution:endless:"+string(started.Handle)].StateMachineArn; got != machine+"endless"+qualifier {
			t.Errorf("started %s", got)
		}
		if h, found, err := kind.(job.Finder).Find(t.Context(), a); err != nil || !found || h != started.Handle {
			t.Errorf("got %s, %v, %v; want %s", h, found, err, started.Handle)
		}
	}
}

func TestAnExecutionThatWasStartedWithAnotherInputIsAdopted(t *testing.T) {
	s := newTarget(t)
	_, _, first := s.Begin(t, "orders/cron/2026-03-03/1", "stateMachineARN: "+machine+"endless\ninput: {a: 1}\n")
	_, _, again := s.Begin(t, "orders/cron/2026-03-03/1", "stateMachineARN: "+machine+"endless\ninput: {a: 2}\n")
	if first.Handle != again.Handle || len(s.executions) != 1 {
		t.Errorf("got %s and %s", first.Handle, again.Handle)
	}
}

func TestTheRegionIsThatOfTheARN(t *testing.T) {
	s := newTarget(t)
	for config, want := range map[string]string{"": "/eu-west-1/states/", "region: us-east-1\n": "/us-east-1/states/"} {
		kind := s.New(t)
		t.Setenv("AWS_REGION", "ap-south-1")
		a := s.Expand(t, "stateMachineARN: "+machine+"endless\n"+config)
		if err := kind.(job.Checker).Check(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		calls := s.Wire.Calls()
		if got := calls[len(calls)-1].Header.Get("Authorization"); !strings.Contains(got, want) {
			t.Errorf("%s: signed as %s", config, got)
		}
	}
}

func TestAnExecutionThatDoesNotEndIsToldToThoseWhoStopIt(t *testing.T) {
	kind, a, started := newTarget(t).Begin(t, "orders/cron/2026-03-03/1", config("stubborn"))
	if err := kind.(job.Stopper).Stop(t.Context(), a, started.Handle); err == nil || !strings.Contains(err.Error(), "cannot be stopped") {
		t.Errorf("got %v", err)
	}
}
