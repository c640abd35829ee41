//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// demoProgram returns a name of the binary that is the test's own: the demo prints commands with that
// path, and processes of it are the test's.
func demoProgram(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the binary and runs it for a minute")
	}
	binary := filepath.Join(t.TempDir(), "interlock")
	if err := os.Link(builtBinary(t), binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

// demoProcess returns a demo on a free port, with its own temporary directory.
func demoProcess(ctx context.Context, binary, temp string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, append([]string{"demo", "--listen", "127.0.0.1:0", "--speed", "20"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

func TestTheDemoTellsItsWholeStory(t *testing.T) {
	binary, temp := demoProgram(t), t.TempDir()
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := demoProcess(ctx, binary, temp).CombinedOutput() // without a terminal it ends by itself
	text := string(out)
	if err != nil || strings.Count(text, "\n  ✓ ") != 8 || strings.Contains(text, "\x1b") {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{
		"http://127.0.0.1:", " status\n", " events --follow\n", "? quality        no reading", "(VALIDATION_PASSED)",
		"earthquake-gold", "(RETRY_SCHEDULED)", "late data rerun 1 of 1; affected downstream: earthquake-gold (LATE_DATA_ARRIVAL)", "(maxDriftReruns: 1 used up); affected downstream: earthquake-gold (LATE_DATA_ARRIVAL)",
		"(RELATIVE_SLA_WARNING)", "(RELATIVE_SLA_BREACH)", "(PIPELINE_EXCLUDED)", "(DRY_RUN_WOULD_TRIGGER)", "(SCHEDULE_MISSED)",
		"The demo has stopped its processes and deleted its files.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the story does not contain %q:\n%s", want, text)
		}
	}
	nothingLeft(t, binary, temp)
}

func TestAnInterruptedDemoLeavesNothingRunning(t *testing.T) {
	binary, temp, project := demoProgram(t), t.TempDir(), filepath.Join(t.TempDir(), "project")
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := demoProcess(ctx, binary, temp, "--data", project, "--stay")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text := bufio.NewScanner(stdout)
	pid := startSleeper(ctx, t, strings.TrimSpace(after(t, text, "API ")), project)
	for _, command := range []string{"status", "explain"} { // as the demo prints them
		words := strings.Fields(binary + after(t, text, binary))
		if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil || words[3] != command {
			t.Errorf("%q: %v: %s", words, err, out)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for text.Scan() {
		said.WriteString(text.Text() + "\n")
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "The demo has stopped its processes.") {
		t.Errorf("%v\n%s%s", err, said.String(), stderr.String())
	}
	nothingLeft(t, binary, temp)
	if !gone(pid) {
		t.Errorf("the job is still running as process %d", pid)
	}
}

// after returns the demo's text after some words, up to the end of the line or a comma.
func after(t *testing.T, text *bufio.Scanner, words string) string {
	t.Helper()
	for text.Scan() {
		if _, rest, found := strings.Cut(text.Text(), words); found {
			said, _, _ := strings.Cut(strings.TrimRight(rest, " "), ",")
			return said
		}
	}
	t.Fatalf("the demo ended without printing %q", words)
	return ""
}

// startSleeper adds a pipeline with a long job to a running demo, and returns the job's process id.
func startSleeper(ctx context.Context, t *testing.T, address, project string) int {
	t.Helper()
	stream := request(ctx, t, http.MethodGet, address+"/api/v1/events/stream?pipeline=sleeper")
	defer stream.Body.Close()
	pipe := filepath.Join(project, "pid")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	file := `{pipeline: {id: sleeper, owner: test}, schedule: {trigger: {key: go, check: exists}},
		job: {type: command, config: {command: [sh, -c, "echo $$ > pid && exec sleep 300"], dir: "` + project + `"}}}`
	if err := os.WriteFile(filepath.Join(project, "pipelines", "sleeper.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	untilEvent(t, bufio.NewScanner(stream.Body), "CONFIG_ACCEPTED")
	request(ctx, t, http.MethodPut, address+"/api/v1/pipelines/sleeper/sensors/go").Body.Close()
	return readNumber(ctx, t, pipe)
}

// request sends a request to the demo's API.
func request(ctx context.Context, t *testing.T, method, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %v, %v", method, url, resp, err)
	}
	return resp
}

// readNumber waits for a line with a number from a pipe.
func readNumber(ctx context.Context, t *testing.T, pipe string) int {
	t.Helper()
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // also as a writer, so that reading does not end at once
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(0, 0)) })()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		t.Fatalf("the job has not written its process id: %v", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// untilEvent reads an event stream until an event of that type.
func untilEvent(t *testing.T, stream *bufio.Scanner, kind string) {
	t.Helper()
	for stream.Scan() {
		data, found := strings.CutPrefix(stream.Text(), "data:")
		var e struct {
			Type string `json:"detail-type"`
		}
		if found && json.Unmarshal([]byte(data), &e) == nil && e.Type == kind {
			return
		}
	}
	t.Fatalf("the stream ended without %s: %v", kind, stream.Err())
}

// nothingLeft fails if a process of the binary is still running (where there is /proc) or files are
// left in its temporary directory.
func nothingLeft(t *testing.T, binary, temp string) {
	t.Helper()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v (%v)", left, err)
	}
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == binary {
			t.Errorf("a process is still running: %s", link)
		}
	}
}
