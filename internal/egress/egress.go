// Package egress is the guard on outgoing HTTP to addresses in users' files: it refuses connections
// to the machine itself, to private networks and to cloud metadata services, unless the server's
// own file allows them (egress.allow). It checks the address that is dialled, after name resolution
// and again for each redirect, so that DNS cannot be changed in between. Job types and probes
// connect through it.
//
// It does not inspect what is sent, and never uses a proxy from the environment: behind one, it
// could not see where a request goes.
package egress

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Guard decides which addresses may be dialled. It is immutable.
type Guard struct {
	hosts    map[string]bool
	networks []netip.Prefix
	resolve  func(ctx context.Context, host string) ([]netip.Addr, error)
	dialer   net.Dialer
	agent    string // the User-Agent of requests
	tls      *tls.Config
}

// New returns a guard with exceptions: hosts by name, addresses, and networks such as 10.0.0.0/8.
func New(allow []string) (*Guard, error) {
	g := &Guard{
		hosts:  map[string]bool{},
		dialer: net.Dialer{Timeout: 30 * time.Second},
		resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
	}
	return g.With(allow...)
}

// With returns a guard with further exceptions, in the form of New.
func (g *Guard) With(allow ...string) (*Guard, error) {
	more := *g
	more.hosts, more.networks = maps.Clone(g.hosts), slices.Clone(g.networks)
	for _, entry := range allow {
		if err := more.allow(entry); err != nil {
			return nil, err
		}
	}
	return &more, nil
}

func (g *Guard) allow(entry string) error {
	if strings.Contains(entry, "/") {
		network, err := netip.ParsePrefix(entry)
		if err != nil {
			return fmt.Errorf("egress.allow: %q is not a network; write one such as 10.0.0.0/8, or a host's name", entry)
		}
		g.networks = append(g.networks, unmapped(network.Masked()))
		return nil
	}
	if addr, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		addr = addr.Unmap().WithZone("")
		g.networks = append(g.networks, netip.PrefixFrom(addr, addr.BitLen()))
		return nil
	}
	if entry == "" || strings.ContainsAny(entry, ":*@ \t?#") {
		return fmt.Errorf("egress.allow: %q is not a host; write its name without scheme, port or wildcard, such as airflow.internal", entry)
	}
	g.hosts[canonical(entry)] = true
	return nil
}

// unmapped returns the IPv4 network of an IPv4-mapped one.
func unmapped(network netip.Prefix) netip.Prefix {
	if network.Addr().Is4In6() && network.Bits() >= 96 {
		return netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
	}
	return network
}

// canonical returns a host name in the form for comparison: lower case, without a final dot.
func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// Refused is a connection that the guard does not allow. Nothing was sent.
type Refused struct {
	Host string     // from the URL
	Addr netip.Addr // its address
	Why  string     // the kind of that address
}

func (r *Refused) Error() string {
	where := r.Host
	if where != r.Addr.String() {
		where += " (" + r.Addr.String() + ")"
	}
	return fmt.Sprintf("refused to connect to %s: %s; to allow it, add the host or its network to egress.allow in the server's file", where, r.Why)
}

// DialContext connects to the first reachable of the allowed addresses of a host. If none is
// allowed, the error is a *Refused.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := g.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	allowed, refused := g.sift(host, addrs)
	if len(allowed) == 0 {
		return nil, refused
	}
	for i, addr := range allowed {
		var conn net.Conn
		if conn, err = g.dial(ctx, network, net.JoinHostPort(addr.String(), port), len(allowed)-i); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// Control is for dialers that resolve names themselves: it refuses what DialContext would, except
// that it allows whatever addresses an allowed host has now.
func (g *Guard) Control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	dialled, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	why := g.refuses("", dialled.Addr())
	if why == "" || g.hasHostAt(ctx, dialled.Addr()) {
		return nil
	}
	return &Refused{Host: dialled.Addr().String(), Addr: dialled.Addr(), Why: why}
}

// hasHostAt reports whether one of the allowed hosts has that address.
func (g *Guard) hasHostAt(ctx context.Context, addr netip.Addr) bool {
	for host := range g.hosts {
		addrs, err := g.lookup(ctx, host)
		if err == nil && slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.Unmap() == addr.Unmap() }) {
			return true
		}
	}
	return false
}

// lookup returns the addresses of a host, at least one.
func (g *Guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	if host == "" {
		return []netip.Addr{netip.IPv6Unspecified()}, nil // the system would interpret it as itself
	}
	addrs, err := g.resolve(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return addrs, err
}

// sift returns the addresses that may be dialled for a host, and why the last of the others may
// not.
func (g *Guard) sift(host string, addrs []netip.Addr) (allowed []netip.Addr, refused error) {
	for _, addr := range addrs {
		if why := g.refuses(host, addr); why != "" {
			refused = &Refused{Host: host, Addr: addr, Why: why}
			continue
		}
		allowed = append(allowed, addr)
	}
	return allowed, refused
}

// refuses returns the kind of address that makes the guard refuse it; "" if it may be dialled.
func (g *Guard) refuses(host string, addr netip.Addr) string {
	if g.hosts[canonical(host)] || g.inNetwork(addr) || g.inNetwork(embedded(addr)) {
		return ""
	}
	return notPublic(addr)
}

func (g *Guard) inNetwork(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(g.networks, func(network netip.Prefix) bool { return network.Contains(addr) })
}

// dial connects to one address, and leaves time for the remaining ones.
func (g *Guard) dial(ctx context.Context, network, address string, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return g.dialer.DialContext(ctx, network, address)
}

// Transport sends each request once, over its own connection: a retry on a reused connection could
// not be told from a second start. It requests no compression, so that a limit on a body limits
// what was sent.
func (g *Guard) Transport() *http.Transport {
	return &http.Transport{
		DialContext:            g.DialContext,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		TLSClientConfig:        g.tls.Clone(),
		TLSHandshakeTimeout:    30 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}
