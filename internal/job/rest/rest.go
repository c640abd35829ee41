// Package rest is the HTTP client of job types. A Client sends a Message through the egress guard, once: the
// transport never retries, so that an error shows whether anything can have been started. The size of answers is
// bounded; they are classified (Answer) and cleared of secrets. An API is a target that speaks JSON.
//
// It knows no target. The types http, airflow and databricks decide what requests and answers mean for a job.
package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
)

// Client sends messages.
type Client struct {
	transport *http.Transport
	ahead     *ahead
	now       func() time.Time
}

// New returns a Client that connects through the guard.
func New(g *egress.Guard) *Client {
	c := &Client{transport: g.Transport(), now: time.Now}
	c.ahead = &ahead{dial: g.DialContext, keptFor: keptFor, made: map[string][]*early{}}
	c.transport.DialContext = c.ahead.DialContext
	return c
}

// Reach connects to an address, with TLS for https, and sends nothing.
func (c *Client) Reach(ctx context.Context, address string, limit time.Duration) error {
	target, err := url.Parse(address)
	if err != nil {
		return errors.New("the URL is invalid once its variables are expanded")
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

func (c *Client) connect(ctx context.Context, target *url.URL) error {
	conn, err := c.ahead.dial(ctx, "tcp", dialled(target))
	if err != nil {
		return err
	}
	defer conn.Close()
	if target.Scheme != "https" {
		return nil
	}
	return tls.Client(conn, &tls.Config{ServerName: target.Hostname()}).HandshakeContext(ctx)
}
