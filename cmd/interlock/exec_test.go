//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
)

const (
	execDay = "2026-03-03"
	execRun = "orders/manual/" + execDay
)

// externalJob is a pipeline whose job workers run on demand. No attempt is lost while a test runs.
const externalJob = `validation: {rules: [{key: landed, check: exists}]}
job: {type: external, config: {heartbeat: 10m}, maxRetries: 1, retryBackoff: 1s}
`

// execGround starts a server with the pipeline orders, whose gate is open.
func execGround(t *testing.T, config string) *daemon {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the binary")
	}
	g := newGround(t, builtBinary(t), config)
	t.Parallel()
	g.pipeline("orders", externalJob)
	d := g.start()
	d.put("orders", "landed", map[string]any{})
	return d
}

// finished is the result of a command.
type finished struct {
	code           int
	stdout, stderr string
}

// interlock runs the binary as a client of the server.
func (d *daemon) interlock(args ...string) finished {
	d.Helper()
	return d.ends(d.command(args...))
}

func (d *daemon) command(args ...string) *exec.Cmd {
	cmd := exec.Command(d.binary, args...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "INTERLOCK_SERVER="+d.url, "INTERLOCK_CONFIG_HOME="+d.dir)
	return cmd
}

func (d *daemon) ends(cmd *exec.Cmd) finished {
	d.Helper()
	return runToEnd(d.T, cmd)
}

// runToEnd runs a command until it ends.
func runToEnd(t *testing.T, cmd *exec.Cmd) finished {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Error(err)
		return finished{code: -1}
	}
	return finished{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// exec runs a shell script under the gate of orders.
func (d *daemon) exec(script string, flags ...string) finished {
	d.Helper()
	return d.interlock(slices.Concat([]string{"exec", "orders", "--date", execDay}, flags, []string{"--", "sh", "-c", script})...)
}

func TestExecRunsTheCommandOnceAndPassesAllThrough(t *testing.T) {
	d := execGround(t, "")
	cmd := d.command("exec", "orders", "--date", execDay, "--worker", "nightly", "--", "sh", "-c",
		`cat; echo "$1|$INTERLOCK_PIPELINE|$INTERLOCK_DATE|$INTERLOCK_ATTEMPT|$INTERLOCK_RUN_ID"; echo oh >&2; test -n "$TRACEPARENT"`, "sh", "")
	cmd.Stdin = strings.NewReader("from stdin\n")
	got := d.ends(cmd)
	want := finished{0, "from stdin\n|orders|" + execDay + "|1|" + execRun + "/1\n", "oh\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(finished{})); diff != "" {
		t.Errorf("-want +got: %s", diff)
	}
	r := d.reaches(execRun, client.Completed)
	if r.Worker == nil || *r.Worker != "nightly" || r.Attempts[0].Output == nil || !strings.Contains(*r.Attempts[0].Output, "from stdin") {
		t.Errorf("the run shows %+v", r)
	}
	if again := d.exec("echo again"); again != (finished{}) {
		t.Errorf("exec on a COMPLETED run: %+v", again)
	}
}

func TestExecExitsWithTheCommandsCode(t *testing.T) {
	d := execGround(t, "")
	if got := d.exec("echo no such table >&2; exit 2"); got.code != 2 || got.stdout != "" {
		t.Errorf("got %+v", got)
	}
	first := d.reaches(execRun, client.Triggering).Attempts[0] // the second attempt is offered
	if first.ExitCode == nil || *first.ExitCode != 2 || first.Category == nil || *first.Category != "PERMANENT" || *first.Message != "exit code 2: no such table" {
		t.Errorf("got %+v", first)
	}
	if got := d.exec("kill -KILL $$", "--wait", "30s"); got.code != 128+9 {
		t.Errorf("got %+v", got)
	}
	second := d.reaches(execRun, client.Triggering)
	if second.Attempt != 3 || *second.Attempts[1].Category != "TRANSIENT" || !strings.Contains(*second.Attempts[1].Message, "signal 9") {
		t.Errorf("got %+v", second.Attempts)
	}
}

func TestExecReportsNoTokens(t *testing.T) {
	d := execGround(t, "")
	const token = "runner-token-0123456789"
	cmd := d.command("exec", "orders", "--date", execDay, "--", "sh", "-c", `echo "$INTERLOCK_TOKEN|$INTERLOCK_CALLBACK_TOKEN"; exit 2`)
	cmd.Env = append(cmd.Env, "INTERLOCK_TOKEN="+token)
	got := d.ends(cmd)
	_, permit, _ := strings.Cut(strings.TrimSpace(got.stdout), "|")
	if got.code != 2 || got.stdout != token+"|"+permit+"\n" || len(permit) < 80 {
		t.Errorf("the command printed %+v", got)
	}
	first := d.reaches(execRun, client.Triggering).Attempts[0]
	if *first.Message != "exit code 2: ***|***" || *first.Output != "***|***\n" {
		t.Errorf("reported %q with output %q", *first.Message, *first.Output)
	}
}

func TestExecSaysWhyItDoesNotRun(t *testing.T) {
	d := execGround(t, "")
	d.pipeline("closed", "schedule: {cron: '0 0 * * *'}\nvalidation: {rules: [{key: a, check: exists}, {key: b, check: exists}]}\njob: {type: external}\n")
	d.pipeline("excluded", "schedule: {exclude: {dates: ['"+execDay+"']}}\njob: {type: external}\n")
	d.pipeline("hourly", "schedule: {timezone: Europe/Berlin, period: hour}\njob: {type: external}\n")
	d.pipeline("jobless", "")
	d.pipeline("missed", "schedule: {cron: '0 0 * * *'}\njob: {type: external}\n")
	d.pipeline("own", "job: {type: command, config: {command: [load]}}\n")
	d.pipeline("paused", "job: {type: external}\n")
	d.pipeline("rejected", "schedul: {}\n")
	until(t, "the pipelines are active", func() bool {
		page, err := d.api.Pipelines(t.Context(), client.Paging{})
		return err == nil && len(page.Items) == 9
	})
	if _, err := d.api.Pause(t.Context(), "paused", client.PauseRequest{Asked: client.Asked{Reason: "maintenance"}}); err != nil {
		t.Fatal(err)
	}
	held, err := d.api.Acquire(t.Context(), client.AcquireRequest{Pipeline: "orders", Date: execDay, Worker: "another"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"closed", "--date", execDay}, 100, "b: no reading"},
		{[]string{"closed", "--date", execDay, "--wait", "100ms"}, 100, "b: no reading"},
		{[]string{"orders", "--date", execDay}, 101, "another"},
		{[]string{"excluded", "--date", execDay}, 102, "excludes"},
		{[]string{"paused", "--date", execDay}, 102, "maintenance"},
		{[]string{"rejected"}, 102, "schedul"},
		{[]string{"nothing"}, 102, "no pipeline"},
		{[]string{"orders", "--date", "2026-02-30"}, 102, "day 30 does not exist"},
		{[]string{"hourly", "--date", "2026-03-29T02"}, 102, "use 2026-03-29T03"},
		{[]string{"missed", "--date", execDay}, 102, "interlock trigger missed --date " + execDay},
		{[]string{"jobless", "--date", execDay}, 2, "job: {type: external}"},
		{[]string{"own", "--date", execDay}, 2, "job: {type: external}"},
		{[]string{"orders", "--date", "tomorrow"}, 2, "tomorrow"},
		{[]string{"orders", "--server", "http://127.0.0.1:1"}, 103, "cannot reach"},
	} {
		got := d.interlock(slices.Concat([]string{"exec"}, c.args, []string{"--", "echo", "it ran"})...)
		if got.code != c.code || got.stdout != "" || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: got %+v, want %d and %q", c.args, got, c.code, c.want)
		}
	}
	if got := d.interlock("gate", "missed", "--date", execDay); got.code != 1 || !strings.Contains(got.stdout, "interlock trigger missed --date "+execDay) {
		t.Errorf("the gate of a run that no schedule opened: %+v", got)
	}
	if got := d.interlock("exec", "orders", "--", "no-such-command"); got.code != 127 || !strings.Contains(got.stderr, "no-such-command") {
		t.Errorf("got %+v", got)
	}
	open := d.interlock("exec", "orders", "--server", "http://127.0.0.1:1", "--on-unreachable", "open", "--", "sh", "-c", "echo it ran; exit 4")
	if open.code != 4 || open.stdout != "it ran\n" || !strings.Contains(open.stderr, "without the gate") {
		t.Errorf("got %+v", open)
	}
	full := `{"status": 507, "detail": "nothing was stored: free space", "requestId": "a-1"}`
	for _, c := range []struct {
		status int
		page   string
		code   int
	}{
		{http.StatusOK, "<html>", 103},
		{http.StatusBadGateway, "<html>", 4},
		{http.StatusGatewayTimeout, `{"status": 504}`, 4},
		{http.StatusInsufficientStorage, full, 103},
		{http.StatusServiceUnavailable, strings.ReplaceAll(full, "507", "503"), 103},
	} {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.page)
		}))
		got := d.interlock("exec", "orders", "--server", page.URL, "--on-unreachable", "open", "--", "sh", "-c", "exit 4")
		if got.code != c.code || c.page == full && !strings.Contains(got.stderr, "free space; sh did not run") {
			t.Errorf("%d %s: got %+v, want %d: only a proxy whose server is away counts as unreachable", c.status, c.page, got, c.code)
		}
		page.Close()
	}
	if _, err := held.Finish(t.Context(), client.JobReport{Result: "success"}); err != nil {
		t.Error(err)
	}
}

func TestOnlyOneOfSeveralExecsRuns(t *testing.T) {
	d := execGround(t, "")
	const workers = 4
	results := make(chan finished, workers)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			results <- d.exec("echo ran; until test -e "+d.path("end")+"; do sleep 0.05; done", "--wait", "30s")
		})
	}
	codes := map[int]int{}
	for range workers - 1 {
		codes[(<-results).code]++
	}
	d.write("end", "")
	all.Wait()
	last := <-results
	codes[last.code]++
	if diff := cmp.Diff(map[int]int{0: 1, 101: workers - 1}, codes); diff != "" || last.stdout != "ran\n" {
		t.Errorf("%s, the last one %+v", diff, last)
	}
}

func TestExecWaitsForTheGate(t *testing.T) {
	d := execGround(t, "")
	d.pipeline("late", strings.ReplaceAll(externalJob, "landed", "arrived"))
	until(t, "the pipeline is active", func() bool {
		_, err := d.api.Gate(t.Context(), "late", execDay)
		return err == nil
	})
	done := make(chan finished)
	go func() { done <- d.interlock("exec", "late", "--date", execDay, "--wait", "1h", "--", "echo", "ran") }()
	d.reaches("late/manual/"+execDay, client.Pending)
	d.put("late", "arrived", map[string]any{})
	if got := <-done; got != (finished{0, "ran\n", ""}) {
		t.Errorf("got %+v", got)
	}
}

func TestExecDoesNotReorderOutput(t *testing.T) {
	d := execGround(t, "")
	var both bytes.Buffer
	cmd := d.command("exec", "orders", "--date", execDay, "--", "sh", "-c", "i=0; while [ $i -lt 300 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	if _, err := both.ReadFrom(read); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range 300 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	if diff := cmp.Diff(want.String(), both.String()); diff != "" {
		t.Error(diff)
	}
}

// begun starts an exec whose command runs setup and then writes its process id to a file. It waits
// for the file.
func (d *daemon) begun(setup, script string) (*exec.Cmd, int) {
	d.Helper()
	cmd := d.command("exec", "orders", "--date", execDay, "--", "sh", "-c", setup+"echo $$ >"+d.path("started")+"; mv "+d.path("started")+" "+d.path("pid")+"; "+script)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal, as under cron
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd, d.pid("pid")
}

// pid waits until a file contains a process id.
func (d *daemon) pid(file string) int {
	d.Helper()
	pid := 0
	until(d.T, "the command runs", func() bool {
		text, err := os.ReadFile(d.path(file))
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return false
		}
		_, err = fmt.Sscan(string(text), &pid)
		return err == nil
	})
	return pid
}

// waitsForProgram returns the part of a script that waits for a program, whose process id is in the
// file program.
func (d *daemon) waitsForProgram() string {
	return "sh -c 'echo $$ >" + d.path("program") + "; exec sleep 60'; echo not reached"
}

func TestExecPassesSignalsOn(t *testing.T) {
	d := execGround(t, "")
	cmd, _ := d.begun("trap 'exit 7' TERM; ", "while :; do sleep 0.05; done")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the result is in ProcessState
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d", code)
	}
	if got := d.reaches(execRun, client.Triggering).Attempts[0]; *got.ExitCode != 7 {
		t.Errorf("reported %+v", got)
	}
}

func TestStoppedExecStopsWhatItsScriptHasStarted(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("on other systems the command shares exec's process group")
	}
	d := execGround(t, "")
	cmd, _ := d.begun("", d.waitsForProgram())
	program := d.pid("program")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the result is in ProcessState
	if code := cmd.ProcessState.ExitCode(); code != exitBySignal+int(syscall.SIGTERM) {
		t.Errorf("exit code %d", code)
	}
	until(t, "the program is gone", func() bool { return gone(program) })
}

func TestKilledExecKillsItsCommand(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("only Linux has a parent-death signal")
	}
	d := execGround(t, "")
	cmd, pid := d.begun("", d.waitsForProgram())
	program := d.pid("program")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	until(t, "the command and what it started are gone", func() bool { return gone(pid) && gone(program) })
	if got := d.exec("echo again"); got.code != 101 {
		t.Errorf("want the attempt held until its heartbeat is missed: %+v", got)
	}
}

func TestExecDeliversItsResultToARestartedServer(t *testing.T) {
	d := execGround(t, "")
	cmd, _ := d.begun("", "until test -e "+d.path("end")+"; do sleep 0.05; done; echo over")
	d.kill()
	d.write("end", "")
	next := d.launch("--listen", strings.TrimPrefix(d.url, "http://"))
	if !next.ready() {
		t.Fatal(next.said())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("exec ended with %v", err)
	}
	if r := next.reaches(execRun, client.Completed); r.Attempt != 1 {
		t.Errorf("it took %d attempts", r.Attempt)
	}
}

func TestGateAnswersWithItsExitCode(t *testing.T) {
	d := execGround(t, "")
	d.pipeline("late", strings.ReplaceAll(externalJob, "landed", "arrived"))
	until(t, "the pipeline is active", func() bool {
		_, err := d.api.Gate(t.Context(), "late", execDay)
		return err == nil
	})
	if got := d.interlock("gate", "orders", "--date", execDay); got.code != 0 || !strings.Contains(got.stdout, "orders "+execDay+": open") {
		t.Errorf("got %+v", got)
	}
	if got := d.interlock("gate", "late", "--date", execDay, "--wait", "50ms"); got.code != 1 || !strings.Contains(got.stdout, "arrived") || !strings.Contains(got.stdout, "closed") {
		t.Errorf("got %+v", got)
	}
	if got := d.interlock("gate", "late", "--date", execDay, "--format", "json"); got.code != 1 || !strings.Contains(got.stdout, `"open": false`) {
		t.Errorf("got %+v", got)
	}
	if got := d.interlock("gate", "late", "--server", "http://127.0.0.1:1"); got.code != 3 {
		t.Errorf("got %+v", got)
	}
	if got := d.interlock("gate", "late", "--wait", "soon"); got.code != 2 {
		t.Errorf("got %+v", got)
	}
}
