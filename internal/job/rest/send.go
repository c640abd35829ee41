package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

const (
	maxBody      = 1 << 20  // how much of an answer is kept
	maxLarge     = 64 << 20 // how much is read of a streamed one
	maxRedirects = 10
)

// Send sends the message, follows redirects, and waits no longer than limit. The error is a
// *job.Refusal if the request certainly did not reach its target; after any other error it may
// have. It may contain a secret: see job.Redactor.
func (c *Client) Send(ctx context.Context, m Message, limit time.Duration) (Answer, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	got, err := c.send(limited, m)
	if err != nil && limited.Err() != nil {
		err = late(ctx, limit, err)
	}
	return got, err
}

func (c *Client) send(ctx context.Context, m Message) (Answer, error) {
	for hops := 0; ; hops++ {
		got, sent, err := c.once(ctx, m)
		switch {
		case err != nil && m.taken && refusedAs(err) == run.Permanent:
			return Answer{taken: true, failure: fmt.Sprintf("follow the redirect: %v", err), category: run.Permanent}, nil
		case err != nil && (sent || m.taken):
			return Answer{}, fmt.Errorf("no complete response from %s: %w", m.url.Host, err)
		case err != nil:
			return Answer{}, notSent(m.url.Host, err)
		}
		next, ok := m.follow(got)
		if ok && len(next.Body) > 0 && !sameTarget(m.url, next.url) {
			got.failure, got.category = elsewhere(got.Code, next.url), run.Permanent
			return got, nil
		}
		if !ok || hops == maxRedirects {
			got.taken = m.taken
			return got, nil
		}
		m = next
	}
}

// notSent returns the refusal of a request that got no connection.
func notSent(host string, err error) error {
	return job.RefuseOver(err, refusedAs(err), "connect to %s: %s", host, unconnected(err))
}

// unconnected returns why there is no connection, in the system's words: package net would repeat
// the target.
func unconnected(err error) string {
	if system, ok := errors.AsType[*os.SyscallError](err); ok {
		return system.Err.Error()
	}
	return err.Error()
}

// refusedAs returns the category of a failed connection.
func refusedAs(err error) run.Category {
	if errors.As(err, new(*egress.Refused)) {
		return run.Permanent
	}
	return run.Transient
}

// once sends the message to one target. Before a connection exists, nothing can have been sent.
func (c *Client) once(ctx context.Context, m Message) (got Answer, sent bool, err error) {
	// Cancelling ends all work on the request, so that the trace is not called after once returns.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var connected atomic.Bool
	req, err := m.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	if err != nil {
		return Answer{}, false, err
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return Answer{}, connected.Load(), err
	}
	defer resp.Body.Close()
	got = Answer{Code: resp.StatusCode, header: resp.Header}
	if m.read != nil && got.Success() && !got.isHTML() {
		return got.decoded(resp.Body, m.read)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	got.Body, got.partial = string(body[:min(len(body), maxBody)]), len(body) > maxBody || err != nil
	if err != nil && got.Success() {
		return Answer{}, true, fmt.Errorf("the response (status %d) was cut off: %w", got.Code, err)
	}
	return got, true, nil // the beginning of a failure is enough
}

var errTooLarge = errors.New("too large")

// decoded returns the answer after read has decoded its body.
func (a Answer) decoded(body io.Reader, read func(*json.Decoder) error) (got Answer, sent bool, err error) {
	arriving := &arriving{from: body, left: maxLarge}
	d := json.NewDecoder(arriving)
	if a.unread = read(d); a.unread == nil {
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			a.unread = errors.New("unexpected data after the JSON")
		}
	}
	if arriving.broke != nil {
		return Answer{}, true, fmt.Errorf("the response (status %d) was cut off: %w", a.Code, arriving.broke)
	}
	return a, true, nil
}

// arriving is a body that is decoded while it arrives. It returns errTooLarge if it is too long.
type arriving struct {
	from  io.Reader
	left  int
	broke error // the error of the connection
}

func (b *arriving) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.broke = err
	}
	return n, err
}

// follow returns the message that a redirect asks for. 302 and 303 mean that the request was
// accepted, and where to read its result; the others mean that it belongs elsewhere, so it is sent
// there unchanged.
func (m Message) follow(got Answer) (Message, bool) {
	location := got.header.Get("Location")
	target, err := m.url.Parse(location)
	if location == "" || err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" {
		return m, false
	}
	switch got.Code {
	case http.StatusFound, http.StatusSeeOther:
		if m.AsIs {
			return m, false
		}
		m.Method, m.Body, m.taken = http.MethodGet, nil, true
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return m, false
	}
	if !sameTarget(m.url, target) {
		m.Header = http.Header{} // they may contain credentials, which are only for the first target
		m.host = ""
	}
	target.User, target.Fragment = nil, ""
	m.url = target
	return m, true
}

// elsewhere returns the failure of a request that is redirected to another host than the file
// names. Its body may contain secrets, so it is not sent there.
func elsewhere(code int, to *url.URL) string {
	return fmt.Sprintf("answered %d, a redirect to %s://%s: a request with a body is not repeated to another host; "+
		"write the new URL in the file", code, to.Scheme, to.Host)
}

// sameTarget reports whether a request for one URL may be sent to the other: the same host, on the
// same port or from http to https.
func sameTarget(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	return from.Scheme == to.Scheme && from.Port() == to.Port() || from.Scheme == "http" && to.Scheme == "https"
}

// late reports whether the file's timeout or the caller ended the wait. A refusal stays a refusal;
// only its reason changes.
func late(caller context.Context, limit time.Duration, err error) error {
	ended, why := error(context.DeadlineExceeded), fmt.Sprintf("no answer within the timeout of %s", document.Duration(limit))
	if caller.Err() != nil {
		ended, why = caller.Err(), "the request was cancelled"
	}
	if refusal, ok := errors.AsType[*job.Refusal](err); ok {
		return &job.Refusal{Category: refusal.Category, Reason: why + ", before the connection was established"}
	}
	return unanswered{why, ended}
}

// unanswered is a request without an answer in time. Its text says that in words; the cause is for
// errors.Is.
type unanswered struct {
	why   string
	cause error
}

func (u unanswered) Error() string { return u.why }

func (u unanswered) Unwrap() error { return u.cause }
