package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

// completed returns a world in which Wednesday's run completed in time, and Thursday's run was
// missed.
func completed(t *testing.T) *world {
	w := running(t)
	w.Pass(5 * time.Minute)
	w.post(wednesday+"/job", `{"result":"success"}`).object(200)
	w.Settle()
	w.Pass(30 * time.Hour)
	return w
}

// at returns the value at a path in a response.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}

func TestTimelineShowsTheStateOfDeadlines(t *testing.T) {
	w := completed(t)
	states := map[string]any{}
	for _, slot := range at(w.get("/api/v1/timeline?from=2026-03-03&to=2026-03-09&pipeline=orders").object(200), "items", 0, "slots").([]any) {
		states[at(slot, "date").(string)] = at(slot, "deadline")
	}
	want := map[string]any{"2026-03-04": "MET", "2026-03-05": "BREACHED", "2026-03-06": "ARMED", "2026-03-07": nil, "2026-03-08": nil}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("deadlines (-want +got):\n%s", diff)
	}
}

func TestPeriodBeforeItsDeadlineIsNotMissing(t *testing.T) {
	w := newWorld(t)
	w.Apply("pipeline: {id: late, owner: data}\n"+
		"schedule: {period: day, trigger: {key: landed, check: exists}}\n"+
		"sla: {deadline: \"08:00\", dayOffset: 1}\n", "pipeline: {id: bare, owner: data}\n"+
		"schedule: {period: day, trigger: {key: landed, check: exists}}\n")
	w.Settle()
	state := func(id string) any {
		t.Helper()
		for _, slot := range at(w.get("/api/v1/timeline?from=2026-03-04&to=2026-03-05&pipeline="+id).object(200), "items", 0, "slots").([]any) {
			if at(slot, "date") == "2026-03-04" {
				return at(slot, "state")
			}
		}
		return "not shown"
	}
	w.Pass(40 * time.Hour) // 2026-03-05 01:10
	if state("late") != "upcoming" {
		t.Errorf("before the deadline: %v", state("late"))
	}
	w.Pass(8 * time.Hour)
	if state("late") != "missing" || state("bare") != "upcoming" {
		t.Errorf("after the deadline: %v, and without one: %v", state("late"), state("bare"))
	}
}

func TestComplianceCountsDeadlines(t *testing.T) {
	w := completed(t)
	got := w.get("/api/v1/compliance").object(200)
	window := map[string]any{"days": 7.0, "met": 1.0, "warned": 0.0, "breached": 1.0, "cancelled": 0.0, "metPercent": 50.0, "longestLateSeconds": 0.0}
	for what, v := range map[string]any{
		"pipeline": at(got, "items", 0, "windows", 0), "owner": at(got, "owners", 0, "windows", 0), "total": at(got, "total", 0),
	} {
		if diff := cmp.Diff(window, v); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if at(got, "items", 0, "pipeline") != "orders" || at(got, "owners", 0, "owner") != "data" || at(got, "owners", 0, "pipelines") != 1.0 {
		t.Errorf("got %v", got)
	}
	bins := at(got, "lateness").([]any)
	early, never := bins[1].(map[string]any), bins[len(bins)-1].(map[string]any)
	if early["fromSeconds"] != -14400.0 || early["toSeconds"] != -3600.0 || fmt.Sprint(early["counts"]) != "[1 1 1]" {
		t.Errorf("early is %v", early)
	}
	if never["never"] != true || fmt.Sprint(never["counts"]) != "[1 1 1]" {
		t.Errorf("never is %v", never)
	}
	if none := w.get("/api/v1/compliance?owner=nobody").object(200); len(none["items"].([]any)) != 0 || at(none, "total", 0, "metPercent") != nil {
		t.Errorf("got %v", none)
	}
	w.get("/api/v1/compliance?cursor=nonsense").problem(400, "cursor")
	w.get("/api/v1/compliance?pipeline=No%20id").problem(400)
}

func TestLimitedTokenSeesComplianceOfItsPipelinesOnly(t *testing.T) {
	const secret = "0123456789abcdef-silver"
	w := newWorld(t, func(d *api.Deps) {
		d.Settings.Tokens = []api.Token{{Name: "etl", Role: api.RoleViewer, Pipelines: []string{"silver-*"}, Secret: secret}}
	})
	w.Pass(40 * time.Hour)
	w.token = secret
	got := w.get("/api/v1/compliance").object(200)
	if len(got["items"].([]any)) != 0 || len(got["owners"].([]any)) != 0 || at(got, "total", 0, "breached") != 0.0 {
		t.Errorf("the limited token sees %v", got)
	}
	if files := w.get("/api/v1/files").items(); len(files) != 1 || files[0]["pipeline"] != "silver-orders" {
		t.Errorf("the limited token sees %v", files)
	}
}

func TestTrendsShowDurationsAttemptsArrivalsAndDrift(t *testing.T) {
	w := completed(t)
	wednesday, err := period.Parse("2026-03-04")
	w.Check(err)
	drift := event.New(event.PostRunDrift, event.About{Pipeline: "orders", Schedule: "cron", Date: wednesday, Attempt: 1, Which: "rows", At: w.Now()},
		"rows moved", event.Drift{Sensor: "rows", Field: "count", Baseline: "5000", Current: "4000", Threshold: "0"})
	w.Check(w.Store.Commit(ctx, store.Batch{ID: "drift", Events: []event.Event{drift}}, w.Now()))
	got := w.get("/api/v1/pipelines/orders/trends?days=7").object(200)
	took := map[string]any{"count": 1.0, "p50Seconds": 300.0, "p90Seconds": 300.0, "p99Seconds": 300.0, "longestSeconds": 300.0}
	if diff := cmp.Diff(took, at(got, "days", 0, "durations")); diff != "" {
		t.Errorf("durations (-want +got):\n%s", diff)
	}
	if at(got, "periods", 0, "date") != "2026-03-04" || at(got, "periods", 0, "attempt") != 1.0 || at(got, "days", 0, "runs") != 1.0 {
		t.Errorf("got %v", got)
	}
	arrived := map[string]any{}
	for _, s := range at(got, "sensors").([]any) {
		arrived[at(s, "key").(string)] = at(s, "items", 0, "afterSeconds")
	}
	if diff := cmp.Diff(map[string]any{"source": 29400.0, "rows": 29400.0}, arrived); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
	if at(got, "drift", 0, "baseline") != "5000" || at(got, "drift", 0, "current") != "4000" || at(got, "drift", 0, "date") != "2026-03-04" {
		t.Errorf("drift is %v", at(got, "drift"))
	}
	all := w.get("/api/v1/trends?days=7&limit=1")
	if items := all.items(); len(items) != 1 || items[0]["pipeline"] != "orders" || items[0]["completed"] != 1.0 {
		t.Errorf("got %v", items)
	}
	rest := w.get("/api/v1/trends?days=7&limit=1&cursor=" + all.object(200)["nextCursor"].(string)).items()
	if len(rest) != 1 || rest[0]["pipeline"] != "silver-orders" {
		t.Errorf("got %v", rest)
	}
	w.get("/api/v1/pipelines/none/trends").problem(404, "unknown-pipeline")
	w.get("/api/v1/trends?days=91").problem(400, "days")
}

func TestGraphShowsBlockingPipelines(t *testing.T) {
	w := newWorld(t)
	w.Apply(orders, `
pipeline: {id: report, owner: finance}
schedule: {cron: "0 9 * * *", after: [orders], evaluation: {window: 3h, interval: 10m}}
`, `
pipeline: {id: mail, owner: finance}
schedule: {after: [report]}
`, `
pipeline: {id: check, owner: finance}
schedule: {cron: "0 9 * * *"}
validation: {rules: [{key: rows, from: orders, check: exists}]}
`)
	w.Settle()
	w.Pass(24 * time.Hour)
	got := w.get("/api/v1/pipelines/report/graph").object(200)
	distances := map[string]any{}
	for _, n := range at(got, "nodes").([]any) {
		distances[at(n, "pipeline").(string)] = at(n, "distance")
	}
	if diff := cmp.Diff(map[string]any{"orders": -1.0, "report": 0.0, "mail": 1.0}, distances); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if fmt.Sprint(at(got, "edges")) != "[map[from:orders kind:after to:report] map[from:report kind:after to:mail]]" {
		t.Errorf("edges are %v", at(got, "edges"))
	}
	block := at(got, "blocks", 0).(map[string]any)
	if block["pipeline"] != "report" || block["by"] != "orders" || block["date"] != "2026-03-04" || !strings.Contains(block["reason"].(string), "PENDING") {
		t.Errorf("block is %v", block)
	}
	check := w.get("/api/v1/pipelines/check/graph").object(200)
	if at(check, "edges", 0, "kind") != "sensor" || at(check, "blocks", 0, "by") != "orders" {
		t.Errorf("got %v", check)
	}
	w.get("/api/v1/pipelines/none/graph").problem(404, "unknown-pipeline")
}

func TestFilesAreListedWithTheirProblemsAndLastGoodVersion(t *testing.T) {
	w := newWorld(t)
	w.Offer(strings.Replace(orders, "equals", "equalz", 1), silver)
	first := w.get("/api/v1/files?limit=1")
	file := first.items()[0]
	if file["file"] != "0.yaml" || file["state"] != "refused" || file["pipeline"] != "orders" || file["version"] == nil || file["kind"] != "pipeline" {
		t.Errorf("got %v", file)
	}
	problem := at(file, "problems", 0).(map[string]any)
	if problem["line"] != 9.0 || !strings.Contains(problem["message"].(string), "equalz") || problem["severity"] != "error" {
		t.Errorf("problem is %v", problem)
	}
	second := w.get("/api/v1/files?cursor=" + first.object(200)["nextCursor"].(string)).items()
	if len(second) != 1 || second[0]["state"] != "in force" || second[0]["pipeline"] != "silver-orders" {
		t.Errorf("got %v", second)
	}
	w.get("/api/v1/files?cursor=nonsense").problem(400, "cursor")
}

func TestDeadlinesOfATimeRangeAreListed(t *testing.T) {
	w := completed(t)
	items := w.get("/api/v1/deadlines?state=all&from=2026-03-05&to=2026-03-06").items()
	if len(items) != 1 || items[0]["date"] != "2026-03-05" || items[0]["state"] != "BREACHED" {
		t.Errorf("got %v", items)
	}
	w.get("/api/v1/deadlines?from=soon").problem(400, "from")
	w.get("/api/v1/deadlines?to=soon").problem(400, "to")
}

func TestExplanationNamesTheBudgets(t *testing.T) {
	w := completed(t)
	got := w.get("/api/v1/pipelines/orders/explain?date=2026-03-04").object(200)["budgets"]
	if diff := cmp.Diff(map[string]any{"retries": 0.0, "codeRetries": 1.0, "driftReruns": 1.0, "manualReruns": 1.0}, got); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
}

func TestRuleHistoriesComeInOneResponse(t *testing.T) {
	w := running(t)
	items := w.get("/api/v1/pipelines/orders/gate/history?limit=1").items()
	if len(items) != 2 || items[0]["key"] != "source" || items[1]["key"] != "rows" {
		t.Fatalf("got %v", items)
	}
	if points := at(items[1], "points").([]any); len(points) != 1 || at(points, 0, "value") != 5000.0 || at(points, 0, "date") != "2026-03-04" {
		t.Errorf("got %v", items[1])
	}
	w.get("/api/v1/pipelines/none/gate/history").problem(404, "unknown-pipeline")
}

func TestEventsAreFilteredByRun(t *testing.T) {
	w := completed(t)
	items := w.get("/api/v1/events?pipeline=orders&schedule=cron&date=2026-03-04").items()
	if len(items) == 0 {
		t.Fatal("no events")
	}
	for _, e := range items {
		if at(e, "detail", "date") != "2026-03-04" {
			t.Errorf("got %v", e)
		}
	}
	w.get("/api/v1/events?pipeline=orders&schedule=cron").problem(400)
	w.get("/api/v1/events?schedule=cron&date=2026-03-04").problem(400)
}
