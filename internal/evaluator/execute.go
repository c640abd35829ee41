//go:build unix

package evaluator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

const (
	// maxComplaint is how much of a program's stderr is kept, from its end.
	maxComplaint = 4 << 10
	// lastWords is how long output is read after the program has exited: its output is already in
	// the pipe, but a process that it left behind may hold the pipe open forever. That process is
	// asked to stop afterwards.
	lastWords = 100 * time.Millisecond
)

// execute runs a program in its own process group, with the question on stdin and the answer on
// stdout. However it ends (by itself, by its timeout, or by printing too much), no process of its
// group is left afterwards.
func (a *asking) execute(ctx context.Context) (probe.Answer, error) {
	if a.Programs.Off {
		return probe.Answer{}, failure(run.Permanent, "%s", program.Refused)
	}
	question, err := json.Marshal(a.question)
	if err != nil {
		return probe.Answer{}, failure(run.Permanent, "encode its config as JSON: %v", err)
	}
	env := a.environment()
	path, err := program.Find(a.probe.Command[0], a.dir, env)
	if err != nil {
		return probe.Answer{}, failure(run.Permanent, "command: %v", err)
	}
	p := &running{answer: &capture{limit: probe.MaxAnswer, full: make(chan struct{})}, complaint: &tail{}}
	p.cmd = &exec.Cmd{
		Path: path, Args: a.probe.Command, Dir: a.dir, Env: env.List(), SysProcAttr: a.Programs.Attributes(),
		Stdin: bytes.NewReader(question), Stdout: p.answer, Stderr: p.complaint, WaitDelay: lastWords,
	}
	if err := p.cmd.Start(); err != nil {
		return probe.Answer{}, failure(run.Transient, "start %s: %v", path, err)
	}
	code, err := p.wait(ctx, a.Grace)
	if err != nil {
		return probe.Answer{}, err
	}
	if code != "" {
		return probe.Answer{}, failure(run.Transient, "%s%s", code, a.complaint(p.complaint))
	}
	got, err := a.answer(p.answer.text)
	if broken, ok := errors.AsType[*probe.Failure](err); ok {
		broken.Reason += a.complaint(p.complaint)
	}
	return got, err
}

// environment returns the program's environment: the few variables inherited from the server,
// overridden by the file's, and the subject of the question.
func (a *asking) environment() program.Vars {
	env := a.Programs.Inherit(a.Getenv)
	maps.Copy(env, a.probe.Env)
	env["INTERLOCK_PIPELINE"] = string(a.attempt.Pipeline)
	env["INTERLOCK_PROBE"] = a.probe.Key
	env["INTERLOCK_PERIOD"] = a.attempt.Period.String()
	env["INTERLOCK_DATE"] = a.attempt.Date()
	env["INTERLOCK_HOUR"] = a.attempt.Hour()
	return env
}

// complaint returns the last line of the program's stderr, to append to a reason.
func (a *asking) complaint(t *tail) string {
	lines := strings.Split(strings.TrimSpace(a.secrets.Text(string(t.text))), "\n")
	if line := job.Line(lines[len(lines)-1]); line != "" {
		return ": " + line
	}
	return ""
}

// running is a program and its output.
type running struct {
	cmd       *exec.Cmd
	answer    *capture
	complaint *tail
}

// wait waits for the program to end, or ends it. It returns how the program failed; "" if it did
// not.
func (p *running) wait(ctx context.Context, grace time.Duration) (string, error) {
	exited := make(chan error, 1)
	go func() { exited <- p.cmd.Wait() }()
	group := p.cmd.Process.Pid
	var exit, ended error
	left := false
	select {
	case exit = <-exited:
		left = true
	case <-ctx.Done():
		ended = ctx.Err()
	case <-p.answer.full:
		ended = failure(run.Permanent, "printed more than %d KiB and was killed", probe.MaxAnswer>>10)
	}
	program.EndGroup(group, grace, func() {
		select {
		case exit = <-exited:
			left = true
		default:
		}
		if left {
			program.Reap(group)
		}
	})
	if !left {
		exit = <-exited
	}
	if p.answer.over && ended == nil {
		ended = failure(run.Permanent, "answered with more than %d KiB", probe.MaxAnswer>>10)
	}
	return howItEnded(exit), ended
}

// howItEnded says how a program failed; "" if it did not.
func howItEnded(err error) string {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return ""
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("was killed by signal %d (%s)", status.Signal(), status.Signal())
	}
	return fmt.Sprintf("exited with code %d", exit.ExitCode())
}

// capture keeps what is written to it, up to a limit. When the limit is exceeded it closes full.
type capture struct {
	limit int
	text  []byte
	full  chan struct{} // closed when the limit is exceeded
	over  bool
}

func (c *capture) Write(text []byte) (int, error) {
	if room := c.limit - len(c.text); len(text) <= room {
		c.text = append(c.text, text...)
	} else if !c.over {
		c.over = true
		close(c.full)
	}
	return len(text), nil
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	if len(t.text) > 2*maxComplaint {
		t.text = append(t.text[:0], t.text[len(t.text)-maxComplaint:]...)
	}
	return len(text), nil
}
