//go:build unix

package command

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// order is what a keeper is told to do. It goes through a pipe, never through a file or an argument, because it holds
// secrets.
type order struct {
	ID      run.AttemptID `json:"id"`
	Jobs    string        `json:"jobs"`
	Path    string        `json:"path"` // the program, found
	Argv    []string      `json:"argv"`
	Env     []string      `json:"env"`
	Dir     string        `json:"dir"`               // where it runs, absolute
	Timeout time.Duration `json:"timeout,omitempty"` // 0: none
	Grace   time.Duration `json:"grace"`
	Secrets []string      `json:"secrets,omitempty"` // not to be shown in the output
	User    *program.User `json:"user,omitempty"`    // who runs it; nil: the user of the keeper

	Limits program.Limits `json:"limits"`
	Cgroup string         `json:"cgroup,omitempty"` // where a control group can be made for it
}

// answer is what a keeper tells the controller that started it.
type answer struct {
	State    state        `json:"state"`
	Category run.Category `json:"category,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Own      bool         `json:"own,omitempty"` // as in job.Refusal
}

type state string

const (
	stateStarted state = "started"
	stateTaken   state = "taken"   // somebody has claimed the attempt before
	stateRefused state = "refused" // nothing was started
)

// order is what the keeper of an attempt is to do; a *Refusal if that cannot be done at all.
func (t *Type) order(a job.Attempt) (order, error) {
	if t.programs.Off {
		return order{}, job.Refuse(run.Permanent, "%s", program.Refused)
	}
	c, ok := a.Config.(*Config)
	if !ok {
		return order{}, job.Refuse(run.Permanent, "start command: its config is a %T", a.Config)
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

// directory is where the command runs, as an absolute path: the configured directory, from the
// project directory of the pipeline file if it is relative; the project directory itself without one.
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

func (o order) hash() string { return hashOf(o.ID) }

const hashLength = 32

// hashOf is the name of an attempt's directory: ids are too long, and hold slashes.
func hashOf(id run.AttemptID) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:hashLength]
}

func isHash(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == hashLength
}

// environment is what a command sees: the few variables of the server, over them the file's, and the attempt's own.
func environment(a job.Attempt, c *Config, policy program.Policy, getenv func(string) string) program.Vars {
	env := policy.Inherit(getenv)
	for name, value := range c.Env {
		env[name] = string(value)
	}
	maps.Copy(env, a.Env())
	return env
}
