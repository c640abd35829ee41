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

// Problem is the server's refusal (RFC 9457).
type Problem struct {
	Type      string          `json:"type"` // tells kinds of problems apart: urn:interlock:problem:unknown-pipeline
	Title     string          `json:"title"`
	Status    int             `json:"status"`
	Detail    string          `json:"detail"` // what is wrong, and what would be right
	Instance  string          `json:"instance"`
	RequestID string          `json:"requestId"` // as it stands in the server's log
	Errors    []ProblemDetail `json:"errors"`
}

// ProblemDetail is one thing that is wrong with a request.
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

// UnreachableError says that the server could not be asked, or did not answer as one, or not in time.
type UnreachableError struct {
	Server string
	Late   bool // it was not waited for any longer: this package's own time limit was over
	Err    error
}

func (e *UnreachableError) Error() string {
	if e.Late {
		return fmt.Sprintf("the server at %s %v", e.Server, e.Err)
	}
	return fmt.Sprintf("cannot reach the server at %s: %v", e.Server, e.Err)
}

// Unwrap gives what kept the server from being reached.
func (e *UnreachableError) Unwrap() error { return e.Err }

// lateError says that an answer was not there within our own time limit. What was asked for may be done for all that, unless it
// was only a question.
type lateError struct {
	limit    time.Duration
	question bool
}

func (e lateError) Error() string {
	text := fmt.Sprintf("did not answer within %s", e.limit)
	if e.question {
		return text
	}
	return text + ", and the request may or may not have been carried out, in whole or in part"
}

// Unwrap makes it what a time limit of the caller's would be.
func (lateError) Unwrap() error { return context.DeadlineExceeded }

// maxProblem bounds what is read of a refusal.
const maxProblem = 1 << 20

// refusal reads the server's refusal. An answer that is none comes from something else.
func (c *Client) refusal(ctx context.Context, resp *http.Response) error {
	if to, err := resp.Location(); err == nil {
		return c.unreachable(fmt.Errorf("it answered %s and points to %s", resp.Status, to.Redacted()))
	}
	p := &Problem{}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return c.unanswered(ctx, err)
	}
	if json.Unmarshal(data, p) != nil || p.Status != resp.StatusCode {
		return c.unreachable(fmt.Errorf("it answered %s, and not as an Interlock server does", resp.Status))
	}
	return p
}

// unanswered is why a call under ctx got no answer. Where our own time limit ended it, the connection is not to blame.
func (c *Client) unanswered(ctx context.Context, err error) error {
	var late lateError
	if errors.As(context.Cause(ctx), &late) {
		return &UnreachableError{Server: c.server(), Late: true, Err: late}
	}
	return c.unreachable(err)
}

func (c *Client) unreachable(err error) error {
	// The address, which the message names already, is left out.
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &UnreachableError{Server: c.server(), Err: err}
}
