package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/interlock-go/interlock/client"
)

const (
	maxTail    = 64 << 10        // how much of the command's output is reported
	maxLine    = 300             // how much of its last line stands in the message
	drainLimit = 5 * time.Second // for output that processes of the command's own still write after its end
)

// The exit codes of commands that say which category a failure has, as in jobs of type command.
const (
	codePermanent = 2
	codeTransient = 75
)

// childEnd is how a command ended.
type childEnd struct {
	exit   int
	signal syscall.Signal // what killed it; 0 if it ended by itself
	output string         // the end of what it printed
}

// code is the exit code of exec itself; nil for 0.
func (e childEnd) code() error {
	switch {
	case e.signal != 0:
		return codeError(exitBySignal + int(e.signal))
	case e.exit != 0:
		return codeError(e.exit)
	}
	return nil
}

// report is the result in the form that the server expects.
func (e childEnd) report() client.JobReport {
	r := client.JobReport{Result: "success", Message: "exit code 0", Output: e.output, ExitCode: &e.exit}
	switch {
	case e.signal != 0:
		r.Result, r.Category, r.ExitCode = "fail", "TRANSIENT", nil
		r.Message = fmt.Sprintf("was killed by signal %d (%s)", int(e.signal), e.signal)
	case e.exit != 0:
		r.Result, r.Message = "fail", withLastLine(fmt.Sprintf("exit code %d", e.exit), e.output)
		switch e.exit {
		case codePermanent:
			r.Category = "PERMANENT"
		case codeTransient:
			r.Category = "TRANSIENT"
		}
	}
	return r
}

// withLastLine adds the last line that was printed.
func withLastLine(text, output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return text
	}
	if len(last) > maxLine {
		last = strings.ToValidUTF8(last[:maxLine], "") + "…"
	}
	return text + ": " + last
}

// runClaimed runs the command of a claimed attempt and reports its result.
func (a *app) runClaimed(ctx context.Context, x execution, lease *client.Lease, signals *signals) error {
	if sig := signals.caught(); sig != 0 {
		a.deliver(ctx, lease, client.JobReport{Result: "fail", Category: "TRANSIENT", Message: "the worker was stopped before it started the command"}, signals)
		return codeError(exitBySignal + sig)
	}
	x.date = lease.Key.Date
	end, err := a.runChild(x, lease, signals)
	if err != nil {
		what := fmt.Sprintf("cannot run %s: %v", x.argv[0], err)
		a.note("%s", what)
		a.deliver(ctx, lease, client.JobReport{Result: "fail", Category: "PERMANENT", Message: what}, signals)
		return codeError(exitNotRunnable)
	}
	a.deliver(ctx, lease, end.report(), signals)
	return end.code()
}

// deliver reports the result. It retries until the server answers or ctx ends.
func (a *app) deliver(ctx context.Context, lease *client.Lease, r client.JobReport, signals *signals) {
	ctx, cancel := signals.cancels(ctx)
	defer cancel()
	if _, err := lease.Finish(ctx, r); err != nil {
		a.note("the result of %s (%s) could not be reported: %v", lease.RunID, r.Result, err)
	}
}

// runChild runs the command to its end; lease is nil where it runs without the gate. An error means that it could not be
// started.
func (a *app) runChild(x execution, lease *client.Lease, signals *signals) (childEnd, error) {
	// The kernel sends the parent-death signal when the thread that started the child ends, so that thread must stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tail, group := &tail{}, ownGroup()
	cmd := &exec.Cmd{Path: x.program, Args: x.argv, Env: a.childEnv(x, lease), Stdin: a.stdin, SysProcAttr: childAttributes(group), WaitDelay: drainLimit}
	a.passThrough(cmd, tail)
	if err := cmd.Start(); err != nil {
		return childEnd{}, err
	}
	signals.forward(cmd.Process, group)
	defer signals.forward(nil, false)
	if group {
		// Without a guard, the command alone dies with exec.
		if ended, err := guardGroup(cmd.Process.Pid); err == nil {
			defer ended()
		}
	}
	over := make(chan struct{})
	defer close(over)
	if lease != nil {
		lease.SendOutput(tail.text)
		go func() {
			select {
			case <-lease.Lost():
				a.note("%v; stopping %s", lease.Why(), x.argv[0])
				_ = stopChild(cmd.Process, group) // it may have just ended
			case <-over:
			}
		}()
	}
	_ = cmd.Wait() // how it ended is in its state
	end := childEnd{exit: cmd.ProcessState.ExitCode(), output: tail.text()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.signal = status.Signal()
	}
	return end, nil
}

// passThrough passes the command's output through and keeps its end. Where stdout and stderr are the same file the command has
// one pipe for both, so that nothing is reordered.
func (a *app) passThrough(cmd *exec.Cmd, tail *tail) {
	out := &tee{a.direct, tail}
	cmd.Stdout, cmd.Stderr = out, out
	if !sameFile(a.direct, a.stderr) {
		cmd.Stderr = &tee{a.stderr, tail}
	}
}

func sameFile(a, b io.Writer) bool {
	one, ok := a.(*os.File)
	other, also := b.(*os.File)
	if !ok || !also {
		return false
	}
	first, failed := one.Stat()
	second, failedToo := other.Stat()
	return failed == nil && failedToo == nil && os.SameFile(first, second)
}

// childEnv is the environment of the command: that of exec, and what the server adds. A trace that exec was given stays; otherwise
// the command continues the attempt's.
func (a *app) childEnv(x execution, lease *client.Lease) []string {
	env := append(os.Environ(), traceVariable+"="+x.traceparent, "INTERLOCK_PIPELINE="+x.pipeline, "INTERLOCK_WORKER="+x.worker)
	if x.date != "" {
		env = append(env, "INTERLOCK_DATE="+x.date)
	}
	if a.remote.server != "" {
		env = append(env, "INTERLOCK_SERVER="+a.remote.server)
	}
	if lease != nil {
		for name, value := range lease.Env {
			if name != traceVariable || a.getenv(traceVariable) == "" {
				env = append(env, name+"="+value)
			}
		}
	}
	return env // of a name that is there twice, the last one counts
}

// tee passes output through and keeps its end.
type tee struct {
	to   io.Writer
	tail *tail
}

func (t *tee) Write(b []byte) (int, error) {
	t.tail.add(b)
	return t.to.Write(b)
}

// tail is the end of a command's output.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) add(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...)
	if len(t.data) > 2*maxTail {
		t.data = append(t.data[:0], t.data[len(t.data)-maxTail:]...)
	}
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	data := t.data
	if len(data) > maxTail {
		data = data[len(data)-maxTail:]
		for len(data) > 0 && !utf8.RuneStart(data[0]) {
			data = data[1:]
		}
	}
	// What is no text is left out: as U+FFFD it would need more bytes than it has.
	return strings.ToValidUTF8(string(data), "")
}
