package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// built is the binary that all tests share. Parallel tests must request it before t.Parallel, so that
// it is built once.
var built struct {
	sync.Mutex
	users int
	dir   string
}

// builtBinary returns the path of the built binary.
func builtBinary(t *testing.T) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.users == 0 {
		build(t)
	}
	built.users++
	t.Cleanup(func() {
		built.Lock()
		defer built.Unlock()
		if built.users--; built.users == 0 {
			if err := os.RemoveAll(built.dir); err != nil {
				t.Error(err)
			}
		}
	})
	return filepath.Join(built.dir, "interlock")
}

// build builds the binary as releases do. The flags of the compiler are those of `make test`, so that
// it compiles no package again.
func build(t *testing.T) {
	t.Helper()
	var err error
	if built.dir, err = os.MkdirTemp("", "interlock-binary-"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=v9.8.7",
		"-o", filepath.Join(built.dir, "interlock"), ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(built.dir) // the build's error matters more
		t.Fatalf("%v: %s", err, out)
	}
}

// TestTheBinaryAnswersWithItsExitCode runs the built binary, as users do, with its own stdin and
// exit code.
func TestTheBinaryAnswersWithItsExitCode(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	binary := builtBinary(t)
	tests := []struct {
		name  string
		args  []string
		stdin string
		code  int
		want  string // in stdout or stderr
	}{
		{"help", nil, "", 0, "Usage:"},
		{"version", []string{"version"}, "", 0, "v9.8.7"},
		{"schema", []string{"schema"}, "", 0, "2020-12"},
		{"valid", []string{"validate", "testdata/pipelines"}, "", 0, "no problems"},
		{"invalid", []string{"validate", "testdata/broken"}, "", 1, "schedul"},
		{"open", []string{"evaluate", "testdata/pipelines/daily.yaml", "--sensors", "-"}, "{}", 0, "gate: open"},
		{"closed", []string{"evaluate", "testdata/pipelines/orders.yaml", "--sensors", "-"}, "{}", 1, "gate: closed"},
		{"zones", []string{"next", "testdata/pipelines/daily.yaml", "--from", "2026-03-08", "--count", "1"}, "", 0, "EDT"},
		{"wrong use", []string{"validate", "--what"}, "", 2, "--what"},
		{"missing path", []string{"validate", "testdata/gone"}, "", 2, "testdata/gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(binary, tt.args...)
			cmd.Stdin = strings.NewReader(tt.stdin)
			out, err := cmd.CombinedOutput()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.want) {
				t.Errorf("exit code %d, want %d and %q in: %s", code, tt.code, tt.want, out)
			}
		})
	}
}

func TestVersionNamesTheBuild(t *testing.T) {
	if got := must(t, 0, "version").stdout; !strings.HasPrefix(got, "interlock dev ("+runtime.Version()) {
		t.Errorf("got %s", got)
	}
	var report map[string]any
	if err := json.Unmarshal([]byte(must(t, 0, "version", "--format", "json").stdout), &report); err != nil {
		t.Fatal(err)
	}
	if _, there := report["commit"]; report["version"] != "dev" || report["go"] != runtime.Version() || !there {
		t.Errorf("got %v", report)
	}
}

func TestSchemaIsJSONSchema(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal([]byte(must(t, 0, "schema").stdout), &schema); err != nil {
		t.Fatal(err)
	}
	if schema["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema is %v", schema["$schema"])
	}
	if _, ok := schema["properties"].(map[string]any)["pipeline"]; !ok {
		t.Errorf("no pipeline among the properties")
	}
}

func TestCompletionIsForFourShells(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := must(t, 0, "completion", shell); !strings.Contains(got.stdout, "interlock") {
			t.Errorf("%s: %.100s", shell, got.stdout)
		}
	}
	if got := must(t, 0, "__complete", "validate", "--format", ""); !strings.Contains(got.stdout, "github") {
		t.Errorf("formats are not completed: %s", got.stdout)
	}
}
