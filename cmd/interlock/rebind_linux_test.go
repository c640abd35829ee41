package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// rebinding is a name server that gives each name below .test the address 127.0.0.2 once, and then
// 127.0.0.1, where no client may connect.
type rebinding struct {
	mu      sync.Mutex
	asked   map[string]int
	reached map[string]bool // by clients at 127.0.0.2
	trapped []string        // what connected to 127.0.0.1
}

// serve answers queries. A query is a header of 12 bytes, the labels of the name, a type and a class.
func (r *rebinding) serve(conn net.PacketConn) {
	query := make([]byte, 512)
	for {
		n, from, err := conn.ReadFrom(query)
		if err != nil {
			return
		}
		var labels []string
		at := 12
		for ; at < n && query[at] > 0; at += 1 + int(query[at]) {
			labels = append(labels, string(query[at+1:at+1+int(query[at])]))
		}
		question := query[12 : at+5]
		answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
		if address := byte(2); binary.BigEndian.Uint16(query[at+1:]) == 1 {
			r.mu.Lock()
			if r.asked[strings.Join(labels, ".")]++; r.asked[strings.Join(labels, ".")] > 1 {
				address = 1
			}
			r.mu.Unlock()
			answer[7] = 1
			answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, address)
		}
		_, _ = conn.WriteTo(answer, from) // the resolver asks again
	}
}

// newRebinding makes the process resolve names with it until the test ends.
func newRebinding(t *testing.T) *rebinding {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rebinding{asked: map[string]int{}, reached: map[string]bool{}}
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	go r.serve(conn)
	t.Cleanup(func() {
		net.DefaultResolver = before
		conn.Close()
	})
	return r
}

// listen opens one port at 127.0.0.1, the trap, and at 127.0.0.2.
func (r *rebinding) listen(t *testing.T) (trap, outside net.Listener) {
	t.Helper()
	for range 20 {
		trap, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { trap.Close() })
		_, port, _ := net.SplitHostPort(trap.Addr().String())
		if outside, err := net.Listen("tcp", "127.0.0.2:"+port); err == nil {
			t.Cleanup(func() { outside.Close() })
			go r.watch(trap)
			return trap, outside
		}
	}
	t.Fatal("no port is free at 127.0.0.1 and 127.0.0.2")
	return nil, nil
}

func (r *rebinding) watch(trap net.Listener) {
	for {
		conn, err := trap.Accept()
		if err != nil {
			return
		}
		line := make([]byte, 200)
		n, _ := conn.Read(line) // a client may send nothing
		r.mu.Lock()
		r.trapped = append(r.trapped, string(line[:n]))
		r.mu.Unlock()
		conn.Close()
	}
}

func (r *rebinding) arrived(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reached[name] = true
}

func (r *rebinding) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reached[name]
}

// TestNoClientConnectsToANameThatWasRebound runs everything that sends requests against names whose
// address is an allowed one when it is checked and another one when the name is resolved again, and
// at an address that redirects there.
func TestNoClientConnectsToANameThatWasRebound(t *testing.T) {
	r := newRebinding(t)
	trap, outside := r.listen(t)
	_, port, _ := net.SplitHostPort(outside.Addr().String())
	server := &httptest.Server{Listener: outside, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		host, _, _ := net.SplitHostPort(q.Host)
		r.arrived(strings.TrimSuffix(host, ".test"))
		http.Redirect(w, q, "http://"+trap.Addr().String(), http.StatusTemporaryRedirect)
	})}}
	server.Start()
	t.Cleanup(server.Close)
	_, mail := r.listen(t)
	go func() {
		for {
			conn, err := mail.Accept()
			if err != nil {
				return
			}
			r.arrived("email")
			conn.Close()
		}
	}()
	_, mailPort, _ := net.SplitHostPort(mail.Addr().String())
	at := func(name string) string { return "http://" + name + ".test:" + port }
	env := map[string]string{"T": "root-0123456789abc", "SLACK": "xoxb-1", "PD": "key"}
	config := strings.NewReplacer("HEARTBEAT", at("heartbeat"), "OIDC", at("oidc"), "SLACKAPI", at("slack"), "PDAPI", at("pagerduty"), "HOOK", at("webhook"), "AM", at("alertmanager"), "MAILPORT", mailPort).Replace(`
egress: {allow: [127.0.0.2]}
watchdog: {interval: 1s, heartbeatURL: "HEARTBEAT"}
alerts:
  slack: {channel: C1, tokenEnv: SLACK, apiURL: "SLACKAPI"}
  pagerduty: {routingKeyEnv: PD, apiURL: "PDAPI"}
  email: {host: email.test, port: MAILPORT, from: a@example.com, to: [b@example.com], tls: none}
  alertmanager: {url: "AM"}
  webhooks: [{name: hook, url: "HOOK"}]
  default: {sinks: [slack, pagerduty, email, alertmanager, hook]}
auth:
  tokens: [{name: root, role: admin, tokenEnv: T}]
  oidc: {issuer: "OIDC", clientID: x, redirectURL: "http://localhost:1/api/v1/session/oidc/callback", roles: [{group: a, role: viewer}]}
`)
	pipelines := map[string]string{}
	for name, job := range map[string]string{
		"http": "type: http, config: {url: %q}", "airflow": "type: airflow, config: {url: %q, dagID: d}", "databricks": "type: databricks, config: {workspaceURL: %q, jobID: 1}",
	} {
		pipelines[name+".yaml"] = fmt.Sprintf("pipeline: {id: %s, owner: tests}\njob: {"+job+", maxRetries: 0, maxCodeRetries: 0}\n", name, at(name))
	}
	probe := "pipeline: {id: probed, owner: tests}\nprobes:\n  - {key: asked, url: %q, interval: 1s}\n  - {key: status, builtin: http-status, config: {url: %q, expect: [307]}, interval: 1s}\n"
	pipelines["probed.yaml"] = fmt.Sprintf(probe, at("probe-url"), at("probe-status"))
	for range 2 { // what no guard protects falls into the trap
		if resp, err := http.Get(at("control")); err == nil {
			resp.Body.Close()
		}
	}
	r.mu.Lock()
	if len(r.trapped) == 0 {
		t.Error("the trap catches nothing")
	}
	r.trapped = nil
	r.mu.Unlock()
	s := serve(t, site{config: config, env: env, pipelines: pipelines})
	s.env["INTERLOCK_TOKEN"] = env["T"]
	names := []string{"heartbeat", "oidc", "slack", "pagerduty", "webhook", "alertmanager", "email", "http", "airflow", "databricks", "probe-url", "probe-status"}
	for range 2 { // the second requests resolve all names to the trap first
		for _, name := range []string{"http", "airflow", "databricks"} {
			s.run("trigger", name, "--force", "--reason", "test")
		}
		s.run("alerts", "test", "default")
		resp, err := http.Get(s.address + "/api/v1/session/oidc")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		for _, name := range names {
			s.until("a request to "+name, func() bool { return r.has(name) })
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range r.trapped {
		t.Errorf("a client connected to the address that was not checked: %q", request)
	}
}
