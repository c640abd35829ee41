package api_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/audit"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// audited returns a world with an audit record.
func audited(t testing.TB, change ...func(*api.Deps)) *world {
	t.Helper()
	return opened(t, append([]func(*api.Deps){withTokens, func(d *api.Deps) {
		d.Audit = audit.New(d.Store.(*memory.Store), 365*24*time.Hour)
	}}, change...)...)
}

// record lists the audit record as "actor action about outcome", oldest first.
func (w *world) record(query string) []string {
	w.Helper()
	token := w.token
	w.token = adminToken
	defer func() { w.token = token }()
	var lines []string
	for _, e := range w.get("/api/v1/audit" + query).items() {
		about := e["subject"]
		if about == nil {
			about = e["pipeline"]
		}
		lines = append([]string{fmt.Sprint(e["actor"], " ", e["action"], " ", about, " ", e["outcome"])}, lines...)
	}
	return lines
}

func TestActionsAndLoginsAreRecorded(t *testing.T) {
	w := audited(t)
	w.post(sessionPath, `{"token":"guess-0123456789"}`).problem(401)
	w.get("/api/v1/runs", "Authorization: Bearer wrong-0123456789").problem(401)
	cookie := carry(w.login(operatorToken))
	w.post("/api/v1/runs", `{"pipeline":"silver-orders","force":true,"bypassGate":true,"reason":"source is down","requestedBy":"bob"}`, cookie).object(201)
	w.post(pauseOrders, `{"reason":"maintenance"}`, cookie).object(200)
	w.post("/api/v1/runs/orders/cron/2026-03-04/cancel", `{}`, cookie).object(200)
	w.post("/api/v1/runs/orders/cron/2026-03-04/cancel", `{}`, cookie).problem(409)
	w.request("DELETE", sessionPath, "", cookie)
	w.token = viewerToken
	w.post(pauseOrders, `{}`).problem(403)
	w.token = sensorToken
	w.put(ordersSensors+"x", `{}`).object(200) // readings have their own history
	want := []string{
		"unknown login <nil> refused",
		"unknown authenticate <nil> refused",
		"ann login <nil> done",
		"ann trigger silver-orders done",
		"ann pause orders done",
		"ann cancel orders/cron/2026-03-04 done",
		"ann cancel orders/cron/2026-03-04 refused",
		"ann logout <nil> done",
		"wall pause orders refused",
	}
	if got := strings.Join(w.record(""), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	w.token = adminToken
	e := w.get("/api/v1/audit?action=trigger").items()[0]
	if fmt.Sprint(e["parameters"]) != "map[bypassGate:true force:true]" || e["reason"] != "source is down" || e["requestedBy"] != "bob" ||
		e["role"] != "operator" || e["remote"] != "127.0.0.1" || e["at"] != w.Now().UTC().Format(time.RFC3339) {
		t.Errorf("got %v", e)
	}
}

func TestOnlyAdminsReadTheAuditRecord(t *testing.T) {
	w := audited(t)
	w.token = operatorToken
	w.post(pauseOrders, `{}`).object(200)
	for _, token := range []string{viewerToken, sensorToken, limitedToken, operatorToken} {
		w.token = token
		w.get("/api/v1/audit").problem(403, "admin")
		if got := w.get("/api/v1/events?type=AUDIT").items(); len(got) != 0 {
			t.Errorf("%s sees %v", token, got)
		}
	}
	w.token = adminToken
	got := w.get("/api/v1/events?type=AUDIT").items()
	if len(got) != 1 || !strings.Contains(fmt.Sprint(got[0]["detail"]), "action:pause actor:ann") {
		t.Errorf("the admin sees %v", got)
	}
	w.get("/api/v1/audit?since=soon").problem(400, "query.since")
	w.get("/api/v1/audit?cursor=x").problem(400)
}

func TestAuditEntryIsBounded(t *testing.T) {
	w := audited(t)
	w.token = operatorToken
	ids := strings.TrimSuffix(strings.Repeat(`"x",`, 100), ",")
	w.post("/api/v1/alerts/dead/discard", `{"ids":[`+ids+`]}`)
	w.token = adminToken
	got := w.get("/api/v1/audit?action=discard-dead-letters")
	if p := got.items()[0]["parameters"].(map[string]any); p["idsCount"] != float64(100) || len(p["ids"].([]any)) != 50 {
		t.Errorf("got %v", p)
	}
}

func TestAuditRecordHoldsNoSecret(t *testing.T) {
	w := audited(t)
	w.post(sessionPath, `{"token":"guess-0123456789"}`)
	cookie := w.login(operatorToken)
	w.post(pauseOrders, `{}`, carry(cookie)).object(200)
	w.token = adminToken
	whole := string(w.get("/api/v1/audit").body)
	events, err := w.Store.Events(ctx, store.EventQuery{Type: event.Audit})
	w.Check(err)
	for _, secret := range []string{"guess-0123456789", operatorToken, adminToken, cookie.Value} {
		if strings.Contains(whole, secret) || strings.Contains(fmt.Sprintf("%+v", events), secret) {
			t.Errorf("%s is in the record: %s", secret, whole)
		}
	}
}

func TestFloodOfUnknownTokensDoesNotFillTheRecord(t *testing.T) {
	w := audited(t)
	guess := func() {
		r := httptest.NewRequest("GET", "http://localhost/api/v1/runs", nil)
		r.Header.Set("Authorization", "Bearer guess-0123456789")
		w.api.ServeHTTP(httptest.NewRecorder(), r)
	}
	for range 1000 {
		guess()
	}
	if n := len(w.record("?limit=500")); n != 100 {
		t.Errorf("1000 requests left %d entries", n)
	}
	w.Move(w.Now().Add(10 * time.Second))
	guess()
	w.token = adminToken
	if got := w.get("/api/v1/audit?limit=1").items()[0]["parameters"]; fmt.Sprint(got) != "map[notRecorded:900]" {
		t.Errorf("the next entry says %v", got)
	}
}

func TestFloodOfRejectedRequestsDoesNotFillTheRecord(t *testing.T) {
	w := audited(t)
	w.token = operatorToken
	flood := func() { w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-02-10","reason":"x"}`) }
	flood() // it opens the run
	for range 1000 {
		flood()
	}
	if n := len(w.record("?limit=500&outcome=refused")); n != 100 {
		t.Errorf("1000 rejected requests left %d entries", n)
	}
	if n := len(w.record("?limit=500")); n != 101 {
		t.Errorf("%d entries in all", n)
	}
	events, err := w.Store.Events(ctx, store.EventQuery{Type: event.Audit, Limit: 500})
	if w.Check(err); len(events.Items) != 101 {
		t.Errorf("%d AUDIT events", len(events.Items))
	}
	w.token = limitedToken
	w.post(pauseOrders, `{}`).problem(403)
	if got := w.record("?limit=1"); !strings.Contains(got[0], "pause orders refused") {
		t.Errorf("the flood hides the rejected request of another client: %s", got)
	}
	w.Move(w.Now().Add(10 * time.Second))
	w.token = operatorToken
	flood()
	w.token = adminToken
	if got := w.get("/api/v1/audit?limit=1").items()[0]["parameters"].(map[string]any)["notRecorded"]; got != 900.0 {
		t.Errorf("the next entry says that %v were not recorded", got)
	}
}

func TestServerWithoutTokensRecordsLocalActions(t *testing.T) {
	w := audited(t, func(d *api.Deps) { d.Settings.Tokens = nil })
	w.post(pauseOrders, `{"requestedBy":"bob"}`).object(200)
	if got := fmt.Sprint(w.record("?actor=bob")); got != "[local pause orders done]" {
		t.Errorf("got %s", got)
	}
}
