package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/examples"
)

// starter writes the project of init to a new directory.
func starter(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	must(t, 0, "init", dir)
	return dir
}

func TestInitWritesAProjectWithoutProblems(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my first", "project")
	out := must(t, 0, "init", dir).stdout
	err := fs.WalkDir(examples.Starter(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := fs.ReadFile(examples.Starter(), name)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if diff := cmp.Diff(string(want), string(got)); diff != "" || !strings.Contains(out, filepath.Join(dir, name)) {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !in(out, "interlock serve", "'"+dir+"'") {
		t.Errorf("it does not print the next steps: %s", out)
	}
	if got := must(t, 0, "validate", dir).stdout; !strings.Contains(got, "no problems") {
		t.Errorf("got %s", got)
	}
	t.Chdir(dir)
	if got := must(t, 0, "validate", "."); !strings.Contains(got.stdout, "no problems") {
		t.Errorf("got %+v", got)
	}
}

func TestInitHereSaysSo(t *testing.T) {
	t.Chdir(t.TempDir())
	got := must(t, 0, "init").stdout
	if !strings.HasSuffix(got, "\nNow: interlock serve\n") {
		t.Errorf("got %s", got)
	}
}

func TestInitChangesNoExistingFile(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "interlock.yaml")
	if err := os.WriteFile(mine, []byte("# mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := must(t, 2, "init", dir)
	if got.stdout != "" || !in(got.stderr, mine, "already exists") {
		t.Errorf("got %+v", got)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the directory contains %v, %v", left, err)
	}
	if got := must(t, 2, "init", mine); !strings.Contains(got.stderr, mine) {
		t.Errorf("a file instead of a directory: %+v", got)
	}
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	must(t, 0, "init", dir)
	must(t, 2, "init", dir)
}

// TestTheStarterRunsToCompletedAsItIs runs the project that init writes: its server file, pipelines
// and jobs. Only the address differs. The heartbeat pipeline fires every minute; the test triggers
// it instead of waiting.
func TestTheStarterRunsToCompletedAsItIs(t *testing.T) {
	dir := starter(t)
	t.Chdir(dir)
	s := serveStarter(t)
	if got := s.run("trigger", "heartbeat"); got.code != 0 && !strings.Contains(got.stderr, "run heartbeat/cron/") {
		t.Fatalf("heartbeat was not triggered and had not fired just now: %+v", got)
	}
	runs, err := s.client().Runs(context.Background(), client.RunQuery{Pipeline: "heartbeat"})
	if err != nil || len(runs.Items) == 0 {
		t.Fatalf("no run of heartbeat: %v", err)
	}
	beat := runs.Items[0].Key()
	r := s.reaches(beat.String(), client.Completed)
	if r.Attempt != 1 || *r.Attempts[0].Output != "the period is "+beat.Date+"\n" {
		t.Errorf("got %+v", r.Attempts)
	}
	s.must(0, "sensor", "set", "orders", "landed", "date=2026-03-03", "complete=true", "count=1200")
	s.reaches("orders/stream/2026-03-03", client.Completed)
	s.reaches("report/stream/2026-03-03", client.Completed)
	if got := s.must(0, "status").stdout; !strings.Contains(got, "3 pipelines: 3 ok") {
		t.Errorf("got\n%s", got)
	}
}
