package api_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/store"
)

const nightly = `
pipeline: {id: nightly, owner: data}
validation: {rules: [{key: landed, check: equals, field: state, value: ready}]}
job: {type: external, config: {heartbeat: 2m}, maxRetries: 1, retryBackoff: 1s}
`

const (
	nightlyRun  = "/api/v1/runs/nightly/manual/2026-03-02"
	nightlyGate = "/api/v1/pipelines/nightly/gate?date=2026-03-02"
)

// newNightly returns a world with a pipeline whose job workers run, and an open run of it.
func newNightly(t *testing.T, change ...func(*api.Deps)) *world {
	t.Helper()
	w := newWorld(t, change...)
	w.Apply(nightly)
	w.Settle()
	w.post("/api/v1/runs", `{"pipeline":"nightly","date":"2026-03-02"}`).object(201)
	w.Settle()
	return w
}

func TestWorkerClaimsSendsHeartbeatsAndReports(t *testing.T) {
	w := newNightly(t)
	no := w.post(nightlyRun+"/claim", `{"worker":"w1"}`)
	no.problem(409, "claim-not-offered", "landed: no reading")
	if rules := no.object(409)["rules"].([]any); len(rules) != 1 || rules[0].(map[string]any)["key"] != "landed" {
		t.Errorf("the closed rules are %v", rules)
	}
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	if g := w.get(nightlyGate).object(200); g["open"] != true || g["run"].(map[string]any)["phase"] != "offered" || g["run"].(map[string]any)["offeredSince"] == nil {
		t.Errorf("the gate of an offer is %v", g)
	}
	const key = "Idempotency-Key: claim-1"
	first := w.post(nightlyRun+"/claim", `{"worker":"w1"}`, key)
	c := first.object(200)
	w.Settle()
	again := w.post(nightlyRun+"/claim", `{"worker":"another name"}`, key).object(200)
	for _, field := range []string{"runId", "permit", "deadline", "nextBy", "onSilence", "env", "worker"} {
		if fmt.Sprint(again[field]) != fmt.Sprint(c[field]) {
			t.Errorf("claimed again, %s is %v, and was %v", field, again[field], c[field])
		}
	}
	env := c["env"].(map[string]any)
	if c["runId"] != "nightly/manual/2026-03-02/1" || c["attempt"] != 1.0 || c["heartbeatSeconds"] != 120.0 || c["deadline"] != "2026-03-03T10:10:00Z" || c["nextBy"] != "2026-03-03T09:12:00Z" || c["onSilence"] != "continue" ||
		env["INTERLOCK_RUN_ID"] != c["runId"] || env["INTERLOCK_DATE"] != "2026-03-02" || env["INTERLOCK_ATTEMPT"] != "1" || env["INTERLOCK_CALLBACK_TOKEN"] != c["permit"] {
		t.Errorf("the claim is %s", first.body)
	}
	held := w.post(nightlyRun+"/claim", `{"worker":"w2"}`)
	held.problem(409, "claim-held", "worker w1 has held attempt 1")
	if o := held.object(409); o["worker"] != "w1" || o["since"] != "2026-03-03T09:10:00Z" {
		t.Errorf("held by %v since %v", o["worker"], o["since"])
	}
	if g := w.get(nightlyGate).object(200); g["open"] != false {
		t.Error("the gate of a claimed run is open")
	}
	permit := "Authorization: Bearer " + c["permit"].(string)
	w.Pass(time.Minute)
	if b := w.post(nightlyRun+"/heartbeat", `{"output":"half of it"}`, permit).object(200); b["nextBy"] != "2026-03-03T09:13:00Z" || b["deadline"] != c["deadline"] {
		t.Errorf("the heartbeat was answered with %v", b)
	}
	if r := w.get(nightlyRun).object(200); r["worker"] != "w1" || r["lastHeartbeat"] != "2026-03-03T09:11:00Z" || r["nextBy"] != "2026-03-03T09:13:00Z" || r["deadline"] != c["deadline"] || r["output"] != "half of it" {
		t.Errorf("the run shows worker %v, heartbeat %v, output %v", r["worker"], r["lastHeartbeat"], r["output"])
	}
	w.post(nightlyRun+"/job", `{"result":"success","output":"all of it"}`, permit).object(200)
	w.Settle()
	w.post(nightlyRun+"/job", `{"result":"success","output":"all of it"}`, permit).object(200) // a repeat, as after a lost response
	if r := w.get(nightlyRun).object(200); r["status"] != "COMPLETED" || r["output"] != "all of it" {
		t.Errorf("the run is %v with output %v", r["status"], r["output"])
	}
	w.post(nightlyRun+"/claim", `{"worker":"w2"}`).problem(409, "claim-done", "COMPLETED")
}

func TestPermitIsValidForItsAttemptOnly(t *testing.T) {
	w := newNightly(t)
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	permit := w.post(nightlyRun+"/claim", `{"worker":"w1"}`).object(200)["permit"].(string)
	w.post("/api/v1/runs", `{"pipeline":"nightly","date":"2026-03-01"}`).object(201)
	bearer := "Authorization: Bearer " + permit
	w.post("/api/v1/runs/nightly/manual/2026-03-01/heartbeat", "", bearer).problem(403, "", "is not valid for run nightly/manual/2026-03-01")
	w.post(nightlyRun+"/heartbeat", "", "Authorization: Bearer "+strings.Replace(permit, "ilpm_1_", "ilpm_2_", 1)).problem(403, "", "is not valid for")
	w.post(nightlyRun+"/heartbeat", "").problem(403, "", "needs the permit")
	callback := strings.Replace(permit, "ilpm_", "ilcb_", 1)
	w.post(nightlyRun+"/job", `{"result":"success"}`, "Authorization: Bearer "+callback).problem(403, "", "is not valid for")
	w.post("/api/v1/pipelines/nightly/pause", `{}`, bearer).problem(403, "")
	if strings.Contains(w.log.String(), permit) {
		t.Error("the log has the permit")
	}
}

func TestLateReportOfALostWorkerIsRejectedAndLogged(t *testing.T) {
	w := newNightly(t)
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	permit := "Authorization: Bearer " + w.post(nightlyRun+"/claim", `{"worker":"w1"}`).object(200)["permit"].(string)
	w.Settle()
	w.Pass(3 * time.Minute)
	before := w.get(nightlyRun).object(200)
	if before["attempt"] != 2.0 || before["phase"] != "offered" {
		t.Fatalf("the run is %v in attempt %v", before["phase"], before["attempt"])
	}
	w.post(nightlyRun+"/heartbeat", "", permit).problem(409, "claim-lost", "attempt 1 of run nightly/manual/2026-03-02 has ended")
	w.post(nightlyRun+"/job", `{"result":"success","message":"loaded"}`, permit).problem(409, "claim-lost", "attempt 1 has ended", "is logged and changes nothing")
	after := w.get(nightlyRun).object(200)
	if after["version"] != before["version"] {
		t.Error("the late report changed the run")
	}
	log := after["jobLog"].([]any)
	if last := log[len(log)-1].(map[string]any); last["event"] != "late" || last["attempt"] != 1.0 {
		t.Errorf("the job log ends with %v", last)
	}
}

func TestRejectedClaimMayBeRepeatedWithItsKey(t *testing.T) {
	w := newNightly(t)
	const key = "Idempotency-Key: mine"
	w.post(nightlyRun+"/claim", `{"worker":"w1"}`, key).problem(409, "claim-not-offered")
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	w.post(nightlyRun+"/claim", `{"worker":"w1"}`, key).object(200)
}

// If the response to a claim was lost, the worker repeats the claim: it starts its job only if it
// still holds the attempt.
func TestRepeatedClaimIsGrantedOnlyWhileItsAttemptIsHeld(t *testing.T) {
	w := newNightly(t)
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	const key = "Idempotency-Key: lost"
	w.post(nightlyRun+"/claim", `{"worker":"w1"}`, key).object(200)
	w.Settle()
	w.Pass(time.Minute)
	w.post(nightlyRun+"/claim", `{"worker":"w1"}`, key).object(200)
	w.Pass(90 * time.Second) // the repeat counted as a heartbeat
	if r := w.get(nightlyRun).object(200); r["status"] != "RUNNING" || r["attempt"] != 1.0 {
		t.Errorf("the run is %v in attempt %v", r["status"], r["attempt"])
	}
	w.Pass(time.Minute)
	w.post(nightlyRun+"/claim", `{"worker":"w1"}`, key).problem(409, "claim-lost", "attempt 1 of run nightly/manual/2026-03-02 has ended")
	if c := w.post(nightlyRun+"/claim", `{"worker":"w1"}`, "Idempotency-Key: next").object(200); c["attempt"] != 2.0 {
		t.Errorf("granted attempt %v", c["attempt"])
	}
}

func TestWorkerAnnouncesASilence(t *testing.T) {
	w := newNightly(t)
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	c := w.post(nightlyRun+"/claim", `{"worker":"w1"}`, "Idempotency-Key: mine").object(200)
	permit := "Authorization: Bearer " + c["permit"].(string)
	w.Settle()
	for _, one := range []struct{ body, nextBy string }{
		{`{"nextWithin":"30m","seq":7}`, "2026-03-03T09:40:00Z"},
		{`{"seq":6}`, "2026-03-03T09:40:00Z"},
		{`{"nextWithin":"6h","seq":8}`, "2026-03-03T10:10:00Z"}, // the deadline
		{`{"nextWithin":"1d","seq":9}`, "2026-03-03T10:10:00Z"},
		{`{"nextWithin":"40m","seq":10,"output":"so far"}`, "2026-03-03T09:50:00Z"},
	} {
		b := w.post(nightlyRun+"/heartbeat", one.body, permit).object(200)
		if b["nextBy"] != one.nextBy || b["deadline"] != "2026-03-03T10:10:00Z" {
			t.Errorf("%s is answered with %v", one.body, b)
		}
	}
	for body, says := range map[string]string{
		`{"nextWithin":"-1h"}`: "is not a duration above 0; write it like 90s, 6h or 2d",
		`{"nextWithin":"0s"}`:  "not a duration above 0",
		`{"nextWithin":"six"}`: "body.nextWithin",
		`{"nextWithin":21600}`: "nextWithin",
		`{"seq":0}`:            "seq",
		`{"seq":-1}`:           "seq",
		`{"seq":1.5}`:          "seq",
	} {
		if r := w.post(nightlyRun+"/heartbeat", body, permit); r.status != 400 && r.status != 422 || !strings.Contains(string(r.body), says) {
			t.Errorf("%s is answered with %d %s", body, r.status, r.body)
		}
	}
	w.Pass(39 * time.Minute)
	if r := w.get(nightlyRun).object(200); r["status"] != "RUNNING" || r["nextBy"] != "2026-03-03T09:50:00Z" {
		t.Errorf("the run is %v until %v", r["status"], r["nextBy"])
	}
	// Its process was replaced, and goes on with the same key and a higher number.
	again := w.post(nightlyRun+"/claim", `{"worker":"w2"}`, "Idempotency-Key: mine").object(200)
	if again["permit"] != c["permit"] || again["seq"] != 10.0 {
		t.Errorf("claimed again with %v", again)
	}
}

func TestClaimSaysWhatToDoInSilence(t *testing.T) {
	w := newNightly(t)
	w.Apply(strings.Replace(nightly, "heartbeat: 2m", "heartbeat: 2m, onSilence: stop", 1))
	w.post("/api/v1/runs", `{"pipeline":"nightly","date":"2026-03-01"}`).object(201)
	w.Write("nightly", "landed#2026-03-01", "state=ready")
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	if c := w.post("/api/v1/runs/nightly/manual/2026-03-01/claim", `{"worker":"w1"}`).object(200); c["onSilence"] != "stop" {
		t.Errorf("onSilence is %v", c["onSilence"])
	}
	if c := w.post(nightlyRun+"/claim", `{"worker":"w1"}`).object(200); c["onSilence"] != "continue" {
		t.Errorf("the attempt opened before the edit, but onSilence is %v", c["onSilence"])
	}
}

func TestKeyOfAClaimIsOfOneRequest(t *testing.T) {
	w := newNightly(t)
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	const key = "Idempotency-Key: mine"
	w.post(nightlyRun+"/claim", `{"worker":"w1"}`, key).object(200)
	w.post("/api/v1/runs", `{"pipeline":"nightly","date":"2026-03-01"}`, key).problem(422, "idempotency-key-reused")
	w.post("/api/v1/runs", `{"pipeline":"nightly","date":"2026-03-01"}`, "Idempotency-Key: other").object(201)
	w.post("/api/v1/runs/nightly/manual/2026-03-01/claim", `{"worker":"w1"}`, key).problem(422, "idempotency-key-reused")
	w.post("/api/v1/runs/nightly/manual/2026-03-01/claim", `{"worker":"w1"}`, "Idempotency-Key: other").problem(422, "idempotency-key-reused")
}

// waiting requests a gate in the background, and returns once n requests wait.
func (w *world) waiting(path string, n int) <-chan reply {
	w.Helper()
	got := make(chan reply, 1)
	go func() { got <- w.get(path) }()
	w.api.AwaitWaiting(n)
	return got
}

func TestWaitEndsWhenTheGateOpens(t *testing.T) {
	w := newNightly(t, func(d *api.Deps) { d.GatePace = time.Hour })
	got := w.waiting(nightlyGate+"&wait=60s", 1)
	other := w.waiting("/api/v1/pipelines/nightly/gate?date=2026-03-01&wait=60s", 2)
	w.Write("nightly", "landed#2026-03-02", "state=ready")
	w.api.GateChanged(store.Change{Kind: store.RunMoved, Pipeline: "nightly", Run: w.Key("nightly/manual/2026-03-02")})
	if g := (<-got).object(200); g["open"] != true {
		t.Errorf("the wait ended with %v", g)
	}
	w.api.AwaitWaiting(1) // the request for another period still waits
	w.api.Close()         // a server that shuts down answers waiting requests
	if g := (<-other).object(200); g["open"] != false {
		t.Errorf("the wait ended with %v", g)
	}
}

func TestChangeWakesOnlyTheGatesItConcerns(t *testing.T) {
	w := newNightly(t, func(d *api.Deps) { d.GatePace = time.Hour })
	for i := range 3 {
		w.waiting(nightlyGate+"&wait=60s", i+1)
	}
	w.waiting("/api/v1/pipelines/nightly/gate?date=2026-03-01&wait=60s", 4)
	for _, one := range []struct {
		change store.Change
		wakes  int
	}{
		{store.Change{Kind: store.ReadingWritten, Pipeline: "orders", Sensor: "rows"}, 0},
		{store.Change{Kind: store.RunMoved, Pipeline: "orders"}, 0},
		{store.Change{Kind: store.ReadingWritten, Pipeline: "nightly", Sensor: "landed", Period: w.Period("2026-02-01")}, 0},
		{store.Change{Kind: store.ReadingWritten, Pipeline: "nightly", Sensor: "landed", Period: w.Period("2026-03-01")}, 1},
		{store.Change{Kind: store.ReadingWritten, Pipeline: "nightly", Sensor: "landed"}, 2},
		{store.Change{Kind: store.PipelineMoved, Pipeline: "nightly"}, 2},
	} {
		if n := w.api.Concerned(one.change); n != one.wakes {
			t.Errorf("%+v wakes %d gates, want %d", one.change, n, one.wakes)
		}
	}
}

func TestWaitIsBounded(t *testing.T) {
	w := newNightly(t)
	w.get(nightlyGate+"&wait=61s").problem(400, "malformed", "at most 1m")
	w.get(nightlyGate+"&wait=soon").problem(400, "malformed")
	if g := w.get(nightlyGate + "&wait=1ms").object(200); g["open"] != false || g["retryAfterSeconds"] == nil {
		t.Errorf("answered with %v", g)
	}
}

func TestWaitThatCannotSucceedEndsAtOnce(t *testing.T) {
	w := newNightly(t)
	w.post(nightlyRun+"/cancel", `{"reason":"not needed"}`).object(200)
	if g := w.get(nightlyGate + "&wait=60s").object(200); g["open"] != false || g["retryAfterSeconds"] != nil {
		t.Errorf("answered with %v", fmt.Sprint(g))
	}
}

func TestOnlyOneOfEqualClaimsWithoutAKeyIsGranted(t *testing.T) {
	for round := range 20 {
		w := newNightly(t)
		w.Write("nightly", "landed#2026-03-02", "state=ready")
		var all sync.WaitGroup
		codes := make([]int, 8)
		for i := range codes {
			all.Go(func() { codes[i] = w.post(nightlyRun+"/claim", `{"worker":"etl"}`).status })
		}
		all.Wait()
		slices.Sort(codes)
		if want := []int{200, 409, 409, 409, 409, 409, 409, 409}; !slices.Equal(codes, want) {
			t.Fatalf("round %d: answers %v, want %v", round, codes, want)
		}
	}
}
