package oidc_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"

	"github.com/interlock-go/interlock/internal/oidc"
)

var ctx = context.Background()

const (
	nonce    = "nonce-of-the-login"
	verifier = "verifier-of-the-login-0123456789-0123456789-0123456789"
)

// provider starts an OpenID Connect server, and returns it with a Provider for it. change alters
// the settings.
func provider(t *testing.T, change ...func(*oidc.Config)) (*mockoidc.MockOIDC, *oidc.Provider) {
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
	c := oidc.Config{
		Issuer: m.Issuer(), ClientID: m.ClientID, ClientSecret: m.ClientSecret, RedirectURL: "https://interlock.example/callback",
		Scopes: []string{"openid", "email", "profile", "groups"}, NameClaim: "email", GroupsClaim: "groups", Client: http.DefaultClient,
	}
	for _, f := range change {
		f(&c)
	}
	return m, oidc.New(c)
}

// code logs in at the provider as a browser does, and returns the code.
func code(t *testing.T, p *oidc.Provider) string {
	t.Helper()
	address, err := p.Address(ctx, "the-state", nonce, verifier)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(request(t, address))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || back.Query().Get("state") != "the-state" || back.Query().Get("code") == "" {
		t.Fatalf("came back to %s with status %d", back, resp.StatusCode)
	}
	return back.Query().Get("code")
}

func request(t *testing.T, address string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLoginReturnsTheUserAndTheirGroups(t *testing.T) {
	_, p := provider(t)
	name, groups, err := p.Exchange(ctx, code(t, p), nonce, verifier)
	if err != nil || name != "jane.doe@example.com" || !slices.Equal(groups, []string{"engineering", "design"}) {
		t.Errorf("got %s, %v (%v)", name, groups, err)
	}
}

func TestBrowserIsSentWithAChallenge(t *testing.T) {
	_, p := provider(t)
	address, err := p.Address(ctx, "the-state", nonce, verifier)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || strings.Contains(address, verifier) || q.Get("nonce") != nonce || q.Get("response_type") != "code" {
		t.Errorf("sent to %s", address)
	}
}

func TestOnlyTheLoginThatBeganIsFinished(t *testing.T) {
	for name, c := range map[string]struct {
		nonce, verifier string
		says            string
	}{
		"another nonce":    {"other", verifier, "nonce"},
		"another verifier": {nonce, strings.Repeat("x", 50), "redeem the code"},
	} {
		_, p := provider(t)
		if user, _, err := p.Exchange(ctx, code(t, p), c.nonce, c.verifier); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: logged in %q (%v)", name, user, err)
		}
	}
	_, p := provider(t)
	once := code(t, p)
	if _, _, err := p.Exchange(ctx, once, nonce, verifier); err != nil {
		t.Fatal(err)
	}
	if user, _, err := p.Exchange(ctx, once, nonce, verifier); err == nil {
		t.Errorf("a code was redeemed twice, for %s", user)
	}
	if user, _, err := p.Exchange(ctx, "made-up", nonce, verifier); err == nil {
		t.Errorf("a made up code logged in %s", user)
	}
}

func TestTokenThatExpiredIsRefused(t *testing.T) {
	m, p := provider(t)
	m.AccessTTL = -time.Hour
	if user, _, err := p.Exchange(ctx, code(t, p), nonce, verifier); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("logged in %s (%v)", user, err)
	}
}

func TestTokenWithoutTheClaimsSaysSo(t *testing.T) {
	_, p := provider(t, func(c *oidc.Config) { c.NameClaim = "upn" })
	if _, _, err := p.Exchange(ctx, code(t, p), nonce, verifier); err == nil || !strings.Contains(err.Error(), "auth.oidc.nameClaim") {
		t.Errorf("got %v", err)
	}
	m, p := provider(t)
	m.QueueUser(user{mockoidc.DefaultUser(), map[string]any{"email": "eve@example.com", "email_verified": false}})
	if name, _, err := p.Exchange(ctx, code(t, p), nonce, verifier); err == nil || !strings.Contains(err.Error(), "not verified the e-mail") {
		t.Errorf("logged in %s (%v)", name, err)
	}
	m.QueueUser(user{mockoidc.DefaultUser(), map[string]any{"email": "eve@example.com", "groups": 7}})
	if name, _, err := p.Exchange(ctx, code(t, p), nonce, verifier); err == nil || !strings.Contains(err.Error(), "auth.oidc.groupsClaim") {
		t.Errorf("logged in %s (%v)", name, err)
	}
	m.QueueUser(user{mockoidc.DefaultUser(), map[string]any{"email": "eve@example.com", "groups": "design"}})
	if _, groups, err := p.Exchange(ctx, code(t, p), nonce, verifier); err != nil || !slices.Equal(groups, []string{"design"}) {
		t.Errorf("got the groups %v (%v)", groups, err)
	}
}

// user has additional claims.
type user struct {
	*mockoidc.MockUser
	claims map[string]any
}

// Claims returns the claims of the ID token.
func (u user) Claims(_ []string, base *mockoidc.IDTokenClaims) (jwt.Claims, error) {
	data, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	all := jwt.MapClaims{}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, u.claims)
	return all, nil
}

func TestProviderThatIsDownIsAskedAgain(t *testing.T) {
	m, p := provider(t)
	down := oidc.New(oidc.Config{Issuer: "http://127.0.0.1:1", Client: http.DefaultClient})
	if _, err := down.Address(ctx, "s", nonce, verifier); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
	m.QueueError(&mockoidc.ServerError{Code: http.StatusInternalServerError, Error: "server_error", Description: "secret-in-the-answer"})
	if _, err := p.Address(ctx, "s", nonce, verifier); err == nil {
		t.Fatal("a provider that fails gave an address")
	}
	if _, err := p.Address(ctx, "s", nonce, verifier); err != nil {
		t.Errorf("the provider is not asked again: %v", err)
	}
}
