package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/catalog"
	assembly "github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

const deployedOrders = `
pipeline: {id: orders, owner: data}
schedule: {trigger: {key: landed, check: equals, field: status, value: ready}}
validation: {rules: [{key: rows, check: gte, field: count, value: 5}]}
job: {type: glue, config: {jobName: orders}}
`

// deployed returns the URL of tables with one active pipeline, and the tables as a Lambda function
// opens them.
func deployed(t *testing.T) (string, *dynamo.Store) {
	t.Helper()
	url := dynamotest.Own(t)
	db, err := dynamotest.Open(t.Context(), url, dynamo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // never fails
	files := catalog.Files{Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte(deployedOrders)}}}
	report, err := catalog.New(db, all.Kinds()).Apply(t.Context(), files, time.Now())
	if err != nil || len(report.Accepted) != 1 {
		t.Fatalf("accepted %v with %v, error %v", report.Accepted, report.Problems, err)
	}
	return url, db
}

func TestDeployedTables(t *testing.T) {
	url, db := deployed(t)
	for name, claim := range map[string]func(*testing.T, string, *dynamo.Store){
		"CommandsWork":                  commandsWork,
		"OperatorsAskByRows":            operatorsAsk,
		"RerunWaitsForItsAnswer":        rerunWaits,
		"DashboardOnlyShows":            dashboardShows,
		"WorkersClaim":                  workersClaim,
		"TablesThatAreNotThereAreNamed": missingTables,
	} {
		t.Run(name, func(t *testing.T) { claim(t, url, db) })
	}
}

// offered opens the run of a pipeline with an external job and offers it, as the functions do.
func offered(t *testing.T, db *dynamo.Store) client.RunKey {
	t.Helper()
	files := catalog.Files{Pipelines: []pipeline.Source{
		{File: "orders.yaml", Data: []byte(deployedOrders)},
		{File: "nightly.yaml", Data: []byte("pipeline: {id: nightly, owner: data}\njob: {type: external}\n")},
	}}
	c := catalog.New(db, all.Kinds())
	if _, err := c.Apply(t.Context(), files, time.Now()); err != nil {
		t.Fatal(err)
	}
	functions := assembly.New(assembly.Parts{Store: db, Catalog: c, Now: time.Now, Limits: router.Limits{RunTimeout: time.Hour, StartTries: 1}})
	r, err := functions.Router.Trigger(t.Context(), router.TriggerRequest{ID: "w1", Pipeline: "nightly", By: "ada"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	claims, err := db.Claim(t.Context(), store.ClaimQuery{Replica: "function", Task: lifecycle.TaskID(r.Key), Limit: 1, Lease: time.Minute}, time.Now())
	if err != nil || len(claims) != 1 {
		t.Fatalf("%d tasks, error %v", len(claims), err)
	}
	if err := functions.Perform(t.Context(), claims[0]); err != nil {
		t.Fatal(err)
	}
	return client.RunKey{Pipeline: "nightly", Schedule: string(r.Schedule), Date: r.Period.String()}
}

// Workers claim, send heartbeats and report through the tables. The functions see the result in the
// run's row.
func workersClaim(t *testing.T, url string, db *dynamo.Store) {
	key := offered(t, db)
	c, err := openConsole(t.Context(), url, "127.0.0.1:0", "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	}()
	asks, err := client.New(c.address())
	if err != nil {
		t.Fatal(err)
	}
	if g, err := asks.AwaitGate(t.Context(), "nightly", key.Date, time.Minute); err != nil || !g.Open {
		t.Fatalf("the gate is %+v, error %v", g, err)
	}
	first, err := asks.Claim(t.Context(), key, "w1", client.IdempotencyKey("mine"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := asks.Claim(t.Context(), key, "w1", client.IdempotencyKey("mine")); err != nil || again.Permit != first.Permit {
		t.Errorf("the same claim has permit %q, error %v; want %q", again.Permit, err, first.Permit)
	}
	var problem *client.Problem
	if _, err := asks.Claim(t.Context(), key, "w2"); !errors.As(err, &problem) || problem.Status != http.StatusConflict {
		t.Errorf("another claim got %v", err)
	}
	if _, err := asks.Heartbeat(t.Context(), key, "so far", client.Permit(first.Permit)); err != nil {
		t.Error(err)
	}
	if _, err := asks.Report(t.Context(), key, client.JobReport{Result: "success", Output: "all"}, client.Permit(first.Permit)); err != nil {
		t.Error(err)
	}
	if r, err := asks.Run(t.Context(), key); err != nil || *r.Worker != "w1" || *r.Result != "success" || *r.Output != "all" {
		t.Errorf("the run is %+v, error %v", r, err)
	}
}

func missingTables(t *testing.T, url string, _ *dynamo.Store) {
	elsewhere := strings.Replace(url, "dynamodb://test", "dynamodb://other", 1)
	if got := interlock("status", "--store", elsewhere); got.code != exitUnreachable || !strings.Contains(got.stderr, "-interlock-control") {
		t.Errorf("exit code %d, %q; want the name of the table", got.code, got.stderr)
	}
}

func commandsWork(t *testing.T, url string, db *dynamo.Store) {
	says := func(want string, args ...string) {
		t.Helper()
		if got := must(t, 0, append(args, "--store", url)...).stdout; !strings.Contains(got, want) {
			t.Errorf("interlock %s: %q, want %q in it", strings.Join(args, " "), got, want)
		}
	}
	says("orders", "status")
	says("CONFIG_ACCEPTED", "events")
	says("", "sensor", "set", "orders", "rows", "count=7")
	says("7", "sensor", "get", "orders", "rows")
	says("", "sensor", "set", "orders", "hold", "why=storm")
	says("undated reading of orders hold is deleted", "sensor", "delete", "orders", "hold")
	says("landed", "explain", "orders", "--date", "2026-03-03")
	says("[]", "deadlines", "--format", "json")
	latest, err := db.LatestReadings(t.Context(), store.LatestQuery{Pipeline: "orders"})
	if err != nil || len(latest.Items) != 2 || !latest.Items[0].Deleted || latest.Items[1].Fields["count"] != int64(7) {
		t.Errorf("the tables contain %+v, error %v", latest.Items, err)
	}
}

// An operator's request is written as a row, and the function that follows the stream answers it.
func operatorsAsk(t *testing.T, url string, db *dynamo.Store) {
	answers := func(id, data string) {
		t.Helper()
		text, err := json.Marshal(router.Answer{Data: []byte(data)})
		if err != nil {
			t.Fatal(err)
		}
		b := store.Batch{ID: "answer/" + id}
		b.SwapNote(store.Note{}, store.Note{Kind: store.AnswerNote, Key: awslambda.AnswerKey(id), Data: text, Until: time.Now().Add(time.Hour)})
		if err := db.Commit(t.Context(), b, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	answers("t1", `{"run": {"attempt": 3}}`)
	answers("t2", `{"refusal": {"Kind": "conflict", "Reason": "pipeline orders is paused"}}`)
	c, err := openConsole(t.Context(), url, "127.0.0.1:0", "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r, err := tableOperator{c}.Trigger(t.Context(), router.TriggerRequest{ID: "t1", Pipeline: "orders", By: "ann", Reason: "late"}, time.Now())
	if err != nil || r.Attempt != 3 {
		t.Errorf("got %+v, %v", r, err)
	}
	_, err = tableOperator{c}.Trigger(t.Context(), router.TriggerRequest{ID: "t2", Pipeline: "orders"}, time.Now())
	var refusal *router.Refusal
	if !errors.As(err, &refusal) || refusal.Kind != router.Conflict {
		t.Errorf("got %v", err)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}

func TestStoreThatIsNotADeploymentIsWrongUse(t *testing.T) {
	got := must(t, exitUsage, "status", "--store", "redis://127.0.0.1:6379/0")
	if !strings.Contains(got.stderr, "dynamodb://ENVIRONMENT?region=REGION") {
		t.Errorf("%q does not name the remedy", got.stderr)
	}
}

// A rerun request is a row, and the function that follows the stream answers it.
func rerunWaits(t *testing.T, url string, db *dynamo.Store) {
	asked := dynamo.RerunRequest{ID: "r1", Reason: "late"}
	asked.Key.Pipeline, asked.Key.Schedule = "orders", pipeline.ByStream
	var err error
	if asked.Key.Period, err = period.Parse("2026-03-03"); err != nil {
		t.Fatal(err)
	}
	b := store.Batch{ID: "answer", Reruns: []store.Rerun{{ID: "r1", Key: asked.Key, Why: "no such run", At: time.Now()}}}
	if err := db.Commit(t.Context(), b, time.Now()); err != nil {
		t.Fatal(err)
	}
	c, err := openConsole(t.Context(), url, "127.0.0.1:0", "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := tableOperator{c}.Rerun(t.Context(), router.RerunRequest{ID: "r1", Pipeline: "orders", Schedule: pipeline.ByStream, Period: asked.Key.Period, Reason: "late"}, time.Now())
	if err != nil || answer.Why != "no such run" {
		t.Errorf("answer %+v, error %v", answer, err)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}

func dashboardShows(t *testing.T, url string, _ *dynamo.Store) {
	c, err := openConsole(t.Context(), url, "127.0.0.1:0", readOnlyReason, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(context.Background(), method, c.address()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	if code, text := ask(http.MethodGet, "/api/v1/pipelines", ""); code != http.StatusOK || !strings.Contains(text, "orders") {
		t.Errorf("pipelines: %d %.200s", code, text)
	}
	if code, text := ask(http.MethodGet, "/", ""); code != http.StatusOK || !strings.Contains(text, "<html") {
		t.Errorf("dashboard: %d %.200s", code, text)
	}
	if code, text := ask(http.MethodPut, "/api/v1/pipelines/orders/sensors/rows", `{"count": 1}`); code != http.StatusForbidden || !strings.Contains(text, "--store") {
		t.Errorf("a write: %d %.200s", code, text)
	}
	for _, wish := range []string{"sensor set orders rows count=1", "rerun orders --date 2026-03-03 --reason late"} {
		got := interlock(append(strings.Fields(wish), "--server", c.address())...)
		if got.code != exitNo || !strings.Contains(got.stderr, readOnlyReason) {
			t.Errorf("%s: exit code %d, %q", wish, got.code, got.stderr)
		}
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}
