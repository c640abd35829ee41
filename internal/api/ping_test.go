package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/api"
)

const pingOrders = "/ping/" + sensorToken + "/orders/nightly"

// pinged returns the data of the reading that pings have written.
func (w *world) pinged() map[string]any {
	w.Helper()
	w.token = adminToken
	return w.get(ordersSensors + "nightly").object(200)["data"].(map[string]any)
}

func TestPingsWriteReadings(t *testing.T) {
	for _, c := range []struct {
		method, signal, body string
		want                 map[string]any
	}{
		{"GET", "", "", map[string]any{"status": "success", "exitStatus": nil, "durationSeconds": nil, "body": nil}},
		{"POST", "", "42 rows", map[string]any{"status": "success", "exitStatus": nil, "durationSeconds": nil, "body": "42 rows"}},
		{"HEAD", "/start", "", map[string]any{"status": "start", "exitStatus": nil, "durationSeconds": nil, "body": nil}},
		{"GET", "/fail", "", map[string]any{"status": "fail", "exitStatus": nil, "durationSeconds": nil, "body": nil}},
		{"GET", "/0", "", map[string]any{"status": "success", "exitStatus": 0.0, "durationSeconds": nil, "body": nil}},
		{"POST", "/255", "disk full\xff", map[string]any{"status": "fail", "exitStatus": 255.0, "durationSeconds": nil, "body": "disk full�"}},
	} {
		w := newWorld(t, withTokens)
		got := w.request(c.method, pingOrders+c.signal, c.body)
		if got.status != 200 || c.method != "HEAD" && string(got.body) != "OK" {
			t.Errorf("%s %s: %d %s", c.method, c.signal, got.status, got.body)
		}
		if diff := cmp.Diff(c.want, w.pinged()); diff != "" {
			t.Errorf("%s %s: %s", c.method, c.signal, diff)
		}
	}
}

func TestPingMeasuresFromTheStartPing(t *testing.T) {
	w := newWorld(t, withTokens)
	w.get(pingOrders + "/start")
	w.Pass(90*time.Second + 250*time.Millisecond)
	w.get(pingOrders + "/3")
	if got := w.pinged(); got["durationSeconds"] != 90.25 || got["status"] != "fail" {
		t.Errorf("got %v", got)
	}
	w.Pass(time.Minute)
	w.get(pingOrders)
	if got := w.pinged()["durationSeconds"]; got != nil {
		t.Errorf("a ping without a start before it took %v", got)
	}
}

func TestPingKeepsTheBeginningOfItsBody(t *testing.T) {
	w := newWorld(t, withTokens)
	got := w.request("POST", pingOrders, "a"+strings.Repeat("é", 10<<10))
	if got.status != 200 || got.header.Get("Ping-Body-Limit") != "10240" {
		t.Fatalf("%d %v", got.status, got.header)
	}
	if body := w.pinged()["body"].(string); body != "a"+strings.Repeat("é", (10<<10-1)/2) {
		t.Errorf("kept %d bytes, ending in %q", len(body), body[len(body)-4:])
	}
}

func TestPingDatedByItsKey(t *testing.T) {
	w := newWorld(t, withTokens)
	if got := w.get(pingOrders + "%232026-03-02/0"); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w.token = adminToken
	if got := w.get(ordersSensors + "nightly?date=2026-03-02").object(200)["date"]; got != "2026-03-02" {
		t.Errorf("date is %v", got)
	}
}

func TestWrongPingsAreRejected(t *testing.T) {
	w := newWorld(t, withTokens)
	w.get(pingOrders+"/256").problem(400, "255")
	w.get(pingOrders+"/99999999999999999999999").problem(400, "255")
	w.get(pingOrders+"/-1").problem(400, "signal")
	w.get(pingOrders+"/log").problem(400, "start, fail")
	w.get("/ping/"+sensorToken+"/orders/run%2Forders").problem(400, "engine")
	w.request("PUT", pingOrders, "").problem(405, "GET, HEAD or POST")
	w.get(pingOrders, "Sec-Fetch-Site: cross-site").problem(403, "problem:cross-origin")
	w.get(pingOrders, "Host: evil.example").problem(403, "problem:wrong-host")
}

// TestPingRevealsNothingAboutTokensAndPipelines compares the responses to clients that may not
// know.
func TestPingRevealsNothingAboutTokensAndPipelines(t *testing.T) {
	w := newWorld(t, withTokens)
	want := w.get("/ping/" + sensorToken + "/nothing/nightly").problem(404)
	for _, path := range []string{
		"/ping/unknown-0123456789/orders/nightly", "/ping/unknown-0123456789/nothing/nightly",
		"/ping/" + limitedToken + "/orders/nightly", "/ping/" + viewerToken + "/orders/nightly",
		"/ping/" + operatorToken + "/orders/nightly", "/ping/" + adminToken + "/orders/nightly/300",
		"/ping/" + runnerToken + "/on-demand/nightly", "/ping/" + sensorToken, "/ping/", "/ping", "/ping/a/b/c/d/e",
	} {
		got := w.get(path).problem(404)
		got["requestId"] = want["requestId"]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s gets another response: %s", path, diff)
		}
	}
}

func TestPingPathsAreNotLogged(t *testing.T) {
	w := newWorld(t, withTokens)
	for _, path := range []string{pingOrders, pingOrders + "/256", "/ping/unknown-0123456789/orders/x", "/ping/" + sensorToken + "/a/b/c/d", "/ping/" + viewerToken + "/orders/x"} {
		w.request("POST", path, "")
		w.request("DELETE", path, "")
	}
	log := w.log.String()
	w.token = viewerToken
	log += string(w.get("/metrics").body)
	for _, secret := range []string{sensorToken, viewerToken, "unknown-0123456789", "/orders/x"} {
		if strings.Contains(log, secret) {
			t.Errorf("%s is in the log or the metrics:\n%s", secret, log)
		}
	}
	if !strings.Contains(log, `"path":"/ping"`) || !strings.Contains(log, `route="/ping/{token}/{pipeline}/{key}"`) {
		t.Errorf("pings are not logged or counted:\n%s", log)
	}
}

func TestServerWithoutTokensAcceptsAnyPingToken(t *testing.T) {
	w := newWorld(t)
	if got := w.get("/ping/-/orders/nightly"); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	w = newWorld(t, func(d *api.Deps) { d.Settings.ReadOnly = "look only" })
	w.get("/ping/-/orders/nightly").problem(403, "look only")
}
