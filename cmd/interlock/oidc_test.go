package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/oauth2-proxy/mockoidc"
)

// publicAddress is the server's address as registered with the provider.
const publicAddress = "http://localhost:1"

// browser logs in to a service with a real OpenID Connect server.
type browser struct {
	*service
	provider *mockoidc.MockOIDC
	http     *http.Client
	secret   string // of the session, if there is one
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	m, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	b := &browser{provider: m}
	b.service = serve(t, site{env: map[string]string{"OIDC_SECRET": m.ClientSecret, "ROOT": "root-0123456789abc"}, config: fmt.Sprintf(`
egress: {allow: [127.0.0.1]}
auth:
  tokens: [{name: root, role: admin, tokenEnv: ROOT}]
  oidc:
    issuer: %s
    clientID: %s
    clientSecretEnv: OIDC_SECRET
    redirectURL: %s/api/v1/session/oidc/callback
    roles: [{group: design, role: operator, pipelines: [silver-*]}, {group: sales, role: viewer}]
`, m.Issuer(), m.ClientID, publicAddress)})
	b.restart()
	return b
}

// restart deletes all cookies.
func (b *browser) restart() {
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.http = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// get requests a page of the server, and returns its status, redirect and body.
func (b *browser) get(address string) (status int, location, body string) {
	b.t.Helper()
	if path, ok := strings.CutPrefix(address, publicAddress); ok {
		address = path
	}
	if strings.HasPrefix(address, "/") {
		address = b.address + address
	}
	resp, err := b.http.Get(address)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, c := range resp.Cookies() {
		if c.Name == "interlock_session" {
			b.secret = c.Value
			if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
				b.t.Errorf("session cookie: %v", c)
			}
		}
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Location"), string(text)
}

// login logs in at the provider, and returns the address that the provider redirects the browser
// to.
func (b *browser) login() string {
	b.t.Helper()
	_, provider, _ := b.get("/api/v1/session/oidc")
	_, back, _ := b.get(provider)
	if !strings.HasPrefix(back, publicAddress+"/api/v1/session/oidc/callback?") {
		b.t.Fatalf("the provider %s redirected the browser to %q", provider, back)
	}
	return back
}

func TestPeopleLogInAtAProvider(t *testing.T) {
	b := newBrowser(t)
	if status, _, body := b.get("/api/v1/session/methods"); status != 200 || body != `{"tokens":true,"oidc":"Log in with single sign-on"}`+"\n" {
		t.Errorf("methods: %d %s", status, body)
	}
	back := b.login()
	if status, to, body := b.get(back); status != 302 || to != "/" {
		t.Fatalf("after the login: %d %s %s", status, to, body)
	}
	if _, _, body := b.get("/api/v1/session"); !strings.Contains(body, `"name":"oidc:jane.doe@example.com","role":"operator","pipelines":["silver-*"]`) {
		t.Errorf("the session is %s", body)
	}
	if _, to, _ := b.get(back); to != "/?login=expired" {
		t.Errorf("using the login address twice redirects to %s", to)
	}
	got := b.must(0, "audit", "--action", "login", "--token", "root-0123456789abc").stdout
	if !strings.Contains(got, "oidc:jane.doe@example.com") || !strings.Contains(got, "done") {
		t.Errorf("audit log: %s", got)
	}
	for _, secret := range []string{b.secret, b.provider.ClientSecret} {
		if strings.Contains(got, secret) {
			t.Errorf("the audit log contains a secret: %s", got)
		}
	}
}

func TestOnlyTheBrowserThatBeganALoginFinishesIt(t *testing.T) {
	b := newBrowser(t)
	back := b.login()
	b.restart() // another browser that opens this address must not be logged in as someone else
	if _, to, _ := b.get(back); to != "/?login=expired" || b.secret != "" {
		t.Errorf("another browser was redirected to %s", to)
	}
	b.login()
	u, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("state", "made-up")
	if _, to, _ := b.get("/api/v1/session/oidc/callback?" + q.Encode()); to != "/?login=expired" || b.secret != "" {
		t.Errorf("a login with another state was redirected to %s", to)
	}
}

func TestLoginThatFailsSaysWhy(t *testing.T) {
	b := newBrowser(t)
	b.provider.QueueUser(&mockoidc.MockUser{Subject: "1", Email: "eve@example.com", EmailVerified: true, Groups: []string{"strangers"}})
	if _, to, _ := b.get(b.login()); to != "/?login=norole" {
		t.Errorf("a user without a group was redirected to %s", to)
	}
	u, err := url.Parse(b.login())
	if err != nil {
		t.Fatal(err)
	}
	state := url.Values{"state": {u.Query().Get("state")}}
	if _, to, _ := b.get("/api/v1/session/oidc/callback?error=access_denied&" + state.Encode()); to != "/?login=refused" {
		t.Errorf("a rejected user was redirected to %s", to)
	}
	u, err = url.Parse(b.login())
	if err != nil {
		t.Fatal(err)
	}
	state = url.Values{"state": {u.Query().Get("state")}, "code": {"made-up"}}
	if _, to, _ := b.get("/api/v1/session/oidc/callback?" + state.Encode()); to != "/?login=failed" || b.secret != "" {
		t.Errorf("an invalid code was redirected to %s", to)
	}
	got := b.must(0, "audit", "--action", "login", "--outcome", "refused", "--token", "root-0123456789abc").stdout
	got = strings.Join(strings.Fields(got), " ") // columns are wrapped
	for _, want := range []string{"eve@example.com", "auth.oidc.roles", "sent no authorization", "redeem the code"} {
		if !strings.Contains(got, want) {
			t.Errorf("the audit log does not contain %q: %s", want, got)
		}
	}
}
