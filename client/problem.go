package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Problem is an error response of the server (RFC 9457).
type Problem struct {
	Type      string          `json:"type"` // the kind of problem, such as urn:interlock:problem:unknown-pipeline
	Title     string          `json:"title"`
	Status    int             `json:"status"`
	Detail    string          `json:"detail"` // what is wrong, and how to fix it
	Instance  string          `json:"instance"`
	RequestID string          `json:"requestId"` // as in the server's log
	Errors    []ProblemDetail `json:"errors"`
	Code      string          `json:"code"` // why a worker was refused: held, done, lost, not-offered, paused; else empty
}

// ProblemDetail is one error in a request.
type ProblemDetail struct {
	Message  string `json:"message"`
	Location string `json:"location"`
}

func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	return fmt.Sprintf("the server answered %d %s", p.Status, p.Title)
}

// UnreachableError means that the server could not be reached, did not answer in time, or is not an
// Interlock server.
type UnreachableError struct {
	Server string
	Late   bool // this package's timeout expired
	// Status is that of a response that no Interlock server gives; 0 if there was no response.
	Status int
	Err    error
}

func (e *UnreachableError) Error() string {
	if e.Late || e.Status != 0 {
		return fmt.Sprintf("the server at %s %v", e.Server, e.Err)
	}
	return fmt.Sprintf("cannot reach the server at %s: %v", e.Server, e.Err)
}

// Unwrap returns why the server could not be reached.
func (e *UnreachableError) Unwrap() error { return e.Err }

// lateError means that there was no response within this package's timeout. The server may still
// have done what was asked, unless it was only a query.
type lateError struct {
	limit    time.Duration
	question bool
}

func (e lateError) Error() string {
	text := fmt.Sprintf("did not answer within %s", e.limit)
	if e.question {
		return text
	}
	return text + ", so the request may have taken effect in full, in part or not at all"
}

// Unwrap makes it equal to the error of a caller's own deadline.
func (lateError) Unwrap() error { return context.DeadlineExceeded }

// maxProblem is the most bytes that are read of an error response.
const maxProblem = 1 << 20

// refusal reads the server's error response. Anything but a problem comes from something other than
// an Interlock server.
func (c *Client) refusal(ctx context.Context, resp *http.Response) error {
	if to, err := resp.Location(); err == nil {
		return c.unusable(resp.StatusCode, "answered %s with a redirect to %s", resp.Status, to.Redacted())
	}
	p := &Problem{}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return c.unanswered(ctx, err)
	}
	if json.Unmarshal(data, p) != nil || p.Status != resp.StatusCode {
		return c.unusable(resp.StatusCode, "answered %s, which is not a response of an Interlock server", resp.Status)
	}
	return p
}

// unanswered returns the error of a call without a response. If this package's timeout ended it,
// the error says so. The next call then uses another connection: the network may have dropped this
// one, and HTTP/2 would go on using it.
func (c *Client) unanswered(ctx context.Context, err error) error {
	if late, ok := errors.AsType[lateError](context.Cause(ctx)); ok {
		c.http.CloseIdleConnections()
		return &UnreachableError{Server: c.server(), Late: true, Err: late}
	}
	return c.unreachable(err)
}

// unusable returns the error for a response that no Interlock server gives.
func (c *Client) unusable(status int, format string, args ...any) error {
	return &UnreachableError{Server: c.server(), Status: status, Err: fmt.Errorf(format, args...)}
}

func (c *Client) unreachable(err error) error {
	// The message already names the address, so leave it out.
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return &UnreachableError{Server: c.server(), Err: err}
}
