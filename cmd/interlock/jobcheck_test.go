package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// jobFile writes a pipeline with that job, and a server file that lets it read TOKEN and connect to
// this machine.
func jobFile(t *testing.T, job string) (pipelineFile, serverFile string) {
	t.Helper()
	dir := t.TempDir()
	pipelineFile, serverFile = filepath.Join(dir, "p.yaml"), filepath.Join(dir, "server.yaml")
	for name, text := range map[string]string{
		pipelineFile: "pipeline: {id: orders, owner: me}\nschedule: {cron: 0 6 * * *}\n" + job,
		serverFile:   "egress: {allow: [127.0.0.1]}\nsecrets: {env: [TOKEN]}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return pipelineFile, serverFile
}

// jobTestOf runs `job test` on a pipeline with that job.
func jobTestOf(t *testing.T, job string, flags ...string) result {
	t.Helper()
	file, server := jobFile(t, job)
	c := call{args: append([]string{"job", "test", file, "--config", server}, flags...), env: map[string]string{"TOKEN": "Zq9Xv8Jw7Kp6", "PATH": "/bin:/usr/bin"}}
	got := c.run()
	if strings.Contains(got.stdout+got.stderr, "Zq9X") {
		t.Errorf("the output contains a secret:\n%s%s", got.stdout, got.stderr)
	}
	return got
}

// aDAG is an Airflow with one DAG, whose runs end in that state. Below /lossy, the answers to start
// calls are lost.
func aDAG(t *testing.T, state string) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	made := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch body, _ := io.ReadAll(r.Body); {
		case r.Header.Get("Authorization") != "Bearer Zq9Xv8Jw7Kp6":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"title": "Unauthorized", "detail": "not with %s"}`, r.Header.Get("Authorization"))
		case r.Method == http.MethodPost && made == "":
			var request struct {
				ID string `json:"dag_run_id"`
			}
			if err := json.Unmarshal(body, &request); err != nil {
				t.Error(err)
			}
			made = request.ID
			if strings.HasPrefix(r.URL.Path, "/lossy") {
				panic(http.ErrAbortHandler)
			}
			fmt.Fprintf(w, `{"dag_run_id": %q, "state": "queued"}`, made)
		case made != "" && strings.HasSuffix(r.URL.Path, made):
			fmt.Fprintf(w, `{"dag_run_id": %q, "state": %q}`, made, state)
		case strings.HasSuffix(r.URL.Path, "/dags/load"):
			io.WriteString(w, `{"dag_id": "load", "is_paused": false}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func airflowJob(url, token string) string {
	return "job: {type: airflow, config: {url: '" + url + "', dagID: load, timeout: 1m, headers: {Authorization: 'Bearer " + token + "'}}}\n"
}

func TestJobIsCheckedWithoutBeingStarted(t *testing.T) {
	dag := aDAG(t, "success")
	marked := filepath.Join(t.TempDir(), "marked")
	tests := map[string]struct {
		job  string
		code int
		want []string
	}{
		"a command":          {"job: {type: command, config: {command: [touch, " + marked + "]}}\n", exitFine, []string{"ok  config", "ok  target"}},
		"a shell's":          {"job: {type: command, config: {command: 'touch " + marked + "', shell: true}}\n", exitFine, []string{"unsure  target", "/bin/sh exists"}},
		"no such program":    {"job: {type: command, config: {command: no-such-program}}\n", exitNo, []string{"no  target", `no program "no-such-program" in PATH (/bin:/usr/bin)`}},
		"a request":          {"job: {type: http, config: {url: '" + dag.URL + "/start'}}\n", exitFine, []string{"unsure  target", "accepts connections"}},
		"nobody there":       {"job: {type: http, config: {url: 'http://127.0.0.1:1'}}\n", exitUnreachable, []string{"unreachable  target", "connection refused"}},
		"a private address":  {"job: {type: http, config: {url: 'http://10.255.255.1/'}}\n", exitNo, []string{"no  target", "egress.allow"}},
		"a DAG":              {airflowJob(dag.URL, "${env:TOKEN}"), exitFine, []string{"unsure  target", `DAG "load" is active`}},
		"a wrong token":      {airflowJob(dag.URL, "x${env:TOKEN}"), exitNo, []string{"no  target", "answered 401 Unauthorized: Unauthorized: not with Bearer x***; the credentials"}},
		"a secret not given": {airflowJob(dag.URL, "${env:OTHER}"), exitNo, []string{"no  config", "add OTHER to secrets.env in the server's file"}},
		"an absent DAG":      {strings.Replace(airflowJob(dag.URL, "${env:TOKEN}"), "load", "other", 1), exitNo, []string{"no  target", `get DAG "other": answered 404`}},
	}
	for name, tt := range tests {
		got := jobTestOf(t, tt.job)
		squeezed := strings.Join(strings.Fields(got.stdout), " ")
		for _, want := range tt.want {
			if !strings.Contains(squeezed, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s: no %q in\n%s", name, want, got.stdout)
			}
		}
		if got.code != tt.code || got.stderr != "" {
			t.Errorf("%s: exit code %d, want %d\n%s%s", name, got.code, tt.code, got.stdout, got.stderr)
		}
	}
	if _, err := os.Stat(marked); err == nil {
		t.Error("a job was started")
	}
}

func TestJobTestRunsTheJobOnce(t *testing.T) {
	type run struct {
		ID, Handle, Result, Message, Output string
		Category                            *string
		ExitCode                            *int
	}
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }))
	defer busy.Close()
	tests := map[string]struct {
		job      string
		code     int
		result   string
		category string
		message  string
	}{
		"a command":        {"job: {type: command, config: {command: 'echo ${DATE} ${SCHEDULE} ${env:TOKEN}'}}\n", exitFine, "success", "", "exit code 0"},
		"one that fails":   {"job: {type: command, config: {command: [sh, -c, 'echo no disk; exit 2']}}\n", exitNo, "fail", "PERMANENT", "exit code 2, no disk"},
		"by its own class": {"job: {type: command, config: {command: [sh, -c, 'echo no disk; exit 2']}, classify: [{match: disk, category: TRANSIENT}]}\n", exitNo, "fail", "TRANSIENT", "exit code 2, no disk"},
		"a DAG":            {airflowJob(aDAG(t, "success").URL, "${env:TOKEN}"), exitFine, "success", "", "the DAG run succeeded"},
		"a lost answer":    {airflowJob(aDAG(t, "success").URL+"/lossy", "${env:TOKEN}"), exitFine, "success", "", "the DAG run succeeded"},
		"one that failed":  {airflowJob(aDAG(t, "failed").URL, "${env:TOKEN}"), exitNo, "fail", "", "the DAG run failed"},
		"a callback":       {"job: {type: http, config: {url: '" + aDAG(t, "").URL + "/dags/load', callback: true, method: GET, headers: {Authorization: 'Bearer ${env:TOKEN}'}}}\n", exitFine, "started", "", "would report its result to a server"},
		"a busy one":       {"job: {type: http, config: {url: '" + busy.URL + "', callback: true}}\n", exitUnreachable, "refused", "TRANSIENT", "answered 429"},
		"a refused one":    {"job: {type: http, config: {url: '" + aDAG(t, "").URL + "', callback: true, method: GET}}\n", exitNo, "refused", "PERMANENT", "answered 401"},
	}
	for name, tt := range tests {
		got := jobTestOf(t, tt.job, "--start", "--format", "json", "--date", "2026-02-01")
		var report struct{ Run run }
		if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, got.stderr)
		}
		r := report.Run
		category := ""
		if r.Category != nil {
			category = *r.Category
		}
		if got.code != tt.code || r.Result != tt.result || category != tt.category || !strings.Contains(r.Message, tt.message) {
			t.Errorf("%s: exit code %d, %s", name, got.code, got.stdout)
		}
		if !strings.HasPrefix(r.ID, "orders/test-") || !strings.HasSuffix(r.ID, "/2026-02-01/1") {
			t.Errorf("%s: id %s", name, r.ID)
		}
		if name == "a command" && (r.Output != "2026-02-01 cron ***\n" || r.ExitCode == nil) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestInterruptedJobTestStopsTheJob(t *testing.T) {
	marked := filepath.Join(t.TempDir(), "marked")
	file, server := jobFile(t, "job: {type: command, config: {command: 'touch "+marked+"; exec sleep 600', shell: true}}\n")
	var out bytes.Buffer
	a := &app{stdout: &out, stderr: io.Discard, now: time.Now, getenv: os.Getenv}
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	done := make(chan error, 1)
	go func() {
		done <- a.jobTest(ctx, file, &jobTestFlags{start: true, trialFlags: &trialFlags{config: server, folders: &folderFlags{}, format: &choice{value: textFormat}}})
	}()
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		if _, err := os.Stat(marked); err == nil {
			break
		}
	}
	giveUp()
	if err := <-done; err == nil || !strings.Contains(out.String(), "interrupted, and was stopped") {
		t.Errorf("got %v\n%s", err, out.String())
	}
}

func TestWrongUseOfJobTestIsExplained(t *testing.T) {
	if got := jobTestOf(t, ""); got.code != exitUsage || !strings.Contains(got.stderr, "has no job") {
		t.Errorf("no job: %+v", got)
	}
	if got := jobTestOf(t, "job: {type: http, config: {url: x}}\n"); got.code != exitUsage || !strings.Contains(got.stderr, "absolute http or https URL") {
		t.Errorf("not valid: %+v", got)
	}
	if got := interlock("job", "test"); got.code != exitUsage || !strings.Contains(got.stderr, "needs a pipeline FILE") {
		t.Errorf("no file: %+v", got)
	}
	if got := interlock("job", "test", "no-such.yaml"); got.code != exitUsage {
		t.Errorf("no such file: %+v", got)
	}
}
