package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/internal/audit"
)

// Session is the client that makes a request, and what it may do.
type Session struct {
	Name      *string    `json:"name" doc:"The name of the token or certificate; null if the server requires neither."`
	Role      string     `json:"role" enum:"viewer,sensor,runner,operator,admin"`
	Pipelines []string   `json:"pipelines" doc:"Patterns of the pipelines that it is limited to; empty means all."`
	Tokens    bool       `json:"tokens" doc:"Whether the server requires tokens or certificates."`
	ExpiresAt *time.Time `json:"expiresAt" doc:"When the session expires; null for a request with a token."`
}

// LoginRequest is sent once by a browser, which then sends a cookie instead of a header.
type LoginRequest struct {
	Token string `json:"token" maxLength:"1024" doc:"A token from the server's file."`
}

// cookieName is the cookie that holds a session's id. The id is random; the token never leaves the
// login request.
const cookieName = "interlock_session"

// sessionPath is where browsers log in and out. Both work without a token.
const sessionPath = prefix + "/session"

// loggedIn is a new session with its cookie.
type loggedIn struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
	Body      Session
}

// loggedOut holds the cookie that clears the session's cookie.
type loggedOut struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
}

func (a *API) sessionRoutes(h huma.API) {
	register(h, get("/session", "get-session", "Session", "Get the name and role of the client that makes this request"), a.getSession)
	in := post("/session", "login", "Session", "Open a browser session, with an HttpOnly cookie")
	in.role, in.public, in.small = RoleNone, true, maxLogin // login records itself, once the client has a name
	register(h, in, a.login)
	out := route{method: http.MethodDelete, path: "/session", name: "logout", tag: "Session", summary: "End the session", role: RoleNone, public: true}
	out.status = http.StatusNoContent
	register(h, out, a.logout)
	a.oidcRoutes(h)
}

func (a *API) getSession(ctx context.Context, _ *struct{}) (*output[Session], error) {
	return answer(a.sessionOf(whoOf(ctx))), nil
}

func (a *API) sessionOf(who principal) Session {
	return Session{
		Name: text(who.name), Role: who.role.String(), Pipelines: append([]string{}, who.pipelines...), Tokens: a.requiresAuth(),
		ExpiresAt: instant(who.expires),
	}
}

// requiresAuth reports whether requests need a token, a certificate or a session.
func (a *API) requiresAuth() bool {
	return len(a.keys.Load().who) > 0 || len(a.settings.Certificates) > 0 || a.settings.OIDC != nil
}

// login opens a session for a token. It compares the token first: only an unknown one has to wait
// after several others from its address, so a known one is accepted at any time.
func (a *API) login(ctx context.Context, in *struct{ Body LoginRequest }) (*loggedIn, error) {
	if len(a.keys.Load().who) == 0 {
		return nil, badRequest("this server requires no token, so there is no login")
	}
	now := a.now()
	token := a.keys.Load().find(in.Body.Token)
	if token == nil {
		if wait := a.guesses.wait(callOf(ctx).address(), now); wait > 0 {
			return nil, tooManyLogins(wait)
		}
		return nil, a.unknownToken(callOf(ctx), "login")
	}
	if _, ok := token.logins.take(now); !ok {
		return nil, problem(http.StatusTooManyRequests, plainKind, "%q has opened %d sessions in a short time; try again in %s",
			token.name, allowedAtOnce, allowedPer).with("Retry-After", strconv.Itoa(int(allowedPer/time.Second)))
	}
	who := token.principal
	cookie, err := a.openSession(ctx, session{}, token, &who)
	if err != nil {
		return nil, err
	}
	return &loggedIn{SetCookie: cookie, Body: a.sessionOf(who)}, nil
}

// openSession opens a session for a client that has logged in, and records the login. It returns
// the session's cookie, and sets when the client's session ends.
func (a *API) openSession(ctx context.Context, s session, token *key, who *principal) (http.Cookie, error) {
	id, expires, err := a.sessions.open(ctx, s, token, a.now())
	if err != nil {
		return http.Cookie{}, err
	}
	who.expires = expires
	return a.cookieFor(ctx, id, a.sessions.lifetime), a.recordSession(ctx, "login", *who)
}

func tooManyLogins(wait time.Duration) *Problem {
	seconds := strconv.Itoa(int((wait + time.Second - 1) / time.Second))
	return problem(http.StatusTooManyRequests, plainKind,
		"unknown token, and too many failed logins from this address; a known token is accepted at once, the next unknown one in %s s", seconds).with("Retry-After", seconds)
}

// logout revokes the session, so that copies of its cookie become invalid.
func (a *API) logout(ctx context.Context, _ *struct{}) (*loggedOut, error) {
	if id, given := sessionID(callOf(ctx).request); given {
		if err := a.sessions.revoke(ctx, id, a.now()); err != nil {
			return nil, err
		}
		if who := whoOf(ctx); who.role != RoleNone {
			if err := a.recordSession(ctx, "logout", who); err != nil {
				return nil, err
			}
		}
	}
	return &loggedOut{SetCookie: a.cookieFor(ctx, "", 0)}, nil
}

// cookieFor returns a cookie that browsers send only to this site's API, and only over TLS if it
// was set over TLS. Without a value, the cookie is deleted.
func (a *API) cookieFor(ctx context.Context, value string, life time.Duration) http.Cookie {
	age := int(life / time.Second)
	if value == "" {
		age = -1
	}
	return http.Cookie{
		Name: cookieName, Value: value, Path: prefix, HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: age,
		Secure: a.settings.Proxies.secure(callOf(ctx).request),
	}
}

// sessionID returns the session id in a request's cookie.
func sessionID(r *http.Request) (string, bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil || cookie.Value == "" || len(cookie.Value) > maxSessionID {
		return "", false
	}
	return cookie.Value, true
}

// recordSession records a login or logout.
func (a *API) recordSession(ctx context.Context, action string, who principal) error {
	if a.auditor.log == nil {
		return nil
	}
	c := callOf(ctx)
	c.who = who
	e := c.entry(action)
	e.Outcome = audit.Done
	return a.auditor.log.Add(ctx, e, a.now())
}
