package main

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

func TestARefusedStartLeavesNothingBehind(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for name, c := range map[string]struct {
		config string
		folder string // of pipelines, if not the existing one
	}{
		"an address in use":         {config: "listen: " + busy.Addr().String()},
		"no tokens":                 {config: "listen: 0.0.0.0:0"},
		"a token that is not there": {config: "auth: {tokens: [{name: etl, role: sensor, tokenEnv: TEST_UNSET}]}"},
		"a secret of a sink":        {config: "alerts: {slack: {channel: '#data', tokenEnv: TEST_UNSET}}"},
		"no connection string":      {config: "archive: {dsnEnv: TEST_UNSET}"},
		"a wrong connection string": {config: "archive: {dsnEnv: TEST_WRONG}"},
		"no certificate":            {config: "tls: {cert: /nowhere/cert.pem, key: /nowhere/key.pem}"},
		"no folder":                 {folder: "nowhere"},
		"no Redis":                  {config: "store: redis://127.0.0.1:1"},
	} {
		for _, there := range []bool{false, true} {
			dir := t.TempDir()
			folder := filepath.Join(dir, "pipelines")
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "orders.yaml"), []byte("pipeline: {id: orders, owner: tests}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.folder != "" {
				folder = filepath.Join(dir, c.folder)
			}
			file, problems := settings.Parse("interlock.yaml", []byte(c.config))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if file.Listen == settings.Default().Listen {
				file.Listen = "127.0.0.1:0"
			}
			file.Data.Dir = filepath.Join(dir, "data")
			if there {
				emptyStore(t, file.Data.Dir)
			}
			env := map[string]string{"TEST_WRONG": "mysql://nowhere"}
			_, err := newController(t.Context(), file, engine.Folders{Pipelines: []string{folder}},
				surroundings{getenv: func(name string) string { return env[name] }, logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				t.Fatalf("%s: the controller started", name)
			}
			if _, err := os.Stat(file.Data.Dir); !there && !os.IsNotExist(err) {
				t.Errorf("%s: the failed start left a data directory (%v)", name, err)
			}
			if there {
				if n := storedPipelines(t, file.Data.Dir); n != 0 {
					t.Errorf("%s: the failed start left %d accepted pipelines", name, n)
				}
			}
		}
	}
}

// emptyStore creates a data directory with an empty store.
func emptyStore(t *testing.T, dir string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func storedPipelines(t *testing.T, dir string) int {
	t.Helper()
	db, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Pipelines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(rows)
}

func TestServeRefusesAStoreThatIsNotMeant(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		args   []string
		want   string // "" if it gets as far as the Redis, which is not there
	}{
		"several controllers without a store":      {"", []string{"--shared-store"}, "--shared-store: the store is not one that several controllers can share"},
		"several controllers on SQLite":            {"store: sqlite\n", []string{"--shared-store"}, "--shared-store: the store is not one"},
		"settings of a Redis that is not named":    {"redis: {passwordEnv: TEST_UNSET}\n", nil, "redis: the file has settings of a Redis and names none"},
		"two stores":                               {"store: sqlite\nredis: {addr: '127.0.0.1:1'}\n", nil, "redis.addr: store is already set"},
		"several controllers on a Redis":           {"store: redis://127.0.0.1:1/0\n", []string{"--shared-store"}, ""},
		"several controllers, Redis in a block":    {"redis: {addr: '127.0.0.1:1'}\n", []string{"--shared-store"}, ""},
		"several controllers, Redis named by flag": {"redis: {db: 3}\n", []string{"--shared-store", "--store", "redis://127.0.0.1:1/0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			if err := os.Mkdir("pipelines", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("interlock.yaml", []byte("listen: 127.0.0.1:0\n"+c.config), 0o600); err != nil {
				t.Fatal(err)
			}
			got := interlock(append([]string{"serve"}, c.args...)...)
			if got.code == 0 || c.want != "" && !strings.Contains(got.stderr, c.want) {
				t.Errorf("want %q, got %+v", c.want, got)
			}
			if c.want == "" && !strings.Contains(got.stderr, "127.0.0.1:1") {
				t.Errorf("it did not ask the Redis: %+v", got)
			}
			if _, err := os.Stat("interlock-data"); !os.IsNotExist(err) {
				t.Errorf("a refused start left a data directory: %v", err)
			}
		})
	}
}
