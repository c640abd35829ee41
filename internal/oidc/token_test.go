package oidc_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/interlock-go/interlock/internal/oidc"
)

// issuer is a provider that answers every code with the ID token of the test.
type issuer struct {
	*testing.T
	*httptest.Server
	key     *rsa.PrivateKey
	id      string // of the key
	token   string
	fetched atomic.Int64 // how often the keys were read
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newIssuer(t *testing.T) (*issuer, *oidc.Provider) {
	t.Helper()
	i := &issuer{T: t, key: newKey(t), id: "one"}
	mux := http.NewServeMux()
	answer := func(path string, value func() any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(value()); err != nil {
				t.Error(err)
			}
		})
	}
	answer("/.well-known/openid-configuration", func() any {
		return map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"none", "HS256", "RS256"},
		}
	})
	answer("/token", func() any { return map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": i.token} })
	answer("/keys", func() any {
		i.fetched.Add(1)
		text := base64.RawURLEncoding.EncodeToString
		return map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "use": "sig", "alg": "RS256", "kid": i.id, "n": text(i.key.N.Bytes()), "e": text(big.NewInt(int64(i.key.E)).Bytes()),
		}}}
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i, oidc.New(oidc.Config{
		Issuer: i.URL, ClientID: "interlock", ClientSecret: "the-client-secret", RedirectURL: "https://interlock.example/callback",
		NameClaim: "email", GroupsClaim: "groups", Client: i.Client(),
	})
}

// claims returns those of a good ID token, with changes; a nil value removes a claim.
func (i *issuer) claims(changes map[string]any) jwt.MapClaims {
	all := jwt.MapClaims{
		"iss": i.URL, "aud": "interlock", "sub": "1", "nonce": nonce, "email": "jane@example.com", "groups": []string{"design"},
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

// sign sets the ID token of the next login.
func (i *issuer) sign(method jwt.SigningMethod, id string, key any, claims jwt.MapClaims) {
	i.Helper()
	unsigned := jwt.NewWithClaims(method, claims)
	unsigned.Header["kid"] = id
	var err error
	if i.token, err = unsigned.SignedString(key); err != nil {
		i.Fatal(err)
	}
}

// login redeems a code, and returns the name and groups of the user.
func login(p *oidc.Provider) (who string, err error) {
	name, groups, err := p.Exchange(ctx, "code", nonce, verifier)
	return strings.Join(append([]string{name}, groups...), " "), err
}

func TestClaimsOfAnIDTokenDecideWhoLogsIn(t *testing.T) {
	i, p := newIssuer(t)
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	for name, c := range map[string]struct {
		claims map[string]any
		who    string // who logs in; nobody if it is empty
		says   string
	}{
		"good":                             {who: "jane@example.com design"},
		"expired":                          {claims: map[string]any{"exp": in(-time.Minute)}, says: "expired"},
		"without an end":                   {claims: map[string]any{"exp": nil}, says: "expired"},
		"not yet valid":                    {claims: map[string]any{"nbf": in(time.Hour)}, says: "not before"},
		"of a clock that is ahead":         {claims: map[string]any{"nbf": in(4 * time.Minute), "iat": in(4 * time.Minute)}, who: "jane@example.com design"},
		"for another client":               {claims: map[string]any{"aud": "other"}, says: "audience"},
		"for other clients":                {claims: map[string]any{"aud": []string{"other", "interlock2"}}, says: "audience"},
		"for several clients":              {claims: map[string]any{"aud": []string{"other", "interlock"}}, who: "jane@example.com design"},
		"for no client":                    {claims: map[string]any{"aud": nil}, says: "audience"},
		"of another issuer":                {claims: map[string]any{"iss": "https://evil.example"}, says: "different provider"},
		"of an issuer with a slash":        {claims: map[string]any{"iss": i.URL + "/"}, says: "different provider"},
		"of no issuer":                     {claims: map[string]any{"iss": nil}, says: "different provider"},
		"without a nonce":                  {claims: map[string]any{"nonce": nil}, says: "nonce"},
		"with another nonce":               {claims: map[string]any{"nonce": "other"}, says: "nonce"},
		"without groups":                   {claims: map[string]any{"groups": nil}, who: "jane@example.com"},
		"with one group as a text":         {claims: map[string]any{"groups": "design"}, who: "jane@example.com design"},
		"with a number as groups":          {claims: map[string]any{"groups": 7}, says: "auth.oidc.groupsClaim"},
		"with an object as groups":         {claims: map[string]any{"groups": map[string]any{"design": true}}, says: "auth.oidc.groupsClaim"},
		"with a number among groups":       {claims: map[string]any{"groups": []any{"design", 7}}, says: "auth.oidc.groupsClaim"},
		"with groups to be fetched":        {claims: map[string]any{"groups": nil, "_claim_names": map[string]any{"groups": "src1"}}, says: "source"},
		"without a name":                   {claims: map[string]any{"email": nil}, says: "auth.oidc.nameClaim"},
		"with a number as name":            {claims: map[string]any{"email": 7}, says: "auth.oidc.nameClaim"},
		"with a verified address":          {claims: map[string]any{"email_verified": true}, who: "jane@example.com design"},
		"with a verified address as text":  {claims: map[string]any{"email_verified": "true"}, who: "jane@example.com design"},
		"with an unverified address":       {claims: map[string]any{"email_verified": false}, says: "not verified"},
		"with an unverified one as text":   {claims: map[string]any{"email_verified": "false"}, says: "not verified"},
		"with an unverified one as number": {claims: map[string]any{"email_verified": 0}, says: "not verified"},
	} {
		i.sign(jwt.SigningMethodRS256, "one", i.key, i.claims(c.claims))
		who, err := login(p)
		if c.says == "" && (err != nil || who != c.who) {
			t.Errorf("%s: logged in %q, want %q (%v)", name, who, c.who, err)
		}
		if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: logged in %q, want an error that says %q (%v)", name, who, c.says, err)
		}
	}
}

func TestOnlyAKeyOfTheProviderSignsIDTokens(t *testing.T) {
	i, p := newIssuer(t)
	public, err := x509.MarshalPKIXPublicKey(&i.key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	good := i.claims(nil)
	tests := map[string]func(){
		"not signed":                        func() { i.sign(jwt.SigningMethodNone, "one", jwt.UnsafeAllowNoneSignatureType, good) },
		"signed with the public key":        func() { i.sign(jwt.SigningMethodHS256, "one", public, good) },
		"signed with the client's secret":   func() { i.sign(jwt.SigningMethodHS256, "one", []byte("the-client-secret"), good) },
		"of another key with the same id":   func() { i.sign(jwt.SigningMethodRS256, "one", newKey(t), good) },
		"of another key with an unknown id": func() { i.sign(jwt.SigningMethodRS256, "two", newKey(t), good) },
		"of another key without an id":      func() { i.sign(jwt.SigningMethodRS256, "", newKey(t), good) },
		"changed afterwards": func() {
			i.sign(jwt.SigningMethodRS256, "one", i.key, good)
			parts := strings.Split(i.token, ".")
			i.sign(jwt.SigningMethodRS256, "one", i.key, i.claims(map[string]any{"email": "eve@example.com"}))
			i.token = parts[0] + "." + strings.Split(i.token, ".")[1] + "." + parts[2]
		},
		"no token": func() { i.token = "" },
	}
	for name, sign := range tests {
		sign()
		before := i.fetched.Load()
		if who, err := login(p); err == nil {
			t.Errorf("a token that is %s logged in %q", name, who)
		}
		if n := i.fetched.Load() - before; n > 1 {
			t.Errorf("a token that is %s made the server read the keys %d times", name, n)
		}
	}
}

func TestNewKeyOfTheProviderIsReadOnce(t *testing.T) {
	i, p := newIssuer(t)
	old := i.key
	i.sign(jwt.SigningMethodRS256, "one", old, i.claims(nil))
	for range 3 {
		if _, err := login(p); err != nil {
			t.Fatal(err)
		}
	}
	i.key, i.id = newKey(t), "two"
	i.sign(jwt.SigningMethodRS256, "two", i.key, i.claims(nil))
	for range 3 {
		if _, err := login(p); err != nil {
			t.Errorf("after the change of keys: %v", err)
		}
	}
	if n := i.fetched.Load(); n != 2 {
		t.Errorf("the keys were read %d times, for two keys", n)
	}
	i.sign(jwt.SigningMethodRS256, "one", old, i.claims(nil))
	if who, err := login(p); err == nil {
		t.Errorf("the retired key logged in %q", who)
	}
}
