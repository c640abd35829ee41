package main

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
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
