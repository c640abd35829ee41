package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	nethttp "net/http"
	"net/url"
	"strings"

	"github.com/interlock-go/interlock/internal/job"
)

// message is a request that can be made anew for another URL.
type message struct {
	method string
	url    *url.URL
	host   string         // the Host header, where the file gives one
	header nethttp.Header // for the target that the file names, and no other
	key    string         // the idempotency key, for every target
	body   []byte
	kind   string // the body's content type
	taken  bool   // a target has taken the request, and this only reads its answer
}

// compose makes the request of an attempt.
func compose(a job.Attempt, c *Config) (message, error) {
	target, err := url.Parse(c.URL)
	if err != nil {
		return message{}, errors.New("the URL is not one, once its variables are put in") // the error would quote it
	}
	m := message{method: c.Method, url: target, header: nethttp.Header{}, key: string(a.ID)}
	for name, value := range c.Headers {
		if strings.EqualFold(name, "Host") {
			m.host = string(value)
			continue
		}
		m.header.Set(name, string(value))
	}
	if c.Callback && a.Callback.URL != "" {
		m.header.Set("Interlock-Callback-URL", a.Callback.URL)
		m.header.Set("Interlock-Callback-Token", a.Callback.Token)
	}
	m.body, m.kind, err = encode(c.Body)
	if kind := m.header.Get("Content-Type"); kind != "" {
		m.kind = kind
	}
	return m, err
}

// encode is a body with its content type. A text that holds a JSON object or list is taken for what it is.
func encode(body any) (content []byte, kind string, err error) {
	switch b := body.(type) {
	case nil:
		return nil, "", nil
	case string:
		if trimmed := strings.TrimSpace(b); json.Valid([]byte(b)) && (trimmed[0] == '{' || trimmed[0] == '[') {
			return []byte(b), "application/json", nil
		}
		return []byte(b), "text/plain; charset=utf-8", nil
	default:
		var buffer bytes.Buffer
		e := json.NewEncoder(&buffer)
		e.SetEscapeHTML(false)
		err := e.Encode(b)
		return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), "application/json", err
	}
}

// request is the message as the transport takes it: with a body that it cannot ask for a second time, so that nothing
// is ever sent twice.
func (m message) request(ctx context.Context) (*nethttp.Request, error) {
	req, err := nethttp.NewRequestWithContext(ctx, m.method, m.url.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = m.header.Clone()
	if m.body != nil {
		req.Body = readOnce(m.body)
		req.ContentLength = int64(len(m.body))
		req.Header.Set("Content-Type", m.kind)
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "interlock")
	}
	req.Header.Set("Idempotency-Key", m.key)
	if m.host != "" {
		req.Host = m.host
	}
	return req, nil
}
