package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/program"
)

const (
	maxMessage = 2000            // bytes of the message; the server accepts twice as many characters
	maxLine    = 300             // bytes of the last line of output in the message
	drainLimit = 5 * time.Second // for output that the command's child processes write after it has exited
)

// runClaimed runs the command of a claimed attempt and reports its result.
func (a *app) runClaimed(ctx context.Context, x execution, lease *client.Lease, signals *signals) error {
	if sig := signals.caught(); sig != 0 {
		a.deliver(ctx, lease, client.JobReport{Result: "fail", Category: "TRANSIENT", Message: "the worker was stopped before it started the command"}, signals)
		return codeError(exitBySignal + sig)
	}
	x.date = lease.Key.Date
	for i := range x.harvests {
		x.harvests[i].remember()
	}
	started := time.Now()
	end, err := a.runChild(x, lease, signals)
	if err != nil {
		what := fmt.Sprintf("cannot run %s: %v", x.argv[0], err)
		a.note("%s", what)
		a.deliver(ctx, lease, client.JobReport{Result: "fail", Category: "PERMANENT", Message: what}, signals)
		return codeError(exitNotRunnable)
	}
	report := end.report()
	if told := a.gather(ctx, x, lease, started, signals); told != "" {
		report.Message = excerpt.Bytes(report.Message+"; "+told, maxMessage)
	}
	a.deliver(ctx, lease, report, signals)
	return end.code()
}

// deliver reports the result. It retries until the server answers, ctx ends or a signal arrives.
func (a *app) deliver(ctx context.Context, lease *client.Lease, r client.JobReport, signals *signals) {
	ctx, cancel := signals.cancels(ctx)
	defer cancel()
	if _, err := lease.Finish(ctx, r); err != nil {
		remedy := ""
		if problem, ok := errors.AsType[*client.Problem](err); !ok || problem.Status != http.StatusConflict {
			category := ""
			if r.Category != "" {
				category = " --category " + r.Category
			}
			remedy = fmt.Sprintf("; if the run still waits for it, use `interlock job complete %s %s%s`", lease.RunID, r.Result, category)
		}
		a.note("could not report %s for %s: %v%s", r.Result, lease.RunID, err, remedy)
	}
}

// child is the running command.
type child struct {
	cmd   *exec.Cmd
	group bool          // it has a process group of its own
	guard *guard        // nil if there is none
	over  chan struct{} // closed once the command itself has ended
}

// start starts the command, and a guard for its process group. The caller must call close, also if
// the command does not start.
func (c *child) start() error {
	program.AdoptOrphans()
	if c.group {
		// If the guard cannot start and exec is killed, only the command is killed, not its child
		// processes.
		if g, err := startGuard(); err == nil {
			c.guard = g
		}
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	if c.guard != nil {
		c.guard.watch(c.cmd.Process.Pid)
	}
	return nil
}

func (c *child) close() {
	if c.guard != nil {
		c.guard.end()
	}
}

// helpers lists the children of exec that do not belong to the command.
func (c *child) helpers() []int {
	if c.guard == nil {
		return nil
	}
	return []int{c.guard.pid}
}

// runChild runs the command until it ends. lease is nil if the command runs without the gate. An
// error means that the command could not be started.
func (a *app) runChild(x execution, lease *client.Lease, signals *signals) (childEnd, error) {
	// The kernel sends the parent-death signal when the thread that started the child ends, so that
	// thread must stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tail, group := job.NewOutputTail(a.reportedSecrets(lease)), ownGroup()
	cmd := &exec.Cmd{Path: x.program, Args: x.argv, Env: a.childEnv(x, lease), Stdin: a.stdin, SysProcAttr: childAttributes(group), WaitDelay: drainLimit}
	streams := a.passThrough(cmd, tail)
	c := &child{cmd: cmd, group: group, over: make(chan struct{})}
	defer c.close()
	if err := c.start(); err != nil {
		return childEnd{}, err
	}
	defer reapOrphans(append(c.helpers(), cmd.Process.Pid)...)()
	signals.forward(cmd.Process, group)
	defer signals.forward(nil, false)
	stopped := a.stopsWhenLost(x, lease, c, tail)
	_ = cmd.Wait() // the error is in ProcessState, and in streams
	close(c.over)
	end := childEnd{exit: cmd.ProcessState.ExitCode(), output: textOf(tail), stopped: <-stopped}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.signal = status.Signal()
	}
	for _, s := range streams {
		if s.lost != nil {
			end.lost = fmt.Sprintf("%s of %s could not be written: %v", s.name, x.argv[0], s.lost)
			a.note("%s", end.lost)
		}
	}
	return end, nil
}

// stopsWhenLost stops the command and all its descendants if the lease is lost while it runs. The
// channel returns the reason once they have ended, or nil.
func (a *app) stopsWhenLost(x execution, lease *client.Lease, c *child, tail *job.OutputTail) <-chan error {
	stopped := make(chan error, 1)
	if lease == nil {
		stopped <- nil
		return stopped
	}
	lease.SendOutput(func() string { return textOf(tail) })
	go func() {
		select {
		case <-lease.Lost():
			a.note("%v; stopping %s", lease.Why(), x.argv[0])
			c.end(lease.Grace())
			stopped <- lease.Why()
		case <-c.over:
			stopped <- nil
		}
	}()
	return stopped
}

// reportedSecrets hides the tokens that the command can see, in what exec reports to the server.
func (a *app) reportedSecrets(lease *client.Lease) job.Redactor {
	tokens := a.tokens()
	if lease != nil {
		tokens = append(tokens, lease.Permit)
	}
	return job.NewRedactor(tokens...)
}

// textOf returns the end of the output as the server accepts it.
func textOf(tail *job.OutputTail) string { return job.Tail(string(tail.Shown())) }

// passThrough forwards the command's output and keeps its last part in tail. If stdout and stderr
// are the same file, the command gets one pipe for both, so that the order is kept. It returns the
// streams.
func (a *app) passThrough(cmd *exec.Cmd, tail *job.OutputTail) []*tee {
	out := &tee{name: "stdout", to: a.direct, tail: tail}
	cmd.Stdout, cmd.Stderr = out, out
	if sameFile(a.direct, a.stderr) {
		return []*tee{out}
	}
	other := &tee{name: "stderr", to: a.stderr, tail: tail}
	cmd.Stderr = other
	return []*tee{out, other}
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

// childEnv returns the command's environment: that of exec plus the lease's variables. A valid trace
// in exec's environment is kept; otherwise the command continues the attempt's trace.
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
			if name != traceVariable || a.givenTrace() == "" {
				env = append(env, name+"="+value)
			}
		}
	}
	return env // if a name occurs twice, the last value wins
}

// readerGone reports whether the reader of a pipe has closed it.
func readerGone(err error) bool {
	if runtime.GOOS == "windows" {
		const brokenPipe, noData = syscall.Errno(109), syscall.Errno(232) // ERROR_BROKEN_PIPE, ERROR_NO_DATA
		return errors.Is(err, brokenPipe) || errors.Is(err, noData)
	}
	return errors.Is(err, syscall.EPIPE)
}

// tee copies one stream of the output and keeps its end.
type tee struct {
	name string
	to   io.Writer
	tail *job.OutputTail
	lost error // why the last write failed, unless the reader has closed its pipe
}

// Write returns the error of the copy, which closes the command's pipe: the command gets SIGPIPE
// when it writes more, as if it wrote to the pipe of exec itself.
func (t *tee) Write(b []byte) (int, error) {
	t.tail.Add(b)
	n, err := t.to.Write(b)
	if err != nil && !readerGone(err) {
		t.lost = err
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			t.lost = path.Err // the stream's name says more than /dev/stdout
		}
	}
	return n, err
}
