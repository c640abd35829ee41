package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// withLimited adds a token of each role that is limited to silver-*.
func withLimited(d *api.Deps) {
	for role := api.RoleViewer; role < api.RoleAdmin; role++ {
		d.Settings.Tokens = append(d.Settings.Tokens, api.Token{Name: role.String(), Role: role, Secret: limitedSecret(role), Pipelines: []string{"silver-*"}})
	}
	d.Health = func(context.Context) api.Health {
		return api.Health{Ready: true, Checks: []client.HealthCheck{{Name: "pipeline orders", OK: true, Detail: "degraded: orders.yaml:1:1"}}}
	}
}

func limitedSecret(r api.Role) string { return "limited-" + r.String() + "-0123456789" }

// foreignBodies are requests that act on the pipeline orders, or on all pipelines.
var foreignBodies = map[string]string{
	"trigger":              `{"pipeline":"orders"}`,
	"put-sensors":          `[{"pipeline":"orders","key":"x","data":{}}]`,
	"put-sensor":           `{}`,
	"rerun":                `{"reason":"because"}`,
	"report":               `{"result":"success"}`,
	"backfill":             `{"from":"2026-03-01","to":"2026-03-02"}`,
	"add-silence":          `{"pipeline":"orders","until":"2h","reason":"because"}`,
	"retry-dead-letters":   `{"all":true}`,
	"discard-dead-letters": `{"all":true}`,
	"test-alert-route":     `{"route":"default"}`,
	"login":                `{"token":"unknown-0123456789"}`,
}

// everybodys are the operations that reveal nothing about pipelines.
var everybodys = map[string]bool{
	"login-methods": true, "begin-oidc": true, "finish-oidc": true, "login": true, "logout": true, "get-session": true, "healthz": true, "openapi": true, "metrics": true, "follow-events": true,
	"prove-identity": true, // TestOnlyControllersOnOneStoreProveTheSame
	// Events: each reading is checked in TestLimitedTokenWritesWhatItMay.
	"put-cloudevents": true, "put-lineage": true, "put-json-events": true,
	// Messages have their token in the path: TestInRevealsNothing.
	"put-message": true, "validate-address": true,
	// Pings have their token in the path: TestPingRevealsNothingAboutTokensAndPipelines.
	"ping-get": true, "ping-post": true, "ping-head": true, "ping-get-signal": true, "ping-post-signal": true, "ping-head-signal": true,
}

func TestLimitedTokenCannotAccessOtherPipelinesOnAnyRoute(t *testing.T) {
	w := opened(t, withLimited)
	paths := strings.NewReplacer("{id}", "orders", "{pipeline}", "orders", "{schedule}", "cron", "{date}", "2026-03-04",
		"{key}", "source", "{version}", "v", "{silence}", "s-1")
	var described struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		} `json:"paths"`
	}
	w.Check(json.Unmarshal(api.OpenAPI(), &described))
	for role := api.RoleViewer; role < api.RoleAdmin; role++ {
		w.token = limitedSecret(role)
		for path, operations := range described.Paths {
			for method, op := range operations {
				if everybodys[op.OperationID] {
					continue
				}
				got := w.request(strings.ToUpper(method), paths.Replace(path), foreignBodies[op.OperationID], "Content-Type: application/json")
				if filtered := method == "get" && got.status == 200 && onlySilver(string(got.body)); !filtered && got.status != 403 {
					t.Errorf("%s: %s %s (%s): %d %s", role, method, path, op.OperationID, got.status, got.body)
				}
			}
		}
		for _, list := range []string{"runs", "deadlines", "events", "events/stream", "timeline"} {
			w.get("/api/v1/"+list+"?pipeline=orders").problem(403, "orders")
		}
	}
}

// onlySilver reports whether every "orders" of a text belongs to silver-orders.
func onlySilver(body string) bool {
	return strings.Count(body, "orders") == strings.Count(body, "silver-orders")
}

func TestLimitedOperatorWorksOnItsPipelines(t *testing.T) {
	w := opened(t, withLimited)
	w.token = limitedSecret(api.RoleOperator)
	w.post("/api/v1/runs", `{"pipeline":"silver-orders"}`).object(201)
	w.post("/api/v1/pipelines/silver-orders/pause", `{}`).object(200)
	w.post("/api/v1/pipelines/silver-orders/resume", `{}`).object(200)
	w.token = limitedSecret(api.RoleViewer)
	w.get("/api/v1/pipelines/silver-orders").object(200)
	w.post("/api/v1/pipelines/silver-orders/pause", `{}`).problem(403, "operator")
}

// Problems of an event, and what keeps a run waiting, may concern pipelines of others.
func TestAnswersNameOnlyPipelinesThatTheTokenSees(t *testing.T) {
	w := opened(t, withTokens, withLimited)
	w.useSources(bridge, ordersLanded, sparkDone, lakeSNS)
	sensor := limitedSecret(api.RoleSensor)
	const lineage = `{"eventTime":"2026-03-09T01:00:00Z","eventType":"COMPLETE","producer":"p","schemaURL":"s","run":{"runId":"r","facets":{"nominalTime":{"nominalStartTime":"2026-03-04T00:00:00Z"}}},"job":{"namespace":"n","name":"orders_silver"}}`
	for path, body := range map[string]string{
		"/api/v1/ingest/bridge": `{"depth":1}`, "/in/" + sensor + "/bridge": `{"depth":1}`, "/in/" + sensor + "/lake-sns": `{"Type":"SubscriptionConfirmation","TopicArn":"t","SubscribeURL":"https://sns.eu-west-1.amazonaws.com/"}`,
		"/api/v1/cloudevents": landedJSON("a", "2026-03-03"), "/api/v1/lineage": lineage,
	} {
		w.token = sensor
		media := "Content-Type: application/json"
		if strings.HasSuffix(path, "cloudevents") {
			media = structured
		}
		got := w.request("POST", path, body, media)
		text := strings.ReplaceAll(string(got.body), "orders_silver", "")
		if got.status != 200 || !onlySilver(text) || strings.Contains(text, "spark-done") || strings.Contains(path, "v1") && !strings.Contains(text, "problems: 1") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	w.Apply(orders, silver, "pipeline: {id: silver-sum, owner: data}\nvalidation: {rules: [{key: source, from: orders, check: exists}]}\njob: {type: command, config: {command: [load]}}\n")
	w.Settle()
	w.token = operatorToken
	w.post("/api/v1/runs", `{"pipeline":"silver-sum"}`).object(201)
	w.Settle()
	const graph = "/api/v1/pipelines/silver-sum/graph"
	if got := string(w.get(graph).body); !strings.Contains(got, `"by":"orders"`) {
		t.Errorf("the whole graph lacks the block: %s", got)
	}
	w.token = limitedSecret(api.RoleViewer)
	if got := string(w.get(graph).body); !onlySilver(got) {
		t.Errorf("the graph: %s", got)
	}
	files := catalog.Files{}
	for i, text := range []string{
		orders, silver, probed, "pipeline: {id: silver-typo, owner: data}\nschedule: {after: [order]}\n",
		"pipeline: {id: silver-read, owner: data}\nvalidation: {rules: [{key: landing, from: probed, check: exists}]}\njob: {type: command, config: {command: [load]}}\n",
	} {
		files.Pipelines = append(files.Pipelines, pipeline.Source{File: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
	}
	_, err := w.Catalog.Apply(ctx, files, w.Now())
	w.Check(err)
	w.Settle()
	for _, list := range []string{"files", "events", "attention", "pipelines?removed=true"} {
		if got := string(w.get("/api/v1/" + list).body); !onlySilver(got) || list == "files" && !strings.Contains(got, "there is no pipeline") {
			t.Errorf("%s: %s", list, got)
		}
	}
	const explained = "/api/v1/pipelines/silver-read/explain?schedule=manual"
	if got := string(w.get(explained).body); !strings.Contains(got, `"probes":[]`) {
		t.Errorf("the explanation shows the probes of another pipeline: %s", got)
	}
	w.token = operatorToken
	if got := string(w.get(explained).body); !strings.Contains(got, `"probes":[{"pipeline":"probed"`) {
		t.Errorf("the explanation lacks the probes that it waits for: %s", got)
	}
}
