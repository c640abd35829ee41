//go:build unix

package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// order is a keeper's instructions. They are sent through a pipe, never through a file or an
// argument, because they contain secrets.
type order struct {
	ID      run.AttemptID `json:"id"`
	Jobs    string        `json:"jobs"`
	Path    string        `json:"path"` // the resolved program
	Argv    []string      `json:"argv"`
	Env     []string      `json:"env"`
	Dir     string        `json:"dir"`               // its working directory, absolute
	Timeout time.Duration `json:"timeout,omitempty"` // 0: none
	Grace   time.Duration `json:"grace"`
	Secrets []string      `json:"secrets,omitempty"` // to be redacted from the output
	User    *program.User `json:"user,omitempty"`    // whom it runs as; nil: the user of the keeper

	Limits program.Limits `json:"limits"`
	Cgroup string         `json:"cgroup,omitempty"` // where its control group can be created
}

// answer is a keeper's reply to the controller that started it.
type answer struct {
	State    state        `json:"state"`
	Category run.Category `json:"category,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Own      bool         `json:"own,omitempty"` // as in job.Refusal
}

type state string

const (
	stateStarted state = "started"
	stateTaken   state = "taken"   // the attempt was claimed before
	stateRefused state = "refused" // nothing was started
)

// order returns the instructions for the keeper of an attempt, or a *Refusal if the job can never
// be started.
func (t *Type) order(a job.Attempt) (order, error) {
	if t.programs.Off {
		return order{}, job.Refuse(run.Permanent, "%s", program.Refused)
	}
	c, err := job.ConfigOf[Config](a)
	if err != nil {
		return order{}, err
	}
	argv, err := c.Argv()
	if err != nil || len(argv) == 0 {
		return order{}, job.Refuse(run.Permanent, "job.config.command: names no program")
	}
	env := environment(a, c, t.programs, t.getenv)
	dir, err := directory(a, c)
	if err != nil {
		return order{}, err
	}
	path, err := lookup(argv[0], dir, env)
	if err != nil {
		return order{}, err
	}
	return order{
		ID: a.ID, Jobs: t.jobs, Path: path, Argv: argv, Env: env.List(), Dir: dir,
		Timeout: c.Timeout.D(), Grace: t.grace, Secrets: a.Secrets.With(a.Callback.Token).Secrets(),
		User: t.programs.User, Limits: t.programs.Limits, Cgroup: t.programs.Cgroup,
	}, nil
}

// directory returns the command's working directory as an absolute path: the configured directory,
// relative to the project directory of the pipeline file, or the project directory itself if none
// is configured.
func directory(a job.Attempt, c *Config) (string, error) {
	dir := c.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(program.ProjectDir(a.File), dir)
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", job.Refuse(run.Transient, "find the working directory: %v", err)
	}
	return path, nil
}

// lookup finds the program of that name, as program.Find does. A program that is missing or not
// executable is a permanent refusal.
func lookup(name, dir string, env program.Vars) (string, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", job.Refuse(run.Permanent, "job.config.dir: %s is not a directory on this machine", dir)
	}
	path, err := program.Find(name, dir, env)
	if err != nil {
		hint := ""
		if !strings.Contains(name, "/") && strings.HasPrefix(err.Error(), "no program") {
			hint = "; write its path, or use shell: true for shell built-ins and aliases"
		}
		return "", job.Refuse(run.Permanent, "job.config.command: %v%s", err, hint)
	}
	return path, nil
}

func (o order) hash() string { return hashOf(o.ID) }

const hashLength = 32

// hashOf returns the name of an attempt's directory: ids are too long and contain slashes.
func hashOf(id run.AttemptID) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:hashLength]
}

func isHash(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == hashLength
}

// environment returns the command's environment: a few variables of the server, overridden by those
// of the file, and the attempt's own.
func environment(a job.Attempt, c *Config, policy program.Policy, getenv func(string) string) program.Vars {
	env := policy.Inherit(getenv)
	for name, value := range c.Env {
		env[name] = string(value)
	}
	maps.Copy(env, a.Env())
	return env
}

// spawn starts a keeper with an order and returns its answer. The error is a *Refusal if no keeper
// was started; after any other error the keeper may have claimed the attempt.
func (t *Type) spawn(ctx context.Context, o order) (answer, error) {
	k, err := t.startKeeper()
	if err != nil {
		return answer{}, job.RefuseOver(err, run.Transient, "start a keeper process: %v", err)
	}
	defer k.orders.Close()
	defer k.answers.Close()
	stop := context.AfterFunc(ctx, func() {
		k.orders.SetDeadline(time.Unix(0, 0))
		k.answers.SetDeadline(time.Unix(0, 0))
	})
	defer stop()
	// A keeper that did not get its order does not answer either.
	told := errors.Join(json.NewEncoder(k.orders).Encode(o), k.orders.Close())
	var got answer
	if err := json.NewDecoder(k.answers).Decode(&got); err != nil {
		if ctx.Err() != nil {
			return answer{}, fmt.Errorf("the keeper of %s has not answered: %w", o.ID, ctx.Err())
		}
		return answer{}, t.silent(o, errors.Join(told, err))
	}
	return got, nil
}

// silent classifies a keeper that exited without an answer: the claim shows whether it may have
// started the command.
func (t *Type) silent(o order, err error) error {
	if _, taken := t.dir(o.hash()).vacancy(); taken != nil {
		return fmt.Errorf("the keeper of %s ended without an answer: %w", o.ID, err)
	}
	return job.RefuseOver(err, run.Transient, "the keeper process ended before it started anything: %v", err)
}

// keeperProcess is the controller's side of a keeper.
type keeperProcess struct{ orders, answers *os.File }

// startKeeper starts a process that shares only two pipes with this one. It runs in its own
// session, so that no signal to the controller's reaches it.
func (t *Type) startKeeper() (keeperProcess, error) {
	orderEnd, orders, err := os.Pipe()
	if err != nil {
		return keeperProcess{}, err
	}
	defer orderEnd.Close()
	answers, answerEnd, err := os.Pipe()
	if err != nil {
		orders.Close()
		return keeperProcess{}, err
	}
	defer answerEnd.Close()
	cmd := &exec.Cmd{
		Path: t.keeper[0], Args: append([]string{"interlock"}, t.keeper[1:]...),
		Env:   []string{},
		Stdin: orderEnd, ExtraFiles: []*os.File{answerEnd},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	t.programs.Delegate(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		orders.Close()
		answers.Close()
		return keeperProcess{}, err
	}
	go cmd.Wait() // so that no zombie remains; the job's directory says more than the exit code
	return keeperProcess{orders, answers}, nil
}
