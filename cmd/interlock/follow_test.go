package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/client"
)

// outside is a fake of Slack and PagerDuty at one address. It records their requests in order.
type outside struct {
	*httptest.Server
	mu    sync.Mutex
	valid bool     // whether it accepts the token
	told  []string // the requests, with their thread or incident
	root  string   // the current text of the thread's first message
}

func newOutside(t *testing.T) *outside {
	o := &outside{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/v2/") {
			var e struct {
				Action string `json:"event_action"`
				Key    string `json:"dedup_key"`
			}
			if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
				t.Error(err)
			}
			o.told = append(o.told, e.Action+" "+e.Key)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if !o.valid {
			fmt.Fprint(w, `{"ok":false,"error":"invalid_auth"}`)
			return
		}
		method := strings.TrimPrefix(r.URL.Path, "/api/")
		o.told = append(o.told, strings.TrimSpace(method+" "+r.FormValue("thread_ts")+r.FormValue("ts")))
		if r.FormValue("thread_ts") == "" {
			o.root = r.FormValue("text") + r.FormValue("attachments")
		}
		fmt.Fprint(w, `{"ok":true,"channel":"C0DATA0000","ts":"1.1"}`)
	}))
	t.Cleanup(o.Close)
	return o
}

// has reports whether all of want were received, in any order between the two.
func (o *outside) has(want ...string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return in(strings.Join(o.told, "\n"), want...)
}

func (o *outside) count(what string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Count(strings.Join(o.told, "\n"), what)
}

func TestFollowUpsGoToTheSameThreadAndIncident(t *testing.T) {
	o := newOutside(t)
	ready := filepath.Join(t.TempDir(), "ready")
	const incident = "interlock/orders/manual/2026-03-03"
	s := serve(t, site{
		pipelines: map[string]string{"orders.yaml": fmt.Sprintf(
			"pipeline: {id: orders, owner: data}\njob: {type: command, config: {command: [test, -e, %q]}, maxRetries: 0, maxCodeRetries: 0, pollInterval: 1s}\n", ready)},
		config: fmt.Sprintf("egress: {allow: [127.0.0.1]}\nalerts:\n  baseURL: https://interlock.example\n  slack: {channel: '#data', tokenEnv: SLACK, apiURL: '%s/api'}\n  pagerduty: {routingKeyEnv: PD, apiURL: %q}\n", o.URL, o.URL),
		env:    map[string]string{"SLACK": "xoxb-s3cret", "PD": "k3y"},
	})
	s.must(0, "trigger", "orders", "--date", "2026-03-03")
	s.reaches("orders/manual/2026-03-03", client.FailedFinal)
	s.until("readyz reports the wrong token", func() bool { return in(fmt.Sprint(s.fetch("/readyz")), "sink slack", "invalid_auth", "bot token") })
	o.mu.Lock()
	o.valid = true
	o.mu.Unlock()
	s.until("the waiting alerts are delivered", func() bool { return o.has("chat.postMessage\n", "chat.postMessage 1.1", "trigger "+incident) })
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.must(0, "rerun", "orders", "--date", "2026-03-03", "--reason", "the file is there")
	s.reaches("orders/manual/2026-03-03", client.Completed)
	s.until("the incident is resolved and the thread says so", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return in(strings.Join(o.told, "\n"), "resolve "+incident) && in(o.root, "*Recovered*: JOB_COMPLETED", "https://interlock.example")
	})
	if roots := o.count("chat.postMessage\n"); roots != 1 {
		t.Errorf("%d threads: %v", roots, o.told)
	}
}
