//go:build unix

package evaluator_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/evaluator"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

const secret = `Zq9"Xv8&Jw7`

// bench is an evaluator, and the request that tests modify.
type bench struct {
	*testing.T
	evaluator *evaluator.Evaluator
	request   probe.Request
}

func newBench(t *testing.T, allow ...string) *bench {
	t.Helper()
	secrets, err := job.NewSecrets([]string{"TOKEN"}, nil, func(string) (string, bool) { return secret, true })
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/home/server", "SERVER_PASSWORD": "none of its business"}
	p, err := period.Parse("2026-03-03T07")
	if err != nil {
		t.Fatal(err)
	}
	return &bench{
		T:         t,
		evaluator: evaluator.New(evaluator.Options{Guard: jobtest.Guard(t, allow...), Secrets: secrets, Getenv: func(name string) string { return env[name] }}),
		request: probe.Request{
			Pipeline: "orders", Period: p, Attempt: 2,
			Probe: pipeline.Probe{Key: "landing", Config: map[string]any{"depth": int64(3), "day": "${DATE}"}, Timeout: time.Minute},
		},
	}
}

// shell makes the probe a shell script.
func (b *bench) shell(script string) *bench {
	b.request.Probe.Command = []string{"sh", "-c", script}
	return b
}

func (b *bench) ask() (probe.Answer, error) {
	b.Helper()
	return b.evaluator.Evaluate(b.Context(), b.request)
}

func (b *bench) answer() probe.Answer {
	b.Helper()
	a, err := b.ask()
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// broken expects a failure of that category with these words.
func (b *bench) broken(category run.Category, words string) {
	b.Helper()
	a, err := b.ask()
	failure := (*probe.Failure)(nil)
	if !errors.As(err, &failure) {
		b.Fatalf("got %v, %v; want a failure", a, err)
	}
	if failure.Category != category || !strings.Contains(failure.Reason, words) {
		b.Errorf("got %s: %s; want %s: %s", failure.Category, failure.Reason, category, words)
	}
	for _, part := range []string{"Zq9", "Xv8", "Jw7"} {
		if strings.Contains(failure.Reason, part) {
			b.Errorf("%q of the secret is in %s", part, failure.Reason)
		}
	}
}

func TestProgramIsAskedOnStdinAndAnswersOnStdout(t *testing.T) {
	b := newBench(t).shell(`question=$(cat); echo noise >&2; printf '{"status":"PASS","value":{"asked":%s},"reason":"all there"}' "$question"`)
	a := b.answer()
	asked := a.Value["asked"].(map[string]any)
	deadline, err := time.Parse(time.RFC3339, asked["deadline"].(string))
	if err != nil || time.Until(deadline) > time.Minute || time.Until(deadline) < -time.Hour {
		t.Errorf("deadline %v, %v", asked["deadline"], err)
	}
	delete(asked, "deadline")
	want := map[string]any{
		"protocol": int64(1), "pipelineId": "orders", "traitType": "landing", "period": "2026-03-03T07", "attempt": int64(2),
		"config": map[string]any{"depth": int64(3), "day": "2026-03-03"},
	}
	if diff := cmp.Diff(want, asked); diff != "" || a.Status != probe.Pass || a.Reason != "all there" {
		t.Errorf("answered %+v; asked (-want +got):\n%s", a, diff)
	}
}

func TestProgramThatIgnoresStdinMayAnswer(t *testing.T) {
	b := newBench(t).shell(`echo '{"status":"FAIL"}'`)
	b.request.Probe.Config["long"] = strings.Repeat("x", 1<<20)
	if a := b.answer(); a.Status != probe.Fail {
		t.Errorf("got %+v", a)
	}
}

func TestProgramSeesNothingOfTheServersEnvironment(t *testing.T) {
	b := newBench(t).shell(`printf '{"status":"PASS","value":{"env":"%s"}}' "$(env | sort | tr '\n' ' ')"`)
	b.request.Probe.Env = map[string]string{"MODE": "full ${HOUR}"}
	env := b.answer().Value["env"].(string)
	for _, want := range []string{"MODE=full 07", "INTERLOCK_DATE=2026-03-03", "INTERLOCK_HOUR=07", "INTERLOCK_PERIOD=2026-03-03T07", "INTERLOCK_PIPELINE=orders", "INTERLOCK_PROBE=landing", "HOME=/home/server"} {
		if !strings.Contains(env, want) {
			t.Errorf("no %s in %s", want, env)
		}
	}
	if strings.Contains(env, "SERVER_PASSWORD") {
		t.Errorf("it sees %s", env)
	}
}

func TestProgramsThatAreTurnedOffAreNotRun(t *testing.T) {
	b := newBench(t).shell("echo '{}'")
	b.evaluator.Programs.Off = true
	if _, err := b.ask(); err == nil || !strings.Contains(err.Error(), "jobs: {command: on}") {
		t.Errorf("got %v", err)
	}
}

// TestProgramRunsAsAnotherUser runs a probe as nobody, which requires root; it is skipped
// otherwise.
func TestProgramRunsAsAnotherUser(t *testing.T) {
	b := newBench(t).shell(`echo "{\"status\": \"PASS\", \"value\": {\"who\": \"$(id -un) $USER\"}}"`)

	var err error
	if b.evaluator.Programs.User, err = program.FindUser("nobody"); err != nil {
		t.Fatal(err)
	}
	answer, err := b.ask()
	if os.Geteuid() != 0 {
		if err == nil || !strings.Contains(err.Error(), "operation not permitted") {
			t.Errorf("got %v", err)
		}
		return
	}
	if err != nil || answer.Value["who"] != "nobody nobody" {
		t.Errorf("got %+v, %v", answer, err)
	}
}

func TestProgramThatFailsIsBroken(t *testing.T) {
	newBench(t).shell(`echo '{"status":"PASS"}'; echo first >&2; echo "no such table" >&2; exit 3`).broken(run.Transient, "exited with code 3: no such table")
	newBench(t).shell(`kill -9 $$`).broken(run.Transient, "was killed by signal 9")
	newBench(t).shell(`echo "Traceback" >&2; echo oops`).broken(run.Permanent, "anything else to stderr: Traceback")
	newBench(t).shell(`true`).broken(run.Permanent, "its answer is empty")
	b := newBench(t)
	b.request.Probe.Command = []string{"no-such-program-anywhere"}
	b.broken(run.Permanent, `command: no program "no-such-program-anywhere" in PATH`)
	b.request.Probe.Command = []string{filepath.Join(t.TempDir(), "missing.sh")}
	b.broken(run.Permanent, "cannot be executed: no such file or directory")
}

// gone waits until the process whose id is in the file has ended.
func (b *bench) gone(file string) {
	b.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		b.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; {
		stat, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err := syscall.Kill(pid, 0); err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("process %d is still there", pid)
		}
		syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 5000})
	}
}

func TestProgramThatHangsIsEnded(t *testing.T) {
	b := newBench(t).shell(`trap '' TERM; while :; do sleep 3600; done`)
	b.request.Probe.Timeout = time.Second
	b.broken(run.Timeout, "did not answer within its timeout of 1s")
}

func TestLeftoverChildIsEndedAndTheAnswerCounts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	b := newBench(t).shell(`sleep 3600 & echo $! >` + file + `; echo '{"status":"PASS"}'`)
	if a := b.answer(); a.Status != probe.Pass {
		t.Errorf("got %+v", a)
	}
	b.gone(file)
}

func TestProgramThatFloodsIsEnded(t *testing.T) {
	newBench(t).shell(`while :; do echo 0123456789012345678901234567890123456789; done`).broken(run.Permanent, "printed more than 64 KiB")
	newBench(t).shell(`i=0; while [ $i -lt 20000 ]; do echo 0123456789 >&2; i=$((i+1)); done; echo '{"status":"PASS"}'; exit 1`).broken(run.Transient, "exited with code 1: 0123456789")
}

func TestCancelledProbeReturnsAndLeavesNoProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "pid")
	b := newBench(t).shell(`trap '' TERM; (trap '' TERM; while :; do sleep 3600; done) & echo $! >` + file + `.new; mv ` + file + `.new ` + file + `; wait`)
	go func() {
		for {
			if _, err := os.Stat(file); err == nil {
				cancel()
				return
			}
			syscall.Select(0, nil, nil, nil, &syscall.Timeval{Usec: 5000})
		}
	}()
	if _, err := b.evaluator.Evaluate(ctx, b.request); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	b.gone(file)
}

func TestSecretsReachOnlyTheProbe(t *testing.T) {
	b := newBench(t).shell(`echo "token $TOKEN" >&2; exit 1`)
	b.request.Probe.Env = map[string]string{"TOKEN": "${env:TOKEN}"}
	b.broken(run.Transient, "exited with code 1: token ***")
	b.shell(`printf '{"status":"PASS","value":{"length":%d,"told":"%s"}}' \${#TOKEN} "$(printf %s "$TOKEN" | sed 's/"/\\"/g')"`)
	if diff := cmp.Diff(sensor.Fields{"length": int64(len(secret)), "told": "***"}, b.answer().Value); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.request.Probe.Env["TOKEN"] = "${env:OTHER}"
	b.broken(run.Permanent, "env: TOKEN: ${env:OTHER} may not be read; add OTHER to secrets.env in the server's file")
}

func (b *bench) serve(answer http.HandlerFunc) *bench {
	server := httptest.NewServer(answer)
	b.Cleanup(server.Close)
	b.request.Probe.URL = server.URL
	return b
}

func TestEndpointIsSentTheQuestion(t *testing.T) {
	var asked map[string]any
	b := newBench(t, "127.0.0.1").serve(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer "+secret || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusTeapot)
		}
		json.NewDecoder(r.Body).Decode(&asked)
		w.Write([]byte(`{"status": "FAIL", "value": {"rows": 12}, "reason": "too few", "failureCategory": "TRANSIENT"}`))
	})
	b.request.Probe.Headers = map[string]string{"Authorization": "Bearer ${env:TOKEN}"}
	want := probe.Answer{Status: probe.Fail, Value: sensor.Fields{"rows": int64(12)}, Reason: "too few", Category: "TRANSIENT"}
	if diff := cmp.Diff(want, b.answer()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if asked["pipelineId"] != "orders" || asked["period"] != "2026-03-03T07" {
		t.Errorf("asked %v", asked)
	}
}

func TestEndpointThatGivesNoAnswerIsBroken(t *testing.T) {
	respond := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			w.Write([]byte(body))
		}
	}
	newBench(t, "127.0.0.1").serve(respond(500, "database down")).broken(run.Transient, "answered 500 Internal Server Error: database down")
	newBench(t, "127.0.0.1").serve(respond(404, "")).broken(run.Permanent, "answered 404 Not Found")
	newBench(t, "127.0.0.1").serve(respond(200, "fine")).broken(run.Permanent, "not one JSON object")
	newBench(t, "127.0.0.1").serve(respond(200, strings.Repeat("x", 100<<10))).broken(run.Permanent, "answered with more than 64 KiB")
	newBench(t).serve(respond(200, `{"status":"PASS"}`)).broken(run.Permanent, "egress.allow")
	b := newBench(t, "127.0.0.1").serve(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // otherwise the end of the connection goes unnoticed
		<-r.Context().Done()
	})
	b.request.Probe.Timeout = 100 * time.Millisecond
	b.broken(run.Timeout, "did not answer within its timeout of 100ms")
}

func TestRelativePathsAreTakenFromTheProjectDirectory(t *testing.T) {
	project := t.TempDir()
	if err := os.Mkdir(filepath.Join(project, "pipelines"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nprintf '{\"status\": \"PASS\", \"value\": {\"dir\": \"%s\"}}' \"$PWD\"\n"
	if err := os.WriteFile(filepath.Join(project, "count.sh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.request.File = filepath.Join(project, "pipelines", "orders.yaml")
	b.request.Probe.Command = []string{"./count.sh"}
	if got, err := b.ask(); err != nil || got.Value["dir"] != project {
		t.Errorf("a command: %+v, %v", got, err)
	}
	b.request.Probe.Command, b.request.Probe.Builtin = nil, "file-freshness"
	b.request.Probe.Config = map[string]any{"path": "count.sh"}
	if got, err := b.ask(); err != nil || got.Value["count"] != int64(1) {
		t.Errorf("a file: %+v, %v", got, err)
	}
}
