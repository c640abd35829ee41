//go:build unix

package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// Type runs commands. Between the controller and a command stands a keeper, a process of the same binary: it claims the
// attempt, starts the command, ends it with its timeout, and records how it ended (see Keep). It needs no controller for
// that, so one that was killed finds its jobs again, running or ended, in the directory of jobs:
//
//	jobs/<hash of the attempt's id>/
//	    claim    who keeps it; locked as long as the keeper lives
//	    alive    a named pipe, which closes with the keeper
//	    output   the end of what it has printed
//	    exit     how it ended; there once it has
//	    again/   the claim of the next start, if this one was refused: the same files
//
// Each directory appears as a whole or not at all, and only once. A claim without a living keeper and without exit is a
// job that was lost: it is never started again under the same id. One whose exit says that it was refused started
// nothing, and leaves room for the next; what is innermost counts.
type Type struct {
	jobs     string
	keeper   []string
	getenv   func(name string) string
	grace    time.Duration
	programs program.Policy
}

var (
	_ job.Type         = (*Type)(nil)
	_ job.Finder       = (*Type)(nil)
	_ job.Stopper      = (*Type)(nil)
	_ job.Waiter       = (*Type)(nil)
	_ job.Deduplicator = (*Type)(nil)
	_ job.Local        = (*Type)(nil)
	_ job.Checker      = (*Type)(nil)
	_ job.Tailer       = (*Type)(nil)
)

// Options say where and how commands run.
type Options struct {
	Jobs   string                   // the directory of jobs; made when it is needed
	Getenv func(name string) string // the server's environment
	Grace  time.Duration            // how long a command has to end when it is asked to; 10 s unless said
	// Programs says whether and as whom commands run.
	Programs program.Policy
}

// New makes the type. It touches nothing.
func New(o Options) (*Type, error) {
	jobs, err := filepath.Abs(o.Jobs)
	if err != nil {
		return nil, fmt.Errorf("find the directory of jobs %s: %w", o.Jobs, err)
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	self, err := executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that is to keep jobs: %w", err)
	}
	return &Type{jobs: jobs, keeper: []string{self, KeeperArg}, getenv: o.Getenv, grace: o.Grace, programs: o.Programs}, nil
}

// RefusesRepeats is true: an attempt is claimed once, unless its claim was refused.
func (t *Type) RefusesRepeats() bool { return true }

// OnThisReplica is true: the jobs are processes of this machine.
func (t *Type) OnThisReplica() bool { return true }

// Start starts a keeper, which claims the attempt and starts its command.
func (t *Type) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	d := t.dir(hashOf(a.ID))
	switch _, err := d.vacancy(); {
	case errors.Is(err, errTaken):
		return d.adopted(a.Secrets)
	case err != nil:
		if job.Lacking(err) {
			return job.Started{}, job.RefuseOver(err, run.Transient, "look for the job of %s: %v", a.ID, err)
		}
		return job.Started{}, fmt.Errorf("look for the job of %s: %w", a.ID, err)
	case ctx.Err() != nil:
		return job.Started{}, job.Refuse(run.Transient, "the start was given up before it began")
	}
	o, err := t.order(a)
	if err != nil {
		return job.Started{}, hide(a.Secrets, err)
	}
	if parent := job.Traceparent(ctx); parent != "" {
		o.Env = append(o.Env, "TRACEPARENT="+parent)
	}
	answer, err := t.spawn(ctx, o)
	switch {
	case err != nil:
		return job.Started{}, hide(a.Secrets, err)
	case answer.State == stateRefused:
		return job.Started{}, &job.Refusal{Category: answer.Category, Reason: a.Secrets.Text(answer.Reason), Own: answer.Own}
	}
	return d.adopted(a.Secrets)
}

// Check looks for the program and its directory. What a shell makes of its text only the shell knows.
func (t *Type) Check(_ context.Context, a job.Attempt) error {
	o, err := t.order(a)
	if err != nil {
		return hide(a.Secrets, err)
	}
	if c, ok := a.Config.(*Config); ok && c.Shell {
		return &job.Unsure{Reason: fmt.Sprintf("the shell %s exists; whether the command works shows only when it runs", o.Path)}
	}
	return nil
}

// hide keeps secrets out of a refusal; other errors hold nothing of the config.
func hide(secrets job.Redactor, err error) error {
	if refusal := (*job.Refusal)(nil); errors.As(err, &refusal) {
		return &job.Refusal{Category: refusal.Category, Reason: secrets.Text(refusal.Reason), Own: refusal.Own}
	}
	return err
}

// adopted is the start of a job that was claimed: before, by the keeper of this start, or by another at the same time.
func (d jobDir) adopted(secrets job.Redactor) (job.Started, error) {
	last, _, err := d.latest()
	if err != nil {
		return job.Started{}, err
	}
	e, ended, err := last.exit()
	if err != nil {
		return job.Started{}, err
	}
	if ended && e.Refused != "" {
		return job.Started{}, &job.Refusal{Category: e.Category, Reason: secrets.Text(e.Refused), Own: e.Own}
	}
	return job.Started{Handle: run.Handle(filepath.Base(d.path))}, nil
}

// Find looks for the claim. One that was refused is no job: who adopted it, or took it for stopped, would not see the job of
// a repeat that is on its way.
func (t *Type) Find(_ context.Context, a job.Attempt) (run.Handle, bool, error) {
	hash := hashOf(a.ID)
	switch _, err := t.dir(hash).vacancy(); {
	case errors.Is(err, errTaken):
		return run.Handle(hash), true, nil
	case err != nil:
		return "", false, fmt.Errorf("look for the job of %s: %w", a.ID, err)
	default:
		return "", false, nil
	}
}

// Tail reads the end of the output that the keeper has written, which holds no secrets.
func (t *Type) Tail(h run.Handle) (string, error) {
	d, err := t.known(h)
	if err != nil {
		return "", err
	}
	return d.output(job.Redactor{}), nil
}

// Status looks at what the keeper has written, and whether it lives.
func (t *Type) Status(_ context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	d, err := t.known(h)
	if err != nil {
		return job.Status{}, err
	}
	state, e, err := d.look()
	if err != nil {
		return job.Status{}, fmt.Errorf("read the state of the job of %s: %w", a.ID, err)
	}
	output := d.output(a.Secrets)
	switch state {
	case running:
		return job.Status{Output: output}, nil
	case ended:
		return e.status(a.Secrets, output), nil
	default:
		// What is left of its command must not work beside the next attempt.
		t.endRemains(a.ID)
		return lostStatus(output), nil
	}
}

// Wait follows the pipe that closes with the keeper.
func (t *Type) Wait(ctx context.Context, _ job.Attempt, h run.Handle) error {
	d, err := t.known(h)
	if err != nil {
		return err
	}
	for {
		state, _, err := d.look()
		if err != nil || state != running {
			return err
		}
		if err := d.untilClosed(ctx); err != nil {
			return err
		}
	}
}

// Stop asks the keeper to end its command. If there is no keeper any more, what is left of the command is ended.
func (t *Type) Stop(_ context.Context, a job.Attempt, h run.Handle) error {
	d, err := t.known(h)
	if err != nil {
		return err
	}
	state, _, err := d.look()
	switch {
	case err != nil:
		return fmt.Errorf("stop the job of %s: %w", a.ID, err)
	case state == running:
		return d.askKeeper()
	case state == lost:
		t.endRemains(a.ID)
	}
	return nil
}

// known is the claim that counts of a job.
func (t *Type) known(h run.Handle) (jobDir, error) {
	if !isHash(string(h)) {
		return jobDir{}, job.ErrUnknownHandle
	}
	last, there, err := t.dir(string(h)).latest()
	if err == nil && !there {
		err = job.ErrUnknownHandle
	}
	return last, err
}
