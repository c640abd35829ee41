package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
)

func TestForeignHostNamesAreRejectedOnLoopback(t *testing.T) {
	w := newWorld(t)
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8740": 200, "LOCALHOST.": 200, "127.0.0.1:1": 200, "127.9.9.9": 200, "[::1]:8740": 200, "app.localhost": 200,
		"evil.example": 403, "evil.example:8740": 403, "localhost.evil.example": 403, "192.168.1.1": 403, "127.0.0.1.evil.example": 403, "[::2]:80": 403,
	} {
		for _, path := range []string{"/api/v1/runs", "/healthz"} {
			got := w.get(path, "Host: "+host)
			if got.status != want {
				t.Errorf("%s at %s: got %d, want %d", path, host, got.status, want)
			}
		}
	}
	w.put(ordersSensors+"x", "{}", "Host: evil.example").problem(403, "problem:wrong-host")
	open := newWorld(t, withTokens, func(d *api.Deps) { d.Settings.Loopback = false })
	open.token = viewerToken
	open.get("/api/v1/runs", "Host: interlock.example").object(200)
}

func TestWithoutTokensOnlyLoopbackIsServed(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) { d.Settings.Loopback = false })
	w.get("/api/v1/runs").problem(401, "no tokens")
	w.put(ordersSensors+"x", "{}").problem(401)
}

func TestCrossOriginWritesAreRejected(t *testing.T) {
	w := newWorld(t)
	own := w.server.URL
	for _, c := range []struct {
		headers []string
		want    int
	}{
		{nil, 200},
		{[]string{"Origin: " + own}, 200},
		{[]string{"Sec-Fetch-Site: same-origin", "Origin: " + own}, 200},
		{[]string{"Sec-Fetch-Site: none"}, 200},
		{[]string{"Origin: https://evil.example"}, 403},
		{[]string{"Origin: null"}, 403},
		{[]string{"Sec-Fetch-Site: cross-site"}, 403},
		{[]string{"Sec-Fetch-Site: same-site", "Origin: http://127.0.0.1:1"}, 403},
	} {
		for _, try := range []struct{ method, path, body string }{
			{"PUT", ordersSensors + "x", "{}"},
			{"POST", "/api/v1/sensors", `[{"pipeline":"orders","key":"x","data":{}}]`},
		} {
			got := w.request(try.method, try.path, try.body, c.headers...)
			if got.status != c.want {
				t.Errorf("%s with %v: got %d, want %d", try.method, c.headers, got.status, c.want)
			}
			if c.want == 403 {
				got.problem(403, "problem:cross-origin")
			}
		}
		if got := w.get("/api/v1/runs", c.headers...); got.status != 200 || got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("a read with %v: got %d %v", c.headers, got.status, got.header)
		}
	}
}

func TestUnknownPathsAndMethodsAreProblems(t *testing.T) {
	w := newWorld(t)
	w.get("/api/v1/nothing").problem(404, "/openapi.json")
	w.get("/nothing").problem(404)
	w.request("DELETE", "/api/v1/runs", "").problem(405, "DELETE is not allowed", "GET")
	if got := w.request("DELETE", "/api/v1/runs", "").header.Get("Allow"); !strings.Contains(got, "POST") {
		t.Errorf("Allow is %q", got)
	}
	w.post("/api/v1/events/stream", "").problem(405)
	w.request("POST", ordersSensors+"x", "{}").problem(405, "PUT")
}

// TestWrongMethodNamesTheRightOnes uses a server with a dashboard, which serves all other paths.
func TestWrongMethodNamesTheRightOnes(t *testing.T) {
	w := newWorld(t, withDashboard)
	run := "/api/v1/runs/orders/cron/2026-03-04"
	for path, allow := range map[string]string{
		"/api/v1/cloudevents": "POST, OPTIONS", "/api/v1/ingest/x": "POST", "/api/v1/lineage": "POST", "/api/v1/sensors": "POST",
		"/api/v1/pipelines/x/resume": "POST", "/api/v1/pipelines/x/pause": "POST",
		run + "/cancel": "POST", run + "/claim": "POST", run + "/heartbeat": "POST", run + "/job": "POST", run + "/reruns": "POST",
		"/api/v1/runs": "GET, HEAD, POST", "/api/v1/pipelines": "GET, HEAD", ordersSensors + "x": "GET, HEAD, PUT, DELETE",
		"/healthz": "GET, HEAD", "/metrics": "GET, HEAD",
	} {
		for _, method := range []string{"GET", "DELETE", "BREW"} {
			if strings.Contains(allow, method) {
				continue
			}
			got := w.request(method, path, "")
			got.problem(405, method+" is not allowed here; use "+allow)
			if got.header.Get("Allow") != allow {
				t.Errorf("%s %s: Allow is %q, want %q", method, path, got.header.Get("Allow"), allow)
			}
		}
	}
}

func TestPathsThatAreAlmostRightAreExplained(t *testing.T) {
	w := newWorld(t, withDashboard)
	for _, method := range []string{"GET", "PUT"} {
		w.request(method, ordersSensors+"a/b/c", "{}").problem(404, "unknown path", "write / as %2F")
	}
	w.request("PUT", ordersSensors+"a/history", "{}").problem(405, "use GET, HEAD", "write / as %2F")
	w.post("/api/v1/lineage/", "{}").problem(404, "remove the / at its end")
	w.post("/api/v1/nothing/", "{}").problem(404, "/openapi.json")
	if got := w.get("/events"); got.status != 200 || !strings.Contains(string(got.body), "page") {
		t.Errorf("the dashboard: got %d %s", got.status, got.body)
	}
}

// withDashboard serves a page at every path.
func withDashboard(d *api.Deps) {
	d.Dashboard = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<title>page</title>") })
}

func TestRequestIDsAreReturned(t *testing.T) {
	w := newWorld(t)
	if got := w.get("/healthz", "X-Request-Id: trace-7.a").header.Get("X-Request-Id"); got != "trace-7.a" {
		t.Errorf("got %q", got)
	}
	for _, bad := range []string{"", "a b", strings.Repeat("x", 65), "a\"b"} {
		first, second := w.get("/healthz", "X-Request-Id: "+bad).header.Get("X-Request-Id"), w.get("/healthz").header.Get("X-Request-Id")
		if first == bad || first == second || first == "" {
			t.Errorf("%q: got %q, then %q", bad, first, second)
		}
	}
}

func TestUnchangedResponseIsNotModified(t *testing.T) {
	w := opened(t)
	first := w.get("/api/v1/runs")
	tag := first.header.Get("ETag")
	if tag == "" {
		t.Fatalf("no ETag: %v", first.header)
	}
	again := w.get("/api/v1/runs", "If-None-Match: "+tag)
	if again.status != http.StatusNotModified || len(again.body) != 0 {
		t.Errorf("got %d %s", again.status, again.body)
	}
	w.post(wednesday+"/cancel", "").object(200)
	if changed := w.get("/api/v1/runs", "If-None-Match: "+tag); changed.status != 200 || changed.header.Get("ETag") == tag {
		t.Errorf("got %d %v", changed.status, changed.header)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	ready := true
	w := newWorld(t, withTokens, func(d *api.Deps) {
		d.Health = func(context.Context) api.Health {
			return api.Health{Ready: ready, Checks: []client.HealthCheck{{Name: "store", OK: true}, {Name: "feed", OK: ready, Detail: "3m behind"}}}
		}
	})
	if got := w.get("/healthz").object(200); got["status"] != "ok" {
		t.Errorf("got %v", got)
	}
	if got := w.get("/readyz").object(200); got["status"] != "ready" || len(got["checks"].([]any)) != 0 {
		t.Errorf("without a token it shows the checks: %v", got)
	}
	w.token = viewerToken
	if got := w.get("/readyz").object(200); len(got["checks"].([]any)) != 2 {
		t.Errorf("got %v", got)
	}
	ready = false
	got := w.get("/readyz").problem(503, "feed: 3m behind", "not-ready")
	if len(got["checks"].([]any)) != 2 {
		t.Errorf("got %v", got)
	}
	w.get("/healthz").object(200)
}

func TestMetricsAreCounted(t *testing.T) {
	w := newWorld(t)
	w.put(ordersSensors+"x", "{}").object(200)
	w.put(ordersSensors+"x", "[]").problem(400)
	w.request("BREW", "/api/v1/runs", "").problem(405)
	figures := string(w.get("/metrics").body)
	for _, line := range []string{
		`interlock_sensor_writes_total{result="accepted"} 1`, `interlock_sensor_writes_total{result="refused"} 1`,
		`interlock_http_requests_total{method="PUT",route="/api/v1/pipelines/{id}/sensors/{key}",status="200"} 1`,
		`interlock_http_requests_total{method="other",route="none",status="405"} 1`,
	} {
		if !strings.Contains(figures, line) {
			t.Errorf("no line %s in\n%s", line, figures)
		}
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) {
		d.Health = func(context.Context) api.Health { panic("a bug") }
	})
	w.get("/readyz").problem(500, "log")
	if !strings.Contains(w.log.String(), "a bug") {
		t.Errorf("the panic is not in the log: %s", w.log)
	}
}

func TestClientDisconnectIsNotAServerError(t *testing.T) {
	w := newWorld(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	answer := httptest.NewRecorder()
	w.api.ServeHTTP(answer, httptest.NewRequestWithContext(gone, "GET", "http://localhost/api/v1/pipelines/orders/gate?date=2026-03-03&wait=30s", nil))
	if log := w.log.String(); answer.Code != http.StatusServiceUnavailable || !strings.Contains(log, "context canceled") || strings.Contains(log, "ERROR") {
		t.Errorf("answered %d, and the log says %s", answer.Code, log)
	}
}

func TestInternalErrorsAreOnlyLogged(t *testing.T) {
	w := newWorld(t)
	w.Check(w.Store.Close())
	for _, got := range []reply{w.put(ordersSensors+"x", "{}"), w.get("/api/v1/runs"), w.get("/api/v1/pipelines"), w.get("/api/v1/events/stream")} {
		p := got.problem(500)
		if strings.Contains(fmt.Sprint(p), "closed") {
			t.Errorf("the response contains the internal error: %v", p)
		}
		if !strings.Contains(w.log.String(), p["requestId"].(string)) {
			t.Errorf("the log has no %v: %s", p["requestId"], w.log)
		}
	}
	if !strings.Contains(w.log.String(), "store is closed") {
		t.Errorf("the log has no cause: %s", w.log)
	}
}

func TestUnsafeSettingsAreRejected(t *testing.T) {
	long := strings.Repeat("x", 16)
	for name, c := range map[string]struct {
		settings api.Settings
		want     string
	}{
		"open":      {api.Settings{}, "needs tokens"},
		"loopback":  {api.Settings{Loopback: true}, ""},
		"token":     {api.Settings{Tokens: []api.Token{{Name: "a", Role: api.RoleAdmin, Secret: long}}}, ""},
		"short":     {api.Settings{Tokens: []api.Token{{Name: "a", Role: api.RoleAdmin, Secret: "short"}}}, "at least 16"},
		"roleless":  {api.Settings{Tokens: []api.Token{{Name: "a", Secret: long}}}, "no role"},
		"repeated":  {api.Settings{Tokens: []api.Token{{Name: "a", Role: api.RoleAdmin, Secret: long}, {Name: "b", Role: api.RoleViewer, Secret: long}}}, "the same"},
		"callbacks": {api.Settings{Tokens: []api.Token{{Name: "a", Role: api.RoleAdmin, Secret: "ilcb_" + long}}}, "ilcb_"},
	} {
		err := c.settings.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), long) || strings.Contains(err.Error(), "short")) {
			t.Errorf("a token is in the error: %v", err)
		}
	}
	for _, name := range []string{"viewer", "sensor", "operator", "admin"} {
		if role, err := api.ParseRole(name); err != nil || role.String() != name {
			t.Errorf("%s: got %s, %v", name, role, err)
		}
	}
	if _, err := api.ParseRole("boss"); err == nil {
		t.Error("ParseRole accepts boss")
	}
}

func TestDashboardIsServedBesideTheAPI(t *testing.T) {
	w := newWorld(t, withTokens, func(d *api.Deps) {
		d.Dashboard = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	})
	for _, path := range []string{"/", "/assets/app.js"} {
		if got := w.get(path); got.status != 200 || string(got.body) != "hello" {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
	w.get("/api/v1/runs").problem(401)
	w.request("POST", "/", "").problem(401)
}

// FuzzSensorWrite writes any body under any key: every response is a stored reading that reads
// back, or a problem.
func FuzzSensorWrite(f *testing.F) {
	f.Add("ready", `{"status":"ok"}`)
	f.Add("ready#2026-03-03T07", `{"date":"2026-03-03","hour":7,"minute":"05"}`)
	f.Add("run/orders", `{}`)
	f.Add("../..", `{"a":[{"b":1e999}]}`)
	f.Add("a%2Fb", "\xff\x00")
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, key, body string) {
		path := url.PathEscape(key)
		answer := httptest.NewRecorder()
		w.api.ServeHTTP(answer, httptest.NewRequest("PUT", "http://localhost"+ordersSensors+path, strings.NewReader(body)))
		var got map[string]any
		if answer.Code >= 300 && answer.Code < 400 {
			return // the mux redirects to the cleaned path
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
			t.Fatalf("%q: answered %d %q", key, answer.Code, answer.Body)
		}
		switch answer.Code {
		case 200:
			name, _, _ := strings.Cut(key, "#")
			path := ordersSensors + url.PathEscape(name)
			if date, dated := got["date"].(string); dated {
				path += "?date=" + url.QueryEscape(date)
			}
			read := httptest.NewRecorder()
			w.api.ServeHTTP(read, httptest.NewRequest("GET", "http://localhost"+path, nil))
			if read.Code != 200 {
				t.Errorf("%q: stored as %v, read back %d %s", key, got, read.Code, read.Body)
			}
		case 400, 404, 413:
			if got["detail"] == "" {
				t.Errorf("%q: no reason: %v", key, got)
			}
		default:
			t.Errorf("%q: answered %d %v", key, answer.Code, got)
		}
	})
}

// Every line of the log is one that an operator needs: the audit record and the metrics have the
// rest.
func TestOnlyFailedRefusedAndSlowRequestsAreLogged(t *testing.T) {
	slow := time.Duration(0)
	var log bytes.Buffer
	var w *world
	w = newWorld(t, withTokens, func(d *api.Deps) {
		d.Logger = slog.New(slog.NewJSONHandler(&locked{w: &log}, nil))
		d.Health = func(context.Context) api.Health {
			w.Move(w.Now().Add(slow))
			return api.Health{Ready: true}
		}
	})
	w.token = operatorToken
	w.get("/api/v1/runs")
	w.get("/api/v1/nothing")
	w.post(pauseOrders, "{}")
	w.get("/readyz")
	if log.Len() > 0 {
		t.Errorf("ordinary requests are logged: %s", log.String())
	}
	slow = 6 * time.Second
	w.get("/readyz")
	w.token = "guess"
	w.get("/api/v1/runs")
	for _, want := range []string{`"path":"/readyz","status":200`, `"path":"/api/v1/runs","status":401`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s: %s", want, log.String())
		}
	}
}

// TestRequestsDuringTheStartAreAnsweredLikeOthers checks that a 503 during the start has an id and
// names no token, and that health checks do not wait.
func TestRequestsDuringTheStartAreAnsweredLikeOthers(t *testing.T) {
	far := "1 of 3 files stored"
	w := newWorld(t, func(d *api.Deps) { d.Starting = func(context.Context) string { return far } })
	for _, path := range []string{"/api/v1/pipelines/orders", "/ping/some-token-0123456789/orders/landed", "/in/some-token-0123456789/queue"} {
		p := w.post(path, "{}").problem(503, far)
		if strings.Contains(fmt.Sprint(p)+w.log.String(), "some-token") {
			t.Errorf("%v\n%s", p, w.log)
		}
	}
	if got := w.get("/readyz"); got.status != 200 {
		t.Errorf("/readyz was answered with %d", got.status)
	}
	far = ""
	if got := w.get("/api/v1/pipelines/orders"); got.status != 200 {
		t.Errorf("got %d %s", got.status, got.body)
	}
}
