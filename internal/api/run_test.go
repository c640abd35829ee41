package api_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const wednesday = "/api/v1/runs/orders/cron/2026-03-04"

func TestRunIsShownWithAllDetails(t *testing.T) {
	w := running(t)
	w.Pass(5 * time.Minute)
	w.post(wednesday+"/job", `{"result":"success","message":"5000 rows","requestedBy":"ann"}`).object(200)
	w.Settle()
	got := w.get(wednesday).object(200)
	for key, want := range map[string]any{
		"pipeline": "orders", "schedule": "cron", "date": "2026-03-04", "status": "COMPLETED", "attempt": 1.0, "result": "success", "message": "5000 rows",
		"openedAt": "2026-03-04T08:00:00Z", "startedAt": "2026-03-04T08:10:00Z", "endedAt": "2026-03-04T08:15:00Z", "held": nil, "forced": false, "reruns": []any{},
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if gate := got["gate"].(map[string]any); gate["live"] != false || gate["open"] != true || len(gate["rules"].([]any)) != 2 {
		t.Errorf("gate is %v", gate)
	}
	if deadline := got["deadlines"].([]any)[0].(map[string]any); deadline["state"] != "MET" || deadline["breachAt"] != "2026-03-04T12:00:00Z" {
		t.Errorf("deadline is %v", deadline)
	}
	if log := got["jobLog"].([]any); len(log) != 2 || log[0].(map[string]any)["event"] != "started" || log[1].(map[string]any)["event"] != "success" {
		t.Errorf("job log is %v", log)
	}
	if attempt := got["attempts"].([]any)[0].(map[string]any); attempt["cause"] != "cron" || attempt["snapshot"] == nil || attempt["result"] != "success" {
		t.Errorf("attempt is %v", attempt)
	}
	w.get("/api/v1/runs/orders/cron/2026-03-09").problem(404, "unknown-run", "explain")
	w.get("/api/v1/runs/orders/weekly/2026-03-04").problem(400, "schedule")
	w.get("/api/v1/runs/orders/cron/soon").problem(400, "period")
}

func TestRunsAreFilteredAndPaged(t *testing.T) {
	w := opened(t)
	for day := 10; day < 15; day++ {
		w.post("/api/v1/runs", fmt.Sprintf(`{"pipeline":"orders","date":"2026-02-%d"}`, day)).object(201)
	}
	dates := func(query string) []string {
		t.Helper()
		var dates []string
		for _, item := range w.get("/api/v1/runs" + query).items() {
			dates = append(dates, item["date"].(string))
		}
		return dates
	}
	for query, want := range map[string][]string{
		"":                                {"2026-03-04", "2026-02-14", "2026-02-13", "2026-02-12", "2026-02-11", "2026-02-10"},
		"?limit=2":                        {"2026-03-04", "2026-02-14"},
		"?date=2026-02-12":                {"2026-02-12"},
		"?from=2026-02-11&to=2026-02-12":  {"2026-02-12", "2026-02-11"},
		"?pipeline=silver-orders":         nil,
		"?pipeline=gone":                  nil,
		"?status=COMPLETED":               nil,
		"?status=pending&date=2026-02-10": {"2026-02-10"},
		"?pipeline=orders&status=PENDING&limit=1": {"2026-03-04"},
	} {
		if diff := cmp.Diff(want, dates(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	next := w.get("/api/v1/runs?limit=5").object(200)["nextCursor"].(string)
	if diff := cmp.Diff([]string{"2026-02-10"}, dates("?limit=5&cursor="+next)); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
	for _, query := range []string{"?status=DONE", "?date=soon", "?limit=0", "?limit=501", "?limit=x", "?cursor=x", "?pipeline=NO", "?colour=red"} {
		w.get("/api/v1/runs" + query).problem(400)
	}
}

func TestTriggerOpensTheRunOfAPeriod(t *testing.T) {
	w := newWorld(t)
	got := w.post("/api/v1/runs", `{"pipeline":"silver-orders","reason":"test","requestedBy":"ann"}`)
	o := got.object(201)
	if o["date"] != "2026-03-03" || o["schedule"] != "stream" || o["status"] != "PENDING" || o["attempt"] != 1.0 || o["requestedBy"] != "ann" || o["cause"] != "manual" {
		t.Errorf("got %v", o)
	}
	if at := got.header.Get("Location"); at != "/api/v1/runs/silver-orders/stream/2026-03-03" {
		t.Errorf("location is %q", at)
	}
	w.get(got.header.Get("Location")).object(200)
	w.post("/api/v1/runs", `{"pipeline":"silver-orders"}`).problem(409, "interlock explain silver-orders")
	w.post("/api/v1/runs", `{"pipeline":"silver-orders","date":"2026-03-07"}`).problem(409, "weekend")
	w.post("/api/v1/runs", `{"pipeline":"silver-orders","date":"2026-03-07","force":true}`).problem(400, "needs a requester and a reason")
	forced := w.post("/api/v1/runs", `{"pipeline":"silver-orders","date":"2026-03-07","force":true,"bypassGate":true,"reason":"audit"}`).object(201)
	if forced["forced"] != true || forced["gateBypassed"] != true || forced["requestReason"] != "audit" {
		t.Errorf("got %v", forced)
	}
	w.post("/api/v1/runs", `{"pipeline":"none"}`).problem(404, "unknown-pipeline")
	w.post("/api/v1/runs/none/cron/2026-03-04/reruns", `{"reason":"again"}`).problem(404, "unknown-pipeline", "GET /api/v1/pipelines lists them")
	w.post("/api/v1/runs/orders/cron/2026-03-04/job", `{"result":"success","attempt":0}`).problem(400, "attempt")
	w.post("/api/v1/runs", `{"pipeline":"orders","date":"soon"}`).problem(400, "body.date")
	w.post("/api/v1/runs", `{}`).problem(400, "pipeline")
	w.post("/api/v1/runs", `{"pipeline":"orders","forse":true}`).problem(400, "forse")
	w.post("/api/v1/runs", `nonsense`).problem(400)
	w.post("/api/v1/runs", ``).problem(400)
	w.post("/api/v1/runs", `<run/>`, "Content-Type: text/xml").problem(415)
	w.request("POST", "/api/v1/runs", `{"pipeline":"silver-orders","date":"2026-02-02"}`, "Content-Type: application/x-www-form-urlencoded").object(201)
}

func TestRerunIsAcceptedOrRejected(t *testing.T) {
	w := running(t)
	const reruns = wednesday + "/reruns"
	w.post(reruns, `{"reason":"again"}`).problem(409, "problem:refused", "RUNNING")
	w.post(wednesday+"/job", `{"result":"success"}`).object(200)
	w.Settle()
	w.post(reruns, `{"reason":"again"}`).problem(409, "has changed since")
	w.post(reruns, `{}`).problem(400, "body.reason")
	w.post(reruns, `{"reason":"again","pipeline":"silver-orders"}`).problem(400, "the path names orders")
	got := w.post(reruns, `{"reason":"again","requestedBy":"ann","force":true,"pipeline":"orders","schedule":"cron","date":"2026-03-04"}`, "Idempotency-Key: one").object(201)
	if got["accepted"] != true || got["attempt"] != 2.0 || got["requestedBy"] != "ann" || got["id"] != "one" || got["force"] != true {
		t.Errorf("got %v", got)
	}
	again := w.post(reruns, `{"reason":"again","requestedBy":"ann","force":true}`, "Idempotency-Key: one").object(201)
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("the same request got two answers (-first +second):\n%s", diff)
	}
	if kept := w.get(wednesday).object(200)["reruns"].([]any); len(kept) != 3 {
		t.Errorf("want the answers to three requests: %v", kept)
	}
	w.post("/api/v1/runs/none/cron/2026-03-04/reruns", `{"reason":"x"}`).problem(404)
}

func TestCancelEndsAnOpenRun(t *testing.T) {
	w := opened(t)
	got := w.post(wednesday+"/cancel", `{"reason":"wrong day","requestedBy":"ann"}`).object(200)
	if got["status"] != "CANCELLED" || got["reason"] != "cancelled by ann: wrong day" {
		t.Errorf("got %v", got)
	}
	w.post(wednesday+"/cancel", "").problem(409, "problem:refused")
	w.post("/api/v1/runs/orders/cron/2026-03-09/cancel", "").problem(404, "problem:unknown-run")
}

func TestReportedResultEndsTheJob(t *testing.T) {
	w := running(t)
	w.post(wednesday+"/job", `{"result":"maybe"}`).problem(400, "body.result")
	w.post(wednesday+"/job", `{"result":"fail","category":"BAD"}`).problem(400, "body.category")
	w.post(wednesday+"/job", `{"result":"success","attempt":7}`).problem(404, "attempt 7")
	got := w.post(wednesday+"/job", `{"result":"fail","category":"PERMANENT","message":"bad code","exitCode":2}`).object(200)
	if r := got["run"].(map[string]any); got["late"] != false || r["result"] != "fail" || r["exitCode"] != 2.0 || r["category"] != "PERMANENT" {
		t.Errorf("got %v", got)
	}
	if late := w.post(wednesday+"/job", `{"result":"success"}`).object(200); late["late"] != true {
		t.Errorf("the second result was not late: %v", late)
	}
}

func TestCallbackTokenReportsOnlyItsAttempt(t *testing.T) {
	w := running(t, withTokens)
	key, err := run.ParseKey("orders/cron/2026-03-04")
	w.Check(err)
	own := callbacks.For(key, 1)
	if own.URL != "http://127.0.0.1:8740"+wednesday+"/job" {
		t.Errorf("the callback's address is %q", own.URL)
	}
	w.token = own.Token
	other, err := run.ParseKey("orders/cron/2026-03-03")
	w.Check(err)
	w.post("/api/v1/runs/orders/cron/2026-03-03/job", `{"result":"success"}`).problem(403, "not valid for run")
	w.post(wednesday+"/cancel", `{}`).problem(403)
	w.get(wednesday).problem(403)
	w.put(ordersSensors+"rows", `{}`).problem(403)
	w.get("/api/v1/events/stream").problem(403)
	w.post(wednesday+"/job", `{"result":"success","attempt":2}`).problem(400, "attempt 1")
	w.token = callbacks.For(other, 1).Token
	w.post(wednesday+"/job", `{"result":"success"}`).problem(403)
	w.token = own.Token + "x"
	w.post(wednesday+"/job", `{"result":"success"}`).problem(403)
	w.token = own.Token
	got := w.post(wednesday+"/job", `{"result":"success"}`).object(200)
	if got["late"] != false || got["run"].(map[string]any)["result"] != "success" {
		t.Errorf("got %v", got)
	}
}

// A job may report to any replica, not only the one that started it.
func TestJobReportsToAnotherReplica(t *testing.T) {
	two, stranger := signing("two", 2), signing("three", 3)
	var away atomic.Bool
	w := running(t, withTokens, func(d *api.Deps) {
		d.Settings.Callbacks.KeyOf = func(_ context.Context, replica string) (ed25519.PublicKey, error) {
			switch {
			case away.Load():
				return nil, store.ErrAway
			case replica == "two":
				return two.Key.Public().(ed25519.PublicKey), nil
			case replica == "short":
				return ed25519.PublicKey{1}, nil
			}
			return nil, store.ErrNotFound
		}
	})
	key, err := run.ParseKey("orders/cron/2026-03-04")
	w.Check(err)
	for _, c := range []api.Callbacks{stranger, signing("two", 3), signing("short", 3)} {
		w.token = c.For(key, 1).Token
		w.post(wednesday+"/job", `{"result":"success"}`).problem(403, "not valid for run")
	}
	for _, token := range []string{"ilcb_", "ilcb_1", "ilcb_1_two", "ilcb_1__", "ilcb_0_two_AA", "ilcb_1_two_!", "ilcb_x_two_AA"} {
		w.token = token
		w.post(wednesday+"/job", `{"result":"success"}`).problem(403, "not valid for run")
	}
	w.token = two.For(key, 1).Token
	away.Store(true)
	w.post(wednesday+"/job", `{"result":"success"}`).problem(503)
	away.Store(false)
	if got := w.post(wednesday+"/job", `{"result":"success"}`).object(200); got["late"] != false {
		t.Errorf("got %v", got)
	}
}

func TestWithoutAKeyThereAreNoCallbacks(t *testing.T) {
	key, _ := run.ParseKey("orders/cron/2026-03-04")
	none := callbacks
	none.Key = nil
	if got := none.For(key, 1); got.Token != "" || got.URL != "" {
		t.Errorf("got %+v", got)
	}
}

func TestDeadlinesAreListedSoonestFirst(t *testing.T) {
	w := opened(t)
	items := w.get("/api/v1/deadlines").items()
	if len(items) < 2 || items[0]["date"] != "2026-03-04" || items[0]["state"] != "ARMED" || items[0]["warnAt"] != "2026-03-04T11:30:00Z" {
		t.Errorf("got %v", items)
	}
	if got := w.get("/api/v1/deadlines?pipeline=silver-orders").items(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if got := w.get("/api/v1/deadlines?state=breached").items(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if got := w.get("/api/v1/deadlines?state=all&limit=1").items(); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	w.get("/api/v1/deadlines?state=soon").problem(400, "query.state")
}

func TestTimelineShowsPastAndUpcomingRuns(t *testing.T) {
	w := opened(t)
	got := w.get("/api/v1/timeline?from=2026-03-01&to=2026-03-08").object(200)
	var shown []string
	for _, item := range got["items"].([]any) {
		for _, slot := range item.(map[string]any)["slots"].([]any) {
			s := slot.(map[string]any)
			shown = append(shown, fmt.Sprint(item.(map[string]any)["pipeline"], " ", s["date"], " ", s["state"], " ", s["status"], " ", s["breachAt"]))
		}
	}
	want := []string{
		"orders 2026-03-04 run PENDING 2026-03-04T12:00:00Z",
		"orders 2026-03-05 upcoming <nil> 2026-03-05T12:00:00Z",
		"orders 2026-03-06 upcoming <nil> 2026-03-06T12:00:00Z",
		"orders 2026-03-07 upcoming <nil> 2026-03-07T12:00:00Z",
		"silver-orders 2026-03-04 upcoming <nil> <nil>",
		"silver-orders 2026-03-05 upcoming <nil> <nil>",
		"silver-orders 2026-03-06 upcoming <nil> <nil>",
		"silver-orders 2026-03-07 excluded <nil> <nil>",
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
	one := w.get("/api/v1/timeline?pipeline=orders").object(200)
	if one["from"] != "2026-03-03T08:10:00Z" || one["to"] != "2026-03-05T08:10:00Z" || len(one["items"].([]any)) != 1 {
		t.Errorf("got %v", one)
	}
	first := w.get("/api/v1/timeline?limit=1").object(200)
	second := w.get("/api/v1/timeline?limit=1&cursor=" + first["nextCursor"].(string)).object(200)
	if second["nextCursor"] != nil || second["items"].([]any)[0].(map[string]any)["pipeline"] != "silver-orders" {
		t.Errorf("got %v", second)
	}
	for _, query := range []string{"?from=soon", "?to=soon", "?from=2026-03-02&to=2026-03-01", "?from=2025-01-01&to=2026-03-01", "?bucket=1s", "?bucket=wide", "?axis=time", "?cursor=x"} {
		w.get("/api/v1/timeline" + query).problem(400)
	}
}

// A year that no response can represent is a client error, in any parameter.
func TestInstantBeyondFourDigitYearsIsABadRequest(t *testing.T) {
	w := opened(t)
	for _, path := range []string{
		"timeline?from=9999-12-31", "timeline?from=9999-12-31T23:59:59Z", "timeline?from=0000-01-01T00:00:00%2B10:00",
		"timeline?to=9999-12-31T23:59:59-12:00", "events?since=9999-12-31T23:59:59-12:00", "runs?from=9999-12-31",
		"pipelines/orders/gate?date=9999-12-31", "pipelines/orders/explain?date=9999-12-31", "pipelines/orders/sensors/source?date=9999-12-31",
	} {
		w.get("/api/v1/"+path).problem(400, "year")
	}
	const year9999 = `"9999-12-31T23:59:59-12:00"`
	w.put("/api/v1/pipelines/orders/sensors/source?expiresAt=9999-12-31T23:59:59-12:00", `{"status":"ready"}`).problem(400, "year")
	w.post("/api/v1/pipelines/orders/pause", `{"until":`+year9999+`}`).problem(400, "year")
	w.post("/api/v1/silences", `{"pipeline":"orders","reason":"noise","until":`+year9999+`}`).problem(400, "year")
	w.post("/api/v1/runs", `{"pipeline":"orders","date":"9999-12-31"}`).problem(400, "year")
	w.post("/api/v1/runs/orders/cron/9999-12-31/reruns", `{"reason":"again","force":true}`).problem(400, "year")
	w.post("/api/v1/pipelines/orders/backfill", `{"from":"9999-12-30","to":"9999-12-31"}`).problem(400, "year")
}

// slots returns the slots of one pipeline in a timeline.
func (w *world) slots(query string) (shown []string) {
	w.Helper()
	for _, slot := range at(w.get("/api/v1/timeline?"+query).object(200), "items", 0, "slots").([]any) {
		if at(slot, "outside") == false {
			shown = append(shown, fmt.Sprint(at(slot, "date"), " ", at(slot, "state"), " ", at(slot, "fireAt")))
		}
	}
	return shown
}

func TestTimelineFindsRunsOfPeriodsThatEndedLongBeforeTheyFire(t *testing.T) {
	w := newWorld(t)
	days := "pipeline: {id: days, owner: data}\nschedule: {cron: \"0 8 * * *\", offset: -1}\n"
	w.Apply(days)
	w.Settle()
	w.Pass(22*time.Hour + 55*time.Minute)
	w.Apply(days, "pipeline: {id: minutes, owner: data}\nschedule: {cron: \"* * * * *\", period: minute, offset: -2880}\n")
	w.Pass(5*time.Minute + 30*time.Second)
	for query, want := range map[string][]string{
		"pipeline=minutes&from=150s&to=30s": {"2026-03-02T08:08 run 2026-03-04T08:08:00Z", "2026-03-02T08:09 run 2026-03-04T08:09:00Z"},
		"pipeline=days&from=2026-03-04T05:00:00Z&to=2026-03-05T09:00:00Z": {
			"2026-03-03 run 2026-03-04T08:00:00Z", "2026-03-04 upcoming 2026-03-05T08:00:00Z",
		},
	} {
		got := w.slots(query)
		for _, slot := range want {
			if !slices.Contains(got, slot) {
				t.Errorf("%s: %s is not shown: %v", query, slot, got)
			}
		}
	}
}

// More runs than are read at once have periods in the range but fire after it.
func TestTimelineFindsRunsBeyondThoseOfLaterFires(t *testing.T) {
	w := newWorld(t)
	w.Pass(10*time.Hour + 45*time.Minute)
	w.Apply("pipeline: {id: minutes, owner: data}\nschedule: {cron: \"* * * * *\", period: minute, offset: -600}\n")
	w.Settle()
	w.Pass(10*time.Hour + 15*time.Minute) // until ten past six on Wednesday
	got := w.slots("pipeline=minutes&from=2026-03-03T20:00:30Z&to=2026-03-03T20:02:30Z")
	for _, slot := range []string{"2026-03-03T10:01 run 2026-03-03T20:01:00Z", "2026-03-03T10:02 run 2026-03-03T20:02:00Z"} {
		if !slices.Contains(got, slot) {
			t.Errorf("%s is not shown: %v", slot, got)
		}
	}
}
