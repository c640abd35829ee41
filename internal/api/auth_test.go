package api_test

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/api"
)

// The tokens of the tests.
const (
	viewerToken   = "viewer-0123456789"
	sensorToken   = "sensor-0123456789"
	limitedToken  = "limited-0123456789"
	runnerToken   = "runner-0123456789"
	operatorToken = "operator-0123456789"
	adminToken    = "admin-0123456789"
)

func withTokens(d *api.Deps) {
	d.Settings.Tokens = []api.Token{
		{Name: "wall", Role: api.RoleViewer, Secret: viewerToken},
		{Name: "etl", Role: api.RoleSensor, Secret: sensorToken},
		{Name: "silver", Role: api.RoleSensor, Secret: limitedToken, Pipelines: []string{"silver-*"}},
		{Name: "cron", Role: api.RoleRunner, Secret: runnerToken, Pipelines: []string{"on-*"}},
		{Name: "ann", Role: api.RoleOperator, Secret: operatorToken},
		{Name: "root", Role: api.RoleAdmin, Secret: adminToken},
	}
}

func TestRolesAllowExactlyTheirOperations(t *testing.T) {
	w := newWorld(t, withTokens)
	type try struct{ method, path, body string }
	read := try{"GET", "/api/v1/runs", ""}
	write := try{"PUT", ordersSensors + "x", "{}"}
	batch := try{"POST", "/api/v1/sensors", `[{"pipeline":"orders","key":"x","data":{}}]`}
	pause := try{"POST", "/api/v1/pipelines/orders/pause", "{}"}
	text := try{"GET", "/api/v1/pipelines/orders/versions/none", ""}
	metrics := try{"GET", "/metrics", ""}
	for _, c := range []struct {
		token string
		try   try
		want  int
	}{
		{"", read, 401},
		{"", write, 401},
		{"", pause, 401},
		{"", metrics, 401},
		{"wrong", read, 401},
		{"wrong", write, 401},
		{viewerToken, read, 200},
		{viewerToken, metrics, 200},
		{viewerToken, write, 403},
		{viewerToken, batch, 403},
		{viewerToken, pause, 403},
		{viewerToken, text, 403},
		{sensorToken, read, 200},
		{sensorToken, write, 200},
		{sensorToken, batch, 200},
		{sensorToken, pause, 403},
		{limitedToken, read, 200},
		{limitedToken, write, 403},
		{limitedToken, batch, 403},
		{limitedToken, try{"PUT", "/api/v1/pipelines/silver-orders/sensors/x", "{}"}, 200},
		{limitedToken, try{"GET", "/api/v1/pipelines/silver-orders", ""}, 200},
		{limitedToken, try{"GET", "/api/v1/pipelines/orders", ""}, 403},
		{limitedToken, try{"GET", "/api/v1/runs?pipeline=orders", ""}, 403},
		{runnerToken, read, 200},
		{runnerToken, write, 403},
		{runnerToken, batch, 403},
		{runnerToken, pause, 403},
		{runnerToken, text, 403},
		{operatorToken, read, 200},
		{operatorToken, write, 200},
		{operatorToken, pause, 200},
		{operatorToken, text, 404},
		{adminToken, write, 200},
		{adminToken, pause, 200},
	} {
		w.token = c.token
		got := w.request(c.try.method, c.try.path, c.try.body)
		if got.status != c.want {
			t.Errorf("%q %s %s: got %d, want %d: %s", c.token, c.try.method, c.try.path, got.status, c.want, got.body)
		}
		if got.status == 401 || got.status == 403 {
			got.problem(c.want)
		}
		if got.status == 401 && !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("401 has no WWW-Authenticate: %v", got.header)
		}
	}
}

func TestLimitedTokenSeesOnlyItsPipelines(t *testing.T) {
	w := opened(t, withTokens)
	w.token = limitedToken
	if items := w.get("/api/v1/pipelines").items(); len(items) != 1 || items[0]["id"] != "silver-orders" {
		t.Errorf("got %v", items)
	}
	for _, list := range []string{"/api/v1/runs", "/api/v1/deadlines"} {
		if items := w.get(list).items(); len(items) != 0 {
			t.Errorf("%s: got %v", list, items)
		}
	}
	for _, item := range w.get("/api/v1/events").items() {
		if got := item["detail"].(map[string]any)["pipelineId"]; got != "silver-orders" {
			t.Errorf("sees an event of %v", got)
		}
	}
	if items := w.get("/api/v1/timeline").object(200)["items"].([]any); len(items) != 1 {
		t.Errorf("got %v", items)
	}
}

func TestTokensNameIsRecorded(t *testing.T) {
	w := newWorld(t, withTokens)
	w.token = operatorToken
	if got := w.post("/api/v1/runs", `{"pipeline":"orders"}`).object(201)["requestedBy"]; got != "ann" {
		t.Errorf("recorded %v", got)
	}
	if got := w.post("/api/v1/runs", `{"pipeline":"silver-orders","requestedBy":"bob"}`).object(201)["requestedBy"]; got != "bob (ann)" {
		t.Errorf("recorded %v", got)
	}
	w.put(ordersSensors+"x", "{}").object(200)
	if got := w.get(ordersSensors + "x").object(200)["source"]; got != "ann" {
		t.Errorf("recorded %v", got)
	}
}

func TestLogContainsNoSecrets(t *testing.T) {
	w := newWorld(t, withTokens)
	w.token = operatorToken
	w.post("/api/v1/runs", `{"pipeline":"orders"}`).object(201)
	w.token = "wrong-0123456789"
	w.get("/api/v1/runs").problem(401)
	log := w.log.String()
	if strings.Contains(log, operatorToken) || strings.Contains(log, "wrong-0123456789") {
		t.Errorf("a token is in the log:\n%s", log)
	}
	if !strings.Contains(log, `"by":"ann"`) || !strings.Contains(log, `"level":"WARN"`) {
		t.Errorf("the log lacks the client of an action or of a rejected request:\n%s", log)
	}
}
