package rest

import (
	"context"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"
)

// keptFor is how long an early connection waits for its request. A target may close an idle connection, and the
// outcome of a request sent at that very moment would be unknown.
const keptFor = time.Second

// Prepare begins to connect to an address that a message is about to be sent to, and returns at once. The next
// request to that target uses the connection; an unused one is closed.
func (c *Client) Prepare(address string) {
	if target, err := url.Parse(address); err == nil {
		c.ahead.begin(dialled(target))
	}
}

// dialled returns the address that the transport dials for a target.
func dialled(target *url.URL) string {
	port := target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[target.Scheme]
	}
	return net.JoinHostPort(target.Hostname(), port)
}

// ahead makes connections before they are needed.
type ahead struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	keptFor time.Duration

	mu   sync.Mutex
	made map[string][]*early // by address
}

// early is one early connection, for one request.
type early struct {
	done chan struct{} // closed once there is a connection or an error
	conn net.Conn
	err  error
}

func (a *ahead) begin(address string) {
	e := &early{done: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made[address] = append(a.made[address], e)
	go func() {
		e.conn, e.err = a.dial(context.Background(), "tcp", address) // dial has its own timeout
		close(e.done)
		time.AfterFunc(a.keptFor, func() { a.forget(address, e) })
	}()
}

// DialContext returns an early connection to the address, or a new one.
func (a *ahead) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	e := a.take(address)
	if e == nil {
		return a.dial(ctx, network, address)
	}
	select {
	case <-e.done:
		return e.conn, e.err
	case <-ctx.Done():
		go e.drop()
		return nil, ctx.Err()
	}
}

func (a *ahead) take(address string) *early {
	a.mu.Lock()
	defer a.mu.Unlock()
	waiting := a.made[address]
	if len(waiting) == 0 {
		return nil
	}
	a.remove(address, waiting[0])
	return waiting[0]
}

// forget closes an unused connection.
func (a *ahead) forget(address string, e *early) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.remove(address, e) {
		e.drop()
	}
}

// remove removes a connection from the list and reports whether it was there. The caller holds the lock.
func (a *ahead) remove(address string, e *early) bool {
	waiting := a.made[address]
	at := slices.Index(waiting, e)
	switch {
	case at < 0:
		return false
	case len(waiting) == 1:
		delete(a.made, address)
	default:
		a.made[address] = slices.Concat(waiting[:at], waiting[at+1:])
	}
	return true
}

func (e *early) drop() {
	<-e.done
	if e.err == nil {
		_ = e.conn.Close() // nothing was sent over it
	}
}
