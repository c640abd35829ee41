package main

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/archive/pgtest"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/settings"
)

const archiveConfig = "archive: {dsnEnv: TEST_ARCHIVE, interval: 1s}\n"

// metrics returns the body of /metrics.
func (s *service) metrics() string {
	s.t.Helper()
	return s.body("/metrics")
}

// body returns the body of a GET request.
func (s *service) body(path string) string {
	s.t.Helper()
	resp, err := http.Get(s.address + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func TestServerArchives(t *testing.T) {
	dsn := pgtest.Database(t)
	env := map[string]string{"TEST_ARCHIVE": dsn}
	config := write(t, "interlock.yaml", archiveConfig)
	status := func(code int, args ...string) result {
		t.Helper()
		got := call{args: append(append([]string{"archive"}, args...), "--config", config), env: env, after: time.After}.run()
		if got.code != code {
			t.Fatalf("archive %v: %+v", args, got)
		}
		return got
	}
	if got := status(0, "status"); got.stdout != "nothing is archived yet\n" {
		t.Errorf("got %+v", got)
	}
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}, config: archiveConfig, env: env})
	s.must(0, "sensor", "set", "orders", "landed#2026-03-03", "complete=true", "count=1000")
	s.reaches("orders/stream/2026-03-03", client.Completed)
	s.settled()
	s.until("everything is archived", func() bool {
		return in(s.must(0, "health").stdout, "everything is archived") && in(s.metrics(), "interlock_archive_backlog_changes 0\n", "interlock_archive_backlog_seconds 0\n")
	})
	if got := status(0, "status").stdout; !in(got, "runs            1 row\n", "run_logs        2 rows\n", "sweep") {
		t.Errorf("got\n%s", got)
	}
	if got := status(0, "backfill", "--wait"); !in(got.stdout, "everything is copied: ", " rows\n") {
		t.Errorf("got %q", got.stdout)
	}
	status(0, "backfill")
	s.until("it was copied again", func() bool { return in(status(0, "status").stdout, "backfill", "1 row\n") })
	if got := parsed(t, status(0, "status", "--format", "json").stdout); got == nil {
		t.Error("no JSON")
	}
	if got := s.body("/api/v1/pipelines/orders/months"); !in(got, `"month":"2026-03","runs":1,"attempts":1,"jobsStarted":1`, `"count":1`) {
		t.Errorf("the views return %s", got)
	}
}

func TestUnreachableArchiveIsNotReportedAsWrongUse(t *testing.T) {
	config := write(t, "interlock.yaml", archiveConfig)
	for _, args := range [][]string{{"status"}, {"backfill"}} {
		got := call{args: append(append([]string{"archive"}, args...), "--config", config), env: map[string]string{"TEST_ARCHIVE": "host=/nowhere-at-all"}}.run()
		if got.code != exitUnreachable || !in(got.stderr, "Postgres cannot be reached") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestServerWorksWhilePostgresIsDown(t *testing.T) {
	const secret = "host=/nowhere-at-all user=ham password=sesame"
	s := serve(t, site{
		pipelines: map[string]string{"orders.yaml": ordersFile}, config: archiveConfig, env: map[string]string{"TEST_ARCHIVE": secret},
	})
	s.must(0, "sensor", "set", "orders", "landed#2026-03-03", "complete=true", "count=1000")
	s.reaches("orders/stream/2026-03-03", client.Completed)
	var health string
	s.until("the failure is reported", func() bool {
		health = s.must(0, "health").stdout
		return in(health, "events to archive, the oldest from", "Postgres cannot be reached")
	})
	for _, part := range []string{"nowhere-at-all", "ham ", "sesame"} {
		if strings.Contains(health, part) {
			t.Errorf("health leaks %q from the connection string:\n%s", part, health)
		}
	}
	if text := s.metrics(); strings.Contains(text, "interlock_archive_backlog_changes 0\n") || !in(text, "interlock_archive_backlog_changes ") {
		t.Error("the metrics show no backlog")
	}
}

func TestArchiveWithoutConnectionStringIsRefused(t *testing.T) {
	for config, want := range map[string]string{
		"archive: {dsnEnv: TEST_ARCHIVE_UNSET}": "TEST_ARCHIVE_UNSET is not set",
		"archiver: {interval: 1m}":              "archive.dsnEnv",
		"{}":                                    "has no archive",
		"archiver: {enabled: false}":            "has no archive",
	} {
		got := must(t, 2, "archive", "status", "--config", write(t, "interlock.yaml", config))
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%s: got %+v", config, got)
		}
	}
	file, _ := settings.Parse("interlock.yaml", []byte("listen: 127.0.0.1:0\n"+archiveConfig))
	file.Data.Dir = t.TempDir()
	_, err := newController(t.Context(), file, engine.Folders{}, surroundings{logger: slog.New(slog.DiscardHandler), getenv: func(string) string { return "" }})
	if err == nil || !strings.Contains(err.Error(), "TEST_ARCHIVE is not set") {
		t.Errorf("got %v", err)
	}
}
