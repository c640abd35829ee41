// Package rest is the HTTP client of job types. A Client sends a Message through the egress guard,
// once: the transport never retries, so that an error shows whether anything can have been started.
// The size of answers is bounded; they are classified (Answer) and cleared of secrets. An API is a
// target that speaks JSON.
//
// It knows no target. The types http, airflow and databricks decide what requests and answers mean
// for a job.
package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
)

// Client sends messages.
type Client struct {
	transport *http.Transport
	now       func() time.Time
}

// New returns a Client that connects through the guard.
func New(g *egress.Guard) *Client {
	return &Client{transport: g.Transport(), now: time.Now}
}

// Reach connects to an address, with TLS for https, and sends nothing.
func (c *Client) Reach(ctx context.Context, address string, limit time.Duration) error {
	target, err := url.Parse(address)
	if err != nil {
		return errors.New("the URL is invalid with its variables filled in")
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = c.connect(limited, target)
	switch {
	case err != nil && limited.Err() != nil:
		return late(ctx, limit, err)
	case err != nil:
		return notSent(target.Host, err)
	}
	return nil
}

// dialled returns the address that the transport dials for a target.
func dialled(target *url.URL) string {
	port := target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[target.Scheme]
	}
	return net.JoinHostPort(target.Hostname(), port)
}

func (c *Client) connect(ctx context.Context, target *url.URL) error {
	conn, err := c.transport.DialContext(ctx, "tcp", dialled(target))
	if err != nil {
		return err
	}
	defer conn.Close()
	if target.Scheme != "https" {
		return nil
	}
	return tls.Client(conn, &tls.Config{ServerName: target.Hostname()}).HandshakeContext(ctx)
}

// Message is a request that can be rebuilt for another URL.
type Message struct {
	Method string
	Header http.Header // only for the target that the file names
	Key    string      // the idempotency key, for every target; "" for none
	Body   []byte
	Kind   string // the body's content type
	AsIs   bool   // follow only redirects that ask for the very same request, as for an API

	url   *url.URL
	host  string                    // the Host header, if the file sets one
	taken bool                      // a target has accepted the request; this one only reads the answer
	read  func(*json.Decoder) error // decodes the JSON of a success while it arrives; nil to keep it
}

// NewMessage returns a request to an address with the headers of a file.
func NewMessage(method, address string, headers job.Headers) (Message, error) {
	target, err := url.Parse(address)
	if err != nil {
		return Message{}, errors.New("the URL is invalid with its variables filled in") // err would quote it
	}
	m := Message{Method: method, url: target, Header: http.Header{}}
	for name, value := range headers {
		if strings.EqualFold(name, "Host") {
			m.host = string(value)
			continue
		}
		m.Header.Set(name, string(value))
	}
	return m, nil
}

// Host returns the target's host.
func (m Message) Host() string { return m.url.Host }

// SetBody sets the body: a text as it is, anything else as JSON. The content type of a text with a
// JSON object or list is JSON. A content type among the headers wins.
func (m *Message) SetBody(body any) (err error) {
	m.Body, m.Kind, err = encode(body)
	if kind := m.Header.Get("Content-Type"); kind != "" {
		m.Kind = kind
	}
	return err
}

func encode(body any) (content []byte, kind string, err error) {
	switch b := body.(type) {
	case nil:
		return nil, "", nil
	case string:
		if trimmed := strings.TrimSpace(b); json.Valid([]byte(b)) && (trimmed[0] == '{' || trimmed[0] == '[') {
			return []byte(b), jsonKind, nil
		}
		return []byte(b), "text/plain; charset=utf-8", nil
	default:
		text, err := job.JSON(b)
		return []byte(text), jsonKind, err
	}
}

const jsonKind = "application/json"

// request builds the request for the transport, with a body that cannot be replayed, so that
// nothing is ever sent twice.
func (m Message) request(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, m.Method, m.url.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = m.Header.Clone()
	if m.Body != nil {
		req.Body = readOnce(m.Body)
		req.ContentLength = int64(len(m.Body))
		req.Header.Set("Content-Type", m.Kind)
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "interlock")
	}
	if m.Key != "" {
		req.Header.Set("Idempotency-Key", m.Key)
	}
	if parent := job.Traceparent(ctx); parent != "" && req.Header.Get(job.TraceHeader) == "" {
		req.Header.Set(job.TraceHeader, parent)
	}
	if m.host != "" {
		req.Host = m.host
	}
	return req, nil
}

// readOnce returns a body of a type that the standard library cannot replay.
func readOnce(body []byte) io.ReadCloser {
	return io.NopCloser(struct{ io.Reader }{bytes.NewReader(body)})
}
