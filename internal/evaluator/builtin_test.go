//go:build unix

package evaluator_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// fresh makes the probe a file-freshness check with a config.
func (b *bench) fresh(config map[string]any) *bench {
	b.request.Probe.Builtin, b.request.Probe.Config = pipeline.FileFreshness, config
	return b
}

func write(t *testing.T, path, text string, age time.Duration) time.Time {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age).Truncate(time.Second)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return at
}

func TestFreshFilesPass(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "2026-03-03", "a.csv"), "12345", 2*time.Hour)
	newest := write(t, filepath.Join(dir, "2026-03-03", "b.csv"), "123", time.Minute)
	write(t, filepath.Join(dir, "2026-03-03", "b.tmp"), "1234567890", 0)
	write(t, filepath.Join(dir, "2026-03-03", "below", "c.csv"), "1", 0)
	got := newBench(t).fresh(map[string]any{"path": dir + "/${DATE}", "pattern": "*.csv", "maxAge": "1h", "minFiles": int64(2)}).answer()
	want := probe.Answer{Status: probe.Pass, Value: sensor.Fields{
		"count": int64(2), "bytes": int64(8), "file": "b.csv", "newest": newest.UTC().Format(time.RFC3339),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	one := newBench(t).fresh(map[string]any{"path": filepath.Join(dir, "2026-03-03", "a.csv")}).answer()
	if one.Status != probe.Pass || one.Value["count"] != int64(1) || one.Value["bytes"] != int64(5) {
		t.Errorf("a single file: %+v", one)
	}
}

func TestMissingOldFewOrSmallFilesFail(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.csv"), "12345", 2*time.Hour)
	for want, config := range map[string]map[string]any{
		"there is no file at " + dir + "/none": {"path": dir + "/none"},
		"there is no file at " + dir:           {"path": dir, "pattern": "*.parquet"},
		"found 1 files, needs 2":               {"path": dir, "minFiles": int64(2)},
		"found 5 bytes, needs 6":               {"path": dir, "minBytes": int64(6)},
		"the newest file, a.csv, is 2h":        {"path": dir, "maxAge": "1h"},
	} {
		got := newBench(t).fresh(config).answer()
		if got.Status != probe.Fail || !strings.Contains(got.Reason, want) {
			t.Errorf("%v: %+v, want FAIL: %s", config, got, want)
		}
	}
}

func TestConfigInvalidAfterFillingIsAFailure(t *testing.T) {
	newBench(t).fresh(map[string]any{"path": "/x", "maxAge": "${HOUR}"}).broken(run.Permanent, "config.maxAge: ")
}

func TestEndpointStatus(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/2026-03-03" && r.Method == http.MethodHead && r.Header.Get("X-Token") == secret:
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/hangs":
			<-r.Context().Done()
		default:
			http.Error(w, "not yet", http.StatusNotFound)
		}
	}))
	defer server.Close()
	ask := func(allow string, config map[string]any) *bench {
		b := newBench(t, allow)
		b.request.Probe.Builtin, b.request.Probe.Config = pipeline.HTTPStatus, config
		return b
	}
	got := ask("127.0.0.1", map[string]any{"url": server.URL + "/${DATE}", "method": "HEAD", "headers": map[string]any{"X-Token": "${env:TOKEN}"}}).answer()
	if got.Status != probe.Pass || got.Value["code"] != int64(204) {
		t.Errorf("a good answer: %+v", got)
	}
	got = ask("127.0.0.1", map[string]any{"url": server.URL}).answer()
	if got.Status != probe.Fail || got.Reason != "answered 404 Not Found: not yet" || got.Value["code"] != int64(404) {
		t.Errorf("a bad answer: %+v", got)
	}
	if got = ask("127.0.0.1", map[string]any{"url": server.URL, "expect": []any{int64(404)}}).answer(); got.Status != probe.Pass {
		t.Errorf("an expected answer: %+v", got)
	}
	if got = ask("127.0.0.1", map[string]any{"url": server.URL + "/${DATE}", "expect": []any{int64(200)}}).answer(); got.Status != probe.Fail {
		t.Errorf("an unexpected answer: %+v", got)
	}
	slow := ask("127.0.0.1", map[string]any{"url": server.URL + "/hangs"})
	slow.request.Probe.Timeout = 100 * time.Millisecond
	if got = slow.answer(); got.Status != probe.Fail || !strings.Contains(got.Reason, "no answer within the timeout of 100ms") {
		t.Errorf("no answer in time: %+v", got)
	}
	if got = ask("127.0.0.1", map[string]any{"url": "http://127.0.0.1:1"}).answer(); got.Status != probe.Fail || !strings.Contains(got.Reason, "connection refused") {
		t.Errorf("nothing listening: %+v", got)
	}
	ask("10.0.0.0/8", map[string]any{"url": server.URL}).broken(run.Permanent, "egress.allow")
}
