//go:build unix

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/client"
)

// standby starts an exec that waits for orders, which another worker has. It returns once the
// standby has seen that, with the channel of its result.
func (d *daemon) standby(flags ...string) <-chan finished {
	d.Helper()
	r := relayTo(d.T, d.url)
	cmd := d.through(r, "echo standby ran", append(flags, "--standby")...)
	done := make(chan finished, 1)
	go func() { done <- runToEnd(d.T, cmd) }()
	until(d.T, "the standby waits", func() bool { return r.count("gate") > 1 })
	return done
}

// holder claims orders.
func (d *daemon) holder() *client.Lease {
	d.Helper()
	held, err := d.api.Acquire(d.Context(), client.AcquireRequest{Pipeline: "orders", Date: execDay, Worker: "first"})
	if err != nil {
		d.Fatal(err)
	}
	return held
}

func (d *daemon) finish(held *client.Lease, result string) {
	d.Helper()
	if _, err := held.Finish(d.Context(), client.JobReport{Result: result}); err != nil {
		d.Fatal(err)
	}
}

func TestStandbyEndsWithTheRunOfAnotherWorker(t *testing.T) {
	d := execGround(t, "")
	held := d.holder()
	done, other := d.standby(), d.standby("--wait", "1h")
	d.finish(held, "success")
	for _, got := range []finished{<-done, <-other} {
		if got != (finished{}) {
			t.Errorf("after a success: %+v", got)
		}
	}
}

func TestStandbyTakesTheNextAttempt(t *testing.T) {
	d := execGround(t, "")
	held := d.holder()
	done := d.standby()
	d.finish(held, "fail")
	if got := <-done; got != (finished{0, "standby ran\n", ""}) {
		t.Errorf("got %+v", got)
	}
	if run := d.reaches(execRun, client.Completed); run.Attempt != 2 {
		t.Errorf("the run took %d attempts", run.Attempt)
	}
}

func TestStandbyWithoutACompletedRunExitsWith101(t *testing.T) {
	d := execGround(t, "")
	held := d.holder()
	if got := d.exec("echo ran", "--standby", "--wait", "1s"); got.code != exitHeld || got.stdout != "" || !strings.Contains(got.stderr, "first") {
		t.Errorf("when its wait is over: %+v", got)
	}
	done := d.standby()
	if got := d.interlock("cancel", "orders", "--date", execDay, "--reason", "test"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := <-done; got.code != exitHeld || got.stdout != "" || !strings.Contains(got.stderr, "CANCELLED") {
		t.Errorf("after a cancel: %+v", got)
	}
	_, _ = held.Finish(t.Context(), client.JobReport{Result: "fail"}) // it was cancelled
}

func TestStandbyAndOpenAreWrongUse(t *testing.T) {
	got := call{args: []string{"exec", "orders", "--server", "http://127.0.0.1:1", "--standby", "--on-unreachable", "open", "--", "true"}}.run()
	if got.code != exitUsage || !strings.Contains(got.stderr, "not both") {
		t.Errorf("got %+v", got)
	}
}

func TestExecAsPID1ReapsOrphans(t *testing.T) {
	if err := exec.Command("unshare", "-pf", "--mount-proc", "true").Run(); err != nil {
		t.Skipf("no PID namespace can be made here: %v", err)
	}
	d := execGround(t, "")
	script := `i=0; while [ $i -lt 20 ]; do (sh -c 'exit 3' & exit) & wait $!; i=$((i+1)); done
		tries=0; while grep -lE '^State:.Z' /proc/[0-9]*/status >zombies 2>/dev/null && [ $tries -lt 200 ]; do tries=$((tries+1)); sleep 0.05; done
		echo "PID of exec: $PPID"; wc -l <zombies`
	cmd := exec.Command("unshare", "-pf", "--mount-proc", d.binary, "exec", "orders", "--date", execDay, "--server", d.url, "--", "sh", "-c", script)
	cmd.Dir = d.dir
	if got := d.ends(cmd); got.code != 0 || got.stdout != "PID of exec: 1\n0\n" {
		t.Errorf("got %+v", got)
	}
}
