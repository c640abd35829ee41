package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

var overlaps = flag.Int("overlaps", 3, "how many scenarios TestCommandsOfOneRunNeverOverlap plays; they repeat after 200")

// serverTrouble is what happens to the server while a worker has the run.
type serverTrouble string

const (
	serverWell        serverTrouble = "well"
	serverKilled      serverTrouble = "killed and started at once"
	serverAwayLong    serverTrouble = "killed, and away for longer than a heartbeat"
	serverHangs       serverTrouble = "accepts and does not answer for longer than a heartbeat"
	serverHangsBefore serverTrouble = "does not answer the claim, and is killed then"
)

// workerTrouble is what happens to the first worker.
type workerTrouble string

const (
	workerWell       workerTrouble = "well"
	workerKilled     workerTrouble = "killed"
	workerFails      workerTrouble = "fails"
	claimLost        workerTrouble = "the answer to its claim is lost"
	claimsLostOpen   workerTrouble = "all answers to its claims are lost, with --on-unreachable open"
	cutOff           workerTrouble = "cut off"
	silent           workerTrouble = "its heartbeats are not answered"
	suspendedBriefly workerTrouble = "suspended for less than a heartbeat"
	suspendedLong    workerTrouble = "suspended for longer than a heartbeat"
	deferred         workerTrouble = "announces a silence of two heartbeats"
)

// overlap is one scenario: a worker and another one that stands by, each of which gets into trouble.
type overlap struct {
	*daemon
	server serverTrouble
	worker workerTrouble
	stop   bool // onSilence
	beat   time.Duration
	random *rand.Rand
	exec   *exec.Cmd // the first worker; nil if it is deferred
}

// newOverlap returns the nth scenario.
func newOverlap(n int) *overlap {
	servers := []serverTrouble{serverWell, serverKilled, serverAwayLong, serverHangs, serverHangsBefore}
	workers := []workerTrouble{workerWell, workerKilled, workerFails, claimLost, claimsLostOpen, cutOff, silent, suspendedBriefly, suspendedLong, deferred}
	o := &overlap{random: rand.New(rand.NewPCG(uint64(n), 0)), stop: n%2 == 1}
	n = (n * 37) % 200 / 2 // neighbours differ
	o.server, o.worker = servers[n%len(servers)], workers[n/len(servers)%len(workers)]
	o.beat = 10 * time.Second
	if o.stop {
		o.beat = 30 * time.Second
	}
	return o
}

func (o *overlap) String() string {
	return fmt.Sprintf("server %s, worker %s, stop=%t", o.server, o.worker, o.stop)
}

// TestCommandsOfOneRunNeverOverlap plays scenarios of restarts, silence, kills and suspensions, with a
// second worker that stands by. The commands of a run hold a lock, with all that they start; one that
// finds it held overlaps. Only a suspension longer than a heartbeat may lead to that.
func TestCommandsOfOneRunNeverOverlap(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	builtBinary(t)
	for _, program := range []string{"flock", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	t.Parallel()
	atOnce := make(chan struct{}, 16)
	for n := range *overlaps {
		o := newOverlap(n)
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			o.play(t)
		})
	}
}

const overlapJob = `validation: {rules: [{key: landed, check: exists}]}
job: {type: external, config: {heartbeat: %s, onSilence: %s}, maxRetries: 5, retryBackoff: 1s}
`

func (o *overlap) play(t *testing.T) {
	t.Log(o)
	g := newGround(t, builtBinary(t), "engine: {lease: 4s, triggerBackoff: 1s}\n")
	g.pipeline("orders", fmt.Sprintf(overlapJob, o.beat, map[bool]string{true: "stop", false: "continue"}[o.stop]))
	o.daemon = g.start()
	o.put("orders", "landed", map[string]any{})
	r := relayTo(t, o.url)
	ended := o.first(r)
	until(t, "the first worker has claimed", func() bool {
		return o.noted("begin") > 0 || o.exec != nil && r.count("claim") > 0 && (o.worker == claimsLostOpen || o.server == serverHangsBefore)
	})
	standby := o.command("exec", "orders", "--date", execDay, "--standby", "--wait", "5m", "--", "sh", "-c", o.script())
	standby.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := standby.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(standby) })
	heal := o.troubleWorker(r)
	o.troubleServer(r)
	heal()
	o.elapse(o.beat * time.Duration(o.random.IntN(60)) / 100)
	o.write("end", "")
	<-ended
	_ = standby.Wait() // the result is in ProcessState
	o.judge(standby.ProcessState.ExitCode())
}

// script returns the command: it works until the file end exists. In the first attempt of a worker
// that fails, it fails.
func (o *overlap) script() string {
	fails := ""
	if o.worker == workerFails {
		fails = "mkdir failed 2>/dev/null && exit 1; "
	}
	return `flock -n -E 77 lock sh -c 'echo begin >>log; ` + fails + `until test -e end; do sleep 0.1; done; echo over >>log'; code=$?; ` +
		`test $code = 77 && echo overlap >>log; exit $code`
}

// first starts the first worker; the channel is closed when it has ended.
func (o *overlap) first(r *relay) <-chan struct{} {
	ended := make(chan struct{})
	if o.worker == deferred {
		go func() {
			defer close(ended)
			o.deferring()
		}()
		return ended
	}
	flags := []string{"--wait", "1m"}
	switch {
	case o.worker == claimLost:
		r.on("claim", answerLostOnce)
	case o.worker == claimsLostOpen:
		r.on("claim", answerLost)
		flags = append(flags, "--on-unreachable", "open")
	case o.server == serverHangsBefore:
		r.on("claim", unanswered)
	}
	cmd := o.through(r, o.script(), flags...)
	cmd.Dir = o.dir
	if err := cmd.Start(); err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() { end(cmd) })
	go func() {
		defer close(ended)
		_ = cmd.Wait() // whether it ran is in the log
	}()
	o.exec = cmd
	return ended
}

// deferring claims the run, announces a silence and keeps it, and reports success.
func (o *overlap) deferring() {
	ctx := context.Background()
	key, err := client.ParseRunKey(execRun)
	if err == nil {
		_, err = o.api.Trigger(ctx, client.TriggerRequest{Pipeline: "orders", Date: execDay})
	}
	var c client.Claim
	for end := time.Now().Add(patience); err == nil && c.Permit == "" && time.Now().Before(end); {
		c, _ = o.api.Claim(ctx, key, "deferred") // it is offered in a moment
	}
	if err != nil || c.Permit == "" {
		o.Errorf("the deferred worker has no attempt: %v", err)
		return
	}
	lock, err := os.OpenFile(o.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		o.Error(err)
		return
	}
	defer func() { _ = lock.Close() }() // it is only a lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		o.Errorf("the first worker finds the lock held: %v", err)
	}
	permit := client.Permit(c.Permit)
	if _, err := o.api.Beat(ctx, key, client.Beat{NextWithin: 2 * o.beat, Seq: 1}, permit); err != nil {
		o.Errorf("the silence was refused: %v", err)
	}
	o.note("begin")
	o.elapse(o.beat * 3 / 2)
	o.note("over")
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
		o.Error(err)
	}
	until(o.T, "the deferred worker has reported", func() bool {
		_, err := o.api.Report(ctx, key, client.JobReport{Result: "success"}, permit)
		return err == nil
	})
}

// troubleWorker begins the first worker's trouble, and returns what ends it.
func (o *overlap) troubleWorker(r *relay) (heal func()) {
	heal = func() {}
	length := o.beat / 3
	switch o.worker {
	case workerKilled:
		_ = o.exec.Process.Kill() // it may have ended
	case suspendedLong, suspendedBriefly:
		if o.worker == suspendedLong {
			length = o.beat + 5*time.Second
		}
		o.signal(syscall.SIGSTOP)
		o.elapse(length)
		o.signal(syscall.SIGCONT)
	case cutOff, silent:
		kind, f := "heartbeat", unanswered
		if o.worker == cutOff {
			kind, f = "", severed
		}
		if o.stop {
			length = o.beat * 3 / 2
		}
		r.on(kind, f)
		r.CloseClientConnections()
		o.elapse(length)
		heal = func() { r.on(kind, forwarded) }
		if !o.stop {
			heal() // before the server's trouble, which would make it longer
		}
	case workerWell, workerFails, claimLost, claimsLostOpen, deferred:
	}
	return heal
}

// signal sends a signal to all processes of the first worker's session.
func (o *overlap) signal(s syscall.Signal) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // state, parent, group, session
		if len(fields) > 3 && fields[3] == strconv.Itoa(o.exec.Process.Pid) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			_ = syscall.Kill(pid, s) // it may have ended
		}
	}
}

func (o *overlap) troubleServer(r *relay) {
	restart := func(away time.Duration) {
		o.kill()
		o.elapse(away)
		next := o.launch("--listen", strings.TrimPrefix(o.url, "http://"))
		if !next.ready() {
			o.Fatalf("the server does not start again:\n%s", next.said())
		}
		o.daemon = next
	}
	switch o.server {
	case serverKilled:
		restart(0)
	case serverAwayLong:
		restart(o.beat + 3*time.Second)
	case serverHangs:
		o.check(o.cmd.Process.Signal(syscall.SIGSTOP))
		o.elapse(o.beat + 3*time.Second)
		o.check(o.cmd.Process.Signal(syscall.SIGCONT))
	case serverHangsBefore:
		restart(0)
		if o.worker != claimsLostOpen {
			r.on("claim", forwarded)
		}
	case serverWell:
	}
}

// judge checks what the commands have noted, and how the run has ended.
func (o *overlap) judge(standby int) {
	log, err := os.ReadFile(o.path("log"))
	o.check(err)
	if n := o.noted("overlap"); n > 0 && o.worker != suspendedLong {
		o.Errorf("%d commands overlapped (%s):\n%s%s", n, o, log, o.daemonLog())
	}
	if o.worker == suspendedLong || o.disturbsStandby() {
		return // the page names the first case
	}
	if standby != 0 || o.noted("over") == 0 {
		o.Errorf("the worker that stood by exited with %d (%s):\n%s%s", standby, o, log, o.daemonLog())
	}
	run := o.reaches(execRun, client.Completed)
	healthy := slices.Contains([]workerTrouble{workerWell, claimLost, suspendedBriefly, deferred}, o.worker) && !o.stop
	if healthy && run.Attempt != 1 {
		o.Errorf("a worker that still reported was given up: the run took %d attempts (%s):\n%s", run.Attempt, o, o.daemonLog())
	}
}

// disturbsStandby reports whether the worker that stands by may get into the same trouble: its command
// is stopped, too, or it is the one that fails.
func (o *overlap) disturbsStandby() bool {
	long := o.server == serverAwayLong || o.server == serverHangs
	return o.stop && long || o.worker == workerFails && o.server == serverHangsBefore
}

// noted returns how often the commands have noted a line.
func (o *overlap) noted(line string) int {
	log, _ := os.ReadFile(o.path("log")) // there may be none yet
	return strings.Count(string(log), line+"\n")
}

func (o *overlap) note(line string) {
	f, err := os.OpenFile(o.path("log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
	}
	if err != nil {
		o.Error(err)
		return
	}
	_ = f.Close() // it is only read after this
}

func (o *overlap) daemonLog() string { return o.daemon.said() }

// elapse lets real time pass: the scenarios are about silence of some length.
func (o *overlap) elapse(d time.Duration) {
	<-time.After(d)
}

// end ends what a test has started.
func end(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT) // it may have ended
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
