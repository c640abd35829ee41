//go:build unix

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
)

// Type runs commands. Between the controller and a command is a keeper, a process of the same
// binary: it claims the attempt, starts the command, enforces its timeout, and records how it ended
// (see Keep). It does this without a controller, so a restarted controller finds its jobs, running
// or ended, in the jobs directory:
//
//	jobs/<hash of the attempt's id>/
//	    claim    which keeper runs it; locked while the keeper lives
//	    alive    a named pipe, which closes when the keeper exits
//	    output   the end of its output
//	    exit     how it ended; written at the end
//	    again/   the claim of the next start, if this one was refused: the same files
//
// Each directory appears atomically, and only once. A claim without a living keeper and without
// exit is a lost job: it is never started again under the same id. A claim whose exit is a refusal
// started nothing, and leaves room for the next; the innermost claim counts.
type Type struct {
	jobs     string
	keeper   []string
	getenv   func(name string) string
	grace    time.Duration
	programs program.Policy
	ending   sync.Mutex // held while the job of a suspended keeper is ended
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

// New returns the type. It changes nothing on disk.
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

// RefusesRepeats returns true: an attempt is claimed once, unless its claim was refused.
func (t *Type) RefusesRepeats() bool { return true }

// OnThisReplica returns true: the jobs are processes of this machine.
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
		return job.Started{}, job.Refuse(run.Transient, "the start was cancelled before it began")
	}
	o, err := t.order(a)
	if err != nil {
		return job.Started{}, a.Secrets.Error(err)
	}
	if parent := job.Traceparent(ctx); parent != "" {
		o.Env = append(o.Env, "TRACEPARENT="+parent)
	}
	answer, err := t.spawn(ctx, o)
	switch {
	case err != nil:
		return job.Started{}, a.Secrets.Error(err)
	case answer.State == stateRefused:
		return job.Started{}, &job.Refusal{Category: answer.Category, Reason: a.Secrets.Text(answer.Reason), Own: answer.Own}
	}
	return d.adopted(a.Secrets)
}

// Check looks for the program and its directory. It cannot check the text of a shell command.
func (t *Type) Check(_ context.Context, a job.Attempt) error {
	o, err := t.order(a)
	if err != nil {
		return a.Secrets.Error(err)
	}
	if c, ok := a.Config.(*Config); ok && c.Shell {
		return &job.Unsure{Reason: fmt.Sprintf("the shell %s exists; only a run shows whether the command works", o.Path)}
	}
	return nil
}

// adopted returns the start of a claimed job, whether this start's keeper claimed it, an earlier
// one, or a concurrent one.
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

// Find looks for the claim. A refused claim is not a job: a controller that adopted it, or
// considered it stopped, would miss the job of a repeat that is under way.
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

// Tail reads the output file of the keeper, which contains no secrets.
func (t *Type) Tail(h run.Handle) (string, error) {
	d, err := t.known(h)
	if err != nil {
		return "", err
	}
	return d.output(job.Redactor{}), nil
}

// Status reads the keeper's files and checks whether it lives.
func (t *Type) Status(_ context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	d, err := t.known(h)
	if err != nil {
		return job.Status{}, err
	}
	state, e, err := d.readState()
	if err != nil {
		return job.Status{}, fmt.Errorf("read the state of the job of %s: %w", a.ID, err)
	}
	if state == suspended {
		if e, err = t.endSuspended(a, d); err != nil {
			return job.Status{}, err
		}
	}
	output := d.output(a.Secrets)
	switch state {
	case running:
		return job.Status{Output: output}, nil
	case ended, suspended:
		return e.status(a.Secrets, output), nil
	default:
		// Descendants of its command must not run beside the next attempt.
		t.killDescendants(a.ID, 0)
		return lostStatus(output), nil
	}
}

// endSuspended ends the job of a suspended keeper: the command and its descendants first, while the
// keeper still shows which they are, then, once the exit is recorded, the keeper. A keeper that was
// resumed meanwhile may have recorded another exit, which its controller may have read: it stays.
func (t *Type) endSuspended(a job.Attempt, d jobDir) (exit, error) {
	t.ending.Lock()
	defer t.ending.Unlock()
	c, err := d.claim()
	if err != nil {
		return exit{}, fmt.Errorf("read the claim of the job of %s: %w", a.ID, err)
	}
	t.killDescendants(a.ID, c.Keeper.PID)
	if e, done, err := d.exit(); err != nil || done {
		return e, err
	}
	e := exit{Suspended: true, StartedAt: c.At, EndedAt: time.Now().UTC()}
	content, err := json.Marshal(e)
	if err == nil {
		err = d.write(exitFile, controllerDraft, content, true)
	}
	if err == nil {
		err = d.signalKeeper(syscall.SIGKILL)
	}
	if err != nil {
		return exit{}, fmt.Errorf("end the job of %s, whose keeper process is suspended: %w", a.ID, err)
	}
	return e, nil
}

// Wait reads the pipe that closes when the keeper exits. It also returns if the keeper is suspended.
func (t *Type) Wait(ctx context.Context, _ job.Attempt, h run.Handle) error {
	d, err := t.known(h)
	if err != nil {
		return err
	}
	for {
		state, _, err := d.readState()
		if err != nil || state != running {
			return err
		}
		if err := d.untilClosed(ctx); err != nil {
			return err
		}
	}
}

// Stop asks the keeper to end its command. If the keeper is suspended or gone, it ends what is left
// of the command itself.
func (t *Type) Stop(_ context.Context, a job.Attempt, h run.Handle) error {
	d, err := t.known(h)
	if err != nil {
		return err
	}
	state, _, err := d.readState()
	switch {
	case err != nil:
		return fmt.Errorf("stop the job of %s: %w", a.ID, err)
	case state == running:
		return d.signalKeeper(syscall.SIGTERM)
	case state == suspended:
		_, err = t.endSuspended(a, d)
	case state == lost:
		t.killDescendants(a.ID, 0)
	}
	return err
}

// known returns the claim that counts for a job.
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
