package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswer is the largest response that is read, in bytes.
const maxAnswer = 64 << 20

// CallOption changes one call.
type CallOption func(*call)

// Raw copies the response as the server sent it, including fields of a newer server that this
// package does not know.
func Raw(to *json.RawMessage) CallOption { return func(r *call) { r.raw = to } }

// IdempotencyKey makes a call safe to repeat: for 24 hours, a second trigger, rerun or backfill
// with that key returns the first response, even a rejection, and changes nothing. The same key
// with another request is a *Problem with status 422. Use it to repeat a call whose response was
// lost; by default each call has a random key.
func IdempotencyKey(key string) CallOption {
	return func(r *call) { r.header.Set("Idempotency-Key", key) }
}

// Permit uses the permit of a claim instead of the client's token: for heartbeats and the result of
// the attempt.
func Permit(permit string) CallOption {
	return func(r *call) { r.header.Set("Authorization", "Bearer "+permit) }
}

// call is one request.
type call struct {
	method string
	path   string
	query  url.Values
	body   any // sent as JSON, unless nil
	header http.Header
	raw    *json.RawMessage

	long   bool          // has the longer timeout
	within time.Duration // this timeout instead, whatever HTTP client is used; 0: the usual one
}

// The timeouts of calls.
const (
	usualTimeout = time.Minute
	longTimeout  = 11 * time.Minute // a little more than the server's own timeout
)

// limit returns the call's timeout; 0 if it has none. timed is that of the client.
func (r call) limit(timed bool) time.Duration {
	switch {
	case r.within > 0:
		return r.within
	case !timed:
		return 0
	case r.long:
		return longTimeout
	}
	return usualTimeout
}

// Within limits how long a call may take, also with the HTTP client of WithHTTPClient.
func Within(limit time.Duration) CallOption { return func(r *call) { r.within = limit } }

func get(path string, query url.Values) call {
	return call{method: http.MethodGet, path: path, query: query}
}

// post returns a call that changes something. It has a random idempotency key, so that a proxy
// which sends it twice has no effect.
func post(path string, body any) call {
	return call{method: http.MethodPost, path: path, body: body, header: http.Header{"Idempotency-Key": {rand.Text()}}}
}

// postLong is post for a call that acts on many periods, pipelines or alerts, and may take long.
func postLong(path string, body any) call {
	r := post(path, body)
	r.long = true
	return r
}

// path joins the escaped parts to an API path. A part "." or ".." is escaped too, because it would
// change the directory.
func path(parts ...string) string {
	var b strings.Builder
	b.WriteString("/api/v1")
	for _, part := range parts {
		part = url.PathEscape(part)
		if part == "." || part == ".." {
			part = strings.ReplaceAll(part, ".", "%2E")
		}
		b.WriteString("/" + part)
	}
	return b.String()
}

// query collects the parameters that are not empty.
func query(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}

func (r *call) apply(options []CallOption) {
	if r.query == nil {
		r.query = url.Values{}
	}
	if r.header == nil {
		r.header = http.Header{}
	}
	for _, o := range options {
		o(r)
	}
}

// ask makes a call and decodes its response.
func ask[T any](ctx context.Context, c *Client, r call, options []CallOption) (T, error) {
	var answer T
	r.apply(options)
	if limit := r.limit(c.timed); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, lateError{limit, r.method == http.MethodGet})
		defer cancel()
	}
	resp, err := c.send(ctx, c.http, r)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return answer, c.unanswered(ctx, err)
	}
	if len(data) > maxAnswer {
		return answer, fmt.Errorf("the server at %s answered with more than %d MiB; request fewer items", c.server(), maxAnswer>>20)
	}
	if err := decode(data, &answer); err != nil {
		return answer, c.unusable(resp.StatusCode, "answered with invalid JSON: %w", err)
	}
	if r.raw != nil {
		*r.raw = data
	}
	return answer, nil
}

// items makes a call whose response is a list with a single page.
func items[T any](ctx context.Context, c *Client, r call, options []CallOption) ([]T, error) {
	page, err := ask[Page[T]](ctx, c, r, options)
	return page.Items, err
}

// allPages reads all pages of a list.
func allPages[T any](ctx context.Context, c *Client, r call, options []CallOption) ([]T, error) {
	r.apply(options)
	raw, sent := r.raw, []json.RawMessage{}
	r.raw = nil
	for {
		page, err := ask[Page[json.RawMessage]](ctx, c, r, nil)
		if err != nil {
			return nil, err
		}
		sent = append(sent, page.Items...)
		if page.NextCursor == "" {
			break
		}
		r.query.Set("cursor", page.NextCursor)
	}
	items := make([]T, len(sent))
	for i := range sent {
		if err := decode(sent[i], &items[i]); err != nil {
			return nil, c.unusable(http.StatusOK, "answered with invalid JSON: %w", err)
		}
	}
	if raw != nil {
		data, err := json.Marshal(map[string]any{"items": sent, "nextCursor": nil})
		if err != nil {
			return nil, fmt.Errorf("join the pages of the list: %w", err)
		}
		*raw = data
	}
	return items, nil
}

// decode keeps numbers as json.Number: fields of a sensor may not fit a float64.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("unexpected data after the response")
	}
	return nil
}

// send sends a request and returns its response if it is a success. The caller must close its body.
func (c *Client) send(ctx context.Context, h *http.Client, r call) (*http.Response, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := h.Do(req)
	if err != nil {
		return nil, c.unanswered(ctx, err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.refusal(ctx, resp)
}

func (c *Client) request(ctx context.Context, r call) (*http.Request, error) {
	var content io.Reader
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		content = bytes.NewReader(data)
	}
	target := strings.TrimSuffix(c.base.String(), "/") + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, content)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	maps.Copy(req.Header, r.header)
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" && req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

// Page is one page of a list, newest first unless documented otherwise. NextCursor is empty on the
// last page.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor"`
}

// MaxPage is the largest page size.
const MaxPage = 500

// Paging selects a page of a list. With a Limit of 0 the server chooses the size.
type Paging struct {
	Limit  int
	Cursor string
}

// with adds the paging to the parameters of a list.
func (p Paging) with(pairs ...string) []string {
	if p.Limit > 0 {
		pairs = append(pairs, "limit", strconv.Itoa(p.Limit))
	}
	return append(pairs, "cursor", p.Cursor)
}
