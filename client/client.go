// Package client talks to an Interlock server: it pushes sensors, asks whether a gate is open, and does what an operator
// does. The command line is built on it; so may be anybody's job or sensor.
//
// Every method takes a context and returns a *Problem where the server refused, with its own words, or an
// *UnreachableError where it could not be asked.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultServer is where a server listens unless it is told otherwise.
const DefaultServer = "http://127.0.0.1:8740"

// maxAnswer bounds what is read of one answer.
const maxAnswer = 64 << 20

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// Option changes a Client that is being made.
type Option func(*Client)

// WithToken sends a bearer token with every request.
func WithToken(token string) Option { return func(c *Client) { c.token = token } }

// WithHTTPClient uses h instead of one with a time limit of a minute per request.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// New is a client of the server at an address such as http://127.0.0.1:8740.
func New(server string, options ...Option) (*Client, error) {
	base, err := url.Parse(server)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the address of a server; write one like %s", server, DefaultServer)
	}
	c := &Client{base: base, http: &http.Client{Timeout: time.Minute, CheckRedirect: stay}}
	for _, o := range options {
		o(c)
	}
	return c, nil
}

// stay follows no redirect: the server makes none, and a token is not for others.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Problem is the server's refusal (RFC 9457).
type Problem struct {
	Type      string          `json:"type"`
	Title     string          `json:"title"`
	Status    int             `json:"status"`
	Detail    string          `json:"detail"`
	Instance  string          `json:"instance"`
	RequestID string          `json:"requestId"`
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

// UnreachableError says that the server could not be asked, or did not answer as one.
type UnreachableError struct {
	Server string
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("cannot reach the server at %s: %v", e.Server, e.Err)
}

// Unwrap gives what kept the server from being reached.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Page is one page of a list, newest first. NextCursor is empty on the last.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor"`
}

// path joins parts to a path of the API, each escaped. Dots alone would be taken for a step up.
func path(parts ...string) string {
	escaped := "/api/v1"
	for _, part := range parts {
		if part == "." || part == ".." {
			escaped += "/" + strings.ReplaceAll(part, ".", "%2E")
			continue
		}
		escaped += "/" + url.PathEscape(part)
	}
	return escaped
}

// Get asks for a path of the API, such as /api/v1/pipelines, and decodes the answer. It is for what has no method.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	return c.do(ctx, http.MethodGet, path, query, nil, into)
}

// get asks for a path of the API.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	var answer T
	err := c.do(ctx, http.MethodGet, path, query, nil, &answer)
	return answer, err
}

// post asks for something to be done.
func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	var answer T
	err := c.do(ctx, http.MethodPost, path, nil, body, &answer)
	return answer, err
}

func (c *Client) do(ctx context.Context, method, path string, query url.Values, body, into any) error {
	resp, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return c.unreachable(err)
	}
	if into == nil {
		return nil
	}
	if err := decode(data, into); err != nil {
		return c.unreachable(fmt.Errorf("its answer is not understood: %w", err))
	}
	return nil
}

// decode reads an answer. Keys that a newer server adds are passed over.
var decode = json.Unmarshal

// send makes a request and gives its answer, if that is a success. A wish is given a key of its own, so that the transport,
// or a proxy, may send it twice.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	req, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		req.Header.Set("Idempotency-Key", rand.Text())
	}
	return c.answer(req)
}

// request is a request that has not been sent.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		content = bytes.NewReader(data)
	}
	target := strings.TrimSuffix(c.base.String(), "/") + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

// answer sends a request and gives its answer, if that is a success.
func (c *Client) answer(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(cause(err))
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.problem(resp)
}

// problem reads the server's refusal. An answer that is none comes from something else.
func (c *Client) problem(resp *http.Response) error {
	p := &Problem{}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || json.Unmarshal(data, p) != nil || p.Status == 0 {
		return c.unreachable(fmt.Errorf("it answered %s, which is not Interlock's way", resp.Status))
	}
	return p
}

func (c *Client) unreachable(err error) error {
	return &UnreachableError{Server: c.base.Redacted(), Err: err}
}

// cause leaves out the address, which the message names already.
func cause(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
