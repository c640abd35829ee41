package api

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Bound limits how many connections s has at once, in total and per address, and returns the
// listener to serve on. At the limit it closes the connection that has been idle longest, so idle
// connections keep out no client. If all are busy, it closes the new one.
func Bound(s *http.Server, l net.Listener, all, perAddress int) net.Listener {
	b := &bound{Listener: l, all: all, perAddress: perAddress, open: map[*connection]bool{}, from: map[netip.Addr]int{}}
	s.ConnState = b.moved
	return b
}

// bound is a listener that counts its connections.
type bound struct {
	net.Listener
	all, perAddress int

	mu   sync.Mutex
	open map[*connection]bool
	from map[netip.Addr]int
}

// connection is a counted connection.
type connection struct {
	net.Conn
	of      *bound
	address netip.Addr // zero for a Unix socket
	waits   bool       // idle: before its first request, or between two
	since   time.Time
	closed  sync.Once
}

// Accept returns the next connection that is within the limits.
func (b *bound) Accept() (net.Conn, error) {
	for {
		raw, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: raw, of: b, waits: true, since: time.Now()}
		if at, ok := raw.RemoteAddr().(*net.TCPAddr); ok {
			c.address = at.AddrPort().Addr().Unmap()
		}
		for {
			added, idle := b.add(c)
			if added {
				return c, nil
			}
			if idle == nil {
				_ = raw.Close() // nothing was sent on it yet
				break
			}
			_ = idle.Close()
		}
	}
}

// add counts a connection if it is within the limits. Otherwise it returns the idle connection to
// close, if there is one.
func (b *bound) add(c *connection) (added bool, idle *connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	crowded := c.address.IsValid() && b.from[c.address] >= b.perAddress
	if !crowded && len(b.open) < b.all {
		b.open[c] = true
		b.from[c.address]++
		return true, nil
	}
	for other := range b.open {
		if other.waits && (!crowded || other.address == c.address) && (idle == nil || other.since.Before(idle.since)) {
			idle = other
		}
	}
	return false, idle
}

// moved is the server's ConnState hook; it tracks which connections are idle.
func (b *bound) moved(conn net.Conn, state http.ConnState) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, ok := conn.(*connection)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.waits, c.since = state == http.StateNew || state == http.StateIdle, time.Now()
}

// Close closes the connection and stops counting it.
func (c *connection) Close() error {
	c.closed.Do(func() {
		b := c.of
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, c)
		if b.from[c.address]--; b.from[c.address] == 0 {
			delete(b.from, c.address)
		}
	})
	return c.Conn.Close()
}

// Server returns an http.Server for a with every timeout and limit set, so that no client can hold
// a connection without using it. The host listens, sets up TLS and shuts the server down; the
// shutdown ends a's event streams.
func Server(a *API, address string, logger *slog.Logger) *http.Server {
	s := &http.Server{
		Addr:              address,
		Handler:           a,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second, // event streams set their own
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, c)
		},
	}
	s.RegisterOnShutdown(a.Close)
	return s
}

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// limitUnread limits how much the system keeps of what a request's client does not read. By default
// that is megabytes for each connection.
func limitUnread(ctx context.Context, bytes int) {
	c, _ := ctx.Value(connectionKey{}).(net.Conn)
	if encrypted, ok := c.(*tls.Conn); ok {
		c = encrypted.NetConn()
	}
	if counted, ok := c.(*connection); ok {
		c = counted.Conn
	}
	if s, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = s.SetWriteBuffer(bytes) // a limit of the system's remains
	}
}
