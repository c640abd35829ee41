package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-go/interlock/internal/store"
)

// Headers of every response; they are shared and must not be changed.
var (
	nosniff    = []string{"nosniff"}
	sameOrigin = []string{"same-origin"}
	plainJSON  = []string{"application/json"}
)

// ServeHTTP answers one request: it assigns an id, then checks, serves, counts and logs the
// request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var parts []string
	root := tokenRoot(r)
	if root != "" {
		parts, r = takeToken(r, root) // before its path can be logged
	}
	c := &call{api: a, Context: r.Context(), id: a.ids.of(r.Header.Get("X-Request-Id")), path: r.URL.Path, since: a.now()}
	c.response = response{ResponseWriter: w, request: r}
	answer := &c.response
	defer a.finish(answer, c)
	header := w.Header()
	header["X-Request-Id"] = []string{c.id}
	if p := a.checkStarted(r); p != nil {
		p.write(answer, r.WithContext(c))
		return
	}
	switch root {
	case pingRoot:
		a.servePing(c, r, readPing(parts, r))
		return
	case inRoot:
		a.serveIn(c, r, parts)
		return
	}
	p := a.check(r, c)
	if r.TLS != nil {
		header["Strict-Transport-Security"] = hsts
	}
	header["X-Content-Type-Options"] = nosniff
	header["Cross-Origin-Resource-Policy"] = sameOrigin
	if p != nil {
		p.write(answer, r.WithContext(c))
		return
	}
	r = r.WithContext(c)
	c.request = r
	a.serve(answer, r)
}

// check returns a Problem if a request is rejected before its handler runs.
func (a *API) check(r *http.Request, c *call) *Problem {
	if p := a.checkOrigin(r); p != nil {
		return p
	}
	who, p := a.authenticate(r, c)
	c.who = who
	if p != nil || reads(r) {
		return p
	}
	return a.checkWrites(essential(r, who))
}

// checkWrites returns a Problem while the server accepts no changes.
func (a *API) checkWrites(essential bool) *Problem {
	if a.settings.ReadOnly != "" {
		return problem(http.StatusForbidden, plainKind, "%s", a.settings.ReadOnly)
	}
	if f := store.FaultOf(a.trouble()); f != nil && !essential {
		return faultProblem(f)
	}
	return nil
}

// essential reports whether a request is accepted while the store accepts no changes from clients.
// These requests let people log in to see why, and let jobs report their results: without the
// reports, deadlines that were met would be breached.
func essential(r *http.Request, who principal) bool {
	return r.URL.Path == prefix+"/session" || who.callback != "" && strings.HasPrefix(r.URL.Path, prefix+"/runs/")
}

// reads reports whether a request changes nothing.
func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// checkOrigin rejects requests that a page of another site makes its visitors' browsers send.
func (a *API) checkOrigin(r *http.Request) *Problem {
	if p := a.checkHost(r); p != nil {
		return p
	}
	if err := a.origins.Check(r); err != nil {
		return problem(http.StatusForbidden, crossOrigin, "cross-origin writes are rejected: %s", err)
	}
	return nil
}

// checkHost prevents DNS rebinding: on a loopback address, it accepts only names of this machine. A
// request without a Host header does not come from a browser.
func (a *API) checkHost(r *http.Request) *Problem {
	if !a.settings.Loopback || r.Host == "" {
		return nil
	}
	host := hostOf(r.Host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return nil
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsLoopback() {
		return nil
	}
	return problem(http.StatusForbidden, wrongHost, "this server accepts requests to localhost and loopback addresses only, not to %.100q", r.Host)
}

// hostOf returns the name in a Host header, without port and brackets.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "."))
}

// traced completes the span of a request, if it has one.
func traced(r *http.Request, status int) {
	span := trace.SpanFromContext(r.Context())
	if !span.IsRecording() {
		return
	}
	route := routeOf(r)
	span.SetName(methodLabel(r.Method) + " " + route)
	span.SetAttributes(attribute.String("http.route", route), attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
}

// finish counts and logs a request, even if its handler panicked.
func (a *API) finish(w *response, c *call) {
	c.body.free()
	if cause := recover(); cause != nil {
		if cause == http.ErrAbortHandler {
			panic(cause) // this panic is meant for the server
		}
		a.logger.Error("request panicked", "request", c.id, "method", w.request.Method, "path", LoggedPath(w.request), "panic", cause)
		if w.status == 0 {
			problem(http.StatusInternalServerError, plainKind, "internal error; the server's log has the cause under this request id").write(w, w.request.WithContext(c))
		}
	}
	if w.status == 0 {
		w.status = http.StatusOK
	}
	took := a.now().Sub(c.since)
	a.metrics.answered(w.request, w.status, took)
	a.metrics.rejectedBody(c.body.err)
	traced(w.request, w.status)
	level := levelOf(w, c.err, took)
	if !a.logger.Enabled(w.request.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request", c.id), slog.String("method", w.request.Method), slog.String("path", LoggedPath(w.request)),
		slog.Int("status", w.status), slog.Int64("bytes", w.bytes), slog.Duration("took", took),
		slog.String("by", c.who.name), slog.String("remote", w.request.RemoteAddr),
	}
	if c.err != nil {
		attrs = append(attrs, slog.Any("error", c.err))
	}
	a.logger.LogAttrs(w.request.Context(), level, "request", attrs...)
}

// slowRequest is the duration from which a request is logged although it succeeded.
const slowRequest = 5 * time.Second

// levelOf keeps the log readable: only failures of the server, clients that are not known or not
// allowed, and slow requests are logged. The others are debug: the audit record says who did what,
// and the metrics how much. A client that disconnected before its response is not a failure, and a
// request that asks to wait is not slow.
func levelOf(w *response, err error, took time.Duration) slog.Level {
	switch {
	case errors.Is(err, context.Canceled) && w.request.Context().Err() != nil:
		return slog.LevelDebug
	case w.status >= http.StatusInternalServerError:
		return slog.LevelError
	case w.status == http.StatusUnauthorized || w.status == http.StatusForbidden:
		return slog.LevelWarn
	case took >= slowRequest && !asksToWait(w.request):
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// asksToWait reports whether a request asks for a response that takes its time.
func asksToWait(r *http.Request) bool {
	q := r.URL.Query()
	return r.URL.Path == streamPath || q.Has("wait") || q.Has("follow")
}

// Proxies are the networks of the reverse proxies that this server trusts.
type Proxies []netip.Prefix

// hsts makes browsers that connected over TLS once always use TLS.
var hsts = []string{"max-age=31536000"}

// secure reports whether a browser's request came over TLS, to this server or to a trusted proxy in
// front of it.
func (p Proxies) secure(r *http.Request) bool {
	return r.TLS != nil || p.trusts(peer(r)) && strings.EqualFold(strings.TrimSpace(last(r.Header.Values("X-Forwarded-Proto"))), "https")
}

// client returns the address that a request came from: behind trusted proxies, the last address
// that is not a trusted proxy's. It is the zero address if there is none, as on a Unix socket.
func (p Proxies) client(r *http.Request) netip.Addr {
	from := peer(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for len(hops) > 0 && p.trusts(from) {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[len(hops)-1]))
		if err != nil {
			break
		}
		from, hops = hop.Unmap(), hops[:len(hops)-1]
	}
	return from
}

// address returns the address of the client: see Proxies.client.
func (c *call) address() netip.Addr { return c.api.settings.Proxies.client(c.request) }

func (p Proxies) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(addr) })
}

// peer returns the address at the other end of the connection.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, _ := netip.ParseAddr(host)
	return addr.Unmap().WithZone("")
}

// last returns the last element of comma-separated lists, which the nearest proxy has added.
func last(values []string) string {
	text := strings.Join(values, ",")
	return text[strings.LastIndexByte(text, ',')+1:]
}
