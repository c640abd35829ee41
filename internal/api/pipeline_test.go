package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func TestPipelinesAreListedWithTheirState(t *testing.T) {
	w := opened(t)
	items := w.get("/api/v1/pipelines").items()
	if len(items) != 2 || items[0]["id"] != "orders" || items[1]["id"] != "silver-orders" {
		t.Fatalf("got %v", items)
	}
	got := items[0]
	for key, want := range map[string]any{
		"state": "ok", "owner": "data", "description": "All orders", "schedule": "cron", "period": "day", "timezone": "UTC", "jobType": "command",
		"problem": nil, "removedAt": nil, "openRuns": 1.0, "dryRun": false, "file": "0.yaml",
		"next":  map[string]any{"date": "2026-03-05", "fireAt": "2026-03-05T08:00:00Z", "warnAt": "2026-03-05T11:30:00Z", "breachAt": "2026-03-05T12:00:00Z"},
		"pause": map[string]any{"paused": false, "by": nil, "why": nil, "since": nil, "until": nil, "holdSla": false},
		"tags":  map[string]any{"layer": "bronze"}, "after": []any{},
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if last := got["lastRun"].(map[string]any); last["status"] != "PENDING" || last["date"] != "2026-03-04" {
		t.Errorf("last run is %v", last)
	}
	if items[1]["lastRun"] != nil {
		t.Errorf("a pipeline without runs has lastRun %v", items[1]["lastRun"])
	}
	if diff := cmp.Diff(got, w.get("/api/v1/pipelines/orders").object(200)); diff != "" {
		t.Errorf("the pipeline alone differs from the list (-list +alone):\n%s", diff)
	}
}

// The slice is the one that holds now, in the pipeline's zone, whichever period it handles in it.
func TestPipelineSaysWhichSliceHoldsNow(t *testing.T) {
	w := newWorld(t) // 2026-03-03T12:00:00Z
	w.Apply("pipeline: {id: late, owner: data}\nschedule: {cron: 0 3 * * *, offset: -1, timezone: Asia/Kathmandu}\n",
		"pipeline: {id: monthly, owner: data}\nschedule: {cron: 0 3 1 * *, period: month}\n")
	for id, want := range map[string]map[string]any{
		"late":    {"startsAt": "2026-03-02T18:15:00Z", "endsAt": "2026-03-03T18:15:00Z"},
		"monthly": {"startsAt": "2026-03-01T00:00:00Z", "endsAt": "2026-04-01T00:00:00Z"},
	} {
		if diff := cmp.Diff(want, w.get("/api/v1/pipelines/" + id).object(200)["slice"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

func TestPeriodByDefaultIsOneThatTheScheduleHas(t *testing.T) {
	w := newWorld(t) // 2026-03-03T09:10:00Z
	w.Apply("pipeline: {id: quarters, owner: data}\nschedule: {cron: 7-59/15 * * * *}\n")
	const want = "2026-03-03T09:07"
	if got := w.get("/api/v1/pipelines/quarters").object(200)["current"].(map[string]any)["date"]; got != want {
		t.Errorf("the current period is %v", got)
	}
	if got := w.get("/api/v1/pipelines/quarters/gate").object(200)["date"]; got != want {
		t.Errorf("the gate is that of %v", got)
	}
	if got := w.get("/api/v1/pipelines/quarters/explain").object(200)["date"]; got != want {
		t.Errorf("explained is %v", got)
	}
	if got := w.post("/api/v1/runs", `{"pipeline": "quarters"}`).object(201)["date"]; got != want {
		t.Errorf("the run is for %v", got)
	}
}

func TestPipelinesArePaged(t *testing.T) {
	w := newWorld(t)
	first := w.get("/api/v1/pipelines?limit=1")
	if items := first.items(); len(items) != 1 || items[0]["id"] != "orders" {
		t.Fatalf("got %v", items)
	}
	second := w.get("/api/v1/pipelines?limit=1&cursor=" + first.object(200)["nextCursor"].(string))
	if items := second.items(); len(items) != 1 || items[0]["id"] != "silver-orders" || second.object(200)["nextCursor"] != nil {
		t.Errorf("got %v", items)
	}
	w.get("/api/v1/pipelines?cursor=nonsense").problem(400, "cursor")
}

func TestPipelineStatesDegradedRejectedAndRemoved(t *testing.T) {
	w := newWorld(t)
	w.Offer(strings.Replace(orders, "equals", "equalz", 1), "pipeline: {id: fresh}\n")
	w.Settle()
	states := map[string]any{}
	for _, item := range w.get("/api/v1/pipelines?removed=true").items() {
		states[item["id"].(string)] = item["state"]
	}
	want := map[string]any{"orders": "degraded", "fresh": "rejected", "silver-orders": "removed"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if got := at(w.get("/api/v1/pipelines/orders").object(200), "problems", 0).(string); !strings.Contains(got, "equalz") {
		t.Errorf("problem is %q", got)
	}
	if items := w.get("/api/v1/pipelines").items(); len(items) != 2 {
		t.Errorf("removed pipelines are listed: %v", items)
	}
	if slice := w.get("/api/v1/pipelines/silver-orders").object(200)["slice"]; slice != nil {
		t.Errorf("a removed pipeline is in the slice %v", slice)
	}
	w.get("/api/v1/pipelines/none").problem(404, "unknown-pipeline")
	w.get("/api/v1/pipelines/fresh/gate").problem(404, "unknown-pipeline", "rejected", "owner")
	w.get("/api/v1/pipelines/silver-orders/gate").problem(404, "unknown-pipeline", "removed at 20")

	w.Offer(orders, "pipeline: {id: silver-orders}\n") // one bad file is gone, another came back bad
	w.Settle()
	states = map[string]any{}
	for _, item := range w.get("/api/v1/pipelines").items() {
		states[item["id"].(string)] = item["state"]
	}
	if diff := cmp.Diff(map[string]any{"orders": "ok", "silver-orders": "rejected"}, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if state := w.get("/api/v1/pipelines/fresh").object(200)["state"]; state != "removed" {
		t.Errorf("a rejected pipeline without a file is %v", state)
	}
}

func TestVersionsAreStoredWithTheirText(t *testing.T) {
	w := newWorld(t)
	w.Pass(time.Hour)
	w.Apply(strings.Replace(orders, "1000", "2000", 1), silver)
	items := w.get("/api/v1/pipelines/orders/versions").items()
	if len(items) != 2 || items[0]["inForce"] != true || items[1]["inForce"] != false {
		t.Fatalf("got %v", items)
	}
	old := w.get("/api/v1/pipelines/orders/versions/" + items[1]["version"].(string)).object(200)
	if old["text"] != orders {
		t.Errorf("the old text is %q", old["text"])
	}
	w.get("/api/v1/pipelines/orders/versions/none").problem(404)
	w.get("/api/v1/pipelines/none/versions").problem(404)
}

func TestGateAnswersMayIRun(t *testing.T) {
	w := opened(t)
	closed := w.get("/api/v1/pipelines/orders/gate").object(200)
	if closed["open"] != false || closed["outcome"] != "unknown" || closed["date"] != "2026-03-04" || closed["retryAfterSeconds"] != 600.0 || closed["startCondition"] != nil {
		t.Errorf("got %v", closed)
	}
	if diff := cmp.Diff([]string{"rules"}, blocks(closed)); diff != "" || at(closed, "run", "status") != "PENDING" {
		t.Errorf("blocked by (-want +got):\n%s%v", diff, closed)
	}
	w.put(ordersSensors+"source", `{"status":"ready"}`).object(200)
	w.put(ordersSensors+"rows", `{"count":1000}`).object(200)
	open := w.get("/api/v1/pipelines/orders/gate?date=2026-03-04").object(200)
	if open["open"] != true || open["outcome"] != "pass" || open["retryAfterSeconds"] != nil {
		t.Errorf("got %v", open)
	}
	rule := open["rules"].([]any)[0].(map[string]any)
	want := map[string]any{
		"key": "source", "check": "equals", "field": "status", "needs": "ready", "from": nil, "level": "required", "negated": false, "closes": false, "time": nil, "group": nil,
		"outcome": "pass", "effectiveOutcome": "pass", "value": "ready", "reason": `status is "ready"`, "version": rule["version"], "updatedAt": "2026-03-04T08:10:00Z", "source": nil,
	}
	if diff := cmp.Diff(want, rule); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
	w.get("/api/v1/pipelines/orders/gate?date=soon").problem(400, "query.date")
	w.get("/api/v1/pipelines/none/gate").problem(404)
}

// Nothing can run for a period that does not exist, so no gate is open for it and no command opens
// it.
func TestPeriodThatDoesNotExistIsRejected(t *testing.T) {
	w := newWorld(t)
	const hourly = "pipeline: {id: hourly, owner: x}\nschedule: {timezone: Europe/Berlin, period: hour}\njob: {type: external}\n"
	_, err := w.Catalog.Apply(ctx, catalog.Files{Pipelines: []pipeline.Source{{File: "hourly.yaml", Data: []byte(hourly)}}}, w.Now())
	w.Check(err)
	for _, route := range []string{"gate", "explain"} {
		w.get("/api/v1/pipelines/hourly/" + route + "?date=2026-03-29T03").object(200)
		w.get("/api/v1/pipelines/hourly/"+route+"?date=2026-03-29T02").problem(400, "unknown-period", "use 2026-03-29T03")
		w.get("/api/v1/pipelines/hourly/"+route+"?date=2026-10-25T02%2B02:00").problem(400, "unknown-period", "leave the offset out")
		w.get("/api/v1/pipelines/hourly/"+route+"?date=2026-02-30").problem(400, "unknown-period", "query.date", "day 30 does not exist")
		w.get("/api/v1/pipelines/hourly/"+route+"?date=soon").problem(400, "malformed", "query.date")
	}
}

// Everything that needs a person is listed, whatever else is open or has happened since.
func TestPipelineListsWhatNeedsAttention(t *testing.T) {
	w := running(t)
	attention := func() []string {
		t.Helper()
		var all []string
		for _, n := range w.get("/api/v1/pipelines/orders").object(200)["attention"].([]any) {
			all = append(all, fmt.Sprint(at(n, "code"), " ", at(n, "schedule"), " ", at(n, "date"), " ", at(n, "since"), " ", at(n, "reason")))
		}
		return all
	}
	change := func(id string, do func(run.Run) (run.Run, error)) {
		t.Helper()
		read, err := w.Store.Run(ctx, w.Key("orders/cron/2026-03-04"))
		w.Check(err)
		next, err := do(read)
		w.Check(err)
		b := store.Batch{ID: id}
		b.Swap(read, next)
		w.Check(w.Store.Commit(ctx, b, w.Now()))
	}
	unread := func(r run.Run) (run.Run, error) { return r.PollFailed("unknown state", w.Now()) }
	change("poll 1", unread)
	change("poll 2", unread)
	if diff := cmp.Diff([]string(nil), attention()); diff != "" {
		t.Errorf("after two failed polls (-want +got):\n%s", diff)
	}
	change("poll 3", unread)
	want := "status-unread cron 2026-03-04 2026-03-04T08:10:00Z the job's status has been unreadable since 2026-03-04T08:10:00Z: unknown state"
	if diff := cmp.Diff([]string{want}, attention()); diff != "" {
		t.Errorf("after three failed polls (-want +got):\n%s", diff)
	}
	got := w.get(wednesday).object(200)
	if got["phase"] != "status-unread" || got["unread"] != "unknown state" || got["unreadSince"] != "2026-03-04T08:10:00Z" {
		t.Errorf("got %v", got)
	}
	w.post(wednesday+"/job", `{"result":"fail","category":"PERMANENT","message":"no such table"}`).object(200)
	w.Settle()
	w.Pass(time.Minute)
	w.post(wednesday+"/job", `{"result":"fail","category":"PERMANENT","message":"no such table"}`).object(200)
	w.Settle()
	w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-05"}`).object(201) // a later run is open
	want = "failed cron 2026-03-04 2026-03-04T08:11:00Z failed after 2 attempts: no such table (maxCodeRetries: 1 used up)"
	if diff := cmp.Diff([]string{want}, attention()); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	w.Offer(strings.Replace(orders, "check: equals", "check: equalz", 1), silver)
	if got := attention(); len(got) != 2 || !strings.HasPrefix(got[1], "degraded <nil> <nil> 2026-03-04T08:11:00Z 0.yaml:") {
		t.Errorf("got %q", got)
	}
}

// blocks returns the codes of what prevents a start.
func blocks(gate map[string]any) []string {
	var codes []string
	for _, b := range gate["blockedBy"].([]any) {
		codes = append(codes, b.(map[string]any)["code"].(string))
	}
	return codes
}

const gated = `
pipeline: {id: gated, owner: data}
schedule:
  trigger: {key: landed, check: equals, field: status, value: ready}
  maxActive: 1
validation: {rules: [{key: rows, check: gte, field: count, value: 10}]}
job: {type: command, config: {command: [load]}}
`

// A period whose fire came before the pipeline was accepted has no run, so no worker can claim one.
func TestGateIsClosedIfTheScheduleHasOpenedNoRun(t *testing.T) {
	const week = `
pipeline: {id: week, owner: data}
schedule: {cron: "0 3 * * MON", period: week}
`
	w := newWorld(t) // Tuesday
	w.Apply(week+"job: {type: external}\n", strings.Replace(week, "id: week", "id: jobless", 1),
		strings.Replace(week, "id: week", "id: own", 1)+"job: {type: command, config: {command: [load]}}\n",
		"pipeline: {id: asked, owner: data}\njob: {type: external}\n")
	w.Settle()
	for id, want := range map[string][]string{"week": {"not-opened"}, "own": nil, "jobless": nil, "asked": nil} {
		g := w.get("/api/v1/pipelines/" + id + "/gate").object(200)
		if diff := cmp.Diff(want, blocks(g)); diff != "" || g["open"] != (want == nil) || g["run"] != nil {
			t.Fatalf("%s: open is %v, blocked by (-want +got):\n%s", id, g["open"], diff)
		}
	}
	g := w.get("/api/v1/pipelines/week/gate").object(200)
	date, reason := at(g, "date"), at(g, "blockedBy", 0, "reason")
	if want := fmt.Sprintf("`interlock trigger week --date %s` opens it", date); !strings.Contains(fmt.Sprint(reason), want) || g["retryAfterSeconds"] == nil {
		t.Errorf("the reason is %v, want %s; ask again after %v", reason, want, g["retryAfterSeconds"])
	}
	w.post("/api/v1/runs", fmt.Sprintf(`{"pipeline":"week","date":"%s"}`, date)).object(201)
	w.Settle()
	if g := w.get("/api/v1/pipelines/week/gate").object(200); g["open"] != true {
		t.Errorf("the gate of the triggered run is blocked by %v", g["blockedBy"])
	}
}

// Open means that a start is allowed now; otherwise every reason against it is listed.
func TestGateIsOpenOnlyWhileAStartIsAllowed(t *testing.T) {
	w := newWorld(t) // Tuesday ten past nine
	w.Apply(orders, silver, gated, strings.ReplaceAll(gated, "gated", "trial")+"dryRun: true\n",
		strings.NewReplacer("gated", "early", "schedule:\n", "schedule:\n  time: \"10:00\"\n").Replace(gated),
		strings.NewReplacer("gated", "late", "value: ready}", "value: ready, deadline: \"09:00\"}").Replace(gated))
	w.Settle()
	check := func(path string, open bool, retry any, codes ...string) map[string]any {
		t.Helper()
		got := w.get("/api/v1/pipelines/" + path).object(200)
		if diff := cmp.Diff(codes, blocks(got)); diff != "" || got["open"] != open || got["retryAfterSeconds"] != retry {
			t.Errorf("%s: open is %v, retry after %v, blocked by (-want +got):\n%s%v", path, got["open"], got["retryAfterSeconds"], diff, got["blockedBy"])
		}
		return got
	}
	met := func(date string) {
		t.Helper()
		w.Write("gated", "rows#"+date, "count=10")
		w.Write("gated", "landed#"+date, "status=ready")
	}
	got := check("gated/gate", false, 300.0, "start-condition", "rules")
	if start := got["startCondition"]; at(start, "key") != "landed" || at(start, "effectiveOutcome") != "unknown" || got["run"] != nil {
		t.Errorf("got %v", got)
	}
	w.Write("gated", "rows#2026-03-03", "count=10")
	check("gated/gate", false, 300.0, "start-condition")
	w.Write("gated", "landed#2026-03-03", "status=ready")
	got = check("gated/gate", false, 300.0, "running")
	if at(got, "run", "status") != "RUNNING" || at(got, "startCondition", "effectiveOutcome") != "pass" || got["outcome"] != "pass" {
		t.Errorf("got %v", got)
	}
	met("2026-03-04")
	check("gated/gate?date=2026-03-04", false, 300.0, "max-active")
	w.Write("gated", "rows#2026-03-05", "count=10")
	check("gated/gate?date=2026-03-05", false, 300.0, "start-condition", "max-active")

	w.post("/api/v1/runs/gated/stream/2026-03-03/job", `{"result":"success"}`).object(200)
	w.post("/api/v1/runs/gated/stream/2026-03-04/cancel", `{}`).object(200)
	w.Settle()
	check("gated/gate?date=2026-03-03", false, nil, "completed")
	check("gated/gate?date=2026-03-04", false, nil, "ended")

	check("silver-orders/gate?date=2026-03-07", false, nil, "excluded", "start-condition")
	check("orders/gate?date=2026-03-05", false, 46.0*3600+50*60, "not-due", "rules")
	check("early/gate", false, 50.0*60, "not-due", "start-condition", "rules")
	check("late/gate", false, nil, "start-deadline", "rules")
	check("trial/gate", false, nil, "dry-run", "start-condition", "rules")

	w.post("/api/v1/pipelines/gated/pause", `{"until":"90m","requestedBy":"ann","reason":"migration"}`).object(200)
	got = check("gated/gate?date=2026-03-06", false, 5400.0, "paused", "start-condition", "rules")
	if b := at(got, "blockedBy", 0); at(b, "reason") != "the pipeline is paused by ann: migration" || at(b, "until") != "2026-03-03T10:40:00Z" {
		t.Errorf("got %v", b)
	}
}

func TestExplainSaysWhatWouldOpenTheGate(t *testing.T) {
	w := opened(t)
	w.put(ordersSensors+"source?source=etl", `{"status":"pending"}`).object(200)
	x := w.get("/api/v1/pipelines/orders/explain").object(200)
	if x["state"] != "waiting" || x["run"].(map[string]any)["status"] != "PENDING" || x["gate"].(map[string]any)["live"] != true {
		t.Errorf("got %v", x)
	}
	for _, part := range []string{`status is "pending"`, "by etl", "interlock sensor set orders source status=ready", "2026-03-04T11:00:00Z"} {
		if !strings.Contains(x["text"].(string), part) {
			t.Errorf("the text lacks %q:\n%s", part, x["text"])
		}
	}
	never := w.get("/api/v1/pipelines/silver-orders/explain?date=2026-03-07").object(200)
	if never["state"] != "not opened" || never["run"] != nil || !strings.Contains(never["summary"].(string), "weekend") {
		t.Errorf("got %v", never)
	}
	w.get("/api/v1/pipelines/none/explain").problem(404, "unknown-pipeline")
	w.get("/api/v1/pipelines/orders/explain?date=soon").problem(400)
	w.get("/api/v1/pipelines/orders/explain?schedule=weekly").problem(400, "query.schedule")
}

func TestPauseAndResume(t *testing.T) {
	w := newWorld(t)
	got := w.post("/api/v1/pipelines/orders/pause", `{"reason":"migration","requestedBy":"ann","until":"2026-03-03T12:00:00Z","holdSla":true}`).object(200)
	want := map[string]any{"paused": true, "by": "ann", "why": "migration", "since": "2026-03-03T09:10:00Z", "until": "2026-03-03T12:00:00Z", "holdSla": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pause (-want +got):\n%s", diff)
	}
	if got := w.get("/api/v1/pipelines/orders").object(200)["state"]; got != "paused" {
		t.Errorf("state is %v", got)
	}
	if got := w.post("/api/v1/pipelines/orders/resume", "").object(200); got["paused"] != false {
		t.Errorf("got %v", got)
	}
	w.post("/api/v1/pipelines/orders/resume", "{}").problem(409, "is not paused", "refused")
	w.post("/api/v1/pipelines/orders/pause", `{"until":"2020-01-01T00:00:00Z"}`).problem(400, "past")
	w.post("/api/v1/pipelines/orders/pause", `{"until":"soon"}`).problem(400, "body.until")
	w.post("/api/v1/pipelines/orders/pause", `{"untill":"2h"}`).problem(400, "untill")
	w.post("/api/v1/pipelines/none/pause", `{}`).problem(404)
	w.post("/api/v1/pipelines/none/resume", `{}`).problem(404)
}

func TestPauseOfAllPipelinesIsShownBesideTheirOwn(t *testing.T) {
	w := newWorld(t)
	w.post("/api/v1/pipelines/orders/pause", `{"reason":"migration","requestedBy":"ann"}`).object(200)
	for _, unexplained := range []string{"", `{}`, `{"reason":" "}`} {
		w.post("/api/v1/pause", unexplained).problem(400, "needs a reason")
	}
	if got := w.post("/api/v1/pause", `{"reason":"deploy"}`).object(200); cmp.Diff([]any{"orders", "silver-orders"}, got["items"]) != "" {
		t.Errorf("got %v", got)
	}
	none := map[string]any{"paused": false, "by": nil, "why": nil, "since": nil, "until": nil, "holdSla": false}
	own := map[string]any{"paused": true, "by": "ann", "why": "migration", "since": "2026-03-03T09:10:00Z", "until": nil, "holdSla": false}
	all := map[string]any{"paused": true, "by": "local", "why": "deploy", "since": "2026-03-03T09:10:00Z", "until": nil, "holdSla": false}
	shown := func(when string, orders, both, silver map[string]any) {
		t.Helper()
		var got []any
		for _, p := range w.get("/api/v1/pipelines?removed=true").items() {
			got = append(got, p["id"], p["pause"], p["pauseAll"])
		}
		want := []any{"orders", orders, both, "silver-orders", silver, both}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	shown("both", own, all, none)
	w.get("/api/v1/pipelines/*").problem(404)
	gate := w.get("/api/v1/pipelines/orders/gate").object(200)
	if got := at(gate, "blockedBy", 0, "reason"); got != "the pipeline is paused by ann: migration; all pipelines are paused by local: deploy" {
		t.Errorf("the gate is blocked: %v", got)
	}
	w.post("/api/v1/pipelines/silver-orders/resume", "").problem(409, "the pause of all pipelines by local", "refused")
	if got := w.post("/api/v1/resume", "").object(200); cmp.Diff([]any{"silver-orders"}, got["items"]) != "" {
		t.Errorf("got %v", got)
	}
	shown("its own", own, none, none)
	w.post("/api/v1/resume", "").problem(409, "no pause of all pipelines", "refused")
	w.post("/api/v1/pause", `{"reason":"deploy"}`).object(200)
	left := w.post("/api/v1/pipelines/orders/resume", "").object(200)
	if diff := cmp.Diff(all, left); diff != "" {
		t.Errorf("what still pauses it (-want +got):\n%s", diff)
	}
}

func TestBackfillListsTheActionForEachPeriod(t *testing.T) {
	w := newWorld(t)
	plan := w.post("/api/v1/pipelines/silver-orders/backfill", `{"from":"2026-02-26","to":"2026-03-02","dryRun":true}`).items()
	var got []string
	for _, item := range plan {
		got = append(got, item["date"].(string)+" "+item["action"].(string))
	}
	want := []string{"2026-02-26 open", "2026-02-27 open", "2026-02-28 skip", "2026-03-01 skip", "2026-03-02 open"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if runs := w.get("/api/v1/runs").items(); len(runs) != 0 {
		t.Errorf("a dry run opened runs: %v", runs)
	}
	w.post("/api/v1/pipelines/silver-orders/backfill", `{"from":"2026-02-26","to":"2026-02-27","reason":"lost"}`).items()
	if runs := w.get("/api/v1/runs?pipeline=silver-orders").items(); len(runs) != 2 || runs[0]["date"] != "2026-02-27" {
		t.Errorf("want newest first: %v", runs)
	}
	w.post("/api/v1/pipelines/silver-orders/backfill", `{"from":"2026-03-02","to":"2026-02-26"}`).problem(400)
	w.post("/api/v1/pipelines/silver-orders/backfill", `{"to":"2026-02-26"}`).problem(400, "from")
	w.post("/api/v1/pipelines/none/backfill", `{"from":"2026-02-26","to":"2026-02-26"}`).problem(404)
}

func TestPassedStartDeadlineIsExplained(t *testing.T) {
	w := newWorld(t)
	w.Apply("pipeline: {id: late, owner: data}\nschedule: {trigger: {key: landed, check: exists, deadline: \"10:00\"}}\n")
	w.Pass(time.Hour)
	closed, err := w.Router.CloseStart(ctx, w.Key("late/stream/2026-03-03"), w.Now())
	if err != nil || !closed {
		t.Fatalf("closed %t, %v", closed, err)
	}
	got := w.get("/api/v1/pipelines/late").object(200)
	if reason := at(got, "attention", 0, "reason"); reason != "the start condition was not met before its deadline" {
		t.Errorf("got %v", reason)
	}
}
