package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptrace"
	"net/url"
	"strings"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

const (
	maxBody      = 1 << 20 // how much of an answer is read
	maxRedirects = 10
)

// send sends the message and follows redirects. The error is a *Refusal if the request certainly did not reach its
// target; any other leaves that open.
func (t *Type) send(ctx context.Context, m message) (answer, error) {
	for hops := 0; ; hops++ {
		got, sent, err := t.once(ctx, m)
		switch {
		case err != nil && m.taken && refusedAs(err) == run.Permanent:
			return answer{failure: fmt.Sprintf("follow the answer's redirect: %v", err), category: run.Permanent}, nil
		case err != nil && (sent || m.taken):
			return answer{}, fmt.Errorf("no complete answer from %s: %w", m.url.Host, err)
		case err != nil:
			return answer{}, job.Refuse(refusedAs(err), "connect to %s: %v", m.url.Host, err)
		}
		next, ok := m.follow(got)
		if !ok || hops == maxRedirects {
			return got, nil
		}
		m = next
	}
}

// refusedAs is the category of a connection that was not made.
func refusedAs(err error) run.Category {
	if errors.As(err, new(*egress.Refused)) {
		return run.Permanent
	}
	return run.Transient
}

// once sends the message to one target. Before a connection is there, nothing can have been sent.
func (t *Type) once(ctx context.Context, m message) (got answer, sent bool, err error) {
	// A request that is given up ends all work on it, so that the trace is not called once this returns.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connected := make(chan struct{}, 1)
	req, err := m.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			select {
			case connected <- struct{}{}:
			default:
			}
		},
	}))
	if err != nil {
		return answer{}, false, err
	}
	resp, err := t.transport.RoundTrip(req)
	if err != nil {
		return answer{}, len(connected) > 0, err
	}
	defer resp.Body.Close()
	got = answer{code: resp.StatusCode, header: resp.Header}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	got.body, got.partial = string(body[:min(len(body), maxBody)]), len(body) > maxBody || err != nil
	if err != nil && got.success() {
		return answer{}, true, fmt.Errorf("the answer %d broke off: %w", got.code, err)
	}
	return got, true, nil // what was read of a failure is enough
}

// follow is the message that a redirect asks for. 302 and 303 mean that the request was taken, and where to read on; the
// others that it belongs elsewhere, so it is sent there as it is.
func (m message) follow(got answer) (message, bool) {
	location := got.header.Get("Location")
	target, err := m.url.Parse(location)
	if location == "" || err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" {
		return m, false
	}
	switch got.code {
	case nethttp.StatusFound, nethttp.StatusSeeOther:
		m.method, m.body, m.taken = nethttp.MethodGet, nil, true
	case nethttp.StatusMovedPermanently, nethttp.StatusTemporaryRedirect, nethttp.StatusPermanentRedirect:
	default:
		return m, false
	}
	if !sameTarget(m.url, target) {
		m.header = nethttp.Header{} // they may hold credentials, which are for the first target alone
		m.host = ""
	}
	target.User, target.Fragment = nil, ""
	m.url = target
	return m, true
}

// sameTarget says whether what is meant for one URL may be sent to the other: the same host, on the same port or from
// http to https.
func sameTarget(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	return from.Scheme == to.Scheme && from.Port() == to.Port() || from.Scheme == "http" && to.Scheme == "https"
}

// readOnce is a body of a type that the standard library does not know how to repeat.
func readOnce(body []byte) io.ReadCloser {
	return io.NopCloser(struct{ io.Reader }{bytes.NewReader(body)})
}
