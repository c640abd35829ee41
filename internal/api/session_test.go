package api_test

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	sessionPath = "/api/v1/session"
	pauseOrders = "/api/v1/pipelines/orders/pause"
	staleCookie = "Cookie: interlock_session=ABCDEFGHIJKLMNOPQRSTUVWXYZ" // of a session that never existed
)

// login logs in with a token as a browser does, and returns the cookie.
func (w *world) login(token string) *http.Cookie {
	w.Helper()
	answer := w.post(sessionPath, `{"token":"`+token+`"}`)
	answer.object(200)
	cookie, err := http.ParseSetCookie(answer.header.Get("Set-Cookie"))
	w.Check(err)
	return cookie
}

// carry returns the header with which a browser sends a cookie.
func carry(c *http.Cookie) string { return "Cookie: " + c.Name + "=" + c.Value }

func TestSessionHasTheRoleOfItsToken(t *testing.T) {
	w := newWorld(t, withTokens)
	viewer := carry(w.login(viewerToken))
	w.get("/api/v1/runs", viewer).object(200)
	w.post(pauseOrders, "{}", viewer).problem(403, "operator")
	w.post(pauseOrders, "{}", carry(w.login(operatorToken))).object(200)
}

func TestCookieIsHTTPOnlyAndSameSite(t *testing.T) {
	w := newWorld(t, withTokens)
	c := w.login(operatorToken)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/api/v1" {
		t.Errorf("the cookie is %s, %d, for %s", c.Name, c.SameSite, c.Path)
	}
	w.post(pauseOrders, "{}", carry(c), "Origin: https://elsewhere.example").problem(403, "problem:cross-origin")
}

func TestUnknownTokenDoesNotLogIn(t *testing.T) {
	w := newWorld(t, withTokens)
	const guess = "guess-0123456789"
	answer := w.post(sessionPath, `{"token":"`+guess+`"}`)
	answer.problem(401, "unknown token")
	if answer.header.Get("Set-Cookie") != "" || strings.Contains(string(answer.body)+w.log.String(), guess) {
		t.Errorf("the response sets a cookie or contains the token: %v %s", answer.header, answer.body)
	}
	w.get("/api/v1/runs", staleCookie).problem(401)
}

func TestStaleCookieDoesNotPreventLoginAndLogout(t *testing.T) {
	w := newWorld(t, withTokens)
	w.post(sessionPath, `{"token":"`+viewerToken+`"}`, staleCookie).object(200)
	answer := w.request("DELETE", sessionPath, "", staleCookie)
	cookie, err := http.ParseSetCookie(answer.header.Get("Set-Cookie"))
	w.Check(err)
	if answer.status != http.StatusNoContent || cookie.MaxAge >= 0 || cookie.Value != "" {
		t.Errorf("answered %d with %v", answer.status, cookie)
	}
}

func TestSessionShowsTheClient(t *testing.T) {
	w := newWorld(t, withTokens)
	w.get(sessionPath).problem(401)
	w.token = limitedToken
	want := map[string]any{"name": "silver", "role": "sensor", "pipelines": []any{"silver-*"}, "tokens": true, "expiresAt": nil}
	if diff := cmp.Diff(want, w.get(sessionPath).object(200)); diff != "" {
		t.Error(diff)
	}
}

func TestServerWithoutTokensHasNoLogin(t *testing.T) {
	w := newWorld(t)
	want := map[string]any{"name": nil, "role": "admin", "pipelines": []any{}, "tokens": false, "expiresAt": nil}
	if diff := cmp.Diff(want, w.get(sessionPath).object(200)); diff != "" {
		t.Error(diff)
	}
	w.post(sessionPath, `{"token":"`+viewerToken+`"}`).problem(400, "no token")
}

func TestReadOnlyServerOffersOnlyReads(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) { d.Settings.ReadOnly = "only shown; ask elsewhere" })
	if got := w.get("/api/v1/session").object(200); got["role"] != "viewer" {
		t.Errorf("got %v", got)
	}
	w.get("/api/v1/pipelines").items()
	w.post("/api/v1/pipelines/orders/pause", `{}`).problem(403, "ask elsewhere")
	w.put(ordersSensors+"source", `{}`).problem(403, "ask elsewhere")
}

func TestLogoutRevokesTheSession(t *testing.T) {
	w := newWorld(t, withTokens)
	copied := carry(w.login(operatorToken))
	w.get("/api/v1/runs", copied).object(200)
	if got := w.request("DELETE", sessionPath, "", copied); got.status != http.StatusNoContent {
		t.Fatalf("logout answered %d: %s", got.status, got.body)
	}
	w.get("/api/v1/runs", copied).problem(401, "log in")
	w.post(pauseOrders, "{}", copied).problem(401)
}

func TestSessionEndsWhenUnusedAndAfterItsLifetime(t *testing.T) {
	w := newWorld(t, withTokens, func(d *api.Deps) {
		d.Settings.SessionLifetime, d.Settings.SessionIdle = 10*time.Hour, time.Hour
	})
	unused, used := carry(w.login(viewerToken)), carry(w.login(viewerToken))
	for range 11 {
		w.Move(w.Now().Add(50 * time.Minute))
		w.get("/api/v1/runs", used).object(200)
	}
	w.get("/api/v1/runs", unused).problem(401)
	w.Move(w.Now().Add(50 * time.Minute)) // ten hours after the login
	w.get("/api/v1/runs", used).problem(401)
}

func TestSessionShowsWhenItEnds(t *testing.T) {
	w := newWorld(t, withTokens)
	got := w.get(sessionPath, carry(w.login(viewerToken))).object(200)["expiresAt"]
	if want := w.Now().Add(7 * 24 * time.Hour).UTC().Format(time.RFC3339); got != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestNeitherCookieNorStoreHoldsCredentials(t *testing.T) {
	w := newWorld(t, withTokens)
	id := w.login(operatorToken).Value
	token := sha256.Sum256([]byte(operatorToken))
	secrets := []string{operatorToken, base64.RawURLEncoding.EncodeToString([]byte(operatorToken)), hex.EncodeToString(token[:]), base64.StdEncoding.EncodeToString(token[:])}
	notes, err := w.Store.Notes(ctx, store.SessionNote)
	w.Check(err)
	if len(notes) != 1 {
		t.Fatalf("got %d sessions, want 1", len(notes))
	}
	for _, secret := range append(secrets, id) {
		if stored := notes[0].Key + string(notes[0].Data); strings.Contains(stored, secret) {
			t.Errorf("the store holds %s: %s", secret, stored)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(id, secret) {
			t.Errorf("the cookie holds %s: %s", secret, id)
		}
	}
}

// replica returns another server on the same store.
func (w *world) replica(change ...func(*api.Deps)) *world {
	w.Helper()
	d := api.Deps{
		Store: w.Store, Catalog: w.Catalog, Operator: w.Router, Now: w.Now,
		Settings: api.Settings{Loopback: true}, Logger: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&d)
	}
	other := &world{TB: w.TB, Controller: w.Controller, api: api.New(d)}
	other.server = httptest.NewServer(other.api)
	w.Cleanup(other.server.Close)
	return other
}

func TestSessionIsValidOnEveryReplica(t *testing.T) {
	one := newWorld(t, withTokens)
	two := one.replica(withTokens)
	cookie := carry(one.login(viewerToken))
	two.get("/api/v1/runs", cookie).object(200)
	two.request("DELETE", sessionPath, "", cookie)
	one.get("/api/v1/runs", cookie).problem(401)
}

func TestSessionEndsWithItsToken(t *testing.T) {
	w := newWorld(t, withTokens)
	cookie := carry(w.login(operatorToken))
	w.Check(w.api.SetTokens([]api.Token{{Name: "ann", Role: api.RoleViewer, Secret: operatorToken}}))
	w.get("/api/v1/runs", cookie).object(200)
	w.post(pauseOrders, "{}", cookie).problem(403, "viewer")
	w.Check(w.api.SetTokens([]api.Token{{Name: "ann", Role: api.RoleOperator, Secret: "another-0123456789"}}))
	w.get("/api/v1/runs", cookie).problem(401)
}

func TestInvalidTokensReplaceNone(t *testing.T) {
	w := newWorld(t, withTokens)
	for _, tokens := range [][]api.Token{nil, {{Name: "short", Role: api.RoleViewer, Secret: "short"}}} {
		if err := w.api.SetTokens(tokens); err == nil {
			t.Errorf("accepted %v", tokens)
		}
	}
	w.token = viewerToken
	w.get("/api/v1/runs").object(200)
}

func TestStreamEndsWithItsSession(t *testing.T) {
	w := newWorld(t, withTokens, func(d *api.Deps) { d.Settings.Heartbeat = time.Millisecond })
	cookie := carry(w.login(viewerToken))
	s := w.follow("", cookie)
	w.request("DELETE", sessionPath, "", cookie)
	if _, err := io.Copy(io.Discard, s.lines); err != nil {
		t.Errorf("the stream broke off: %v", err)
	}
}

func TestFailedLoginsHaveToWait(t *testing.T) {
	w := newWorld(t, withTokens)
	for range 5 {
		w.post(sessionPath, `{"token":"guess-0123456789"}`).problem(401, "unknown token")
	}
	got := w.post(sessionPath, `{"token":"guess-0123456789"}`)
	got.problem(429, "too many failed logins", "1 s")
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
	}
	w.get("/api/v1/runs", "Authorization: Bearer "+viewerToken).object(200) // programs at the same address still work
	w.Move(w.Now().Add(time.Second))
	w.post(sessionPath, `{"token":"guess-0123456789"}`).problem(401)
	w.Move(w.Now().Add(time.Second))
	w.post(sessionPath, `{"token":"guess-0123456789"}`).problem(429)
	w.Move(w.Now().Add(time.Second))
	w.post(sessionPath, `{"token":"guess-0123456789"}`).problem(401)
}

// A tab that still sends an old token must not lock out the others at its address.
func TestKnownTokenLogsInAtOnceWhateverFailedBefore(t *testing.T) {
	w := newWorld(t, withTokens)
	for range 50 {
		w.post(sessionPath, `{"token":"guess-0123456789"}`)
	}
	w.post(sessionPath, `{"token":"guess-0123456789"}`).problem(429)
	w.login(viewerToken)
	w.login(operatorToken)
}

func TestOneTokenCannotFillTheStoreWithSessions(t *testing.T) {
	w := newWorld(t, withTokens)
	for range 100 {
		w.login(viewerToken)
	}
	got := w.post(sessionPath, `{"token":"`+viewerToken+`"}`)
	got.problem(429, "wall")
	if got.header.Get("Retry-After") != "10" {
		t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
	}
	w.login(operatorToken)
	w.Move(w.Now().Add(10 * time.Second))
	w.login(viewerToken)
}

func TestFailedLoginsDelayOnlyUnknownTokensOfTheirAddress(t *testing.T) {
	w := newWorld(t, withTokens)
	from := func(address, token string) int {
		r := httptest.NewRequest("POST", "http://localhost"+sessionPath, strings.NewReader(`{"token":"`+token+`"}`))
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = address + ":1234"
		answer := httptest.NewRecorder()
		w.api.ServeHTTP(answer, r)
		return answer.Code
	}
	const guess = "guess-0123456789"
	for range 10 {
		from("192.0.2.1", guess)
		from("[2001:db8::1]", guess)
	}
	// 56,000 requests of 4,000 addresses.
	for i := range 56_000 {
		from(fmt.Sprintf("198.51.%d.%d", i%4000/250, i%250), guess)
	}
	for address, want := range map[string]int{
		"192.0.2.1": 429, "[2001:db8::1]": 429, "[2001:db8::2]": 429, // its network
		"[2001:db8:0:1::1]": 401, "192.0.2.2": 401, "198.51.0.1": 429,
	} {
		if got := from(address, guess); got != want {
			t.Errorf("an unknown token from %s: %d, want %d", address, got, want)
		}
	}
	for i := range 90 {
		if got := from(fmt.Sprintf("203.0.113.%d", i), viewerToken); got != 200 {
			t.Errorf("user %d could not log in: %d", i, got)
		}
	}
	if got := from("198.51.0.1", operatorToken); got != 200 {
		t.Errorf("a known token from an address of the flood: %d", got)
	}
}

func TestCookieIsSecureOverTLSAndBehindATrustedProxy(t *testing.T) {
	for _, tt := range []struct {
		name            string
		proxies         api.Proxies
		tls, forwarded  bool
		secure, pinning bool
	}{
		{"plain", nil, false, false, false, false},
		{"TLS", nil, true, false, true, true},
		{"an unknown proxy", nil, false, true, false, false},
		{"a trusted proxy", api.Proxies{netip.MustParsePrefix("192.0.2.0/24")}, false, true, true, false},
	} {
		w := newWorld(t, withTokens, func(d *api.Deps) { d.Settings.Proxies = tt.proxies })
		r := httptest.NewRequest("POST", "http://localhost"+sessionPath, strings.NewReader(`{"token":"`+viewerToken+`"}`)) // from 192.0.2.1
		r.Header.Set("Content-Type", "application/json")
		if tt.forwarded {
			r.Header.Set("X-Forwarded-Proto", "https")
		}
		if tt.tls {
			r.TLS = &tls.ConnectionState{}
		}
		answer := httptest.NewRecorder()
		w.api.ServeHTTP(answer, r)
		cookie, err := http.ParseSetCookie(answer.Header().Get("Set-Cookie"))
		w.Check(err)
		if cookie.Secure != tt.secure {
			t.Errorf("%s: Secure is %v", tt.name, cookie.Secure)
		}
		if pins := answer.Header().Get("Strict-Transport-Security") != ""; pins != tt.pinning {
			t.Errorf("%s: Strict-Transport-Security is %q", tt.name, answer.Header().Get("Strict-Transport-Security"))
		}
	}
}
