package lambda_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/awstest"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/job/lambda"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

var kind = awstest.Kind{
	Type:    func(c *awsapi.Cloud) job.Type { return lambda.New(c) },
	Config:  func() pipeline.JobConfig { return new(lambda.Config) },
	Service: "lambda",
}

// target is a fake Lambda whose functions do as their names say.
type target struct {
	awstest.Target
	invoked []invocation
}

// invocation is a function's input.
type invocation struct {
	function, kind, logs string
	payload              map[string]any
	text                 string
}

func newTarget(t *testing.T) *target {
	s := new(target)
	s.Serve(t, kind, awstest.Operations{"POST /2015-03-31/functions/{name}/invocations": s.invoke})
	return s
}

// refusals are the answers to starts that name such a target.
var refusals = awstest.Refusals{
	"missing":   {404, "ResourceNotFoundException", "Function not found: arn:aws:lambda:eu-west-1:123456789012:function:missing"},
	"forbidden": {403, "AccessDeniedException", "not authorized to perform: lambda:InvokeFunction"},
	"throttled": {429, "TooManyRequestsException", "Rate Exceeded."},
	"crowded":   {502, "ENILimitReachedException", "network interface limit"},
	"unzipped":  {502, "InvalidZipFileException", "could not unzip"},
}

func (s *target) invoke(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	i := invocation{function: r.PathValue("name"), kind: r.Header.Get("X-Amz-Invocation-Type"), logs: r.Header.Get("X-Amz-Log-Type"), text: string(body)}
	json.Unmarshal(body, &i.payload)
	if i.function == "throttled" {
		w.Header().Set("Retry-After", "3")
	}
	if refusals.Answer(w, i.function) {
		return
	}
	if i.kind == "DryRun" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.note(i)
	if i.kind == "Event" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.run(w, r, i)
}

// note records an invocation, whose answer may get lost.
func (s *target) note(i invocation) {
	s.Lock()
	defer s.Unlock()
	s.invoked = append(s.invoked, i)
	s.MayLose()
}

// run does what a synchronous function does.
func (s *target) run(w http.ResponseWriter, r *http.Request, i invocation) {
	w.Header().Set("X-Amzn-Requestid", "6f1c0a39-7b4e-4f0a-9b8e-0d6f2a1c5e77")
	w.Header().Set("X-Amz-Executed-Version", "$LATEST")
	w.Header().Set("Content-Type", "application/json")
	logs := "START\ngot " + i.text + " " + jobtest.CallbackToken + "\nEND\n"
	w.Header().Set("X-Amz-Log-Result", base64.StdEncoding.EncodeToString([]byte(logs[max(0, len(logs)-4<<10):])))
	switch i.function {
	case "endless":
		<-r.Context().Done()
	case "flood":
		io.WriteString(w, `"`+strings.Repeat(jobtest.Secret[:3]+" ", 6<<18)+`"`)
	case "fails":
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		json.NewEncoder(w).Encode(map[string]any{"errorType": "ValueError", "errorMessage": "no rows in\n" + i.text, "stackTrace": []string{"a", "b"}})
	case "exits":
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		io.WriteString(w, "Process exited before completing request")
	default:
		io.WriteString(w, `{"rows": 3}`)
	}
}

func config(function string) string {
	return "functionName: " + function + "\ntimeout: 20s\npayload: {token: '${env:JOBTEST_TOKEN}'}\n"
}

func (s *target) bench() jobtest.Bench {
	return s.Bench(jobtest.Bench{
		Good: config("good"), Endless: config("endless"), Flooding: config("flood"), Leaking: config("fails"),
		Ends: []jobtest.End{
			{Name: "returned", Config: config("good"), Want: job.Status{Result: run.ResultSuccess, Output: "\nEND\n{\"rows\": 3}"}},
			{Name: "raised an error", Config: config("fails"), Want: job.Status{Result: run.ResultFail, Category: run.Permanent, Message: "the function failed: ValueError: no rows in {"}},
			{Name: "ended", Config: config("exits"), Want: job.Status{Result: run.ResultFail, Category: run.Permanent, Message: "the function failed: Unhandled: Process exited before completing request"}},
		},
		Refused: []jobtest.Refusal{
			{Name: "no such function", Config: config("missing"), Want: job.Refusal{Category: run.Permanent, Reason: `invoke lambda function "missing": ResourceNotFoundException: Function not found`}},
			{Name: "not allowed", Config: config("forbidden"), Want: job.Refusal{Category: run.Permanent, Reason: "lambda:InvokeFunction; the controller's AWS role lacks a permission"}},
			{Name: "throttled", Config: config("throttled"), Want: job.Refusal{Category: run.Transient, Reason: "TooManyRequestsException", After: 3 * time.Second}},
			{Name: "no room", Config: config("crowded"), Want: job.Refusal{Category: run.Transient, Reason: "ENILimitReachedException"}},
			{Name: "broken", Config: config("unzipped"), Want: job.Refusal{Category: run.Permanent, Reason: "InvalidZipFileException"}},
		},
		Unfit: []jobtest.Refusal{
			{Name: "no such function", Config: config("missing"), Want: job.Refusal{Category: run.Permanent, Reason: "ResourceNotFoundException"}},
			{Name: "not allowed", Config: config("forbidden"), Want: job.Refusal{Category: run.Permanent, Reason: "lambda:InvokeFunction"}},
		},
		Starts: func(_ *testing.T, id run.AttemptID) int {
			s.Lock()
			defer s.Unlock()
			n := 0
			for _, i := range s.invoked {
				if i.payload["interlock_run_id"] == string(id) {
					n++
				}
			}
			return n
		},
	})
}

func TestLambda(t *testing.T) { jobtest.Run(t, newTarget(t).bench()) }

func TestAnAsyncInvocationIsTheStart(t *testing.T) {
	b := newTarget(t).bench()
	b.Good, b.Endless, b.Flooding, b.Leaking, b.Ends = "", "", "", "", nil // these functions report their result themselves
	b.Busy = map[string]string{"taken": config("good") + "async: true\n"}
	for i := range b.Refused {
		b.Refused[i].Config += "async: true\n"
	}
	jobtest.Run(t, b)
}

func TestWhateverLambdaAnswers(t *testing.T) {
	want := awstest.Verdicts()
	for _, name := range []string{"200", "200 with {}", "200 with []", "200 with null", "200 with broken JSON"} {
		want[name] = jobtest.Succeeded // a function may return anything
	}
	jobtest.RunHTTP(t, jobtest.HTTPBench{
		New: kind.New, NewConfig: kind.Config, Want: want, Trusted: true,
		Config: func(string) string {
			return "functionName: any\ntimeout: 1s\npayload: {token: '${env:JOBTEST_TOKEN}'}\n"
		},
	})
}

func TestWhateverLambdaAnswersToAnEvent(t *testing.T) {
	want := awstest.Verdicts()
	want["202"] = jobtest.Runs
	jobtest.RunHTTP(t, jobtest.HTTPBench{
		New: kind.New, NewConfig: kind.Config, Want: want, Trusted: true,
		Config: func(string) string {
			return "functionName: any\nasync: true\ntimeout: 1s\npayload: {token: '${env:JOBTEST_TOKEN}'}\n"
		},
	})
}

func TestEveryErrorOfLambdaHasItsVerdict(t *testing.T) {
	newTarget(t).CheckErrors(t, awstest.ErrorBench{
		Service: "lambda", Operations: []string{"Invoke"}, Errors: lambda.ServiceErrors,
		Begins: "POST /2015-03-31/functions/{name}/invocations", Config: config("any"),
	})
}

// begin invokes a function on the target.
func (s *target) begin(t *testing.T, config string) invocation {
	t.Helper()
	a := jobtest.AttemptOf(t, "orders/cron/2026-03-03/1")
	a.Callback = job.Callback{URL: "https://me.example/cb", Token: jobtest.CallbackToken}
	if _, err := s.New(t).Start(t.Context(), jobtest.Expand(t, a, config, kind.Config())); err != nil {
		t.Fatal(err)
	}
	return s.invoked[len(s.invoked)-1]
}

func TestAFunctionIsGivenItsPayloadAndTheRunsID(t *testing.T) {
	s := newTarget(t)
	const id = `"interlock_run_id":"orders/cron/2026-03-03/1"`
	for config, want := range map[string]string{
		"":                                      "{" + id + "}",
		"payload: {a: '<&', b: [1]}\n":          `{"a":"<&","b":[1],` + id + "}",
		"payload: {interlock_run_id: mine}\n":   `{"interlock_run_id":"mine"}`,
		"payload: [1, true]\n":                  `[1,true]`,
		"payload: 'run ${RUN_ID}'\n":            `"run orders/cron/2026-03-03/1"`,
		"payload: '{\"run\": \"${RUN_ID}\"}'\n": `{"run": "orders/cron/2026-03-03/1"}`,

		"async: true\n": `{"interlock_callback_token":"` + jobtest.CallbackToken + `","interlock_callback_url":"https://me.example/cb",` + id + "}",
		"async: true\npayload: {interlock_run_id: x}\n": `{"interlock_callback_token":"` + jobtest.CallbackToken + `","interlock_callback_url":"https://me.example/cb","interlock_run_id":"x"}`,
	} {
		got := s.begin(t, "functionName: good\n"+config)
		if got.text != want {
			t.Errorf("%s: got %s, want %s", config, got.text, want)
		}
		kind, logs := "RequestResponse", "Tail"
		if strings.Contains(config, "async") {
			kind, logs = "Event", "None"
		}
		if got.kind != kind || got.logs != logs {
			t.Errorf("%s: got %s, %s", config, got.kind, got.logs)
		}
	}
}

func TestAFunctionIsNamedByNameOrARN(t *testing.T) {
	s := newTarget(t)
	for name, region := range map[string]string{
		"load": "eu-west-1", "load:prod": "eu-west-1", "arn:aws:lambda:us-east-2:123456789012:function:load:7": "us-east-2", "123456789012:function:load": "eu-west-1",
	} {
		if got := s.begin(t, "functionName: '"+name+"'\n"); got.function != name {
			t.Errorf("%s: got %s", name, got.function)
		}
		calls := s.Wire.Calls()
		if got := calls[len(calls)-1].Header.Get("Authorization"); !strings.Contains(got, "/"+region+"/lambda/") {
			t.Errorf("%s: signed as %s", name, got)
		}
	}
}

func TestTimeoutLimitsTheStart(t *testing.T) {
	function := kind.New(t, "http://127.0.0.1:1").(job.Blocking)
	for config, want := range map[string]time.Duration{"": 15 * time.Minute, "timeout: 5m\n": 5 * time.Minute, "async: true\n": 0} {
		a := jobtest.Expand(t, job.Attempt{}, "functionName: f\n"+config, kind.Config())
		if got, is := function.Limit(a.Config); got != want || is != (want > 0) {
			t.Errorf("%s: got %v, %v", config, got, is)
		}
	}
}

func TestAnAnswerThatIsLateIsUnknown(t *testing.T) {
	s := newTarget(t)
	for timeout := 50 * time.Millisecond; timeout < time.Minute; timeout *= 3 { // until the function is reached in time
		a := s.Expand(t, "functionName: endless\ntimeout: "+timeout.String()+"\n")
		_, err := s.New(t).Start(t.Context(), a)
		if _, refused := err.(*job.Refusal); refused {
			continue
		}
		want := `invoke lambda function "endless": no answer within the timeout of ` + document.Duration(timeout).String() + ": context deadline exceeded"
		if err == nil || cmp.Diff(want, err.Error()) != "" {
			t.Errorf("got %v, want %s", err, want)
		}
		return
	}
	t.Error("the function was never reached")
}

func TestAPayloadThatLambdaWouldNotTakeIsNotSent(t *testing.T) {
	s := newTarget(t)
	for _, tt := range []struct {
		async bool
		size  int
		want  string
	}{{false, 6 << 20, "6291456"}, {true, 1 << 20, "1048576"}, {false, 5 << 20, ""}} {
		a := jobtest.AttemptOf(t, "orders/cron/2026-03-03/1")
		a.Config = &lambda.Config{FunctionName: "good", Async: tt.async, Timeout: document.Duration(time.Minute), Payload: map[string]any{"a": strings.Repeat("x", tt.size)}}
		_, err := s.New(t).Start(t.Context(), a)
		if tt.want == "" && err != nil {
			t.Errorf("%d bytes: %v", tt.size, err)
		}
		refusal, refused := err.(*job.Refusal)
		if tt.want != "" && (!refused || refusal.Category != run.Permanent || !strings.Contains(refusal.Reason, "Lambda accepts at most "+tt.want)) {
			t.Errorf("%d bytes: got %v", tt.size, err)
		}
	}
	if len(s.invoked) != 1 {
		t.Errorf("%d invocations", len(s.invoked))
	}
}
