package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

func followLogs(s *service, args ...string) *following {
	f := &following{code: make(chan int, 1)}
	go func() {
		f.code <- execute(append([]string{"logs", "--follow", "--server", s.address}, args...), world{
			stdin: strings.NewReader(""), stdout: &f.stdout, stderr: &f.stderr, getenv: func(string) string { return "" },
			now: func() time.Time { return noon }, terminal: func(io.Writer) bool { return false },
			after: func(time.Duration) <-chan time.Time { return time.After(10 * time.Millisecond) },
		})
	}()
	return f
}

func TestLogsFollowAJobToItsEnd(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	script := fmt.Sprintf(`echo "working on $INTERLOCK_DATE"; while [ ! -e %s ]; do sleep 0.05; done; printf "done, \033[1mall\tof it"`, gate)
	s := serve(t, site{pipelines: map[string]string{
		"orders.yaml":  fmt.Sprintf("pipeline: {id: orders, owner: data}\njob: {type: command, config: {command: [sh, -c, %q]}, pollInterval: 1s}\n", script),
		"watched.yaml": watchedFile,
	}})
	s.must(0, "trigger", "orders", "--date", "2026-03-03")
	f, lines := followLogs(s, "orders/manual/2026-03-03"), followLogs(s, "orders", "--date", "2026-03-03", "--format", "json")
	f.until(t, "working on 2026-03-03\n")
	lines.until(t, `"running":true`)
	if got := s.must(0, "logs", "orders/manual/2026-03-03"); got.stdout != "working on 2026-03-03\n" {
		t.Errorf("output of the running job: %+v", got)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := "working on 2026-03-03\ndone, \uFFFD[1mall\tof it\n"
	if code := <-f.code; code != 0 || f.stdout.String() != want {
		t.Errorf("exit code %d: %q, want %q; %s", code, f.stdout.String(), want, f.stderr.String())
	}
	if code := <-lines.code; code != 0 {
		t.Errorf("exit code %d: %s", code, lines.stderr.String())
	}
	for line := range strings.Lines(lines.stdout.String()) {
		parsed(t, line)
	}
	s.reaches("orders/manual/2026-03-03", client.Completed)
	for _, args := range [][]string{{"orders/manual/2026-03-03", "--attempt", "1"}, {"orders/manual/2026-03-03/1"}, {"orders", "--date", "2026-03-03", "--follow"}} {
		if got := s.must(0, append([]string{"logs"}, args...)...); got.stdout != want {
			t.Errorf("%s: got %+v", args, got)
		}
	}
	if got := parsed(t, s.must(0, "logs", "orders/manual/2026-03-03", "-o", "json").stdout).(map[string]any); fmt.Sprint(got["attempt"]) != "1" || got["running"] != false {
		t.Errorf("got %v", got)
	}
}

func TestLogsFollowTheNewestAttempt(t *testing.T) {
	dir := t.TempDir()
	script := fmt.Sprintf(`echo "try $INTERLOCK_ATTEMPT"; if [ ! -e %[1]s/tried ]; then touch %[1]s/tried; while [ ! -e %[1]s/fails ]; do sleep 0.05; done; exit 75; fi; while [ ! -e %[1]s/gate ]; do sleep 0.05; done; echo done`, dir)
	s := serve(t, site{pipelines: map[string]string{
		"orders.yaml": fmt.Sprintf("pipeline: {id: orders, owner: data}\njob: {type: command, config: {command: [sh, -c, %q]}, pollInterval: 1s, maxRetries: 1, retryBackoff: 1s}\n", script),
	}})
	before := followLogs(s, "orders/manual/2026-03-03") // the run does not exist yet
	s.must(0, "trigger", "orders", "--date", "2026-03-03")
	second := followLogs(s, "orders/manual/2026-03-03", "--attempt", "2")
	f := followLogs(s, "orders/manual/2026-03-03")
	before.until(t, "try 1\n")
	f.until(t, "try 1\n")
	if err := os.WriteFile(filepath.Join(dir, "fails"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.until(t, "try 2\n")
	if err := os.WriteFile(filepath.Join(dir, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		f    *following
		want string
	}{"newest": {f, "try 1\ntry 2\ndone\n"}, "before the run": {before, "try 1\ntry 2\ndone\n"}, "second": {second, "try 2\ndone\n"}} {
		if code := <-c.f.code; code != 0 || c.f.stdout.String() != c.want {
			t.Errorf("%s: exit code %d: %q, want %q; %s", name, code, c.f.stdout.String(), c.want, c.f.stderr.String())
		}
	}
	if got := f.stderr.String(); !in(got, "interlock: attempt 1 failed (exit code 75", "); attempt 2 follows\n") {
		t.Errorf("stderr: %s", got)
	}
	if got := s.must(0, "logs", "orders/manual/2026-03-03", "--follow", "--attempt", "1"); got.stdout != "try 1\n" || in(got.stderr, "follows") {
		t.Errorf("got %+v", got)
	}
	for _, args := range [][]string{{"orders/manual/2026-03-03", "--attempt", "7"}, {"orders/manual/2026-03-04"}} {
		f := followLogs(s, args...)
		if code := <-f.code; code != 1 || !in(f.stderr.String(), "waiting for", " no ") {
			t.Errorf("%s: exit code %d: %s", args, code, f.stderr.String())
		}
	}
}

func TestLogsSayWhyThereAreNone(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"watched.yaml": watchedFile}})
	s.must(0, "trigger", "watched", "--date", "2026-03-03")
	s.reaches("watched/manual/2026-03-03", client.Running)
	if got := s.must(0, "logs", "watched/manual/2026-03-03"); got.stdout != "" || !in(got.stderr, "cannot be read while it runs") {
		t.Errorf("got %+v", got)
	}
	s.must(0, "job", "complete", "watched/manual/2026-03-03", "success")
	s.reaches("watched/manual/2026-03-03", client.Completed)
	if got := s.must(0, "logs", "watched/manual/2026-03-03", "--follow"); got.stdout != "" || !in(got.stderr, "no output of attempt 1") {
		t.Errorf("got %+v", got)
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{1, []string{"watched/manual/2026-03-04"}, "2026-03-04"},
		{1, []string{"watched/manual/2026-03-03", "--attempt", "7"}, "attempt 7"},
		{2, []string{"watched"}, "PIPELINE/SCHEDULE/DATE"},
		{2, []string{"watched/manual/2026-03-03", "--attempt", "0"}, "from 1"},
		{3, []string{"watched/manual/2026-03-03", "--follow", "--server", "http://127.0.0.1:1"}, "127.0.0.1:1"},
	} {
		if got := s.must(c.code, append([]string{"logs"}, c.args...)...); !in(got.stderr, c.want) {
			t.Errorf("%s: got %+v", c.args, got)
		}
	}
}

func TestOnlyNewOutputIsPrinted(t *testing.T) {
	for _, c := range []struct {
		before, now, fresh string
		gap                bool
	}{
		{"", "a\n", "a\n", false},
		{"a\n", "a\nb\n", "b\n", false},
		{"a\nb\n", "b\nc\n", "c\n", false}, // the beginning was cut
		{"a\nb\n", "x\ny\n", "x\ny\n", true},
		{"a\nb\n", "b", "", false}, // less was stored than shown
		{"aé", "éb", "b", false},
	} {
		if fresh, gap := since(c.before, c.now); fresh != c.fresh || gap != c.gap {
			t.Errorf("%q then %q: %q, %v", c.before, c.now, fresh, gap)
		}
	}
}
