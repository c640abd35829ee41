package api

import (
	"context"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Session is who makes a request, and what they may do.
type Session struct {
	Name      *string  `json:"name" doc:"The token's name; null where the server has none."`
	Role      string   `json:"role" enum:"viewer,sensor,operator,admin"`
	Pipelines []string `json:"pipelines" doc:"Patterns of the pipelines it is limited to; empty: all."`
	Tokens    bool     `json:"tokens" doc:"Whether the server asks for tokens."`
}

// LoginRequest is what a browser sends once, instead of a header with each request.
type LoginRequest struct {
	Token string `json:"token" maxLength:"1024" doc:"A token of the server's file."`
}

// The cookie that keeps a browser's token out of reach of scripts and of other sites.
const (
	cookieName = "interlock_token"
	cookieAge  = 30 * 24 * time.Hour
)

// sessionPath is where browsers log in and out, which they may without a token.
const sessionPath = prefix + "/session"

// loggedIn is a session with the cookie that carries it on.
type loggedIn struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
	Body      Session
}

// loggedOut is the cookie that ends one.
type loggedOut struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
}

func (a *API) sessionRoutes(h huma.API) {
	register(h, get("/session", "get-session", "Session", "Who makes this request, and what they may do"), a.getSession)
	in := post("/session", "login", "Session", "Keep a token in a cookie that no script can read, for browsers")
	in.role = RoleNone
	register(h, in, a.login)
	out := route{method: http.MethodDelete, path: "/session", name: "logout", tag: "Session", summary: "Forget the cookie", role: RoleNone}
	out.status = http.StatusNoContent
	register(h, out, a.logout)
}

func (a *API) getSession(ctx context.Context, _ *struct{}) (*output[Session], error) {
	return answer(a.sessionOf(whoOf(ctx))), nil
}

func (a *API) sessionOf(who principal) Session {
	return Session{Name: text(who.name), Role: who.role.String(), Pipelines: append([]string{}, who.pipelines...), Tokens: len(a.keys.who) > 0}
}

func (a *API) login(ctx context.Context, in *struct{ Body LoginRequest }) (*loggedIn, error) {
	if len(a.keys.who) == 0 {
		return nil, badRequest("this server asks for no token; there is nothing to log in to")
	}
	who, ok := a.keys.find(in.Body.Token)
	if !ok {
		return nil, unauthorized("the token is not known")
	}
	cookie := cookieFor(ctx, base64.RawURLEncoding.EncodeToString([]byte(in.Body.Token)))
	cookie.MaxAge = int(cookieAge / time.Second)
	return &loggedIn{SetCookie: cookie, Body: a.sessionOf(who)}, nil
}

func (a *API) logout(ctx context.Context, _ *struct{}) (*loggedOut, error) {
	cookie := cookieFor(ctx, "")
	cookie.MaxAge = -1
	return &loggedOut{SetCookie: cookie}, nil
}

// cookieFor is sent to the API of this very site alone, and over TLS alone where it was set so.
func cookieFor(ctx context.Context, value string) http.Cookie {
	c := callOf(ctx)
	return http.Cookie{
		Name: cookieName, Value: value, Path: prefix, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: c != nil && c.request != nil && c.request.TLS != nil,
	}
}

// cookieToken is the token that a browser's cookie carries.
func cookieToken(r *http.Request) (string, bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil || cookie.Value == "" {
		return "", false
	}
	secret, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	return string(secret), err == nil
}
