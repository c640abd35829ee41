package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/api"
)

const (
	sessionPath = "/api/v1/session"
	pauseOrders = "/api/v1/pipelines/orders/pause"
	staleCookie = "Cookie: interlock_token=bm90aGluZw" // of a token that is no longer there
)

// login sends a token as a browser does, and gives the cookie that comes back.
func (w *world) login(token string) *http.Cookie {
	w.Helper()
	answer := w.post(sessionPath, `{"token":"`+token+`"}`)
	answer.object(200)
	cookie, err := http.ParseSetCookie(answer.header.Get("Set-Cookie"))
	w.Check(err)
	return cookie
}

// carry is the header by which a browser sends a cookie back.
func carry(c *http.Cookie) string { return "Cookie: " + c.Name + "=" + c.Value }

func TestCookieStandsForItsToken(t *testing.T) {
	w := newWorld(t, withTokens)
	viewer := carry(w.login(viewerToken))
	w.get("/api/v1/runs", viewer).object(200)
	w.post(pauseOrders, "{}", viewer).problem(403, "operator")
	w.post(pauseOrders, "{}", carry(w.login(operatorToken))).object(200)
}

func TestCookieIsOutOfReachOfScriptsAndOtherSites(t *testing.T) {
	w := newWorld(t, withTokens)
	c := w.login(operatorToken)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/api/v1" {
		t.Errorf("the cookie is %s, %d, for %s", c.Name, c.SameSite, c.Path)
	}
	w.post(pauseOrders, "{}", carry(c), "Origin: https://elsewhere.example").problem(403, "another origin")
}

func TestUnknownTokenDoesNotLogIn(t *testing.T) {
	w := newWorld(t, withTokens)
	const guess = "guess-0123456789"
	answer := w.post(sessionPath, `{"token":"`+guess+`"}`)
	answer.problem(401, "not known")
	if answer.header.Get("Set-Cookie") != "" || strings.Contains(string(answer.body)+w.log.String(), guess) {
		t.Errorf("it set a cookie, or told the token: %v %s", answer.header, answer.body)
	}
	w.get("/api/v1/runs", staleCookie).problem(401)
}

func TestStaleCookieKeepsNobodyFromLoggingInAndOut(t *testing.T) {
	w := newWorld(t, withTokens)
	w.post(sessionPath, `{"token":"`+viewerToken+`"}`, staleCookie).object(200)
	answer := w.request("DELETE", sessionPath, "", staleCookie)
	cookie, err := http.ParseSetCookie(answer.header.Get("Set-Cookie"))
	w.Check(err)
	if answer.status != http.StatusNoContent || cookie.MaxAge >= 0 || cookie.Value != "" {
		t.Errorf("answered %d with %v", answer.status, cookie)
	}
}

func TestSessionSaysWhoAsks(t *testing.T) {
	w := newWorld(t, withTokens)
	w.get(sessionPath).problem(401)
	w.token = limitedToken
	want := map[string]any{"name": "silver", "role": "sensor", "pipelines": []any{"silver-*"}, "tokens": true}
	if diff := cmp.Diff(want, w.get(sessionPath).object(200)); diff != "" {
		t.Error(diff)
	}
}

func TestWhereThereAreNoTokensNobodyLogsIn(t *testing.T) {
	w := newWorld(t)
	want := map[string]any{"name": nil, "role": "admin", "pipelines": []any{}, "tokens": false}
	if diff := cmp.Diff(want, w.get(sessionPath).object(200)); diff != "" {
		t.Error(diff)
	}
	w.post(sessionPath, `{"token":"`+viewerToken+`"}`).problem(400, "no token")
}

func TestReadOnlyServerOffersNothingButToLook(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) { d.Settings.ReadOnly = "only shown; ask elsewhere" })
	if got := w.get("/api/v1/session").object(200); got["role"] != "viewer" {
		t.Errorf("got %v", got)
	}
	w.get("/api/v1/pipelines").items()
	w.post("/api/v1/pipelines/orders/pause", `{}`).problem(403, "ask elsewhere")
	w.put(ordersSensors+"source", `{}`).problem(403, "ask elsewhere")
}
