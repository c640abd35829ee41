package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

func guard(t *testing.T, allow ...string) *Guard {
	t.Helper()
	g, err := New(allow)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// names makes a guard resolve from a table; each lookup takes the next entry of a name, and the
// last one stays.
func (g *Guard) names(table map[string][]string) *Guard {
	seen := map[string]int{}
	g.resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		lines := table[host]
		if len(lines) == 0 {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		line := lines[min(seen[host], len(lines)-1)]
		seen[host]++
		var addrs []netip.Addr
		for _, text := range strings.Fields(line) {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		return addrs, nil
	}
	return g
}

func TestOnlyPublicAddressesMayBeDialled(t *testing.T) {
	refused := map[string]string{
		"127.0.0.1": "loopback", "127.255.255.254": "loopback", "::1": "loopback", "::ffff:127.0.0.1": "loopback",
		"0.0.0.0": "this network", "0.1.2.3": "this network", "::": "this machine", "::ffff:0.0.0.0": "this network",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private", "fc00::1": "private", "fdff::1": "private", "::ffff:10.1.2.3": "private", "fec0::1": "private",
		"169.254.1.1": "link-local", "fe80::1": "link-local", "fe80::1%eth0": "link-local", "::ffff:169.254.1.1": "link-local",
		"100.64.0.1": "CGNAT", "100.127.255.255": "CGNAT",
		"169.254.169.254": "metadata", "fd00:ec2::254": "metadata", "100.100.100.200": "metadata", "168.63.129.16": "metadata", "192.0.0.192": "metadata", "fd20:ce::254": "metadata", "169.254.170.2": "metadata",
		"64:ff9b::7f00:1": "loopback", "64:ff9b::a00:1": "private", "64:ff9b::a9fe:a9fe": "metadata", "64:ff9b:1::808:808": "NAT64",
		"::127.0.0.1": "loopback", "::10.0.0.1": "private", "2002:7f00:1::": "loopback", "2002:a00:1::1": "private", "2002:c0a8:101::": "private",
		"::ffff:0:127.0.0.1": "loopback", "::ffff:0:10.0.0.1": "private", "2a00:1450::5efe:7f00:1": "loopback", "2a00:1450::200:5efe:a00:1": "private",
		"224.0.0.1": "multicast", "239.1.2.3": "multicast", "ff02::1": "multicast", "ff0e::1": "multicast", "::ffff:224.0.0.1": "multicast",
		"255.255.255.255": "reserved", "240.0.0.1": "reserved", "192.0.0.1": "reserved", "2001:0:1::": "reserved", "5f00::1": "reserved",
		"192.0.2.1": "documentation", "198.51.100.1": "documentation", "203.0.113.1": "documentation", "2001:db8::1": "documentation", "3fff::1": "documentation",
		"198.18.0.1": "benchmarks", "198.19.255.255": "benchmarks", "100::1": "discard",
	}
	g := guard(t)
	for text, want := range refused {
		if got := g.refuses("h", netip.MustParseAddr(text)); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "169.253.1.1", "169.255.1.1", "11.0.0.1", "223.255.255.255",
		"192.0.1.1", "198.17.1.1", "198.20.1.1", "168.63.129.15", "2606:4700::1111", "2a00:1450::1", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "2a00:1450::5efe:808:808",
	} {
		if got := g.refuses("h", netip.MustParseAddr(text)); got != "" {
			t.Errorf("%s: refused: %s", text, got)
		}
	}
}

func TestExceptionsNameHostsAddressesAndNetworks(t *testing.T) {
	g := guard(t, "Airflow.internal.", "10.1.0.0/16", "192.168.1.5", "fd00:1::/32", "[::1]", "::ffff:172.16.0.0/108")
	for host, addr := range map[string]string{
		"airflow.internal": "10.9.9.9", "AIRFLOW.INTERNAL.": "127.0.0.1", "a": "10.1.2.3", "b": "192.168.1.5", "c": "fd00:1:2::3", "d": "::1", "e": "::ffff:10.1.2.3", "f": "64:ff9b::a01:203", "g": "172.17.0.1",
	} {
		if why := g.refuses(host, netip.MustParseAddr(addr)); why != "" {
			t.Errorf("%s %s: refused: %s", host, addr, why)
		}
	}
	for host, addr := range map[string]string{
		"sub.airflow.internal": "10.9.9.9", "airflow.internal.evil.com": "10.9.9.9", "a": "10.2.0.1", "b": "192.168.1.6", "c": "fd00:2::1", "d": "127.0.0.1", "e": "192.168.172.1",
	} {
		if g.refuses(host, netip.MustParseAddr(addr)) == "" {
			t.Errorf("%s %s: allowed", host, addr)
		}
	}
}

func TestAnExceptionThatCannotBeOneIsAnError(t *testing.T) {
	for _, entry := range []string{"", "10.0.0.0/33", "host/path", "http://host", "host:80", "*.internal", "a b", "user@host"} {
		if _, err := New([]string{entry}); err == nil || !strings.Contains(err.Error(), "egress.allow") {
			t.Errorf("%q: got %v", entry, err)
		}
	}
}

func TestEveryAddressIsEitherPublicOrRefusedWithAReason(t *testing.T) {
	g := guard(t)
	rapid.Check(t, func(t *rapid.T) {
		bytes := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "bytes"))
		plain := netip.AddrFrom4(bytes)
		want := g.refuses("h", plain)
		for _, prefix := range []string{"::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "2a00:1450::5efe:0:0"} {
			wrapped := netip.MustParseAddr(prefix).As16()
			copy(wrapped[12:], bytes[:])
			if got := g.refuses("h", netip.AddrFrom16(wrapped)); got != want {
				t.Fatalf("%s as %s: got %q, want %q", plain, netip.AddrFrom16(wrapped), got, want)
			}
		}
	})
}

// served returns a local server that counts its requests.
func served(t *testing.T, h http.HandlerFunc) (port string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, requests
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }

func get(g *Guard, url string) error {
	resp, err := (&http.Client{Transport: g.Transport()}).Get(url)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func TestNoSpellingOfThisMachineGetsThrough(t *testing.T) {
	port, requests := served(t, hello)
	g := guard(t).names(map[string][]string{
		"localhost": {"::1 127.0.0.1"}, "127.1": {"127.0.0.1"}, "2130706433": {"127.0.0.1"}, "0x7f.1": {"127.0.0.1"}, "0": {"0.0.0.0"},
		"innocent.example": {"127.0.0.1"}, "many.example": {"10.0.0.1 127.0.0.1 ::1"},
	})
	for _, host := range []string{
		"localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0", "0.0.0.0", "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "innocent.example", "many.example",
	} {
		var refused *Refused
		if err := get(g, "http://"+host+":"+port+"/"); !errors.As(err, &refused) || !strings.Contains(err.Error(), "egress.allow") {
			t.Errorf("%s: got %v", host, err)
		}
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests got through", requests.Load())
	}
}

func TestAnAllowedHostIsReached(t *testing.T) {
	port, requests := served(t, hello)
	g := guard(t, "good.example").names(map[string][]string{"good.example": {"127.0.0.1"}})
	if err := get(g, "http://good.example:"+port+"/"); err != nil || requests.Load() != 1 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
}

func TestTheAddressThatWasCheckedIsTheOneDialled(t *testing.T) {
	port, requests := served(t, hello)
	g := guard(t).names(map[string][]string{"rebind.example": {"192.168.0.1", "127.0.0.1"}})
	for range 3 {
		if err := get(g, "http://rebind.example:"+port+"/"); !errors.As(err, new(*Refused)) {
			t.Errorf("got %v", err)
		}
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests got through", requests.Load())
	}
}

func TestOfSeveralAddressesOnlyTheAllowedAreTried(t *testing.T) {
	port, requests := served(t, hello)
	other, others := served(t, hello)
	g := guard(t, "127.0.0.1").names(map[string][]string{"mixed.example": {"::1 10.0.0.1 127.0.0.1"}})
	if err := get(g, "http://mixed.example:"+port+"/"); err != nil || requests.Load() != 1 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
	if err := get(g, "http://[::1]:"+other+"/"); !errors.As(err, new(*Refused)) || others.Load() != 0 {
		t.Errorf("%d requests, %v", others.Load(), err)
	}
}

func TestRedirectsPassTheGuardToo(t *testing.T) {
	inner, requests := served(t, hello)
	outer, _ := served(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254:"+inner+"/latest/meta-data", http.StatusFound)
	})
	g := guard(t, "127.0.0.1")
	var refused *Refused
	if err := get(g, "http://127.0.0.1:"+outer+"/"); !errors.As(err, &refused) || refused.Addr.String() != "169.254.169.254" {
		t.Errorf("got %v", err)
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests got through", requests.Load())
	}
}

func TestANameThatDoesNotExistIsNotARefusal(t *testing.T) {
	err := get(guard(t).names(nil), "http://gone.example/")
	if errors.As(err, new(*Refused)) || !errors.As(err, new(*net.DNSError)) {
		t.Errorf("got %v", err)
	}
}

func TestARequestIsSentOnceEvenIfItsConnectionBreaks(t *testing.T) {
	port, requests := served(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	g := guard(t, "127.0.0.1")
	client := &http.Client{Transport: g.Transport()}
	for range 2 {
		before := requests.Load()
		req, err := http.NewRequest(http.MethodPost, "http://127.0.0.1:"+port+"/", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "k") // makes the standard library consider a retry safe
		if _, err := client.Do(req); err == nil || requests.Load() != before+1 {
			t.Errorf("%d requests, %v", requests.Load()-before, err)
		}
	}
}

func TestFurtherExceptionsAreForThatGuardAlone(t *testing.T) {
	port, requests := served(t, hello)
	g := guard(t, "10.0.0.0/8")
	more, err := g.With("127.0.0.1", "else.example")
	if err != nil {
		t.Fatal(err)
	}
	if err := get(more, "http://127.0.0.1:"+port+"/"); err != nil || requests.Load() != 1 {
		t.Errorf("%d requests, %v", requests.Load(), err)
	}
	if err := get(g, "http://127.0.0.1:"+port+"/"); !errors.As(err, new(*Refused)) || g.hosts["else.example"] {
		t.Errorf("the guard itself has changed: %v", err)
	}
	if why := more.refuses("h", netip.MustParseAddr("10.1.2.3")); why != "" {
		t.Errorf("refuses what it allowed before: %s", why)
	}
	if _, err := g.With("http://host"); err == nil || !strings.Contains(err.Error(), "http://host") {
		t.Errorf("got %v", err)
	}
}

func TestADialerThatResolvesItselfIsGuardedByAddress(t *testing.T) {
	g := guard(t, "169.254.169.254", "good.example").names(map[string][]string{"good.example": {"10.0.0.7 10.0.0.8"}})
	for address, allowed := range map[string]bool{
		"8.8.8.8:443": true, "169.254.169.254:80": true, "10.0.0.8:80": true, "[::ffff:10.0.0.7]:80": true,
		"10.0.0.9:80": false, "127.0.0.1:80": false, "169.254.170.2:80": false, "[::1]:80": false,
	} {
		err := g.Control(t.Context(), "tcp", address, nil)
		if refused := errors.As(err, new(*Refused)); refused == allowed || err != nil && !refused {
			t.Errorf("%s: got %v", address, err)
		}
	}
	if err := g.Control(t.Context(), "unix", "/run/socket", nil); err == nil {
		t.Error("what is no address got through")
	}
}
