//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// evil is text that forges lines, moves the cursor, and turns the writing direction.
const evil = "evil\x1b[31m\x9b2J\r\nforged level=ERROR\u202e\u2066\u0085\x00"

// forged returns what in a text would deceive a reader; "" if there is nothing.
func forged(text string) string {
	if i := strings.IndexAny(text, "\x1b\u009b\u202e\u2066\u0085\r\x00"); i >= 0 {
		return fmt.Sprintf("%q", text[max(0, i-60):min(len(text), i+60)])
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "forged") {
			return line
		}
	}
	return ""
}

// TestHostileTextIsShownAsText writes text that forges lines into every field that clients, jobs and
// files can fill, and looks for it wherever people and programs read: the log in both formats, the
// commands, the metrics and a webhook.
func TestHostileTextIsShownAsText(t *testing.T) {
	binary := builtBinary(t)
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			var mu sync.Mutex
			var sent []string
			hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				if sent = append(sent, string(body)); err != nil || !json.Valid(body) {
					t.Errorf("the webhook received %q (%v)", body, err)
				}
			}))
			t.Cleanup(hook.Close)
			target := httptest.NewServer(http.HandlerFunc(failWithEvil))
			t.Cleanup(target.Close)
			g := newGround(t, binary, fmt.Sprintf("egress: {allow: [127.0.0.1]}\nmetrics: {perPipeline: true}\nalerts: {webhooks: [{name: hook, url: %q}], default: {severity: info, sinks: [hook, log]}}\n", hook.URL))
			h := &hostile{ground: g, target: target.URL}
			h.files()
			h.daemon = g.launch("--log-format", format)
			if format == "json" { // it announces its address in the log
				h.daemon.announced()
			} else if !h.daemon.ready() {
				t.Fatalf("the controller exited:\n%s", h.said())
			}
			h.write()
			h.read()
			until(t, "the alerts", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return strings.Contains(strings.Join(sent, "\n"), "evil")
			})
			h.checkLog(format)
		})
	}
}

// failWithEvil answers with an error whose status line, header and body are hostile.
func failWithEvil(w http.ResponseWriter, _ *http.Request) {
	conn, out, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return // the client has gone, and notices that nothing was answered
	}
	defer conn.Close()
	line := strings.ReplaceAll(evil, "\r\n", " ")
	fmt.Fprintf(out, "HTTP/1.1 400 %s\r\nContent-Type: text/html\r\nX-Evil: %s\r\nConnection: close\r\n\r\n<b>%s</b>", line, inHeader, evil)
	_ = out.Flush() // the same
}

// announced waits for the address in a log of the format json.
func (d *daemon) announced() {
	d.Helper()
	until(d.T, "the address", func() bool {
		for line := range strings.SplitSeq(d.said(), "\n") {
			var entry struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "interlock listens" {
				d.url = entry.Address
			}
		}
		return d.url != ""
	})
}

// hostile is a server that gets evil text in all fields.
type hostile struct {
	*ground
	*daemon
	target string // fails all requests, with evil text
}

func (h *hostile) files() {
	g := h.ground
	text, _ := json.Marshal(strings.ToValidUTF8(evil, "?")) // a JSON text is a YAML text, too
	g.write("pipelines/orders.yaml", fmt.Sprintf("pipeline: {id: orders, owner: tests, description: %s, tags: {note: %s}}\nvalidation: {rules: [{key: landed, check: equals, field: text, value: %s}]}\njob: {type: command, config: {command: \"printf 'evil\\\\033[31m\\\\r\\\\nforged'; exit 1\", shell: true}, maxRetries: 0, maxCodeRetries: 0}\n", text, text, text))
	g.pipeline("nightly", "job: {type: external, config: {heartbeat: 1h}, maxRetries: 0, maxCodeRetries: 0}\n")
	g.pipeline("request", fmt.Sprintf("job: {type: http, config: {url: %q}, maxRetries: 0, maxCodeRetries: 0}\n", h.target))
	g.pipeline("dag", fmt.Sprintf("job: {type: airflow, config: {url: %q, dagID: load}, maxRetries: 0, maxCodeRetries: 0}\n", h.target))
	g.pipeline("probed", fmt.Sprintf("validation: {rules: [{key: api, check: exists}, {key: disk, check: exists}]}\n"+
		"probes: [{key: api, url: %q, interval: 1h}, {key: disk, command: [sh, -c, \"printf 'evil\\\\033[31m\\\\r\\\\nforged' >&2; exit 1\"], interval: 1h}]\n", h.target))
	g.write("pipelines/evil\x1b[31m\r\nforged\u202e.yaml", fmt.Sprintf("pipeline: {id: %s, owner: tests}\n%s: 1\n", text, text))
}

// send sends a JSON body and returns the answer, which is always JSON.
func (h *hostile) send(method, path, token string, body map[string]any) map[string]any {
	t := h.ground.T
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, h.daemon.url+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, name := range []string{"User-Agent", "X-Request-Id", "X-Forwarded-For", "Traceparent", "Accept-Language", "Origin-Agent"} {
		r.Header.Set(name, inHeader)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode >= http.StatusInternalServerError {
		t.Errorf("%s %.80q: %s (%v)", method, path, resp.Status, err)
	}
	return answer
}

// write fills every field that a client can fill.
func (h *hostile) write() {
	t, escaped := h.ground.T, url.PathEscape(evil)
	until(t, "the pipelines", func() bool {
		return h.send("GET", "/api/v1/pipelines/nightly", "", nil)["id"] == "nightly" && h.send("GET", "/api/v1/pipelines/orders", "", nil)["id"] == "orders"
	})
	asked := map[string]any{"reason": evil, "requestedBy": evil}
	with := func(more map[string]any) map[string]any {
		for k, v := range asked {
			more[k] = v
		}
		return more
	}
	h.send("PUT", "/api/v1/pipelines/orders/sensors/landed%232026-03-02?source="+url.QueryEscape(evil), "", map[string]any{"text": strings.ToValidUTF8(evil, "?"), evil: evil})
	h.send("PUT", "/api/v1/pipelines/orders/sensors/"+escaped, "", map[string]any{"n": 1})
	h.send("POST", "/api/v1/runs", "", with(map[string]any{"pipeline": "orders", "date": "2026-03-02", "force": true, "bypassGate": true}))
	h.send("POST", "/api/v1/runs", "", with(map[string]any{"pipeline": "nightly", "date": "2026-03-02"}))
	for _, id := range []string{"request", "dag", "probed"} {
		h.send("POST", "/api/v1/runs", "", with(map[string]any{"pipeline": id, "date": "2026-03-02"}))
	}
	permit, worker := "", evil
	until(t, "the claim", func() bool {
		permit, _ = h.send("POST", "/api/v1/runs/nightly/manual/2026-03-02/claim", "", map[string]any{"worker": worker})["permit"].(string)
		worker = "evil forged" // control characters are rejected
		return permit != ""
	})
	h.send("POST", "/api/v1/runs/nightly/manual/2026-03-02/heartbeat", permit, map[string]any{"output": evil})
	h.send("POST", "/api/v1/runs/nightly/manual/2026-03-02/job", permit, map[string]any{"result": "fail", "message": evil, "output": evil})
	h.send("POST", "/api/v1/silences", "", with(map[string]any{"pipeline": "none-*", "until": "2h"}))
	h.send("POST", "/api/v1/silences", "", with(map[string]any{"pipeline": evil, "until": "2h"}))
	h.send("POST", "/api/v1/ingest/"+escaped, "", map[string]any{"x": evil})
	h.send("POST", "/api/v1/lineage", "", map[string]any{"eventTime": evil, "producer": evil, "job": map[string]any{"name": evil, "namespace": evil}})
	for _, path := range []string{"/api/v1/pipelines/" + escaped, "/api/v1/" + escaped, "/api/v1/runs?pipeline=" + url.QueryEscape(evil), "/api/v1/runs/" + escaped + "/manual/2026-03-02"} {
		h.send("GET", path, "", nil)
		h.send("POST", path, evilToken, nil)
	}
	for _, run := range []string{"orders", "nightly", "request", "dag"} {
		until(t, "the end of "+run, func() bool {
			status := h.send("GET", "/api/v1/runs/"+run+"/manual/2026-03-02", "", nil)["status"]
			return status == "FAILED_FINAL"
		})
	}
	until(t, "the probes", func() bool {
		probed, _ := json.Marshal(h.send("GET", "/api/v1/pipelines/probed", "", nil)["probes"]) // JSON before
		return strings.Count(string(probed), `"state":"failing"`) == 2
	})
	h.send("POST", "/api/v1/pipelines/nightly/pause", "", with(map[string]any{}))
}

// What a header may contain of the evil text, and what a token may.
const (
	inHeader  = "evil\x9b2J\u202e\u2066\u0085forged level=ERROR"
	evilToken = "evil-token-forged-level=ERROR"
)

// read runs the commands that show what was written.
func (h *hostile) read() {
	t, shown := h.ground.T, 0
	for _, line := range []string{
		"status", "status orders", "status nightly", "runs", "runs show orders/manual/2026-03-02", "runs show nightly/manual/2026-03-02", "explain orders/manual/2026-03-02", "explain nightly/manual/2026-03-02",
		"explain orders", "explain nightly", "events", "attention", "audit", "deadlines", "gate orders --date 2026-03-02", "gate nightly --date 2026-03-02", "sensor get orders", "sensor get orders landed",
		"sensor history orders landed", "silence list", "sources", "alerts routes", "alerts dead", "logs orders/manual/2026-03-02", "logs nightly/manual/2026-03-02", "health", "resume nightly",
		"status request", "status dag", "status probed", "runs show request/manual/2026-03-02", "runs show dag/manual/2026-03-02", "explain request/manual/2026-03-02", "explain dag/manual/2026-03-02",
		"explain probed/manual/2026-03-02", "gate probed --date 2026-03-02", "sensor get probed", "sensor history probed disk",
		"trigger nightly --date 2026-03-02 --reason x", "rerun nightly/manual/2026-03-02 --reason x", "cancel nightly/manual/2026-03-02",
	} {
		for _, output := range []string{"text", "wide", "json"} {
			args := strings.Fields(line)
			if strings.HasPrefix(line, "logs") && output == "wide" {
				continue
			}
			got := call{args: append(args, "-o", output), env: map[string]string{"INTERLOCK_SERVER": h.daemon.url, "USER": evil}}.run()
			text := got.stdout + got.stderr
			if strings.Contains(text, "evil") {
				shown++
			}
			if strings.HasPrefix(line, "logs") { // a job's output has lines of its own
				text = strings.ReplaceAll(text, "\nforged", "\n")
			}
			if why := forged(text); why != "" {
				t.Errorf("interlock %s -o %s shows %s", line, output, why)
			}
		}
	}
	if shown < 30 {
		t.Errorf("only %d outputs show what was written: the test reads too little", shown)
	}
	for _, output := range []string{"text", "json", "github", "sarif"} {
		got := call{args: []string{"validate", h.ground.path("pipelines"), "--format", output}}.run()
		if why := forged(got.stdout + got.stderr); why != "" || !strings.Contains(got.stdout, "evil") {
			t.Errorf("interlock validate --format %s shows %s in %s", output, why, got.stdout)
		}
	}
	resp, err := http.Get(h.daemon.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	if why := forged(string(metrics)); why != "" || err != nil {
		t.Errorf("/metrics shows %s (%v)", why, err)
	}
}

// checkLog checks that each line of the log is one entry.
func (h *hostile) checkLog(format string) {
	t, text := h.ground.T, h.said()
	if !strings.Contains(text, "evil") {
		t.Errorf("the log contains nothing of what was written:\n%s", text)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		switch {
		case format == "json" && !json.Valid([]byte(line)):
			t.Errorf("a line of the log is no JSON: %q", line)
		case format == "text" && forged(line) != "":
			t.Errorf("a line of the log is forged: %q", line)
		}
	}
}
