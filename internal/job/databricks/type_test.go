package databricks_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/databricks"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

func newType(t *testing.T, _ string, allow ...string) job.Type {
	return databricks.New(jobtest.Guard(t, allow...))
}

func newConfig() pipeline.JobConfig { return new(databricks.Config) }

// token is what an attempt's start is recognised by.
func token(id run.AttemptID) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// config is that of a job in this workspace.
func (s *server) config(extra string) string {
	return "workspaceURL: " + s.URL + "\ntimeout: 20s\nheaders: {Authorization: 'Bearer ${env:JOBTEST_TOKEN}'}\n" + extra
}

// ending is the config of a run that ends so: see show.
func (s *server) ending(as string) string {
	return s.config("jobID: 123\nparams: {day: '${DATE}', end: '" + as + "'}\n")
}

func failed(category run.Category, message string) job.Status {
	return job.Status{Result: run.ResultFail, Category: category, Message: message}
}

func (s *server) bench() jobtest.Bench {
	timedOut := job.Status{Result: run.ResultTimeout, Category: run.Timeout, Message: "TIMEDOUT: why, ***"}
	success := job.Status{Result: run.ResultSuccess, Message: "SUCCESS"}
	bench := jobtest.Bench{
		New:       func(t *testing.T) job.Type { return newType(t, s.URL, "127.0.0.1") },
		NewConfig: newConfig,
		Good:      s.ending(""), Endless: s.ending("RUNNING"), Leaking: s.ending("TERMINATED FAILED"),
		Busy: map[string]string{}, Undocumented: map[string]string{},
		Refused: []jobtest.Refusal{
			{Name: "no such job", Config: s.config("jobID: 404\n"), Want: job.Refusal{Category: run.Permanent, Reason: "run job 404: answered 400 Bad Request: INVALID_PARAMETER_VALUE: Job 404 does not exist."}},
			{Name: "not allowed", Config: s.config("jobID: 403\n"), Want: job.Refusal{Category: run.Permanent, Reason: "User with token *** does not have"}},
			{Name: "busy", Config: s.config("jobID: 429\n"), Want: job.Refusal{Category: run.Transient, Reason: "REQUEST_LIMIT_EXCEEDED", After: 7 * time.Second}},
			{Name: "expired token", Config: strings.Replace(s.config("jobID: 1\n"), "'Bearer ", "'Bearer old-", 1), Want: job.Refusal{Category: run.Permanent, Reason: "Invalid access token. Bearer old-***; the credentials in job.config.headers are missing, wrong or expired"}},
		},
		Unfit: []jobtest.Refusal{
			{Name: "no such job", Config: s.config("jobID: 404\n"), Want: job.Refusal{Category: run.Permanent, Reason: "get job 404: answered 400 Bad Request: INVALID_PARAMETER_VALUE: Job 404 does not exist."}},
			{Name: "no such job in a body", Config: s.config("body: {job_id: 404}\n"), Want: job.Refusal{Category: run.Permanent, Reason: "Job 404 does not exist."}},
			{Name: "not allowed", Config: s.config("jobID: 403\n"), Want: job.Refusal{Category: run.Permanent, Reason: "do not allow this"}},
			{Name: "expired token", Config: strings.Replace(s.config("body: {tasks: [{task_key: a}]}\n"), "'Bearer ", "'Bearer old-", 1), Want: job.Refusal{Category: run.Permanent, Reason: "list the jobs: answered 401"}},
		},
		Wire:       &s.wire,
		Authorised: func(c jobtest.Call) bool { return c.Header.Get("Authorization") == "Bearer "+jobtest.Secret },
		Starts: func(_ *testing.T, id run.AttemptID) int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.starts[token(id)]
		},
		Lose: func(t *testing.T) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.lossy = true
			t.Cleanup(func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.lossy = false
			})
		},
	}
	for _, state := range strings.Fields("PENDING RUNNING TERMINATING BLOCKED WAITING_FOR_RETRY QUEUED") {
		bench.Busy[state] = s.ending(state)
	}
	for _, state := range strings.Fields("PENDING RUNNING TERMINATING BLOCKED WAITING QUEUED") {
		bench.Busy["status "+state] = s.ending("status " + state)
	}
	for _, end := range []string{"DREAMING", "TERMINATED", "TERMINATED PERHAPS", "status DREAMING", "status TERMINATED", "status"} {
		bench.Undocumented[end] = s.ending(end)
	}
	for end, want := range map[string]job.Status{
		"": success, "TERMINATED SUCCESS": success, "TERMINATED SUCCESS_WITH_FAILURES": success,
		"TERMINATED FAILED": {
			Result: run.ResultFail, Category: run.Permanent, Output: "the end",
			Message: "the run ended as FAILED; task silver ended as FAILED: AnalysisException: no table orders with ***",
		},
		"TERMINATED TIMEDOUT": timedOut,
		"TERMINATED CANCELED": failed(run.Transient, "CANCELED: why, ***"), "INTERNAL_ERROR": failed(run.Transient, "INTERNAL_ERROR: why, ***"),
		"SKIPPED": failed(run.Transient, "SKIPPED"), "INTERNAL_ERROR FAILED": failed(run.Transient, "INTERNAL_ERROR"),
		"TERMINATED UPSTREAM_FAILED": failed(run.Permanent, ""), "TERMINATED UPSTREAM_CANCELED": failed(run.Transient, ""),
		"TERMINATED MAXIMUM_CONCURRENT_RUNS_REACHED": failed(run.Transient, ""), "TERMINATED EXCLUDED": failed(run.Transient, ""), "TERMINATED DISABLED": failed(run.Transient, ""),
		"status TERMINATED SUCCESS SUCCESS":                                success,
		"status TERMINATED RUN_EXECUTION_ERROR CLIENT_ERROR":               failed(run.Permanent, "RUN_EXECUTION_ERROR: why, ***"),
		"status TERMINATED UNAUTHORIZED_ERROR CLIENT_ERROR":                failed(run.Permanent, ""),
		"status TERMINATED CANCELED INTERNAL_ERROR":                        failed(run.Transient, ""),
		"status TERMINATED USER_CANCELED CLIENT_ERROR":                     failed(run.Transient, ""),
		"status TERMINATED SKIPPED CLIENT_ERROR":                           failed(run.Transient, ""),
		"status TERMINATED INTERNAL_ERROR INTERNAL_ERROR":                  failed(run.Transient, ""),
		"status TERMINATED CLUSTER_ERROR CLOUD_FAILURE":                    failed(run.Transient, ""),
		"status TERMINATED CLUSTER_REQUEST_LIMIT_EXCEEDED CLIENT_ERROR":    failed(run.Transient, ""),
		"status TERMINATED TIMEDOUT CLIENT_ERROR":                          timedOut,
		"status TERMINATED A_CODE_THAT_IS_YET_TO_BE_MADE_UP CLOUD_FAILURE": failed(run.Transient, ""),
		"both TERMINATED SUCCESS SUCCESS SUCCESS":                          success,
		"both TERMINATED FAILED RUN_EXECUTION_ERROR CLIENT_ERROR":          failed(run.Permanent, "FAILED (RUN_EXECUTION_ERROR): why, ***"),
		"both TERMINATED FAILED CLUSTER_ERROR CLOUD_FAILURE":               failed(run.Transient, "FAILED (CLUSTER_ERROR)"),
		"both TERMINATED FAILED CLOUD_FAILURE CLOUD_FAILURE":               failed(run.Transient, ""),
		"both INTERNAL_ERROR FAILED RESOURCE_NOT_FOUND CLIENT_ERROR":       failed(run.Permanent, "INTERNAL_ERROR (RESOURCE_NOT_FOUND)"),
		"both INTERNAL_ERROR FAILED INTERNAL_ERROR INTERNAL_ERROR":         failed(run.Transient, "INTERNAL_ERROR: why"),
		"both TERMINATED CANCELED USER_CANCELED CLIENT_ERROR":              failed(run.Transient, ""),
		"both TERMINATED TIMEDOUT CANCELED INTERNAL_ERROR":                 {Result: run.ResultTimeout, Category: run.Timeout, Message: "TIMEDOUT"},
		"both TERMINATED OF_TOMORROW RUN_EXECUTION_ERROR CLIENT_ERROR":     failed(run.Permanent, "RUN_EXECUTION_ERROR: why, ***"),
		"status TERMINATED OF_TOMORROW OF_TOMORROW":                        failed(run.Unknown, "OF_TOMORROW"),
		"status TERMINATED RESOURCE_NOT_FOUND INTERNAL_ERROR":              failed(run.Permanent, ""),
	} {
		bench.Ends = append(bench.Ends, jobtest.End{Name: end, Config: s.ending(end), Want: want})
	}
	return bench
}

func TestJobsKeepThePromises(t *testing.T) { jobtest.Run(t, newServer(t).bench()) }

func TestOneTimeRunsKeepThePromises(t *testing.T) {
	s := newServer(t)
	b := s.bench()
	submitted := func(end string) string {
		return s.config("body: {run_name: '${RUN_ID}', tasks: [{task_key: '" + end + "'}]}\n")
	}
	b.Good, b.Endless, b.Leaking = submitted("TERMINATED SUCCESS"), submitted("RUNNING"), submitted("TERMINATED FAILED")
	b.Ends, b.Busy, b.Undocumented, b.Refused, b.Unfit = nil, nil, nil, nil, nil // the same calls as for a job
	jobtest.Run(t, b)
}

func TestWhateverAnswersIsToldFromAWorkspace(t *testing.T) {
	jobtest.RunHTTP(t, jobtest.HTTPBench{
		New: newType, NewConfig: newConfig,
		Handle: func(run.AttemptID) run.Handle { return "12345" },
		Fine:   []string{"Stop: 200 with {}", "Stop: 200 with null"}, // a cancelled run is answered with an empty object
		Config: func(url string) string {
			return "workspaceURL: " + url + "\njobID: 1\ntimeout: 1s\nheaders: {X-Key: '${env:JOBTEST_TOKEN}'}\nparams: {key: '${env:JOBTEST_TOKEN}'}\n"
		},
		Want: jobtest.OfAPI(),
	})
}

// attempt returns the attempt of a new run.
func attempt(t *testing.T, config string) job.Attempt {
	t.Helper()
	return jobtest.Expand(t, jobtest.AttemptOf(t, "orders/cron/2026-03-03T07/2"), config, new(databricks.Config))
}

func TestARequestHasTheFormThatDatabricksDocuments(t *testing.T) {
	tail := `"idempotency_token":"` + token("orders/cron/2026-03-03T07/2") + `"`
	tests := map[string]struct{ extra, method, want string }{
		"a job":             {"jobID: 9007199254740993\n", "run-now", `{` + tail + `,"job_id":9007199254740993}`},
		"a job by its text": {"jobID: '123'\n", "run-now", `{` + tail + `,"job_id":123}`},
		"parameters are texts": {
			"jobID: 1\nparams: {day: '${DATE}', n: 3, full: true, list: [1, a]}\n", "run-now",
			`{` + tail + `,"job_id":1,"job_parameters":{"day":"2026-03-03","full":"true","list":"[1,\"a\"]","n":"3"}}`,
		},
		"a body of a job": {"body: {job_id: 1}\n", "run-now", `{` + tail + `,"job_id":1}`},
		"a one-time run":  {"body: {tasks: [{task_key: a}]}\n", "runs/submit", `{` + tail + `,"tasks":[{"task_key":"a"}]}`},
	}
	for name, tt := range tests {
		s := newServer(t)
		if _, err := newType(t, s.URL, "127.0.0.1").Start(t.Context(), attempt(t, s.config(tt.extra))); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		call := s.wire.Calls()[0]
		if diff := cmp.Diff(tt.want, string(call.Body)); diff != "" || call.Method != "POST" || call.URI != "/api/2.1/jobs/"+tt.method {
			t.Errorf("%s: %s %s (-want +got):\n%s", name, call.Method, call.URI, diff)
		}
	}
}

func TestARunThatIsGoneIsUnknown(t *testing.T) {
	s := newServer(t)
	kind := newType(t, s.URL, "127.0.0.1")
	a := attempt(t, s.config("jobID: 1\n"))
	for _, handle := range []run.Handle{"77", "0", "-1", "77x"} {
		if _, err := kind.Status(t.Context(), a, handle); !errors.Is(err, job.ErrUnknownHandle) {
			t.Errorf("%s: got %v", handle, err)
		}
	}
	if calls := s.wire.Calls(); len(calls) != 1 {
		t.Errorf("asked for what cannot be a run: %v", calls)
	}
}

func TestAnAnswerAboutSomethingElseIsNone(t *testing.T) {
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"run_id": 5, "state": {"life_cycle_state": "TERMINATED", "result_state": "SUCCESS"}}`)
	}))
	defer front.Close()
	kind := newType(t, front.URL, "127.0.0.1")
	a := attempt(t, "workspaceURL: "+front.URL+"\nbody: {tasks: [{task_key: a}]}\n")
	if status, err := kind.Status(t.Context(), a, "77"); status.Done || err == nil || !strings.Contains(err.Error(), "unexpected response") {
		t.Errorf("got %+v, %v", status, err)
	}
	if err := kind.(job.Checker).Check(t.Context(), a); err == nil || errors.As(err, new(*job.Unsure)) {
		t.Errorf("got %v", err)
	}
}

// TestARunWithManyTasksIsRead also shows that the first task that failed is found among them.
func TestARunWithManyTasksIsRead(t *testing.T) {
	tasks := strings.Repeat(`{"run_id": 6, "state": {"life_cycle_state": "TERMINATED", "result_state": "SUCCESS"}, "notebook_task": {"notebook_path": "`+strings.Repeat("x", 10<<10)+`"}}, `, 1000)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/get-output") {
			io.WriteString(w, `{"error": "no table orders of run `+r.URL.Query().Get("run_id")+`"}`)
			return
		}
		io.WriteString(w, `{"job_parameters": [{"name": "a"}], "tasks": [`+tasks+
			`{"run_id": 8, "task_key": "load", "state": {"life_cycle_state": "TERMINATED", "result_state": "FAILED"}}],
			"run_id": 77, "state": {"life_cycle_state": "TERMINATED", "result_state": "FAILED"}}`)
	}))
	defer front.Close()
	kind := newType(t, front.URL, "127.0.0.1")
	status, err := kind.Status(t.Context(), attempt(t, "workspaceURL: "+front.URL+"\njobID: 1\n"), "77")
	if want := "the run ended as FAILED; task load ended as FAILED: no table orders of run 8"; err != nil || status.Message != want {
		t.Errorf("got %+v, %v; want %s", status, err, want)
	}
}

func TestARunIsReadStrictly(t *testing.T) {
	const state = `"state": {"life_cycle_state": "TERMINATED", "result_state": "SUCCESS"}`
	for body, fine := range map[string]bool{
		`{"run_id": 77, ` + state + `}`:                                                true,
		`{"run_id": 77, "tasks": null, ` + state + `}`:                                 true,
		`{"run_id": 77, "tasks": [], "more": {"a": [{}]}, ` + state + `}`:              true,
		`{"run_id": 77, "tasks": {"a": 1}, ` + state + `}`:                             false,
		`{"run_id": 77, "tasks": [{}, 1], ` + state + `}`:                              false,
		`{"run_id": 77, ` + state + `} {}`:                                             false,
		`{"run_id": 77, ` + state:                                                      false,
		`{"run_id": 77, "more": "` + strings.Repeat("x", 65<<20) + `", ` + state + `}`: false,
	} {
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }))
		status, err := newType(t, front.URL, "127.0.0.1").Status(t.Context(), attempt(t, "workspaceURL: "+front.URL+"\njobID: 1\n"), "77")
		front.Close()
		if (err == nil) != fine || status.Done != fine {
			t.Errorf("%.100s: got %+v, %v", body, status, err)
		}
	}
}
