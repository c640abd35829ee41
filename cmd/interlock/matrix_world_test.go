//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// matrix is a server with two teams: the limited tokens see the pipelines ours-*, and those of the
// others are named vault-*.
type matrix struct {
	*daemon
	authority *x509.CertPool
	issued    map[string]*http.Transport // by the name of the client's certificate; "" for none
	permits   map[object]string
	callback  string // of the running job
	names     int    // answers that name pipelines of others
}

const matrixConfig = `
tls: {cert: %s, key: %s, clientCA: %s}
egress: {allow: [127.0.0.1]}
metrics: {perPipeline: true}
sources: [./sources]
alerts: {webhooks: [{name: hook, url: %q}], default: {sinks: [hook]}}
auth:
  certificates:
    - {name: cert, role: operator, san: cert.example}
    - {name: cert-limited, role: viewer, pipelines: [ours-*], san: limited.example}
  tokens:
`

// secretOf returns the secret of a token of that name.
func secretOf(name string) string { return name + "-0123456789abcdef" }

var matrixRoles = []string{"viewer", "sensor", "runner", "operator", "admin"}

// newMatrix starts the server, and fills it with runs, failures, dead letters, silences and rejected
// files of both teams.
func newMatrix(t *testing.T) *matrix {
	t.Helper()
	binary, dir, ca := builtBinary(t), t.TempDir(), newAuthority(t, "tests")
	m := &matrix{authority: x509.NewCertPool(), issued: map[string]*http.Transport{}, permits: map[object]string{}}
	m.authority.AddCert(ca.cert)
	for _, name := range []string{"cert", "limited", "stranger"} {
		certFile, keyFile := ca.write(dir, name, &x509.Certificate{
			Subject: pkix.Name{CommonName: name}, DNSNames: []string{name + ".example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		})
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			t.Fatal(err)
		}
		m.issued[name] = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: m.authority, Certificates: []tls.Certificate{pair}}}
	}
	m.issued[""] = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: m.authority}}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	t.Cleanup(refusing.Close)
	cert, key := ca.write(dir, "server", loopback())
	config := fmt.Sprintf(matrixConfig, cert, key, writePEM(t, dir, "ca.pem", "CERTIFICATE", ca.cert.Raw), refusing.URL)
	var env []string
	for _, role := range matrixRoles {
		config += fmt.Sprintf("    - {name: %s, role: %s, tokenEnv: T_%s}\n", role, role, role)
		env = append(env, "T_"+role+"="+secretOf(role))
		if role != "admin" {
			config += fmt.Sprintf("    - {name: limited-%s, role: %s, pipelines: [ours-*], tokenEnv: L_%s}\n", role, role, role)
			env = append(env, "L_"+role+"="+secretOf("limited-"+role))
		}
	}
	g := newGround(t, binary, config)
	g.env = append(g.env, env...)
	m.files(g)
	m.daemon = g.start()
	m.fill()
	return m
}

// files writes the pipelines and sources of both teams.
func (m *matrix) files(g *ground) {
	g.Helper()
	if err := os.Mkdir(g.path("sources"), 0o755); err != nil {
		g.Fatal(err)
	}
	const external = "job: {type: external, config: {heartbeat: 1h}}\n"
	for _, team := range []string{"ours", "vault"} {
		g.pipeline(team+"-ext", external)
		g.pipeline(team+"-fail", "job: {type: command, config: {command: [\"false\"]}, maxRetries: 0, maxCodeRetries: 0}\n")
		g.pipeline(team+"-daily", "schedule: {cron: \"0 8 * * *\"}\nsla: {deadline: \"12:00\"}\n"+external)
		g.pipeline(team+"-broken", "schedule: {after: ["+team+"-nothing]}\n")
		g.write("sources/"+team+".yaml", fmt.Sprintf("source: {id: %[1]s-source, owner: %[1]s, format: json}\nwrite: [{pipeline: %[1]s-ext, key: %[1]s-queue, fields: {depth: {path: $.depth}}}]\n", team))
	}
	g.pipeline("ours-bare", "")
	g.pipeline("vault-sum", "schedule: {after: [ours-daily]}\n"+external)
	g.pipeline("ours-job", fmt.Sprintf("job: {type: command, config: {command: \"echo $INTERLOCK_CALLBACK_TOKEN > %s; exec sleep 3600\", shell: true}}\n", g.path("callback.new")+" && mv "+g.path("callback.new")+" "+g.path("callback")))
}

// fill opens runs, claims and ends some, and makes others fail.
func (m *matrix) fill() {
	m.Helper()
	for _, o := range []object{own, endedRun, otherRun, foreign} {
		m.trigger(o)
		m.claim(o)
	}
	var out struct{ Status string }
	if status, body := m.ask(caller{secret: m.permits[endedRun]}, http.MethodPost, "/api/v1/runs/ours-ext/manual/"+endedRun.date+"/job", `{"result":"success"}`); status != http.StatusOK {
		m.Fatalf("the report: %d %s", status, body)
	}
	m.trigger(working)
	m.admin(http.MethodPost, "/api/v1/silences", `{"pipeline":"vault-*","type":"SLA_BREACH","until":"2h","reason":"vault"}`, &out)
	m.admin(http.MethodPut, "/api/v1/pipelines/vault-ext/sensors/dbt%2Frun%232026-03-02", `{"vault":1}`, &out)
	m.admin(http.MethodPut, "/api/v1/pipelines/ours-ext/sensors/dbt%2Frun%232026-03-02", `{"ours":1}`, &out)
	for _, team := range []string{"vault", "ours"} { // in this order: see stream
		o := object{pipeline: team + "-fail", date: "2026-03-02"}
		m.trigger(o)
		until(m.T, team+"-fail", func() bool {
			m.admin(http.MethodGet, "/api/v1/runs/"+o.pipeline+"/manual/"+o.date, "", &out)
			return out.Status == "FAILED_FINAL"
		})
	}
	until(m.T, "the callback token", func() bool {
		token, err := os.ReadFile(m.path("callback"))
		m.callback = strings.TrimSpace(string(token))
		return err == nil
	})
	until(m.T, "dead letters", func() bool {
		_, body := m.ask(caller{secret: secretOf("admin")}, http.MethodGet, "/api/v1/alerts/dead", "")
		return strings.Contains(body, "vault-fail") && strings.Contains(body, "ours-fail")
	})
}

func (m *matrix) trigger(o object) {
	m.Helper()
	until(m.T, "the run of "+o.pipeline, func() bool {
		status, _ := m.ask(caller{secret: secretOf("admin")}, http.MethodPost, "/api/v1/runs", fmt.Sprintf(`{"pipeline":%q,"date":%q}`, o.pipeline, o.date))
		return status == http.StatusCreated || status == http.StatusOK
	})
}

// claim keeps the permit of a worker.
func (m *matrix) claim(o object) {
	m.Helper()
	until(m.T, "the claim of "+o.pipeline, func() bool {
		status, body := m.ask(caller{secret: secretOf("admin")}, http.MethodPost, "/api/v1/runs/"+o.pipeline+"/manual/"+o.date+"/claim", `{"worker":"w1"}`)
		var claimed struct{ Permit string }
		if status == http.StatusOK && json.Unmarshal([]byte(body), &claimed) == nil {
			m.permits[o] = claimed.Permit
		}
		return m.permits[o] != ""
	})
}

// foreignState returns what an admin sees of the others' pipelines.
func (m *matrix) foreignState() string {
	m.Helper()
	var text strings.Builder
	for _, path := range []string{
		"pipelines/vault-ext", "pipelines/vault-ext/sensors", "pipelines/vault-ext/versions", "runs?pipeline=vault-ext", "runs?pipeline=vault-fail",
		"runs/vault-ext/manual/2026-03-02", "silences?all=true",
	} {
		var out any
		m.admin(http.MethodGet, "/api/v1/"+path, "", &out)
		fmt.Fprintln(&text, path, out)
	}
	return text.String()
}

// admin sends a request as an admin, which must succeed.
func (m *matrix) admin(method, path, body string, out any) {
	m.Helper()
	status, got := m.ask(caller{secret: secretOf("admin")}, method, path, body)
	if err := json.Unmarshal([]byte(got), out); status >= 300 || err != nil {
		m.Fatalf("%s %s: %d %s (%v)", method, path, status, got, err)
	}
}

// matrixBodies are the bodies of those operations that check more than the path.
var matrixBodies = map[string]string{
	"trigger":              `{"pipeline":"ID","date":"DATE"}`,
	"put-sensors":          `[{"pipeline":"ID","key":"dbt/run#DATE","data":{"n":1}}]`,
	"put-sensor":           `{"n":1}`,
	"put-cloudevents":      `{"specversion":"1.0","id":"x","source":"/s","type":"t"}`,
	"put-json-events":      `{"depth":1}`,
	"put-message":          `{"depth":1}`,
	"rerun":                `{"reason":"because"}`,
	"report":               `{"result":"fail"}`,
	"backfill":             `{"from":"2026-03-01","to":"2026-03-01"}`,
	"claim":                `{"worker":"w2"}`,
	"add-silence":          `{"pipeline":"ours-*","until":"2h","reason":"because"}`,
	"retry-dead-letters":   `{"all":true}`,
	"discard-dead-letters": `{"all":true}`,
	"test-alert-route":     `{"route":"default"}`,
	"login":                `{"token":"viewer-0123456789abcdef"}`,
}

// request sends the request of an operation about an object.
func (m *matrix) request(c caller, op operation, o object) (int, string) {
	m.Helper()
	team, _, _ := strings.Cut(o.pipeline+"-", "-")
	token := c.secret
	if token == "" {
		token = secretOf("nobody")
	}
	path := strings.NewReplacer("{id}", o.pipeline, "{pipeline}", o.pipeline, "{schedule}", "manual", "{date}", o.date, "{key}", "dbt%2Frun%23"+o.date,
		"{version}", "v", "{silence}", "s-1", "{source}", team+"-source", "{token}", token, "{signal}", "start").Replace(op.path)
	switch {
	case op.id == "follow-events":
		path += "?since=24h"
	case op.id == "prove-identity":
		path += "?nonce=0123456789abcdef0123456789abcdef"
	}
	if op.filters && o != everything {
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		path += join + "pipeline=" + o.pipeline
	}
	return m.ask(c, op.method, path, strings.NewReplacer("ID", o.pipeline, "DATE", o.date).Replace(matrixBodies[op.id]))
}

// ask sends a request and returns the answer; of an event stream, all up to the last failure of our own
// pipelines.
func (m *matrix) ask(c caller, method, path, body string) (int, string) {
	m.Helper()
	resp := m.do(c, method, path, body)
	defer resp.Body.Close()
	var text strings.Builder
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		if _, err := io.Copy(&text, resp.Body); err != nil {
			m.Fatalf("%s %s: %v", method, path, err)
		}
		return resp.StatusCode, text.String()
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		fmt.Fprintln(&text, lines.Text())
		if strings.Contains(lines.Text(), "ours-fail") || strings.Contains(path, "pipeline=") {
			break
		}
	}
	return resp.StatusCode, text.String()
}

func (m *matrix) do(c caller, method, path, body string) *http.Response {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), patience)
	m.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, m.url+path, strings.NewReader(body))
	if err != nil {
		m.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if strings.HasSuffix(path, "cloudevents") {
		r.Header.Set("Content-Type", "application/cloudevents+json")
	}
	if c.secret != "" && !strings.HasPrefix(path, "/ping/") && !strings.HasPrefix(path, "/in/") {
		r.Header.Set("Authorization", "Bearer "+c.secret)
	}
	if c.cookie != "" {
		r.AddCookie(&http.Cookie{Name: "interlock_session", Value: c.cookie})
	}
	resp, err := m.issued[c.cert].RoundTrip(r)
	if err != nil {
		m.Fatalf("%s, %s %s: %v", c.name, method, path, err)
	}
	return resp
}
