package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the networks of the reverse proxies that this server believes.
type Proxies []netip.Prefix

// hsts keeps browsers that came over TLS once from ever coming without it.
var hsts = []string{"max-age=31536000"}

// secure reports whether a browser's request came over TLS, to this server or to a trusted proxy in front of it.
func (p Proxies) secure(r *http.Request) bool {
	return r.TLS != nil || p.trusts(peer(r)) && strings.EqualFold(strings.TrimSpace(last(r.Header.Values("X-Forwarded-Proto"))), "https")
}

// client returns the address that a request came from: behind trusted proxies, the last one that is not a trusted proxy's
// own. It is the zero address where there is none, as on a Unix socket.
func (p Proxies) client(r *http.Request) netip.Addr {
	from := peer(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for len(hops) > 0 && p.trusts(from) {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[len(hops)-1]))
		if err != nil {
			break
		}
		from, hops = hop.Unmap(), hops[:len(hops)-1]
	}
	return from
}

// address returns the address of the client: see Proxies.client.
func (c *call) address() netip.Addr { return c.api.settings.Proxies.client(c.request) }

func (p Proxies) trusts(addr netip.Addr) bool {
	for _, network := range p {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// peer returns the address at the other end of the connection.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, _ := netip.ParseAddr(host)
	return addr.Unmap().WithZone("")
}

// last returns the last element of lists that are separated by commas, which the nearest proxy has written.
func last(values []string) string {
	text := strings.Join(values, ",")
	return text[strings.LastIndexByte(text, ',')+1:]
}
