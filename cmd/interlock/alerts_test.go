package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
)

// hook is a webhook receiver with configurable answers, which records the events it accepts.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	answer int
	asked  int
	taken  []string // type and date
}

func newHook(t *testing.T, answer int) *hook {
	h := &hook{answer: answer}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked++
		w.WriteHeader(h.answer)
		var e struct {
			Type string
			Data struct{ Date string }
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		if h.answer == http.StatusOK {
			h.taken = append(h.taken, strings.TrimSpace(e.Type+" "+e.Data.Date))
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) be(answer int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

func (h *hook) has() (asked int, taken []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked, slices.Clone(h.taken)
}

// brokenFile has a job that fails at once and is not retried.
const brokenFile = `
pipeline: {id: broken, owner: data}
job: {type: command, config: {command: ["false"]}, maxRetries: 0, maxCodeRetries: 0, pollInterval: 1s}
`

func (h *hook) site(more string) site {
	return site{
		pipelines: map[string]string{"broken.yaml": brokenFile, "watched.yaml": watchedFile},
		config:    fmt.Sprintf("egress: {allow: [127.0.0.1]}\nalerts:\n  webhooks: [{name: ops, url: %q}]\n%s", h.URL, more),
	}
}

func TestUnreachableWebhookDelaysNoRunAndGetsEverythingOnce(t *testing.T) {
	h := newHook(t, http.StatusInternalServerError)
	p := h.site("")
	s := serve(t, p)
	var want []string
	for day := 1; day <= 3; day++ {
		date := fmt.Sprintf("2026-03-%02d", day)
		s.must(0, "trigger", "broken", "--date", date)
		s.reaches("broken/manual/"+date, client.FailedFinal)
		want = append(want, "JOB_FAILED "+date, "RETRY_EXHAUSTED "+date)
	}
	s.until("a request arrives", func() bool { asked, _ := h.has(); return asked > 0 })
	if _, taken := h.has(); len(taken) != 0 {
		t.Errorf("accepted %v", taken)
	}
	s.until("readyz reports it", func() bool { return in(fmt.Sprint(s.fetch("/readyz")), "sink ops", "500") })
	s.stop()
	h.be(http.StatusOK)
	p.data = s.data
	s = serve(t, p)
	s.until("everything arrives", func() bool { _, taken := h.has(); return len(taken) >= len(want) })
	s.must(0, "trigger", "broken", "--date", "2026-03-04")
	want = append(want, "JOB_FAILED 2026-03-04", "RETRY_EXHAUSTED 2026-03-04")
	s.until("the later alerts", func() bool { _, taken := h.has(); return len(taken) >= len(want) })
	if _, taken := h.has(); !cmp.Equal(want, taken) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, taken))
	}
}

func TestRejectedAlertsAreListedAndRetried(t *testing.T) {
	h := newHook(t, http.StatusUnprocessableEntity)
	s := serve(t, h.site("  routes: [{types: [RETRY_EXHAUSTED], sinks: [ops]}]\n  default: {sinks: [log]}\n"))
	if got := s.must(0, "alerts", "dead").stdout; !in(got, "no dead letters") {
		t.Errorf("got %s", got)
	}
	s.must(0, "trigger", "broken", "--date", "2026-03-03")
	s.until("the alert is a dead letter", func() bool {
		return in(s.run("alerts", "dead", "--sink", "ops", "-o", "wide").stdout, "RETRY_EXHAUSTED", "broken 2026-03-03", "422")
	})
	if got := s.must(1, "alerts", "retry", "--all").stdout; !in(got, "✗ ops did not accept", "422") {
		t.Errorf("got %s", got)
	}
	h.be(http.StatusOK)
	page := parsed(t, s.must(0, "alerts", "dead", "--format", "json").stdout).(map[string]any)
	id := page["items"].([]any)[0].(map[string]any)["event"].(map[string]any)["id"].(string)
	if got := s.must(0, "alerts", "retry", id).stdout; !in(got, "✓ ops accepted "+id) {
		t.Errorf("got %s", got)
	}
	if _, taken := h.has(); !cmp.Equal([]string{"RETRY_EXHAUSTED 2026-03-03"}, taken) {
		t.Errorf("accepted %v", taken)
	}
	s.must(1, "alerts", "retry", id)
	s.must(2, "alerts", "retry")
	s.must(2, "alerts", "retry", id, "--all")
}

func TestDeadLettersOfARemovedSinkAreListedAndDiscarded(t *testing.T) {
	h := newHook(t, http.StatusUnprocessableEntity)
	p := h.site("")
	s := serve(t, p)
	s.must(0, "trigger", "broken", "--date", "2026-03-03")
	s.until("both alerts are dead letters", func() bool { return strings.Count(s.run("alerts", "dead", "--sink", "ops").stdout, "422") == 2 })
	s.stop()
	p.data, p.config = s.data, ""
	s = serve(t, p) // without the sink
	page := parsed(t, s.must(0, "alerts", "dead", "--format", "json").stdout).(map[string]any)
	id := page["items"].([]any)[0].(map[string]any)["event"].(map[string]any)["id"].(string)
	if got := s.must(1, "alerts", "retry", "--all").stdout; strings.Count(got, "sink ops was removed from the server's file") != 2 {
		t.Errorf("got %s", got)
	}
	if got := s.must(0, "alerts", "discard", id).stdout; got != "discarded "+id+" of ops\n" {
		t.Errorf("got %q", got)
	}
	s.must(1, "alerts", "discard", id)
	s.must(2, "alerts", "discard")
	s.must(0, "alerts", "discard", "--all", "--sink", "ops")
	if got := s.must(0, "alerts", "dead").stdout; !in(got, "no dead letters") {
		t.Errorf("got %s", got)
	}
}

func TestRoutesAreShownAndTried(t *testing.T) {
	h := newHook(t, http.StatusOK)
	s := serve(t, h.site("  routes: [{name: pages, severity: critical, pipelines: ['gold-*'], sinks: [ops, log], interval: 5m}, {name: quiet, sinks: []}]\n"))
	if got := s.must(0, "alerts", "routes", "-o", "wide").stdout; !in(got, "pages", "severity critical and above; pipeline gold-*", "ops, log", "by pipeline, type, every 5m0s at most", "quiet", "nowhere") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "alerts", "test", "pages").stdout; got != "✓ ops accepted the sample\n✓ log accepted the sample\n" {
		t.Errorf("got %q", got)
	}
	if got := s.must(0, "alerts", "test", "quiet").stdout; !in(got, "has no sinks") {
		t.Errorf("got %q", got)
	}
	h.be(http.StatusForbidden)
	if got := s.must(1, "alerts", "test", "pages").stdout; !in(got, "✗ ops did not accept the sample", "403") {
		t.Errorf("got %q", got)
	}
	if got := s.must(1, "alerts", "test", "nobody"); !in(got.stderr, "nobody", "pages, quiet") {
		t.Errorf("got %+v", got)
	}
}

func TestSilenceSuppressesAlertsAndHidesNothing(t *testing.T) {
	h := newHook(t, http.StatusOK)
	s := serve(t, h.site(""))
	added := parsed(t, s.must(0, "silence", "add", "--pipeline", "brok*", "--for", "2h", "--reason", "source is moved", "--format", "json").stdout).(map[string]any)
	id := added["id"].(string)
	s.must(0, "trigger", "broken", "--date", "2026-03-03")
	s.reaches("broken/manual/2026-03-03", client.FailedFinal)
	if got := s.must(0, "events", "--pipeline", "broken").stdout; !in(got, "JOB_FAILED", "silenced by "+id) {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "explain", "broken", "--date", "2026-03-03").stdout; !in(got, "2 alerts were silenced by "+id) {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "silence", "list").stdout; !in(got, id, "brok*", "ann", "source is moved", "active") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "silence", "end", id, "--reason", "done").stdout; got != "silence "+id+" has ended\n" {
		t.Errorf("got %q", got)
	}
	if got := s.must(0, "silence", "list").stdout; !in(got, "No silence is active") {
		t.Errorf("got %q", got)
	}
	if got := s.must(0, "silence", "list", "--all", "-o", "wide").stdout; !in(got, id, "by ann: done") {
		t.Errorf("got\n%s", got)
	}
	s.must(0, "trigger", "broken", "--date", "2026-03-04")
	s.until("the later alert is delivered", func() bool { _, taken := h.has(); return len(taken) == 2 })
	if _, taken := h.has(); !cmp.Equal([]string{"JOB_FAILED 2026-03-04", "RETRY_EXHAUSTED 2026-03-04"}, taken) {
		t.Errorf("accepted %v", taken)
	}
	for _, args := range [][]string{
		{"--for", "2h", "--reason", "x"},
		{"--pipeline", "a", "--reason", "x"},
		{"--pipeline", "a", "--for", "2h"},
		{"--pipeline", "a", "--for", "2h", "--until", time.Now().Add(time.Hour).Format(time.RFC3339), "--reason", "x"},
	} {
		if got := s.run(append([]string{"silence", "add"}, args...)...); got.code != 2 || !strings.Contains(got.stderr, "--") {
			t.Errorf("%v: got %+v", args, got)
		}
	}
	s.must(1, "silence", "end", "s-00000000")
}
