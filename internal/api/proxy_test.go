package api

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"testing"
)

func TestOnlyTrustedProxiesCount(t *testing.T) {
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, tt := range []struct {
		name, peer string
		header     http.Header
		tls        bool
		secure     bool
		client     string
	}{
		{"no proxy", "192.0.2.1:5000", nil, false, false, "192.0.2.1"},
		{"its own TLS", "192.0.2.1:5000", nil, true, true, "192.0.2.1"},
		{"a trusted proxy with TLS", "10.1.2.3:5000", http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-For": {"203.0.113.9"}}, false, true, "203.0.113.9"},
		{"a trusted proxy without", "10.1.2.3:5000", http.Header{"X-Forwarded-Proto": {"http"}}, false, false, "10.1.2.3"},
		{"a stranger who claims so", "192.0.2.1:5000", http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-For": {"203.0.113.9"}}, false, false, "192.0.2.1"},
		{"a client who claims so behind a proxy", "10.1.2.3:5000", http.Header{"X-Forwarded-Proto": {"https, http"}, "X-Forwarded-For": {"1.2.3.4, 203.0.113.9"}}, false, false, "203.0.113.9"},
		{"two proxies", "[fd00::1]:5000", http.Header{"X-Forwarded-Proto": {"HTTPS"}, "X-Forwarded-For": {"1.2.3.4", "203.0.113.9, 10.9.9.9"}}, false, true, "203.0.113.9"},
		{"nonsense from a proxy", "10.1.2.3:5000", http.Header{"X-Forwarded-For": {"unknown"}}, false, false, "10.1.2.3"},
		{"an address of IPv4 in IPv6", "[::ffff:10.1.2.3]:5000", http.Header{"X-Forwarded-Proto": {"https"}}, false, true, "10.1.2.3"},
		{"a Unix socket", "@", http.Header{"X-Forwarded-Proto": {"https"}}, false, false, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: tt.peer, Header: tt.header}
		if tt.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if got := proxies.secure(r); got != tt.secure {
			t.Errorf("%s: secure is %v", tt.name, got)
		}
		if got := proxies.client(r).String(); got != tt.client {
			t.Errorf("%s: the client is %s, want %s", tt.name, got, tt.client)
		}
	}
}
