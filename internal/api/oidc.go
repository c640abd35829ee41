package api

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/internal/excerpt"
)

// OIDC configures the login at an OpenID Connect provider.
type OIDC struct {
	Provider IdentityProvider
	Label    string // of the button on the login page
	Roles    []GroupRole
}

// IdentityProvider is an OpenID Connect provider; package oidc implements it.
type IdentityProvider interface {
	// Address returns the address to send a browser to so that its user logs in.
	Address(ctx context.Context, state, nonce, verifier string) (string, error)
	// Exchange returns the name of the user that logged in, and their groups.
	Exchange(ctx context.Context, code, nonce, verifier string) (name string, groups []string, err error)
}

// GroupRole is the role of the members of a group.
type GroupRole struct {
	Group     string
	Role      Role
	Pipelines []string // patterns of the pipelines they are limited to; empty: all
}

// oidcUser is a user that logged in at the provider. The groups are stored with the session, so
// that its role follows the server's settings.
type oidcUser struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
}

// principal returns what a user may do. The first entry for one of their groups counts; it returns
// false if there is none.
func (o *OIDC) principal(u oidcUser) (principal, bool) {
	if o == nil {
		return principal{}, false
	}
	for _, r := range o.Roles {
		if slices.Contains(u.Groups, r.Group) {
			return principal{name: "oidc:" + u.Name, role: r.Role, pipelines: r.Pipelines}, true
		}
	}
	return principal{}, false
}

// The paths where the login at the provider starts and ends, below prefix.
const (
	oidcPath     = "/session/oidc"
	oidcCallback = oidcPath + "/callback"
)

// OIDCCallback is the path that the provider sends browsers back to.
const OIDCCallback = prefix + oidcCallback

// LoginMethods lists the ways to log in.
type LoginMethods struct {
	Tokens bool    `json:"tokens" doc:"Whether clients can log in with a token from the server's file."`
	OIDC   *string `json:"oidc" doc:"The label of the OpenID Connect button, which leads to /api/v1/session/oidc; null if no provider is configured."`
}

// redirect sends a browser elsewhere.
type redirect struct {
	Location  string        `header:"Location"`
	SetCookie []http.Cookie `header:"Set-Cookie"`
}

func (a *API) oidcRoutes(h huma.API) {
	public := func(path, name, summary string) route {
		rt := get(path, name, "Session", summary)
		rt.role, rt.public = RoleNone, true
		return rt
	}
	register(h, public("/session/methods", "login-methods", "List the login methods"), a.loginMethods)
	begin := public(oidcPath, "begin-oidc", "Redirect the browser to the OpenID Connect provider")
	begin.status = http.StatusFound
	register(h, begin, a.beginOIDC)
	finish := public(oidcCallback, "finish-oidc", "Open a session for a browser that the provider redirected back")
	finish.status = http.StatusFound
	op := finish.operation()
	op.SkipValidateParams = true // providers add parameters of their own
	registerAs(h, op, a.finishOIDC)
}

func (a *API) loginMethods(context.Context, *struct{}) (*output[LoginMethods], error) {
	m := LoginMethods{Tokens: len(a.keys.Load().who) > 0}
	if a.settings.OIDC != nil {
		m.OIDC = text(a.settings.OIDC.Label)
	}
	return answer(m), nil
}

// pendingLogin is a login in progress at the provider. The browser keeps it in an encrypted cookie,
// so that the server stores nothing and any replica can finish it.
type pendingLogin struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Until    time.Time `json:"until"`
}

// pendingFor is how long a login at the provider may take.
const pendingFor = 10 * time.Minute

// pendingCookie holds the pending login. The browser comes back from another site, so it is not
// SameSite=Strict.
const pendingCookie = "interlock_oidc"

func (a *API) pendingCookie(ctx context.Context, value string) http.Cookie {
	c := a.cookieFor(ctx, value, pendingFor)
	c.Name, c.Path, c.SameSite = pendingCookie, prefix+oidcPath, http.SameSiteLaxMode
	return c
}

func noOIDC() *Problem {
	return problem(http.StatusNotFound, plainKind, "OpenID Connect is not configured on this server; set auth.oidc in the server's file")
}

// beginOIDC sends a browser to the provider.
func (a *API) beginOIDC(ctx context.Context, _ *struct{}) (*redirect, error) {
	if a.settings.OIDC == nil {
		return nil, noOIDC()
	}
	p := pendingLogin{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text(), Until: a.now().Add(pendingFor)}
	address, err := a.settings.OIDC.Provider.Address(ctx, p.State, p.Nonce, p.Verifier)
	if err != nil {
		callOf(ctx).err = err
		return a.backToLogin(ctx, "unreachable"), nil
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return &redirect{Location: address, SetCookie: []http.Cookie{a.pendingCookie(ctx, a.cursors.seal("oidc", string(data)))}}, nil
}

// backToLogin sends a browser to the dashboard, whose login page says why the login failed.
func (a *API) backToLogin(ctx context.Context, why string) *redirect {
	return &redirect{Location: "/?login=" + why, SetCookie: []http.Cookie{a.pendingCookie(ctx, "")}}
}

// finishOIDC opens a session for a browser that returns from the provider.
func (a *API) finishOIDC(ctx context.Context, in *struct {
	Code  string `query:"code" doc:"The authorization code from the provider."`
	State string `query:"state" doc:"The state of the login."`
},
) (*redirect, error) {
	c, now := callOf(ctx), a.now()
	if a.settings.OIDC == nil {
		return nil, noOIDC()
	}
	pending, ok := a.pending(c.request, in.State, now)
	if !ok {
		return a.backToLogin(ctx, "expired"), nil
	}
	if in.Code == "" { // the provider, or the user there, refused
		return a.oidcFailed(ctx, "refused", "the provider sent no authorization code"), nil
	}
	leave, ok := a.codes.enter(ctx, c.address(), now)
	if !ok {
		return a.backToLogin(ctx, "wait"), nil
	}
	name, groups, err := a.settings.OIDC.Provider.Exchange(ctx, in.Code, pending.Nonce, pending.Verifier)
	leave()
	if err != nil {
		a.codes.guesses.failed(c.address(), now)
		c.err = err
		return a.oidcFailed(ctx, "failed", err.Error()), nil
	}
	u := oidcUser{Name: name, Groups: a.settings.OIDC.known(groups)}
	who, ok := a.settings.OIDC.principal(u)
	if !ok {
		return a.oidcFailed(ctx, "norole", "user "+name+" is in no group that auth.oidc.roles lists"), nil
	}
	cookie, err := a.openSession(ctx, session{User: &u}, nil, &who)
	if err != nil {
		return nil, err
	}
	return &redirect{Location: "/", SetCookie: []http.Cookie{a.pendingCookie(ctx, ""), cookie}}, nil
}

// codeChecks bounds the requests to the provider for codes from addresses whose codes were wrong. Only
// the provider can tell a wrong code from a right one, so such an address is not rejected: it takes
// turns with the others like it. An address without failures need not.
type codeChecks struct {
	guesses *guesses
	turns   chan struct{}
}

const (
	codeTurns = 4               // codes that are checked at once
	codeWait  = 5 * time.Second // how long a login waits for its turn
)

func newCodeChecks() codeChecks { return codeChecks{newGuesses(), make(chan struct{}, codeTurns)} }

// enter waits for the turn of an address, and returns how to end it; false if there was none.
func (c codeChecks) enter(ctx context.Context, from netip.Addr, now time.Time) (leave func(), ok bool) {
	if c.guesses.wait(from, now) == 0 {
		return func() {}, true
	}
	ctx, cancel := context.WithTimeout(ctx, codeWait)
	defer cancel()
	select {
	case c.turns <- struct{}{}:
		return func() { <-c.turns }, true
	case <-ctx.Done():
		return nil, false
	}
}

// known returns the groups that have a role; no others need to be stored.
func (o *OIDC) known(groups []string) []string {
	return slices.DeleteFunc(slices.Clone(groups), func(g string) bool {
		return !slices.ContainsFunc(o.Roles, func(r GroupRole) bool { return r.Group == g })
	})
}

// pending returns the login that a browser started; false if there is none with that state, or it
// has expired.
func (a *API) pending(r *http.Request, state string, now time.Time) (pendingLogin, bool) {
	var p pendingLogin
	cookie, err := r.Cookie(pendingCookie)
	if err != nil {
		return p, false
	}
	data, err := a.cursors.open("oidc", cookie.Value)
	if err != nil || json.Unmarshal([]byte(data), &p) != nil {
		return p, false
	}
	return p, p.State != "" && subtle.ConstantTimeCompare([]byte(p.State), []byte(state)) == 1 && now.Before(p.Until)
}

// oidcFailed records a failed login, and sends the browser back with the code of the failure.
func (a *API) oidcFailed(ctx context.Context, code, why string) *redirect {
	a.recordRefusal(callOf(ctx), "login", &a.auditor.unknown, &Problem{Detail: excerpt.Head(why, maxAudited)})
	return a.backToLogin(ctx, code)
}
