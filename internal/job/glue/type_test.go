package glue_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/glue/types"
	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/awstest"
	"github.com/interlock-go/interlock/internal/job/glue"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

var kind = awstest.Kind{
	Type:    func(c *awsapi.Cloud) job.Type { return glue.New(c) },
	Config:  func() pipeline.JobConfig { return new(glue.Config) },
	Service: "glue",
}

// jobRun is a run as Glue returns it.
type jobRun struct {
	ID           string `json:"Id"`
	JobName      string
	StartedOn    float64
	JobRunState  string
	ErrorMessage string `json:",omitempty"`
	Arguments    map[string]string
	LogGroupName string
}

// target is a fake Glue, with logs, whose jobs behave as their names say.
type target struct {
	awstest.Target
	runs     []*jobRun
	searches []search
	logs     func(w http.ResponseWriter, s search)
}

// search is a request to the logs.
type search struct {
	LogGroupName        string `json:"logGroupName"`
	LogStreamNamePrefix string `json:"logStreamNamePrefix"`
	FilterPattern       string `json:"filterPattern"`
	StartTime           int64  `json:"startTime"`
	NextToken           string `json:"nextToken"`
}

func newTarget(t *testing.T) *target {
	s := &target{logs: func(w http.ResponseWriter, _ search) { awstest.Reply(w, map[string]any{"events": []any{}}) }}
	s.Serve(t, kind, awstest.Operations{
		"AWSGlue.StartJobRun":           s.start,
		"AWSGlue.GetJobRuns":            s.list,
		"AWSGlue.GetJobRun":             s.get,
		"AWSGlue.BatchStopJobRun":       s.stop,
		"Logs_20140328.FilterLogEvents": s.filter,
	})
	return s
}

// refusals are the answers to starts that name such a target.
var refusals = awstest.Refusals{
	"crowded":   {400, "ConcurrentRunsExceededException", "Concurrent runs exceeded for crowded"},
	"throttled": {400, "ThrottlingException", "Rate exceeded"},
	"forbidden": {400, "AccessDeniedException", "User: arn:aws:sts::123456789012:assumed-role/interlock/i is not authorized to perform: glue:StartJobRun on resource: forbidden"},
	"invalid":   {400, "InvalidInputException", "Timeout not supported for GlueVersion 0.9"},
}

func (s *target) start(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		JobName   string
		Arguments map[string]string
	}](s.T, r)
	s.Lock()
	defer s.Unlock()
	if refusals.Answer(w, in.JobName) {
		return
	}
	created := &jobRun{
		ID: fmt.Sprintf("jr_%064x", len(s.runs)+1), JobName: in.JobName, StartedOn: 1772521200.5, JobRunState: "RUNNING",
		Arguments: in.Arguments, LogGroupName: "/aws-glue/jobs",
	}
	if state, ok := strings.CutPrefix(in.JobName, "state-"); ok {
		created.JobRunState, created.ErrorMessage = state, "SystemExit: 3 "+in.Arguments["--token"]
	}
	s.runs = append(s.runs, created)
	s.MayLose()
	if in.JobName == "slow" {
		awstest.Fail(w, 400, "OperationTimeoutException", "The operation timed out")
		return
	}
	awstest.Reply(w, map[string]any{"JobRunId": created.ID})
}

// known reports whether there is a job of that name.
func known(w http.ResponseWriter, name string) bool {
	switch name {
	case "missing":
		awstest.Fail(w, 400, "EntityNotFoundException", "Job Run does not exist for missing")
	case "unlisted":
		awstest.Fail(w, 400, "AccessDeniedException", "User: arn:aws:sts::123456789012:assumed-role/interlock/i is not authorized to perform: glue:GetJobRuns")
	default:
		return true
	}
	return false
}

func (s *target) list(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		JobName, NextToken string
		MaxResults         int
	}](s.T, r)
	if !known(w, in.JobName) {
		return
	}
	s.Lock()
	defer s.Unlock()
	all := []*jobRun{}
	for i := len(s.runs) - 1; i >= 0; i-- {
		if s.runs[i].JobName == in.JobName {
			all = append(all, s.runs[i])
		}
	}
	from, size := 0, min(in.MaxResults, 3) // a page may be smaller than requested
	fmt.Sscanf(in.NextToken, "from-%d", &from)
	out := map[string]any{"JobRuns": all[min(from, len(all)):min(from+size, len(all))]}
	if from+size < len(all) {
		out["NextToken"] = fmt.Sprintf("from-%d", from+size)
	}
	awstest.Reply(w, out)
}

func (s *target) get(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct{ JobName, RunId string }](s.T, r)
	s.Lock()
	defer s.Unlock()
	for _, known := range s.runs {
		if known.ID == in.RunId && known.JobName == in.JobName {
			awstest.Reply(w, map[string]any{"JobRun": known})
			return
		}
	}
	awstest.Fail(w, 400, "EntityNotFoundException", "Job run "+in.RunId+" not found")
}

func (s *target) stop(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		JobName   string
		JobRunIds []string
	}](s.T, r)
	s.Lock()
	defer s.Unlock()
	for _, known := range s.runs {
		if known.ID == in.JobRunIds[0] && known.JobRunState == "RUNNING" && known.JobName != "stubborn" {
			known.JobRunState = "STOPPED"
			awstest.Reply(w, map[string]any{"SuccessfulSubmissions": []any{map[string]string{"JobName": in.JobName, "JobRunId": known.ID}}, "Errors": []any{}})
			return
		}
	}
	awstest.Reply(w, map[string]any{"SuccessfulSubmissions": []any{}, "Errors": []any{map[string]any{
		"JobName": in.JobName, "JobRunId": in.JobRunIds[0],
		"ErrorDetail": map[string]string{"ErrorCode": "JobRunCannotBeStopped", "ErrorMessage": "Job run cannot be stopped in its state"},
	}}})
}

func (s *target) filter(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[search](s.T, r)
	s.Lock()
	defer s.Unlock()
	s.searches = append(s.searches, in)
	s.logs(w, in)
}

// ofAttempt returns the number of runs with an attempt's id.
func (s *target) ofAttempt(_ *testing.T, id run.AttemptID) int {
	s.Lock()
	defer s.Unlock()
	n := 0
	for _, r := range s.runs {
		if r.Arguments["--interlock_run_id"] == string(id) {
			n++
		}
	}
	return n
}

func config(name string) string {
	return "jobName: " + name + "\narguments: {--token: '${env:JOBTEST_TOKEN}'}\n"
}

// ended is a job whose runs end in a state at once.
func ended(state string) string { return config("state-" + state) }

func (s *target) bench() jobtest.Bench {
	ends := []jobtest.End{
		{Name: "SUCCEEDED", Config: ended("SUCCEEDED"), Want: job.Status{Result: run.ResultSuccess}},
		{Name: "FAILED", Config: ended("FAILED"), Want: job.Status{Result: run.ResultFail, Message: "FAILED: SystemExit: 3"}},
		{Name: "ERROR", Config: ended("ERROR"), Want: job.Status{Result: run.ResultFail, Category: run.Transient, Message: "ERROR: "}},
		{Name: "STOPPED", Config: ended("STOPPED"), Want: job.Status{Result: run.ResultFail, Category: run.Transient, Message: "STOPPED: "}},
		{Name: "TIMEOUT", Config: ended("TIMEOUT"), Want: job.Status{Result: run.ResultTimeout, Category: run.Timeout, Message: "TIMEOUT: "}},
		{Name: "EXPIRED", Config: ended("EXPIRED"), Want: job.Status{Result: run.ResultTimeout, Category: run.Timeout, Message: "EXPIRED: "}},
	}
	busy := awstest.Busy(types.JobRunState("").Values(), ends, ended)
	return s.Bench(jobtest.Bench{
		Good: ended("SUCCEEDED"), Endless: config("endless"), Leaking: ended("FAILED"),
		Ends: ends, Busy: busy,
		Undocumented: map[string]string{"a state of tomorrow": ended("DREAMING")},
		Refused: []jobtest.Refusal{
			{Name: "no such job", Config: config("missing"), Want: job.Refusal{Category: run.Permanent, Reason: "EntityNotFoundException"}},
			{Name: "not allowed", Config: config("forbidden"), Want: job.Refusal{Category: run.Permanent, Reason: "glue:StartJobRun on resource: forbidden; the controller's AWS role lacks a permission"}},
			{Name: "not allowed to look", Config: config("unlisted"), Want: job.Refusal{Category: run.Permanent, Reason: "glue:GetJobRuns"}},
			{Name: "too many runs", Config: config("crowded"), Want: job.Refusal{Category: run.Transient, Reason: "ConcurrentRunsExceededException: Concurrent runs exceeded"}},
			{Name: "throttled", Config: config("throttled"), Want: job.Refusal{Category: run.Transient, Reason: `start glue job "throttled": ThrottlingException: Rate exceeded`}},
			{Name: "invalid", Config: config("invalid"), Want: job.Refusal{Category: run.Permanent, Reason: "InvalidInputException"}},
		},
		Unfit: []jobtest.Refusal{
			{Name: "no such job", Config: config("missing"), Want: job.Refusal{Category: run.Permanent, Reason: `glue job "missing": EntityNotFoundException`}},
			{Name: "not allowed", Config: config("unlisted"), Want: job.Refusal{Category: run.Permanent, Reason: "the controller's AWS role lacks a permission"}},
		},
		Authorised: func(c jobtest.Call) bool {
			if strings.HasPrefix(c.Header.Get("X-Amz-Target"), "Logs_") {
				return awstest.Signed(c, "logs")
			}
			return awstest.Signed(c, "glue")
		},
		Starts: s.ofAttempt,
	})
}

func TestGlue(t *testing.T) { jobtest.Run(t, newTarget(t).bench()) }

// TestWhateverGlueAnswers knows that a start searches first, so that most answers refuse it before
// it has begun.
func TestWhateverGlueAnswers(t *testing.T) {
	jobtest.RunHTTP(t, jobtest.HTTPBench{
		New: kind.New, NewConfig: kind.Config, Want: awstest.RefusedBefore(), Trusted: true, Config: func(string) string { return config("any-${env:JOBTEST_TOKEN}") },
		Begins: func(r *http.Request) bool { return r.Header.Get("X-Amz-Target") == "AWSGlue.StartJobRun" },
		Handle: func(run.AttemptID) run.Handle { return "jr_1" },
	})
}

func TestEveryErrorOfGlueHasItsVerdict(t *testing.T) {
	newTarget(t).CheckErrors(t, awstest.ErrorBench{
		Service: "glue", Operations: []string{"StartJobRun", "GetJobRuns", "GetJobRun", "BatchStopJobRun"}, Errors: glue.ServiceErrors,
		Begins: "AWSGlue.StartJobRun", Config: config("any"),
	})
}

func TestArgumentsAreTheFilesAndBesideThemTheRuns(t *testing.T) {
	tests := []struct {
		id, arguments string
		want          map[string]string
	}{
		{"orders/cron/2026-03-03T07/2", "{}", map[string]string{"--par_day": "20260303", "--par_hour": "07"}},
		{"orders/cron/2026-03-03/1", "{}", map[string]string{"--par_day": "20260303"}},
		{"orders/cron/2026-03-03T07:15/1", "{}", map[string]string{"--par_day": "20260303", "--par_hour": "07"}},
		{"orders/cron/2026-03-03T07/1", "{par_hour: 7, --par_day: x, depth: 3}", map[string]string{"--par_day": "x", "--par_hour": "7", "--depth": "3"}},
		{"orders/cron/2026-03-03T07/1", "{--interlock_run_id: mine}", map[string]string{"--par_day": "20260303", "--par_hour": "07", "--interlock_run_id": "mine"}},
	}
	for _, tt := range tests {
		s := newTarget(t)
		s.Begin(t, run.AttemptID(tt.id), "jobName: state-SUCCEEDED\narguments: "+tt.arguments+"\n")
		want := map[string]string{"--interlock_run_id": tt.id}
		maps.Copy(want, tt.want)
		if diff := cmp.Diff(want, s.runs[0].Arguments); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.id, tt.arguments, diff)
		}
	}
}

func TestARunIsFoundBehindManyOthers(t *testing.T) {
	s := newTarget(t)
	kind, a, started := s.Begin(t, "orders/cron/2026-03-03/1", config("endless"))
	for i := range 20 {
		s.Begin(t, run.AttemptID(fmt.Sprintf("orders/cron/2026-03-03/%d", i+2)), config("endless"))
	}
	if h, found, err := kind.(job.Finder).Find(t.Context(), a); err != nil || !found || h != started.Handle {
		t.Errorf("got %s, %v, %v; want %s", h, found, err, started.Handle)
	}
}

func TestAStartAdoptsTheRunThatAnEarlierOneMade(t *testing.T) {
	s := newTarget(t)
	_, _, first := s.Begin(t, "orders/cron/2026-03-03/1", config("endless"))
	if _, _, again := s.Begin(t, "orders/cron/2026-03-03/1", config("endless")); again.Handle != first.Handle || len(s.runs) != 1 {
		t.Errorf("got %s and %s, %d runs", first.Handle, again.Handle, len(s.runs))
	}
}

func TestARunWithAnArgumentOfTheFilesOwnIsNotTakenForAnothers(t *testing.T) {
	s := newTarget(t)
	const config = "jobName: endless\narguments: {--interlock_run_id: mine}\n"
	s.Begin(t, "orders/cron/2026-03-03/1", config)
	kind, a, _ := s.Begin(t, "orders/cron/2026-03-03/2", config)
	if _, found, err := kind.(job.Finder).Find(t.Context(), a); found || err != nil || len(s.runs) != 2 {
		t.Errorf("found %v, %v, %d runs", found, err, len(s.runs))
	}
}

func TestARunThatDoesNotEndIsToldToThoseWhoStopIt(t *testing.T) {
	kind, a, started := newTarget(t).Begin(t, "orders/cron/2026-03-03/1", config("stubborn"))
	err := kind.(job.Stopper).Stop(t.Context(), a, started.Handle)
	if err == nil || !strings.Contains(err.Error(), `stop glue job "stubborn": JobRunCannotBeStopped`) {
		t.Errorf("got %v", err)
	}
}

func TestARunOfAStartThatTimedOutInGlueIsFoundAgain(t *testing.T) {
	s := newTarget(t)
	kind := s.New(t)
	a := s.Expand(t, config("slow"))
	if _, err := kind.Start(t.Context(), a); err == nil || errors.As(err, new(*job.Refusal)) {
		t.Errorf("got %v, want an error that leaves open whether the run started", err)
	}
	if h, found, err := kind.(job.Finder).Find(t.Context(), a); err != nil || !found || string(h) != s.runs[0].ID {
		t.Errorf("got %s, %v, %v", h, found, err)
	}
}

func TestNoStartIsRepeatedWhateverTheEnvironmentSays(t *testing.T) {
	s := newTarget(t)
	s.Operations["AWSGlue.StartJobRun"] = func(w http.ResponseWriter, _ *http.Request) { awstest.Fail(w, 500, "InternalServiceException", "") }
	kind := s.New(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "5")
	t.Setenv("AWS_RETRY_MODE", "adaptive")
	_, err := kind.Start(t.Context(), s.Expand(t, config("any")))
	if _, refused := err.(*job.Refusal); refused || err == nil {
		t.Errorf("got %v, want an error that leaves open whether the run started", err)
	}
	starts := 0
	for _, call := range s.Wire.Calls() {
		if call.Header.Get("X-Amz-Target") == "AWSGlue.StartJobRun" {
			starts++
		}
	}
	if starts != 1 {
		t.Errorf("sent %d times", starts)
	}
}
