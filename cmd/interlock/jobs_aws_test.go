package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/job/awstest"
)

// anAWS has a Glue job whose runs succeed, a state machine whose executions fail, and a Lambda
// function.
func anAWS(t *testing.T) *awstest.Server {
	return awstest.NewServer(t, awstest.Operations{
		"AWSGlue.GetJobRuns": func(w http.ResponseWriter, _ *http.Request) { awstest.Reply(w, map[string]any{"JobRuns": []any{}}) },
		"AWSGlue.StartJobRun": func(w http.ResponseWriter, _ *http.Request) {
			awstest.Reply(w, map[string]any{"JobRunId": "jr_1"})
		},
		"AWSGlue.GetJobRun": func(w http.ResponseWriter, _ *http.Request) {
			awstest.Reply(w, map[string]any{"JobRun": map[string]any{"Id": "jr_1", "JobRunState": "SUCCEEDED"}})
		},
		"Logs_20140328.FilterLogEvents": func(w http.ResponseWriter, _ *http.Request) {
			awstest.Fail(w, 400, "ResourceNotFoundException", "The specified log group does not exist.")
		},
		"AWSStepFunctions.DescribeStateMachine": func(w http.ResponseWriter, _ *http.Request) {
			awstest.Reply(w, map[string]any{"type": "STANDARD", "status": "ACTIVE"})
		},
		"AWSStepFunctions.StartExecution": func(w http.ResponseWriter, _ *http.Request) {
			awstest.Reply(w, map[string]any{"executionArn": "arn:aws:states:eu-west-1:123456789012:execution:m:x", "startDate": 1772521200.5})
		},
		"AWSStepFunctions.DescribeExecution": func(w http.ResponseWriter, _ *http.Request) {
			awstest.Reply(w, map[string]any{"status": "FAILED", "error": "States.TaskFailed", "cause": "no rows"})
		},
		"POST /2015-03-31/functions/{name}/invocations": func(w http.ResponseWriter, r *http.Request) {
			io.Copy(w, r.Body) // the function returns its input
		},
	})
}

// TestAServerRunsJobsOnAWS uses the server's own egress guard and the environment variables that
// AWS users set.
func TestAServerRunsJobsOnAWS(t *testing.T) {
	awstest.Setenv(t)
	t.Setenv("AWS_ENDPOINT_URL", anAWS(t).URL)
	file := func(id, job string) string {
		return "pipeline: {id: " + id + ", owner: me}\njob: {pollInterval: 1s, maxRetries: 0, " + job + "}\n"
	}
	s := serve(t, site{pipelines: map[string]string{
		"run.yaml":      file("run", "type: glue, config: {jobName: etl}"),
		"machine.yaml":  file("machine", "type: step-function, config: {stateMachineARN: 'arn:aws:states:eu-west-1:123456789012:stateMachine:m'}"),
		"function.yaml": file("function", "type: lambda, config: {functionName: load}"),
	}})
	wants := map[string]struct {
		status  client.Status
		message string
	}{
		"run":      {client.Completed, "its logs were not checked"},
		"machine":  {client.FailedFinal, "FAILED: States.TaskFailed no rows"},
		"function": {client.Completed, "function/manual/2026-03-03/1"},
	}
	for id := range wants {
		s.must(exitFine, "trigger", id, "--date", "2026-03-03")
	}
	for id, want := range wants {
		s.reaches(id+"/manual/2026-03-03", want.status)
		if shown := s.must(exitFine, "run", "show", id, "--date", "2026-03-03").stdout; !strings.Contains(shown, want.message) {
			t.Errorf("%s: no %q in\n%s", id, want.message, shown)
		}
	}
}
