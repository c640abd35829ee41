package api_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
)

// sameAnswer compares status, body and location of two responses.
func sameAnswer(t *testing.T, what string, first, second reply) {
	t.Helper()
	if first.status != second.status || string(first.body) != string(second.body) || first.header.Get("Location") != second.header.Get("Location") {
		t.Errorf("%s: %d %s\n%s\nfirst: %d %s\n%s", what, second.status, second.header.Get("Location"), second.body, first.status, first.header.Get("Location"), first.body)
	}
}

const monday = "/api/v1/runs/orders/cron/2026-03-02"

func TestRepeatedTriggerGetsTheFirstAnswer(t *testing.T) {
	w := newWorld(t)
	const key = "Idempotency-Key: one"
	first := w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-02","reason":"late"}`, key)
	if first.status != 201 || first.header.Get("Location") != monday {
		t.Fatalf("%d %s", first.status, first.body)
	}
	w.Pass(time.Minute)
	sameAnswer(t, "while it is open", first, w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-02","reason":"late"}`, key))
	sameAnswer(t, "written otherwise", first, w.post("/api/v1/runs", ` {"reason": "late", "date": "2026-03-02", "pipeline": "orders", "force": false}`, key))
	w.post(monday+"/cancel", `{"reason":"wrong"}`).object(200)
	sameAnswer(t, "after a cancel", first, w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-02","reason":"late"}`, key))
	if r := w.get(monday).object(200); r["status"] != "CANCELLED" || r["attempt"] != 1.0 {
		t.Errorf("the run is %v in attempt %v", r["status"], r["attempt"])
	}
	w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-02","reason":"late"}`, "Idempotency-Key: two").object(201)
}

func TestKeyOfAnotherRequestIsUnprocessable(t *testing.T) {
	w := newWorld(t)
	const key = "Idempotency-Key: one"
	w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-02"}`, key).object(201)
	for path, body := range map[string]string{
		"/api/v1/runs": `{"pipeline":"orders","date":"2026-03-01"}`,
		"/api/v1/runs/orders/cron/2026-03-02/reruns": `{"reason":"again"}`,
		"/api/v1/pipelines/orders/backfill":          `{"from":"2026-03-01","to":"2026-03-02"}`,
	} {
		w.post(path, body, key).problem(422, "idempotency-key-reused", "used for another request", "new key")
	}
	w.get("/api/v1/runs/orders/cron/2026-03-01").problem(404)
}

func TestRejectionIsReplayedToo(t *testing.T) {
	w := opened(t)
	const key = "Idempotency-Key: one"
	body := `{"pipeline":"orders","date":"2026-03-04"}`
	first := w.post("/api/v1/runs", body, key)
	first.problem(409, "PENDING")
	w.post(wednesday+"/cancel", `{"reason":"wrong"}`).object(200)
	sameAnswer(t, "after a cancel", first, w.post("/api/v1/runs", body, key))
	w.post("/api/v1/runs", body, "Idempotency-Key: two").object(201)

	first = w.post(wednesday+"/reruns", `{"reason":"again"}`, key+" rerun")
	first.problem(409, "PENDING")
	w.post(wednesday+"/cancel", `{"reason":"wrong"}`).object(200)
	sameAnswer(t, "a rerun after a cancel", first, w.post(wednesday+"/reruns", `{"reason":"again"}`, key+" rerun"))
}

func TestMalformedRequestUsesNoKey(t *testing.T) {
	w := newWorld(t)
	const key = "Idempotency-Key: one"
	w.post("/api/v1/runs", `{"pipeline":"orders","date":"soon"}`, key).problem(400)
	w.post("/api/v1/runs", `{"pipeline":"nobody"}`, key).problem(404)
	w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-02"}`, key).object(201)
}

func TestKeysAreSeparatePerToken(t *testing.T) {
	w := newWorld(t, withTokens)
	const key = "Idempotency-Key: one"
	w.token = operatorToken
	w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-01"}`, key).object(201)
	w.token = adminToken
	if got := w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-02"}`, key).object(201); got["date"] != "2026-03-02" {
		t.Errorf("got %v", got)
	}
	w.token = viewerToken
	w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-01"}`, key).problem(403)
}

func TestAnswerIsKeptForADay(t *testing.T) {
	w := newWorld(t)
	const key, body = "Idempotency-Key: one", `{"pipeline":"orders","date":"2026-03-02","force":true,"reason":"late"}`
	first := w.post("/api/v1/runs", body, key)
	w.post(monday+"/cancel", `{"reason":"wrong"}`).object(200)
	w.Pass(24 * time.Hour)
	sameAnswer(t, "after a day", first, w.post("/api/v1/runs", body, key))
	w.Pass(2 * time.Hour)
	if got := w.post("/api/v1/runs", body, key).object(201); got["attempt"] != 2.0 {
		t.Errorf("after more than a day: %v", got)
	}
}

func TestRepeatedBackfillGetsTheFirstAnswer(t *testing.T) {
	w := newWorld(t)
	const key, body = "Idempotency-Key: one", `{"from":"2026-03-01","to":"2026-03-02","reason":"late"}`
	first := w.post("/api/v1/pipelines/orders/backfill", body, key)
	if items := first.items(); len(items) != 2 || items[1]["action"] != "open" {
		t.Fatalf("%s", first.body)
	}
	w.post(monday+"/cancel", `{"reason":"wrong"}`).object(200)
	sameAnswer(t, "after a cancel", first, w.post("/api/v1/pipelines/orders/backfill", body, key))
	if r := w.get(monday).object(200); r["status"] != "CANCELLED" || r["attempt"] != 1.0 {
		t.Errorf("the run is %v in attempt %v", r["status"], r["attempt"])
	}
}

// Several replicas get the same request at the same time.
func TestConcurrentRequestsGetOneAnswer(t *testing.T) {
	for name, c := range map[string]struct{ path, body string }{
		"trigger":  {"/api/v1/runs", `{"pipeline":"orders","date":"2026-03-01"}`},
		"rerun":    {monday + "/reruns", `{"reason":"again","force":true}`},
		"backfill": {"/api/v1/pipelines/orders/backfill", `{"from":"2026-02-20","to":"2026-03-02"}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-03-02"}`).object(201)
			w.post(monday+"/cancel", `{"reason":"wrong"}`).object(200)
			var all sync.WaitGroup
			answers := make([]reply, 8)
			for i := range answers {
				all.Go(func() { answers[i] = w.post(c.path, c.body, "Idempotency-Key: one") })
			}
			all.Wait()
			if answers[0].status/100 != 2 {
				t.Fatalf("%d %s", answers[0].status, answers[0].body)
			}
			for _, a := range answers[1:] {
				sameAnswer(t, "at the same moment", answers[0], a)
			}
			opened := map[string]int{}
			for _, e := range w.get("/api/v1/events?type=TRIGGER_STARTED&limit=500").items() {
				opened[fmt.Sprint(e["detail"].(map[string]any)["date"])]++
			}
			for date, n := range opened {
				if most := map[bool]int{true: 2, false: 1}[date == "2026-03-02"]; n > most {
					t.Errorf("%s was opened %d times", date, n)
				}
			}
		})
	}
}

// unsure is an operator whose responses are lost.
type unsure struct {
	*router.Router
	lost atomic.Bool
}

var errLost = errors.New("no answer")

func (u *unsure) Trigger(ctx context.Context, q router.TriggerRequest, now time.Time) (run.Run, error) {
	r, err := u.Router.Trigger(ctx, q, now)
	if u.lost.Load() {
		return run.Run{}, errLost
	}
	return r, err
}

func TestRepeatAfterALostAnswerReturnsTheResult(t *testing.T) {
	u := &unsure{}
	w := newWorld(t, func(d *api.Deps) {
		u.Router = d.Operator.(*router.Router)
		d.Operator = u
	})
	u.lost.Store(true)
	const key, body = "Idempotency-Key: one", `{"pipeline":"orders","date":"2026-03-02"}`
	first := w.post("/api/v1/runs", body, key)
	u.lost.Store(false)
	second := w.post("/api/v1/runs", body, key)
	if second.object(201)["attempt"] != 1.0 {
		t.Errorf("%d %s", second.status, second.body)
	}
	sameAnswer(t, "the first request finds its own answer", second, first)
}
