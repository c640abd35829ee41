//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

// through returns an exec of orders through a relay.
func (d *daemon) through(r *relay, script string, flags ...string) *exec.Cmd {
	cmd := d.command(slices.Concat([]string{"exec", "orders", "--date", execDay}, flags, []string{"--", "sh", "-c", script})...)
	cmd.Env = append(cmd.Env, "INTERLOCK_SERVER="+r.URL)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal, as under cron
	return cmd
}

// deaf returns the address of a server that accepts connections and never answers.
func deaf(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // the test is over
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() }) // the test is over
		}
	}()
	return "http://" + listener.Addr().String()
}

func TestServerThatNeverAnswersIsUnreachable(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	g := newGround(t, builtBinary(t), "")
	t.Parallel()
	d, address := &daemon{ground: g}, deaf(t)
	for onUnreachable, want := range map[string]finished{
		"closed": {code: exitUnreached, stderr: "did not answer within 10s; sh did not run"},
		"open":   {code: 4, stdout: "it ran\n", stderr: "without the gate"},
	} {
		t.Run(onUnreachable, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			cmd := d.command("exec", "orders", "--server", address, "--on-unreachable", onUnreachable, "--", "sh", "-c", "echo it ran; exit 4")
			got := runToEnd(t, cmd)
			if got.code != want.code || got.stdout != want.stdout || !strings.Contains(got.stderr, want.stderr) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A claim whose answer was lost may have been granted: it is asked again with the same key.
func TestLostAnswerToAClaimIsAskedAgain(t *testing.T) {
	d := execGround(t, "")
	for name, f := range map[string]fault{"lost": answerLostOnce} {
		r := relayTo(t, d.url)
		r.on("claim", f)
		got := d.ends(d.through(r, "echo ran", "--on-unreachable", "open"))
		if got != (finished{0, "ran\n", ""}) || r.count("claim") != 2 || len(r.claimKeys()) != 1 {
			t.Errorf("%s: got %+v after %d claims with the keys %q", name, got, r.count("claim"), r.claimKeys())
		}
	}
	if run := d.reaches(execRun, client.Completed); run.Attempt != 1 {
		t.Errorf("it took %d attempts", run.Attempt)
	}
}

// Once a claim was sent, or the server has answered for the run, another worker may have it.
func TestOpenIsForAServerThatHasNotAnsweredForTheRun(t *testing.T) {
	d := execGround(t, "")
	d.pipeline("late", strings.ReplaceAll(externalJob, "landed", "arrived"))
	until(t, "the pipeline is active", func() bool {
		_, err := d.api.Gate(t.Context(), "late", execDay)
		return err == nil
	})
	t.Run("the answers to claims are lost", func(t *testing.T) {
		t.Parallel()
		r := relayTo(t, d.url)
		r.on("claim", answerLost)
		r.on("heartbeat", severed)
		got := runToEnd(t, d.through(r, "echo ran", "--on-unreachable", "open"))
		if got.code != exitUnreached || got.stdout != "" || !strings.Contains(got.stderr, "another worker may have the run") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("the server went away during the wait", func(t *testing.T) {
		t.Parallel()
		r := relayTo(t, d.url)
		cmd := d.command("exec", "late", "--server", r.URL, "--date", execDay, "--wait", "8s", "--on-unreachable", "open", "--", "echo", "ran")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "the server has answered", func() bool { return r.count("gate") > 1 })
		r.on("", severed)
		r.on("gate", severed)
		r.CloseClientConnections()
		_ = cmd.Wait() // the result is in ProcessState
		if code := cmd.ProcessState.ExitCode(); code != exitUnreached || !strings.Contains(stderr.String(), "another worker may have the run") {
			t.Errorf("exit code %d: %s", code, stderr.String())
		}
	})
}

// stubborn returns a script that ignores SIGTERM, as do its child, and a grandchild with a session
// of its own. They write their process ids to files.
func (d *daemon) stubborn() string {
	d.Helper()
	for _, program := range []string{"setsid"} {
		if _, err := exec.LookPath(program); err != nil {
			d.Skip("there is no " + program)
		}
	}
	note := func(name string) string { return fmt.Sprintf("echo $$ >%[1]s.part; mv %[1]s.part %[1]s", d.path(name)) }
	d.write("far.sh", "trap '' TERM\n"+note("far")+"\nwhile :; do sleep 0.05; done\n")
	d.write("near.sh", "trap '' TERM\n(setsid sh "+d.path("far.sh")+" &)\n"+note("near")+"\nwhile :; do sleep 0.05; done\n")
	return "trap '' TERM; sh " + d.path("near.sh") + " & " + note("self") + "; while :; do sleep 0.05; done"
}

// stubbornPIDs waits until they run.
func (d *daemon) stubbornPIDs() map[string]int {
	d.Helper()
	return map[string]int{"self": d.pid("self"), "near": d.pid("near"), "far": d.pid("far")}
}

// stopsAll checks that exec and all that it has started end, and returns exec's exit code.
func (d *daemon) stopsAll(cmd *exec.Cmd, pids map[string]int) int {
	d.Helper()
	_ = cmd.Wait() // the result is in ProcessState
	if left := living(pids); len(left) > 0 {
		d.Errorf("exec has ended, but not %v of %v", left, pids)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // after a failure
	}
	return cmd.ProcessState.ExitCode()
}

// The relay shortens the heartbeat of the claim, so that the test need not wait.
func TestCommandIsStoppedBeforeAnotherWorkerMayStart(t *testing.T) {
	d := execGround(t, "")
	r := relayTo(t, d.url)
	const heartbeat = 12
	r.claim = map[string]any{"onSilence": "stop", "heartbeatSeconds": heartbeat}
	cmd := d.through(r, d.stubborn(), "--grace", "1h")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := d.stubbornPIDs()
	until(t, "a heartbeat", func() bool { return r.count("heartbeat") > 0 })
	began := time.Now()
	r.on("heartbeat", unanswered)
	for _, pid := range pids {
		until(t, "the command and its descendants are gone", func() bool { return gone(pid) })
	}
	if took := time.Since(began); took > heartbeat*time.Second {
		t.Errorf("they were stopped after %s; another worker may start after %ds", took, heartbeat)
	}
	if code := d.stopsAll(cmd, pids); code != exitBySignal+int(syscall.SIGKILL) {
		t.Errorf("exit code %d", code)
	}
	run := d.reaches(execRun, client.Triggering)
	if first := run.Attempts[0]; *first.Category != "TRANSIENT" || !strings.Contains(*first.Message, "acknowledged no heartbeat") {
		t.Errorf("reported %+v", first)
	}
}

// Only 409 with done or lost says that the permit is no longer valid.
func TestFailedHeartbeatsStopNoCommand(t *testing.T) {
	d := execGround(t, "")
	r := relayTo(t, d.url)
	r.claim = map[string]any{"heartbeatSeconds": 3}
	cmd := d.through(r, "until test -e "+d.path("end")+"; do sleep 0.05; done; echo over")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []fault{unanswered, severed, badGateway, forbidden, answerLost} {
		r.on("heartbeat", f)
		before := r.count("heartbeat")
		until(t, "more heartbeats", func() bool { return r.count("heartbeat") > before+1 })
	}
	d.write("end", "")
	if err := cmd.Wait(); err != nil || stdout.String() != "over\n" {
		t.Errorf("%v: %s", err, stdout.String())
	}
	d.reaches(execRun, client.Completed)
}

func TestCancelledCommandAlwaysEnds(t *testing.T) {
	d := execGround(t, "")
	r := relayTo(t, d.url)
	r.claim = map[string]any{"heartbeatSeconds": 3}
	cmd := d.through(r, d.stubborn())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := d.stubbornPIDs()
	if got := d.interlock("cancel", "orders", "--date", execDay, "--reason", "test"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if code := d.stopsAll(cmd, pids); code != exitBySignal+int(syscall.SIGKILL) {
		t.Errorf("exit code %d", code)
	}
}

func TestCommandThatCannotBeRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	g := newGround(t, builtBinary(t), "")
	t.Parallel()
	d := &daemon{ground: g}
	g.write("plain", "echo it ran\n")
	if err := os.Mkdir(g.path("folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{
		g.path("folder"): exitNotRunnable, g.path("plain"): exitNotRunnable, "./folder": exitNotRunnable, "plain": exitNotRunnable,
		g.path("gone"): exitNotFound, "./gone": exitNotFound, "gone": exitNotFound, "": exitNotFound, filepath.Join(g.path("plain"), "below"): exitNotFound,
	} {
		cmd := d.command("exec", "orders", "--server", "http://127.0.0.1:1", "--", name)
		cmd.Env = append(cmd.Env, "PATH="+g.dir)
		if got := d.ends(cmd); got.code != want || !strings.Contains(got.stderr, "nothing was claimed") {
			t.Errorf("%s: got %+v, want %d", name, got, want)
		}
	}
}
