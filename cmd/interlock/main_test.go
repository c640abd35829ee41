package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// noon is the current time in these tests.
var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// call is one run of the command line.
type call struct {
	args     []string
	stdin    string
	env      map[string]string
	terminal bool
	after    func(time.Duration) <-chan time.Time
}

type result struct {
	code           int
	stdout, stderr string
}

func (c call) run() result {
	var stdout, stderr bytes.Buffer
	code := execute(c.args, world{
		stdin: strings.NewReader(c.stdin), stdout: &stdout, stderr: &stderr,
		unsetenv: func(string) error { return nil },
		getenv:   func(name string) string { return c.env[name] },
		now:      func() time.Time { return noon },
		terminal: func(io.Writer) bool { return c.terminal },
		after:    c.after,
	})
	return result{code, stdout.String(), stderr.String()}
}

// interlock runs a command line without a terminal.
func interlock(args ...string) result { return call{args: args}.run() }

// must runs a command line and fails the test unless it exits with that code.
func must(t *testing.T, code int, args ...string) result {
	t.Helper()
	got := interlock(args...)
	if got.code != code {
		t.Fatalf("interlock %s: exit code %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), got.code, code, got.stdout, got.stderr)
	}
	return got
}

// golden compares got with a file in testdata/golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// write creates a file in a new directory and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestOutputIsAsDocumented(t *testing.T) {
	at := []string{"--at", "2026-03-03T06:00:00Z"}
	orders := "testdata/pipelines/orders.yaml"
	tests := []struct {
		golden string
		code   int
		args   []string
	}{
		{"validate.txt", 0, []string{"validate", "testdata/pipelines"}},
		{"validate-broken.txt", 1, []string{"validate", "testdata/broken"}},
		{"validate-broken.json", 1, []string{"validate", "testdata/broken", "--format", "json"}},
		{"validate-broken.github", 1, []string{"validate", "testdata/broken", "--format", "github"}},
		{"evaluate-open.txt", 0, append([]string{"evaluate", orders, "--sensors", "testdata/facts/open.json"}, at...)},
		{"evaluate-open.json", 0, append([]string{"evaluate", orders, "--sensors", "testdata/facts/open.json", "--format", "json"}, at...)},
		{"evaluate-closed.txt", 1, append([]string{"evaluate", orders, "--sensors", "testdata/facts/closed.json"}, at...)},
		{"evaluate-closed.json", 1, append([]string{"evaluate", orders, "--sensors", "testdata/facts/closed.json", "--format", "json"}, at...)},
		{"next-spring.txt", 0, []string{"next", "testdata/pipelines/daily.yaml", "--from", "2026-03-06", "--count", "4"}},
		{"next-autumn.txt", 0, []string{"next", "testdata/pipelines/daily.yaml", "--from", "2026-10-31", "--count", "3"}},
		{"next-autumn-hourly.json", 0, []string{"next", "testdata/pipelines/hourly.yaml", "--from", "2026-11-01T04:00:00Z", "--count", "5", "--format", "json"}},
		{"next-spring-hourly.txt", 0, []string{"next", "testdata/pipelines/hourly.yaml", "--from", "2026-03-08T06:00:00Z", "--count", "4"}},
		{"next-excluded.txt", 0, []string{"next", orders, "--from", "2026-12-24", "--count", "4"}},
		{"next-stream.txt", 0, []string{"next", "testdata/pipelines/stream.yaml", "--count", "2"}},
		{"next-manual.txt", 0, []string{"next", "testdata/pipelines/manual.yaml"}},
		{"next-rehearsal.txt", 0, []string{"next", "testdata/pipelines/rehearsal.yaml", "--count", "1"}},
		{"help.txt", 0, nil},
		{"help-evaluate.txt", 0, []string{"evaluate", "--help"}},
	}
	for _, tt := range tests {
		t.Run(tt.golden, func(t *testing.T) {
			got := must(t, tt.code, tt.args...)
			if got.stderr != "" {
				t.Errorf("stderr: %s", got.stderr)
			}
			golden(t, tt.golden, got.stdout)
		})
	}
}

func TestWrongUseIsExplainedInOneLine(t *testing.T) {
	daily := "testdata/pipelines/daily.yaml"
	tests := []struct {
		name string
		args []string
		want []string // all in stderr
	}{
		{"unknown command", []string{"validat"}, []string{`unknown command "validat"`, `did you mean "validate"?`, "interlock --help"}},
		{"unknown command with flags", []string{"frobnicate", "--now"}, []string{`unknown command "frobnicate"`}},
		{"unknown help topic", []string{"help", "frobnicate"}, []string{"frobnicate"}},
		{"unknown flag", []string{"validate", "--fromat", "json", daily}, []string{"--fromat", "did you mean --format?", "interlock validate --help"}},
		{"unknown flag of the root", []string{"--frobnicate"}, []string{"--frobnicate", "interlock --help"}},
		{"unknown format", []string{"validate", "--format", "xml", daily}, []string{`"xml"`, "text or wide or json or github or sarif or junit"}},
		{"github is for validate alone", []string{"next", "--format", "github", daily}, []string{`"github"`, "text or wide or json"}},
		{"time limit of no platform", []string{"validate", "--time-limit", "4h", daily}, []string{"--platform"}},
		{"time limit", []string{"validate", "--platform", "aws", "--time-limit", "long", daily}, []string{`"long"`, "4h"}},
		{"unknown platform", []string{"validate", "--platform", "azure", daily}, []string{`"azure"`, "aws"}},
		{"validate nothing", []string{"validate"}, []string{"PATH"}},
		{"validate a missing path", []string{"validate", daily, "testdata/gone"}, []string{"testdata/gone", "no such file"}},
		{"validate a folder without pipelines", []string{"validate", "testdata/golden"}, []string{"no pipeline files", "testdata/golden"}},
		{"missing calendars", []string{"validate", daily, "--calendars", "testdata/gone"}, []string{"testdata/gone"}},
		{"evaluate nothing", []string{"evaluate"}, []string{"FILE"}},
		{"evaluate two files", []string{"evaluate", daily, daily}, []string{"one pipeline FILE"}},
		{"evaluate without sensors", []string{"evaluate", daily}, []string{"--sensors"}},
		{"evaluate missing sensors", []string{"evaluate", daily, "--sensors", "testdata/gone.json"}, []string{"testdata/gone.json"}},
		{"evaluate a folder", []string{"evaluate", "testdata/pipelines", "--sensors", "-"}, []string{"testdata/pipelines is a directory"}},
		{"evaluate a missing file", []string{"evaluate", "testdata/gone.yaml", "--sensors", "-"}, []string{"testdata/gone.yaml"}},
		{"bad --at", []string{"evaluate", daily, "--sensors", "-", "--at", "yesterday"}, []string{`"yesterday"`, "2026-03-03T06:00:00Z"}},
		{"sloppy --at", []string{"evaluate", daily, "--sensors", "-", "--at", "2026-03-03T6:00:00Z"}, []string{"--at"}},
		{"bad --date", []string{"evaluate", daily, "--sensors", "-", "--date", "2026-02-30"}, []string{`"2026-02-30"`, "2026-03-03"}},
		{"next nothing", []string{"next"}, []string{"FILE"}},
		{"bad --from", []string{"next", daily, "--from", "tomorrow"}, []string{`"tomorrow"`, "a date like"}},
		{"count zero", []string{"next", daily, "--count", "0"}, []string{`"0"`, "1 to 10000"}},
		{"count too large", []string{"next", daily, "--count", "10001"}, []string{"1 to 10000"}},
		{"count no number", []string{"next", daily, "--count", "many"}, []string{`"many"`, "1 to 10000"}},
		{"schema takes nothing", []string{"schema", "x"}, []string{`"x"`}},
		{"version takes nothing", []string{"version", "x"}, []string{`"x"`}},
		{"completion without shell", []string{"completion"}, []string{"bash", "zsh", "fish", "powershell"}},
		{"the zero time is none", []string{"evaluate", daily, "--sensors", "-", "--at", "0001-01-01T00:00:00Z"}, []string{"--at"}},
		{"nor is it from now on", []string{"next", daily, "--from", "0001-01-01T00:00:00Z"}, []string{"--from"}},
		{"nor for ever", []string{"pause", "orders", "--until", "0001-01-01T00:00:00Z"}, []string{"--until"}},
		{"empty pipeline", []string{"explain", ""}, []string{"explain: argument 1 is empty"}},
		{"empty pipeline to look at", []string{"status", ""}, []string{"status: argument 1 is empty"}},
		{"empty pipeline to stop", []string{"pause", ""}, []string{"pause: argument 1 is empty"}},
		{"empty silence", []string{"silence", "end", ""}, []string{"silence end: argument 1 is empty"}},
		{"empty directory", []string{"init", ""}, []string{"init: argument 1 is empty"}},
		{"empty length of a pause", []string{"pause", "orders", "--for", ""}, []string{"--for", "empty"}},
		{"empty period", []string{"trigger", "orders", "--date", ""}, []string{"--date", "empty"}},
		{"empty period to look at", []string{"runs", "--date", " "}, []string{"--date", "empty"}},
		{"empty type of a silence", []string{"silence", "add", "--pipeline", "orders", "--type", "", "--for", "1h", "--reason", "test"}, []string{"--type", "empty"}},
		{"empty pipeline of events", []string{"events", "--pipeline", ""}, []string{"--pipeline", "empty"}},
		{"empty ttl", []string{"sensor", "set", "orders", "landed", "n=1", "--ttl", ""}, []string{"--ttl", "empty"}},
		{"blank reason to force", []string{"trigger", "orders", "--force", "--reason", " "}, []string{"--reason"}},
		{"blank reason to run again", []string{"rerun", "orders", "--date", "2026-03-03", "--reason", " "}, []string{"--reason"}},
		{"blank reason to be silent", []string{"silence", "add", "--pipeline", "orders", "--for", "1h", "--reason", " "}, []string{"--reason"}},
		{"completion of another shell", []string{"completion", "tcsh"}, []string{`"tcsh"`, "bash"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := must(t, 2, tt.args...)
			if got.stdout != "" {
				t.Errorf("stdout: %s", got.stdout)
			}
			if lines := strings.Count(got.stderr, "\n"); lines > 2 {
				t.Errorf("%d lines of errors: %s", lines, got.stderr)
			}
			for _, want := range tt.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("%q is not in: %s", want, got.stderr)
				}
			}
		})
	}
}

func TestHelpIsThereForEveryCommand(t *testing.T) {
	for _, name := range []string{"validate", "evaluate", "next", "schema", "version", "completion"} {
		asked, flagged := must(t, 0, "help", name), must(t, 0, name, "--help")
		if diff := cmp.Diff(flagged.stdout, asked.stdout); diff != "" {
			t.Errorf("help %s and %s --help differ:\n%s", name, name, diff)
		}
		for _, want := range []string{"Usage:", "Examples:\n", "interlock " + name} {
			if !strings.Contains(asked.stdout, want) {
				t.Errorf("help %s does not contain %q:\n%s", name, want, asked.stdout)
			}
		}
	}
}

func TestAnAnswerThatCannotBeWrittenIsAnError(t *testing.T) {
	var stderr bytes.Buffer
	code := execute([]string{"version"}, world{
		stdin: strings.NewReader(""), stdout: fullDisk{}, stderr: &stderr,
		unsetenv: func(string) error { return nil },
		getenv:   func(string) string { return "" }, now: func() time.Time { return noon },
		terminal: func(io.Writer) bool { return false },
	})
	if code != 2 || !strings.Contains(stderr.String(), errDiskFull.Error()) {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errDiskFull }

var errDiskFull = errors.New("the disk is full")
