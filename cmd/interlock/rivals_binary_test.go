//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/store/redistest"
)

// balancer passes requests to controllers in turn, like the address of a load balancer.
type balancer struct {
	*httptest.Server

	mu      sync.Mutex
	targets []*url.URL
	passed  []int // requests to each
}

func newBalancer(t *testing.T) *balancer {
	b := &balancer{}
	next := 0
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		b.mu.Lock()
		defer b.mu.Unlock()
		next = (next + 1) % len(b.targets)
		b.passed[next]++
		r.SetURL(b.targets[next])
	}}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		none := len(b.targets) == 0
		b.mu.Unlock()
		if none {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *balancer) add(t *testing.T, d *daemon) {
	t.Helper()
	u, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targets, b.passed = append(b.targets, u), append(b.passed, 0)
}

// fewest returns how many requests the controller with the fewest has received.
func (b *balancer) fewest() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.passed[0]
	for _, p := range b.passed {
		n = min(n, p)
	}
	return n
}

// behind starts two controllers of the same pipelines behind one address.
func behind(t *testing.T, b *balancer, config string) []*daemon {
	t.Helper()
	var all []*daemon
	for range 2 {
		g := newGround(t, builtBinary(t), "callbackURL: "+b.URL+"\nwatchdog: {interval: 1s}\n"+config)
		g.pipeline("orders", prompt)
		d := g.start()
		b.add(t, d)
		all = append(all, d)
	}
	return all
}

// otherStores returns what /readyz says about controllers with another store.
func (d *daemon) otherStores() (detail string, ok bool) {
	d.Helper()
	h, err := d.api.Ready(d.Context())
	if err != nil {
		return err.Error(), false // a rival does not make it unready
	}
	for _, c := range h.Checks {
		if c.Name == "other stores" {
			return c.Detail, c.OK
		}
	}
	return "", false
}

// metric returns the line of a metric.
func (d *daemon) metric(name string) string {
	d.Helper()
	resp, err := http.Get(d.url + "/metrics")
	d.check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	d.check(err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, name+" ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

func TestTwoControllersWithAStoreEachSaySo(t *testing.T) {
	b := newBalancer(t)
	for i, d := range behind(t, b, "") {
		until(t, "the readiness of a controller beside another store", func() bool {
			detail, ok := d.otherStores()
			return !ok && strings.Contains(detail, "another controller with the same pipelines and another store answers at callbackURL")
		})
		until(t, "the event", func() bool { return d.told("INFRA_FAILURE", "") == 1 })
		if log := d.said(); !strings.Contains(log, "level=ERROR msg=\"another controller with another store answers") {
			t.Errorf("controller %d does not say so in its log:\n%s", i, log)
		}
		if got := d.metric("interlock_other_store_seen"); got != "interlock_other_store_seen 1" {
			t.Errorf("controller %d shows %q", i, got)
		}
	}
}

func TestReplicasOnOneRedisAreSilent(t *testing.T) {
	b := newBalancer(t)
	all := behind(t, b, "store: "+redistest.Start(t).URL()+"\n")
	until(t, "several searches that reach both", func() bool { return b.fewest() >= 4*rivalTries })
	for i, d := range all {
		until(t, "the result of a search", func() bool {
			detail, ok := d.otherStores()
			return ok && strings.HasPrefix(detail, "none answers at callbackURL")
		})
		if n := d.told("INFRA_FAILURE", ""); n > 0 || strings.Contains(d.said(), "another store") || d.metric("interlock_other_store_seen") != "interlock_other_store_seen 0" {
			t.Errorf("replica %d reports another store: %d events, %s\n%s", i, n, d.metric("interlock_other_store_seen"), d.said())
		}
	}
}
