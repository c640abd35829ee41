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

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
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

// deployed gives the URL of tables in which one pipeline is in force, and the tables as a function holds them.
func deployed(t *testing.T) (string, *dynamo.Store) {
	t.Helper()
	url := dynamotest.Own(t)
	db, err := dynamotest.Open(t.Context(), url, dynamo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // it never fails
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
		"TablesThatAreNotThereAreNamed": missingTables,
	} {
		t.Run(name, func(t *testing.T) { claim(t, url, db) })
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
		t.Errorf("the tables hold %+v, error %v", latest.Items, err)
	}
}

// What an operator asks for is written as a row, and answered by the function that follows the stream.
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
	r, err := wishes{c}.Trigger(t.Context(), router.TriggerRequest{ID: "t1", Pipeline: "orders", By: "ann", Reason: "late"}, time.Now())
	if err != nil || r.Attempt != 3 {
		t.Errorf("got %+v, %v", r, err)
	}
	_, err = wishes{c}.Trigger(t.Context(), router.TriggerRequest{ID: "t2", Pipeline: "orders"}, time.Now())
	var refusal *router.Refusal
	if !errors.As(err, &refusal) || refusal.Kind != router.Conflict {
		t.Errorf("got %v", err)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}

func TestStoreThatIsNoDeploymentIsWrongUse(t *testing.T) {
	got := must(t, exitUsage, "status", "--store", "redis://127.0.0.1:6379/0")
	if !strings.Contains(got.stderr, "dynamodb://ENVIRONMENT?region=REGION") {
		t.Errorf("%q does not say what would be right", got.stderr)
	}
}

// A rerun is asked for by a row, and answered by whoever follows the stream.
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
	answer, err := wishes{c}.Rerun(t.Context(), router.RerunRequest{ID: "r1", Pipeline: "orders", Schedule: pipeline.ByStream, Period: asked.Key.Period, Reason: "late"}, time.Now())
	if err != nil || answer.Why != "no such run" {
		t.Errorf("answer %+v, error %v", answer, err)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}

func dashboardShows(t *testing.T, url string, _ *dynamo.Store) {
	c, err := openConsole(t.Context(), url, "127.0.0.1:0", onlyShown, slog.New(slog.DiscardHandler))
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
		if got.code != exitNo || !strings.Contains(got.stderr, onlyShown) {
			t.Errorf("%s: exit code %d, %q", wish, got.code, got.stderr)
		}
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}
