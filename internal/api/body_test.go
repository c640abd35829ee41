package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/run"
)

// unread is a request body that reports whether it was read.
type unread struct {
	strings.Reader
	read bool
}

func (u *unread) Read(p []byte) (int, error) {
	u.read = true
	return u.Reader.Read(p)
}

func (u *unread) Close() error { return nil }

// writers calls do with the method, the path and the id of every operation that has a body.
func writers(t *testing.T, do func(method, path, operation string)) {
	t.Helper()
	paths := strings.NewReplacer("{id}", "orders", "{pipeline}", "orders", "{schedule}", "cron", "{date}", "2026-03-04",
		"{key}", "source", "{token}", "unknown-0123456789", "{source}", "queue", "{silence}", "s-1", "{signal}", "0")
	var described struct {
		Paths map[string]map[string]struct {
			OperationID string          `json:"operationId"`
			RequestBody json.RawMessage `json:"requestBody"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(api.OpenAPI(), &described); err != nil {
		t.Fatal(err)
	}
	n := 0
	for path, operations := range described.Paths {
		for method, op := range operations {
			if op.RequestBody != nil {
				do(strings.ToUpper(method), paths.Replace(path), op.OperationID)
				n++
			}
		}
	}
	if n < 20 {
		t.Fatalf("only %d operations have a body", n)
	}
}

// Only a login is read, because the token is in its body.
func TestNoBodyIsReadBeforeTheClientIsKnown(t *testing.T) {
	w := opened(t, withTokens, withLimited)
	key, err := run.ParseKey("orders/cron/2026-03-04")
	w.Check(err)
	forged := strings.Replace(callbacks.For(key, 1).Token, "ilcb_1_", "ilcb_2_", 1)
	for name, credential := range map[string]string{
		"nobody": "", "an unknown token": "unknown-0123456789", "a forged callback token": forged,
		"a forged permit": strings.Replace(forged, "ilcb_", "ilpm_", 1), "a forged replica": "ilcb_1_other_AAAA", "a viewer": viewerToken,
		"a sensor token of other pipelines": limitedSecret(api.RoleSensor), "an operator of other pipelines": limitedSecret(api.RoleOperator),
	} {
		writers(t, func(method, path, operation string) {
			body := &unread{Reader: *strings.NewReader("{}")}
			r := httptest.NewRequest(method, "http://localhost"+path, body)
			r.Header.Set("Content-Type", "application/json")
			if credential != "" {
				r.Header.Set("Authorization", "Bearer "+credential)
			}
			answer := httptest.NewRecorder()
			w.api.ServeHTTP(answer, r)
			// A limited token may use a route without a pipeline in its path: the body names it.
			allowed := operation == "login" || strings.HasPrefix(credential, "limited-") && !strings.Contains(path, "/orders")
			if body.read && !allowed || answer.Code < 400 && operation != "add-silence" {
				t.Errorf("%s: %s %s (%s) was answered with %d, body read: %v", name, method, path, operation, answer.Code, body.read)
			}
		})
	}
}

const wideLists, wideObjects = "[],", `{"a":1},`

func wide(what string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(what, n), ",") + "]"
}

func TestBodiesHaveLimits(t *testing.T) {
	w := newWorld(t, withTokens)
	w.token = operatorToken
	const claim = "/api/v1/runs/orders/cron/2026-03-03/claim"
	blanks := func(n int) string { return strings.Repeat(" ", n) }
	for name, c := range map[string]struct {
		path, body string
		status     int
		says       string
	}{
		"login":                 {sessionPath, blanks(4<<10 + 1), 413, "at most 4096 bytes"},
		"claim":                 {claim, blanks(64<<10 + 1), 413, "at most 65536 bytes"},
		"trigger":               {"/api/v1/runs", blanks(64<<10 + 1), 413, "at most 65536 bytes"},
		"pause":                 {pauseOrders, blanks(64<<10 + 1), 413, "at most 65536 bytes"},
		"report":                {"/api/v1/runs/orders/cron/2026-03-03/job", blanks(512<<10 + 1), 413, "at most 524288 bytes"},
		"batch":                 {"/api/v1/sensors", blanks(1<<20 + 1), 413, "at most 1048576 bytes"},
		"rerun":                 {"/api/v1/runs/orders/cron/2026-03-03/reruns", blanks(1<<20 + 1), 413, "at most 1048576 bytes"},
		"many lists":            {"/api/v1/sensors", wide(wideLists, 100_000), 413, "more than 100000 values"},
		"many objects":          {"/api/v1/sensors", wide(wideObjects, 50_000), 413, "more than 100000 values"},
		"many numbers":          {"/api/v1/sensors", wide("1,", 100_000), 413, "more than 100000 values"},
		"many texts":            {"/api/v1/sensors", wide(`"",`, 100_000), 413, "more than 100000 values"},
		"names are no values":   {"/api/v1/sensors", wide(`{"a":1},`, 49_999), 400, "list of readings"},
		"quoted commas are not": {"/api/v1/sensors", `["` + strings.Repeat(`{\",`, 110_000) + `"]`, 400, "list of readings"},
		"a wide trigger":        {"/api/v1/runs", `{"pipeline":` + wide(wideLists, 1000) + `}`, 413, "more than 1000 values"},
		"a wide reading":        {"/api/v1/ingest/queue", wide(wideObjects, 60_000), 413, "more than 100000 values"},
		"a wide claim":          {claim, `{"worker":` + wide(wideLists, 1000) + `}`, 413, "more than 1000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			w := *w
			w.TB = t
			if strings.Contains(c.path, "/ingest/") {
				w.useSources(bridge)
				c.path = "/api/v1/ingest/bridge"
			}
			w.post(c.path, c.body).problem(c.status, c.says)
		})
	}
}

// Output is 64 KiB at most, and JSON may need six bytes for each of it.
func TestHeartbeatHoldsEscapedOutput(t *testing.T) {
	w := newNightly(t)
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	permit := "Authorization: Bearer " + w.post(nightlyRun+"/claim", `{"worker":"w1"}`).object(200)["permit"].(string)
	body := `{"output":"` + strings.Repeat(`\u0001`, 64<<10) + `"}`
	w.post(nightlyRun+"/heartbeat", body, permit).object(200)
	w.post(nightlyRun+"/job", `{"result":"success",`+body[1:], permit).object(200)
}

// The largest body that a route allows is accepted or rejected for what it says: it fits into the
// budget alone.
func TestLargestBodyFitsIntoTheBudget(t *testing.T) {
	w := newWorld(t)
	w.useSources(bridge)
	text := strings.Repeat("x", 6<<20)
	for _, got := range []reply{
		w.post("/api/v1/ingest/bridge", zipped(`[{"deep":1,"x":"`+text+`"},`+wide(wideObjects, 30_000)[1:]), "Content-Encoding: gzip"),
		w.post("/api/v1/sensors", wide(wideObjects, 49_999)),
		w.put(ordersSensors+"wide", `{"x":`+wide("1,", 32_000)+`}`),
	} {
		if got.status == http.StatusServiceUnavailable || got.status == http.StatusRequestEntityTooLarge {
			t.Errorf("%d %.300s", got.status, got.body)
		}
	}
	w.post("/api/v1/ingest/bridge", zipped(`[{"deep":1,"x":"`+text+`"},`+wide(wideObjects, 49_000)[1:]), "Content-Encoding: gzip").problem(413, "more memory")
	if used := w.api.ReservedForBodies(); used != 0 {
		t.Errorf("%d bytes stay reserved", used)
	}
}

// While large bodies fill their part of the budget, readings and workers are served; while
// everything is used, nothing is stored.
func TestFullBudgetRejectsBodiesAndStoresNothing(t *testing.T) {
	w := newNightly(t)
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	const sensors = "/api/v1/pipelines/nightly/sensors/"
	reading := func(key string) string {
		return `{"pipeline":"nightly","key":"` + key + `","data":{"x":"` + strings.Repeat("x", 60_000) + `"}}`
	}
	batch := "[" + reading("k") + "," + reading("l") + "]"

	free := w.api.ReserveForBodies(3, 4)
	got := w.post("/api/v1/sensors", batch)
	got.problem(503, "busy", "nothing was stored", "again")
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
	}
	w.put(sensors+"small", `{"x":1}`).object(200)
	permit := "Authorization: Bearer " + w.post(nightlyRun+"/claim", `{"worker":"w1"}`).object(200)["permit"].(string)
	free()

	free = w.api.ReserveForBodies(1, 1)
	w.put(sensors+"other", `{"x":1}`).problem(503, "busy")
	if got := w.post("/ping/any-token-0123456789/nightly/beat", "hello"); got.status != 503 {
		t.Errorf("the ping was answered with %d", got.status)
	}
	w.post(nightlyRun+"/heartbeat", `{"output":"`+strings.Repeat("x", 60_000)+`"}`, permit).object(200)
	free()

	for _, key := range []string{"k", "l", "other", "beat"} {
		w.get(sensors + key).problem(404)
	}
	w.post("/api/v1/sensors", batch).object(200)
	if used := w.api.ReservedForBodies(); used != 0 {
		t.Errorf("%d bytes stay reserved", used)
	}
	metrics := string(w.get("/metrics").body)
	for _, line := range []string{`interlock_http_bodies_rejected_total{reason="busy"} 3`, `interlock_http_bodies_reserved_bytes{budget="jobs"} 0`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// A service that pushes messages redelivers what had no room, and nothing else.
func TestFullBudgetAsksForMessagesAgain(t *testing.T) {
	w := newWorld(t)
	w.useSources(bridge)
	free := w.api.ReserveForBodies(1, 1)
	got := w.post("/in/any-token-0123456789/bridge", `{"deep":1}`)
	if got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("answered %d, Retry-After %q: %s", got.status, got.header.Get("Retry-After"), got.body)
	}
	free()
	if got := w.post("/in/any-token-0123456789/bridge", wide(wideObjects, 60_000)); got.status != 200 || !strings.Contains(string(got.body), "more than 100000 values") {
		t.Errorf("a message that can never be accepted: %d %.200s", got.status, got.body)
	}
}

// Text that a source decodes as JSON once more has its own limit: it hides the values from the
// limit on the body.
func TestNestedTextHasALimit(t *testing.T) {
	w := newWorld(t)
	w.useSources(`source: {id: nested, owner: x, format: json}
each: {path: $.text, decode: json}
match: [{path: $.x, exists: true}]
write: [{pipeline: orders, key: k, fields: {n: {path: $.x}}}]
`)
	sent := func(n int) string {
		return string(w.post("/api/v1/ingest/nested", fmt.Sprintf(`{"text":%q}`, `{"x":1,"y":`+wide(wideObjects, n)+`}`)).body)
	}
	if got := sent(12_000); !strings.Contains(got, `"written":1`) {
		t.Errorf("12,000 objects: %s", got)
	}
	if got := sent(13_000); !strings.Contains(got, `"written":0`) || !strings.Contains(got, "more than 25000 values") {
		t.Errorf("13,000 objects: %s", got)
	}
}
