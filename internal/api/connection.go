package api

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Bound limits how many connections s has at once, in all and from one address, and returns the listener to serve on. Where
// there are too many, the one that has waited longest for a request is closed: connections that do nothing keep nobody out.
// Only if all of them are busy is the new one closed.
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

// connection is one of them.
type connection struct {
	net.Conn
	of      *bound
	address netip.Addr // zero if it comes through a Unix socket
	waits   bool       // for its first request, or the next
	since   time.Time
	closed  sync.Once
}

// Accept returns the next connection there is room for.
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
				_ = raw.Close() // nobody was told anything on it
				break
			}
			_ = idle.Close()
		}
	}
}

// add counts a connection if there is room for it. Otherwise it returns the one that is to make room, if any may.
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

// moved hears from the server what a connection does.
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

// Close lets others have its place.
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

// Server is an http.Server for a with every limit set, so that no client holds a connection for nothing. Listening,
// TLS and shutting down are the host's business; shutting down ends a's event streams.
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
	}
	s.RegisterOnShutdown(a.Close)
	return s
}
