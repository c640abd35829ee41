package http_test

import (
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/http"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

func newType(t *testing.T, allow ...string) job.Type { return http.New(jobtest.Guard(t, allow...)) }

func newTypeAt(t *testing.T, _ string, allow ...string) job.Type { return newType(t, allow...) }

func newConfig() pipeline.JobConfig { return new(http.Config) }

// target is a server whose behaviour depends on the request path, and records the jobs that it was
// asked to start.
type target struct {
	*httptest.Server
	wire   jobtest.Wire
	mu     sync.Mutex
	starts map[run.AttemptID]int
	lossy  bool
}

func newTarget(t *testing.T) *target {
	s := &target{starts: map[run.AttemptID]int{}}
	s.Server = httptest.NewServer(s.wire.Record(s))
	t.Cleanup(s.Close)
	return s
}

func (s *target) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.starts[run.AttemptID(r.Header.Get("Idempotency-Key"))]++
	lossy := s.lossy
	s.mu.Unlock()
	if lossy {
		panic(nethttp.ErrAbortHandler)
	}
	switch r.URL.Path {
	case "/endless":
		<-r.Context().Done()
	case "/flood":
		for sent := 0; sent < jobtest.Flood; sent += 1 << 20 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	case "/leak":
		w.WriteHeader(nethttp.StatusInternalServerError)
		io.WriteString(w, r.URL.RawQuery+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Interlock-Callback-Token")+" "+string(body))
	case "/missing":
		nethttp.NotFound(w, r)
	case "/broken":
		nethttp.Error(w, "disk full", nethttp.StatusInternalServerError)
	default:
		io.WriteString(w, "done")
	}
}

func (s *target) bench(extra string) jobtest.Bench {
	config := func(path string) string {
		return "url: " + s.URL + path + "\ntimeout: 20s\nheaders: {Authorization: 'Bearer ${env:JOBTEST_TOKEN}'}\nbody: {day: '${DATE}', key: '${env:JOBTEST_TOKEN}'}\n" + extra
	}
	return jobtest.Bench{
		New:       func(t *testing.T) job.Type { return newType(t, "127.0.0.1") },
		NewConfig: newConfig,
		Good:      config("/"), Endless: config("/endless"), Flooding: config("/flood"),
		Leaking: config("/leak?token=${env:JOBTEST_TOKEN}"),
		Ends: []jobtest.End{
			{Name: "answered", Config: config("/"), Want: job.Status{Result: run.ResultSuccess, Message: "answered 200 OK", Output: "done"}},
			{Name: "rejected", Config: config("/missing"), Want: job.Status{Result: run.ResultFail, Category: run.Permanent, Message: "answered 404 Not Found: 404 page not found"}},
			{Name: "failed", Config: config("/broken"), Want: job.Status{Result: run.ResultFail, Category: run.Transient, Message: "answered 500 Internal Server Error: disk full", Output: "disk full"}},
		},
		Wire:       &s.wire,
		Authorised: func(c jobtest.Call) bool { return c.Header.Get("Authorization") == "Bearer "+jobtest.Secret },
		Starts: func(_ *testing.T, id run.AttemptID) int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.starts[id]
		},
		Lose: func(t *testing.T) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.lossy = true
			t.Cleanup(func() { s.lossy = false })
		},
	}
}

func TestAnAnswerIsTheJob(t *testing.T) { jobtest.Run(t, newTarget(t).bench("")) }

func TestWithACallbackAnAnswerIsTheStart(t *testing.T) {
	b := newTarget(t).bench("callback: true\n")
	b.Good, b.Flooding, b.Ends = "", "", nil // these jobs report their result themselves
	jobtest.Run(t, b)
}

// verdicts are those of a request that is the job.
func verdicts() map[string]jobtest.Verdict {
	return map[string]jobtest.Verdict{
		"200": jobtest.Succeeded, "202": jobtest.Succeeded, "204": jobtest.Succeeded, "200 with a page": jobtest.Succeeded, "200 without end": jobtest.Succeeded,
		"200 cut off": jobtest.Unknown, "304": jobtest.FailedTransient,
		"200 with {}": jobtest.Succeeded, "200 with []": jobtest.Succeeded, "200 with null": jobtest.Succeeded, "200 with broken JSON": jobtest.Succeeded,
		"400": jobtest.FailedPermanent, "401": jobtest.FailedPermanent, "403": jobtest.FailedPermanent, "404": jobtest.FailedPermanent, "409": jobtest.FailedPermanent,
		"408": jobtest.FailedTransient, "425": jobtest.FailedTransient, "429": jobtest.FailedTransient,
		"500": jobtest.FailedTransient, "503": jobtest.FailedTransient, "504 with a page": jobtest.FailedTransient, "500 cut off": jobtest.FailedTransient,
		"no HTTP": jobtest.Unknown, "nothing": jobtest.Unknown, "no answer in time": jobtest.Unknown,
		"302 to a private address": jobtest.FailedPermanent, "307 to a private address": jobtest.FailedPermanent,
		"302 to nowhere": jobtest.FailedTransient, "307 to itself for ever": jobtest.FailedTransient, "307 to another scheme": jobtest.FailedTransient,
		"nothing listens": jobtest.RefusedTransient, "a certificate that is not trusted": jobtest.RefusedTransient, "a private address": jobtest.RefusedPermanent,
	}
}

func TestAnyAnswerIsTheResult(t *testing.T) {
	jobtest.RunHTTP(t, jobtest.HTTPBench{
		New: newTypeAt, NewConfig: newConfig, Want: verdicts(),
		Config: func(url string) string {
			return "url: '" + url + "/?k=${env:JOBTEST_TOKEN}'\ntimeout: 1s\nbody: {key: '${env:JOBTEST_TOKEN}'}\n"
		},
	})
}

func TestWithACallbackAnAnswerRefusesTheStartOrLeavesItOpen(t *testing.T) {
	want := verdicts()
	for name, verdict := range want {
		switch verdict {
		case jobtest.Succeeded:
			want[name] = jobtest.Runs
		case jobtest.FailedPermanent:
			want[name] = jobtest.RefusedPermanent
		case jobtest.FailedTransient:
			want[name] = jobtest.RefusedTransient
		}
	}
	for _, name := range []string{"408", "500", "503", "504 with a page", "500 cut off", "302 to a private address", "302 to nowhere"} {
		want[name] = jobtest.Unknown // the target may have started the job before this answer
	}
	jobtest.RunHTTP(t, jobtest.HTTPBench{
		New: newTypeAt, NewConfig: newConfig, Want: want,
		Config: func(url string) string {
			return "url: '" + url + "/?k=${env:JOBTEST_TOKEN}'\ntimeout: 1s\ncallback: true\nheaders: {X-Key: '${env:JOBTEST_TOKEN}'}\n"
		},
	})
}

// start sends the request of a config to a server.
func start(t *testing.T, config string) (job.Started, error) {
	t.Helper()
	a := job.Attempt{ID: "orders/cron/2026-03-03/1", Callback: job.Callback{URL: "https://me.example/cb", Token: jobtest.CallbackToken}}
	a = jobtest.Expand(t, a, config, new(http.Config))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	return newType(t, "127.0.0.1", "localhost").Start(ctx, a)
}

func TestRequestMatchesTheConfig(t *testing.T) {
	var got nethttp.Request
	var body []byte
	s := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		got = *r
		body, _ = io.ReadAll(r.Body)
	}))
	defer s.Close()
	tests := map[string]struct{ method, kind, body string }{
		"":                           {"POST", "", ""},
		"method: GET\n":              {"GET", "", ""},
		"method: put\nbody: hello\n": {"PUT", "text/plain; charset=utf-8", "hello"},
		"body: {a: '<&', b: 2}\n":    {"POST", "application/json", `{"a":"<&","b":2}`},
		"body: [1, true]\n":          {"POST", "application/json", `[1,true]`},
		"body: '{\"a\": 1}'\n":       {"POST", "application/json", `{"a": 1}`},
		"body: ' '\n":                {"POST", "text/plain; charset=utf-8", " "},
		"body: {a: 1}\nheaders: {content-type: application/vnd.x+json}\n": {"POST", "application/vnd.x+json", `{"a":1}`},
	}
	for config, want := range tests {
		if _, err := start(t, "url: "+s.URL+"/p\n"+config); err != nil {
			t.Fatal(err)
		}
		if got.Method != want.method || got.Header.Get("Content-Type") != want.kind || string(body) != want.body {
			t.Errorf("%s: got %s %s %s", config, got.Method, got.Header.Get("Content-Type"), body)
		}
		if got.Header.Get("Idempotency-Key") != "orders/cron/2026-03-03/1" || got.Header.Get("Interlock-Callback-Token") != "" || got.Header.Get("User-Agent") != "interlock" {
			t.Errorf("%s: got headers %v", config, got.Header)
		}
	}
	if _, err := start(t, "url: "+s.URL+"\ncallback: true\nheaders: {Host: front.example, user-agent: mine}\n"); err != nil {
		t.Fatal(err)
	}
	if h := got.Header; got.Host != "front.example" || h.Get("User-Agent") != "mine" || h.Get("Interlock-Callback-URL") != "https://me.example/cb" || h.Get("Interlock-Callback-Token") != jobtest.CallbackToken {
		t.Errorf("got %s %v", got.Host, h)
	}
}

// TestCredentialsStayWithTheirHost also shows which redirects repeat the request.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	var got nethttp.Request
	var body []byte
	elsewhere := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		got = *r
		body, _ = io.ReadAll(r.Body)
	}))
	defer elsewhere.Close()
	_, port, err := net.SplitHostPort(elsewhere.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		code         int
		to           string
		method, body string
		credentials  bool
	}{
		{302, elsewhere.URL, "GET", "", false},
		{303, "http://localhost:" + port, "GET", "", false},
		{308, "/again", "POST", "hello", true},
	}
	for _, tt := range tests {
		s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if r.URL.Path == "/again" {
				got = *r
				body, _ = io.ReadAll(r.Body)
				return
			}
			nethttp.Redirect(w, r, tt.to, tt.code)
		}))
		started, err := start(t, "url: "+s.URL+"/first\nbody: hello\nheaders: {X-Api-Key: '${env:JOBTEST_TOKEN}', Authorization: 'Bearer ${env:JOBTEST_TOKEN}'}\n")
		s.Close()
		if err != nil || started.Result.Result != run.ResultSuccess {
			t.Fatalf("%d: %+v, %v", tt.code, started.Result, err)
		}
		sent := got.Header.Get("X-Api-Key") != "" && got.Header.Get("Authorization") != ""
		none := got.Header.Get("X-Api-Key") == "" && got.Header.Get("Authorization") == ""
		if got.Method != tt.method || string(body) != tt.body || sent != tt.credentials || none == tt.credentials || got.Header.Get("Idempotency-Key") == "" {
			t.Errorf("%d to %s: got %s %q %v", tt.code, tt.to, got.Method, body, got.Header)
		}
	}
}

func TestABodyIsNotSentToAnotherHost(t *testing.T) {
	var requests atomic.Int64
	elsewhere := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { requests.Add(1) }))
	defer elsewhere.Close()
	for _, code := range []int{301, 307, 308} {
		s := httptest.NewServer(nethttp.RedirectHandler(elsewhere.URL, code))
		started, err := start(t, "url: "+s.URL+"\nbody: '${env:JOBTEST_TOKEN}'\n")
		_, refused := start(t, "url: "+s.URL+"\nbody: '${env:JOBTEST_TOKEN}'\ncallback: true\n")
		s.Close()
		if err != nil || started.Result.Category != run.Permanent || !strings.Contains(started.Result.Message, "another host") {
			t.Errorf("%d: got %+v, %v", code, started.Result, err)
		}
		if r := (*job.Refusal)(nil); !errors.As(refused, &r) || r.Category != run.Permanent {
			t.Errorf("%d with callback: got %v", code, refused)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("the other host got %d requests", n)
	}
}

func TestACheckConnectsAndSendsNothing(t *testing.T) {
	s := newTarget(t)
	secure := httptest.NewTLSServer(s)
	defer secure.Close()
	gone := httptest.NewServer(s)
	gone.Close()
	tests := map[string]struct {
		url  string
		want any // the kind of the error
		text string
	}{
		"there":                       {s.URL, new(*job.Unsure), "accepts connections"},
		"not there":                   {gone.URL, nil, "connect to " + strings.TrimPrefix(gone.URL, "http://") + ": connection refused"},
		"not trusted":                 {secure.URL, nil, "certificate"},
		"blocked by the egress guard": {"http://10.255.255.1/", new(*job.Refusal), "egress.allow"},
	}
	for name, tt := range tests {
		a := jobtest.Expand(t, job.Attempt{}, "url: "+tt.url+"\n", new(http.Config))
		err := newType(t, "127.0.0.1").(job.Checker).Check(t.Context(), a)
		if err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: got %v, want %q in it", name, err, tt.text)
		}
		if tt.want != nil && !errors.As(err, tt.want) || tt.want == nil && (errors.As(err, new(*job.Refusal)) || errors.As(err, new(*job.Unsure))) {
			t.Errorf("%s: got a %T", name, err)
		}
	}
	if calls := s.wire.Calls(); len(calls) != 0 {
		t.Errorf("got %v", calls)
	}
}

func TestStartCancelledBeforeConnectingIsATransientRefusal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := jobtest.Expand(t, job.Attempt{ID: "a/cron/2026-03-03/1"}, "url: http://127.0.0.1:9/\n", new(http.Config))
	_, err := newType(t, "127.0.0.1").Start(ctx, a)
	if refusal, ok := err.(*job.Refusal); !ok || refusal.Category != run.Transient {
		t.Errorf("got %v", err)
	}
}

func TestTimeoutLimitsTheStart(t *testing.T) {
	kind := newType(t).(job.Blocking)
	for config, want := range map[string]time.Duration{"": time.Minute, "timeout: 5m\n": 5 * time.Minute, "callback: true\n": 0} {
		a := jobtest.Expand(t, job.Attempt{}, "url: http://h/\n"+config, new(http.Config))
		if got, is := kind.Limit(a.Config); got != want || is != (want > 0) {
			t.Errorf("%s: got %v, %v", config, got, is)
		}
	}
}

func TestAJobWithACallbackRunsUntilItReports(t *testing.T) {
	a := jobtest.Expand(t, job.Attempt{}, "url: http://h/\ncallback: true\n", new(http.Config))
	if status, err := newType(t).Status(t.Context(), a, "h"); err != nil || status != (job.Status{}) {
		t.Errorf("got %+v, %v", status, err)
	}
}

// TestWhatFollowsARedirectAfterTheStartDoesNotRefuseIt covers targets that accept a request and
// redirect the client to its result.
func TestWhatFollowsARedirectAfterTheStartDoesNotRefuseIt(t *testing.T) {
	for _, code := range []int{302, 303} {
		s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if r.Method == nethttp.MethodPost {
				nethttp.Redirect(w, r, "/gone", code)
				return
			}
			nethttp.NotFound(w, r)
		}))
		_, err := start(t, "url: "+s.URL+"\ncallback: true\n")
		s.Close()
		if err == nil || errors.As(err, new(*job.Refusal)) {
			t.Errorf("%d: got %v, want an error that leaves open whether the job started", code, err)
		}
	}
}
