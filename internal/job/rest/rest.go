// Package rest is how job types speak HTTP. A Client sends a Message through the egress guard, once: the transport repeats
// nothing on its own, so that an error says whether anything can have been started. What comes back is read to a bound,
// classified (Answer) and cleared of secrets. An API is a target that is spoken to in JSON.
//
// It knows no target. What a request means, and what an answer means for a job, is in the types: http, airflow,
// databricks.
package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
)

// Client sends messages.
type Client struct {
	transport *http.Transport
	ahead     *ahead
	now       func() time.Time
}

// New sends through the guard.
func New(g *egress.Guard) *Client {
	c := &Client{transport: g.Transport(), now: time.Now}
	c.ahead = &ahead{dial: g.DialContext, keptFor: keptFor, made: map[string][]*early{}}
	c.transport.DialContext = c.ahead.DialContext
	return c
}

// Hide is err without secrets.
func Hide(secrets job.Redactor, err error) error {
	if refusal := (*job.Refusal)(nil); errors.As(err, &refusal) {
		hidden := *refusal
		hidden.Reason = secrets.Text(refusal.Reason)
		return &hidden
	}
	if text := secrets.Text(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// Reach connects to an address, with TLS where it asks for that, and sends nothing.
func (c *Client) Reach(ctx context.Context, address string, limit time.Duration) error {
	target, err := url.Parse(address)
	if err != nil {
		return errors.New("the URL is not one, once its variables are put in")
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
