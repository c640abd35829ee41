//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

// TestJobReportsToAReplicaThatDidNotStartIt kills the replica that started a job before the job is
// done.
func TestJobReportsToAReplicaThatDidNotStartIt(t *testing.T) {
	type callback struct{ url, token string }
	started := make(chan callback, 10)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		started <- callback{r.Header.Get("Interlock-Callback-URL"), r.Header.Get("Interlock-Callback-Token")}
	}))
	defer target.Close()
	_, all := replicas(t, 2, "callbackURL: https://interlock.example.com/\negress: {allow: [127.0.0.1]}\n")
	t.Parallel()
	for _, g := range all {
		g.pipeline("request", "schedule: {trigger: {key: landed, check: exists}}\n"+
			fmt.Sprintf("job: {type: http, config: {url: %q, callback: true}}\n", target.URL))
	}
	first := all[0].start()
	first.put("request", "landed#2026-03-03", map[string]any{"n": 1})
	var given callback
	select {
	case given = <-started:
	case <-time.After(patience):
		t.Fatal("no job was started")
	}
	if !strings.HasPrefix(given.url, "https://interlock.example.com/api/v1/runs/request/") {
		t.Errorf("the job's callback address is %s", given.url)
	}
	first.reaches("request/stream/2026-03-03", client.Running)
	first.kill()
	second := all[1].start()
	report := func(token string) int {
		t.Helper()
		path, err := url.Parse(given.url)
		all[1].check(err)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, second.url+path.EscapedPath(), strings.NewReader(`{"result": "success", "message": "all there"}`))
		all[1].check(err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		all[1].check(err)
		all[1].check(answer.Body.Close())
		return answer.StatusCode
	}
	if code := report(given.token[:len(given.token)-4] + "AAAA"); code != http.StatusForbidden {
		t.Errorf("a modified token got status %d", code)
	}
	if code := report(given.token); code != http.StatusOK {
		t.Errorf("the job's own token got status %d", code)
	}
	second.reaches("request/stream/2026-03-03", client.Completed)
}

// TestReplicasAskAProbeOnce runs two replicas with the same probes: one that runs at each interval,
// and one that runs when gates need it.
func TestReplicasAskAProbeOnce(t *testing.T) {
	_, all := replicas(t, 2, "")
	t.Parallel()
	asked := all[0].path("asked")
	ask := func(key string) string {
		return fmt.Sprintf("[sh, -c, 'echo %s $INTERLOCK_PERIOD >>%s; echo \"{\\\"status\\\": \\\"PASS\\\"}\"']", key, asked)
	}
	for _, g := range all {
		g.pipeline("orders", "schedule: {trigger: {key: landed, check: exists}, evaluation: {window: 1h, interval: 1s}}\nprobes:\n"+
			"  - {key: needed, ttl: 1h, command: "+ask("needed")+"}\n  - {key: steady, interval: 1h, command: "+ask("steady")+"}\n"+
			"validation: {rules: [{key: needed, check: equals, field: status, value: PASS}]}\njob: {type: command, config: {command: 'true'}}\n")
	}
	daemons := []*daemon{all[0].start(), all[1].start()}
	var want []string
	for day := range 20 {
		date := fmt.Sprintf("2026-03-%02d", day+1)
		want = append(want, "needed "+date)
		daemons[day%2].put("orders", "landed#"+date, map[string]any{"n": 1})
	}
	for _, line := range want {
		daemons[0].reaches("orders/stream/"+strings.TrimPrefix(line, "needed "), client.Completed)
	}
	until(t, "an answer of the probe with an interval", func() bool { return daemons[1].probe("orders", "steady").State == "ok" })
	text, err := os.ReadFile(asked)
	all[0].check(err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	got := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.HasPrefix(line, "steady") })
	if !slices.Equal(got, want) {
		t.Errorf("probe requests:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if once := slices.Compact(slices.Clone(lines)); len(once) != len(lines) {
		t.Errorf("a probe ran twice:\n%s", strings.Join(lines, "\n"))
	}
	for _, d := range daemons {
		d.stop()
	}
}
