package emrserverless_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/emrserverless/types"
	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/awstest"
	"github.com/interlock-go/interlock/internal/job/emrserverless"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

var kind = awstest.Kind{
	Type:    func(c *awsapi.Cloud) job.Type { return emrserverless.New(c) },
	Config:  func() pipeline.JobConfig { return new(emrserverless.Config) },
	Service: "emr-serverless",
}

// jobRun is a run as EMR Serverless returns it.
type jobRun struct {
	ID           string `json:"id"`
	JobRunID     string `json:"jobRunId"`
	Name         string `json:"name"`
	State        string `json:"state"`
	StateDetails string `json:"stateDetails"`
	token, sent  string
	application  string
}

// target is a fake EMR Serverless whose jobs behave as the ids of their applications say.
type target struct {
	awstest.Target
	runs []*jobRun
}

func newTarget(t *testing.T) *target {
	s := &target{}
	s.Serve(t, kind, awstest.Operations{
		"POST /applications/{app}/jobruns":         s.start,
		"GET /applications/{app}/jobruns":          s.list,
		"GET /applications/{app}/jobruns/{run}":    s.get,
		"DELETE /applications/{app}/jobruns/{run}": s.cancel,
		"GET /applications/{app}":                  s.getApplication,
	})
	return s
}

// refusals are the answers to starts that name such a target.
var refusals = awstest.Refusals{
	"missing":   {404, "ResourceNotFoundException", "Application missing does not exist"},
	"throttled": {429, "ThrottlingException", "Rate exceeded"},
	"forbidden": {403, "AccessDeniedException", "not authorized to perform: emr-serverless:StartJobRun"},
	"unready":   {409, "ConflictException", "Application unready is stopping"},
}

func (s *target) start(w http.ResponseWriter, r *http.Request) {
	in := awstest.Read[struct {
		ClientToken            string          `json:"clientToken"`
		Name                   string          `json:"name"`
		ExecutionRoleArn       string          `json:"executionRoleArn"`
		JobDriver              json.RawMessage `json:"jobDriver"`
		ConfigurationOverrides json.RawMessage `json:"configurationOverrides"`
	}](s.T, r)
	s.Lock()
	defer s.Unlock()
	app := r.PathValue("app")
	if refusals.Answer(w, app) {
		return
	}
	sent := string(in.JobDriver) + string(in.ConfigurationOverrides)
	created := s.byToken(in.ClientToken)
	if created == nil {
		created = &jobRun{ID: fmt.Sprintf("00f%013x", len(s.runs)+1), Name: in.Name, State: "RUNNING", token: in.ClientToken, sent: sent, application: app}
		created.JobRunID = created.ID
		if state, ok := strings.CutPrefix(app, "state-"); ok {
			created.State, created.StateDetails = state, "exit code 3: "+sent
		}
		s.runs = append(s.runs, created)
	}
	s.MayLose()
	if created.sent != sent {
		awstest.Fail(w, 409, "ConflictException", "clientToken was used with other parameters")
		return
	}
	awstest.Reply(w, map[string]string{"applicationId": app, "jobRunId": created.ID, "arn": "arn:aws:emr-serverless:x"})
}

func (s *target) byToken(token string) *jobRun {
	for _, known := range s.runs {
		if known.token == token {
			return known
		}
	}
	return nil
}

func (s *target) list(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	all := []*jobRun{}
	for _, known := range s.runs {
		if known.application == r.PathValue("app") {
			all = append(all, known)
		}
	}
	from, size := 0, 3 // a page may be smaller than requested
	fmt.Sscanf(r.URL.Query().Get("nextToken"), "from-%d", &from)
	out := map[string]any{"jobRuns": all[min(from, len(all)):min(from+size, len(all))]}
	if from+size < len(all) {
		out["nextToken"] = fmt.Sprintf("from-%d", from+size)
	}
	awstest.Reply(w, out)
}

// known returns the run that a request names, or answers that there is none.
func (s *target) known(w http.ResponseWriter, r *http.Request) *jobRun {
	for _, known := range s.runs {
		if known.ID == r.PathValue("run") && known.application == r.PathValue("app") {
			return known
		}
	}
	awstest.Fail(w, 404, "ResourceNotFoundException", "JobRun "+r.PathValue("run")+" does not exist")
	return nil
}

func (s *target) get(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	if known := s.known(w, r); known != nil {
		awstest.Reply(w, map[string]any{"jobRun": known})
	}
}

func (s *target) cancel(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	switch known := s.known(w, r); {
	case known == nil:
	case known.State != "RUNNING" || known.application == "stubborn":
		awstest.Fail(w, 400, "ValidationException", "JobRun cannot be cancelled in its state")
	default:
		known.State = "CANCELLED"
		awstest.Reply(w, map[string]string{"applicationId": known.application, "jobRunId": known.ID})
	}
}

func (s *target) getApplication(w http.ResponseWriter, r *http.Request) {
	state := "STOPPED"
	switch r.PathValue("app") {
	case "missing":
		awstest.Fail(w, 404, "ResourceNotFoundException", "Application missing does not exist")
		return
	case "ended":
		state = "TERMINATED"
	}
	awstest.Reply(w, map[string]any{"application": map[string]any{"applicationId": r.PathValue("app"), "state": state}})
}

// ofAttempt returns how many runs an attempt has.
func (s *target) ofAttempt(_ *testing.T, id run.AttemptID) int {
	s.Lock()
	defer s.Unlock()
	n := 0
	for _, known := range s.runs {
		if strings.Contains(known.sent, `"`+string(id)+`"`) {
			n++
		}
	}
	return n
}

func config(application string) string {
	return "applicationID: " + application + "\nexecutionRoleArn: arn:aws:iam::123456789012:role/etl\n" +
		"jobDriver: {sparkSubmit: {entryPoint: s3://b/j.py, entryPointArguments: ['${RUN_ID}', '${env:JOBTEST_TOKEN}', 3]}}\n"
}

func ended(state string) string { return config("state-" + state) }

func (s *target) bench() jobtest.Bench {
	ends := []jobtest.End{
		{Name: "SUCCESS", Config: ended("SUCCESS"), Want: job.Status{Result: run.ResultSuccess}},
		{Name: "FAILED", Config: ended("FAILED"), Want: job.Status{Result: run.ResultFail, Message: "FAILED: exit code 3"}},
		{Name: "CANCELLED", Config: ended("CANCELLED"), Want: job.Status{Result: run.ResultFail, Category: run.Transient, Message: "CANCELLED: "}},
	}
	busy := awstest.Busy(types.JobRunState("").Values(), ends, ended)
	return s.Bench(jobtest.Bench{
		Good: ended("SUCCESS"), Endless: config("endless"), Leaking: ended("FAILED"),
		Ends: ends, Busy: busy,
		Undocumented: map[string]string{"a state of tomorrow": ended("DREAMING")},
		Refused: []jobtest.Refusal{
			{Name: "no such application", Config: config("missing"), Want: job.Refusal{Category: run.Permanent, Reason: `EMR Serverless application "missing": ResourceNotFoundException`}},
			{Name: "not allowed", Config: config("forbidden"), Want: job.Refusal{Category: run.Permanent, Reason: "emr-serverless:StartJobRun; the controller's AWS role lacks a permission"}},
			{Name: "throttled", Config: config("throttled"), Want: job.Refusal{Category: run.Transient, Reason: "ThrottlingException"}},
			{Name: "a conflict without a run", Config: config("unready"), Want: job.Refusal{Category: run.Transient, Reason: "ConflictException: Application unready is stopping"}},
		},
		Unfit: []jobtest.Refusal{
			{Name: "no such application", Config: config("missing"), Want: job.Refusal{Category: run.Permanent, Reason: "ResourceNotFoundException"}},
			{Name: "terminated", Config: config("ended"), Want: job.Refusal{Category: run.Permanent, Reason: "it is TERMINATED; name another in job.config.applicationID"}},
		},
		Starts: s.ofAttempt,
	})
}

func TestEMRServerless(t *testing.T) { jobtest.Run(t, newTarget(t).bench()) }

func TestWhateverEMRServerlessAnswers(t *testing.T) {
	want := awstest.Verdicts()
	want["409"] = jobtest.RefusedPermanent // a conflict without an AWS error code
	jobtest.RunHTTP(t, jobtest.HTTPBench{
		New: kind.New, NewConfig: kind.Config, Want: want, Trusted: true, Config: func(string) string { return config("any-${env:JOBTEST_TOKEN}") },
		Handle: func(run.AttemptID) run.Handle { return "00f1" },
	})
}

func TestEveryErrorOfEMRServerlessHasItsVerdict(t *testing.T) {
	newTarget(t).CheckErrors(t, awstest.ErrorBench{
		Service: "emrserverless", Operations: []string{"StartJobRun", "ListJobRuns", "GetJobRun", "CancelJobRun", "GetApplication"}, Errors: emrserverless.ServiceErrors,
		Begins: "POST /applications/{app}/jobruns", Config: config("any"),
	})
}

func TestTheRequestIsAsTheAPITakesIt(t *testing.T) {
	const head = "applicationID: endless\nexecutionRoleArn: arn:aws:iam::123456789012:role/etl\n"
	tests := []struct{ config, want string }{
		{
			"jobDriver: {sparkSubmit: {entryPoint: s3://b/j.py, entryPointArguments: [b, a, 1], sparkSubmitParameters: --conf a=b}}\n",
			`{"jobDriver": {"sparkSubmit": {"entryPoint": "s3://b/j.py", "entryPointArguments": ["b", "a", "1"], "sparkSubmitParameters": "--conf a=b"}}}`,
		},
		{
			"jobDriver: {hive: {query: s3://b/q.sql, initQueryFile: s3://b/i.sql, parameters: --hiveconf a=b}}\n",
			`{"jobDriver": {"hive": {"query": "s3://b/q.sql", "initQueryFile": "s3://b/i.sql", "parameters": "--hiveconf a=b"}}}`,
		},
		{
			"jobDriver: {hive: {query: q}}\nconfigurationOverrides:\n" +
				"  applicationConfiguration: [{classification: spark-defaults, properties: {spark.cores: 4, spark.share: 0.8, spark.on: true, spark.day: '${DATE}'}, configurations: [{classification: x, properties: {n: 1}}]}]\n" +
				"  monitoringConfiguration: {s3MonitoringConfiguration: {logUri: s3://b/logs/}, managedPersistenceMonitoringConfiguration: {enabled: false}}\n",
			`{"jobDriver": {"hive": {"query": "q"}}, "configurationOverrides": {
				"applicationConfiguration": [{"classification": "spark-defaults", "properties": {"spark.cores": "4", "spark.share": "0.8", "spark.on": "true", "spark.day": "2026-03-03"}, "configurations": [{"classification": "x", "properties": {"n": "1"}}]}],
				"monitoringConfiguration": {"s3MonitoringConfiguration": {"logUri": "s3://b/logs/"}, "managedPersistenceMonitoringConfiguration": {"enabled": false}}}}`,
		},
	}
	for _, tt := range tests {
		s := newTarget(t)
		s.Begin(t, "orders/cron/2026-03-03/1", head+tt.config)
		call := s.Wire.Calls()[0]
		var got, want map[string]any
		if json.Unmarshal(call.Body, &got) != nil || json.Unmarshal([]byte(tt.want), &want) != nil {
			t.Fatalf("%s", call.Body)
		}
		token := job.Name("orders/cron/2026-03-03/1", 64)
		want["clientToken"], want["name"], want["executionRoleArn"] = token, token, "arn:aws:iam::123456789012:role/etl"
		if diff := cmp.Diff(want, got); diff != "" || call.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s (-want +got):\n%s", call.Header.Get("Content-Type"), diff)
		}
	}
}

func TestARunWhoseRequestHasChangedSinceIsAdopted(t *testing.T) {
	s := newTarget(t)
	for i := range 7 {
		s.Begin(t, run.AttemptID(fmt.Sprintf("others/cron/2026-03-03/%d", i+1)), config("endless"))
	}
	_, _, first := s.Begin(t, "orders/cron/2026-03-03/1", config("endless"))
	_, _, again := s.Begin(t, "orders/cron/2026-03-03/1", strings.Replace(config("endless"), "j.py", "changed.py", 1))
	if first.Handle != again.Handle || len(s.runs) != 8 {
		t.Errorf("got %s and %s, %d runs", first.Handle, again.Handle, len(s.runs))
	}
}

func TestARunThatDoesNotEndIsToldToThoseWhoStopIt(t *testing.T) {
	kind, a, started := newTarget(t).Begin(t, "orders/cron/2026-03-03/1", config("stubborn"))
	if err := kind.(job.Stopper).Stop(t.Context(), a, started.Handle); err == nil || !strings.Contains(err.Error(), "cannot be cancelled") {
		t.Errorf("got %v", err)
	}
}
