//go:build unix

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// spawn starts a keeper with an order and returns its answer. The error is a *Refusal if no keeper was started; after
// any other error the keeper may have claimed the attempt.
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

// silent classifies a keeper that exited without an answer: the claim shows whether it may have started the command.
func (t *Type) silent(o order, err error) error {
	if _, taken := t.dir(o.hash()).vacancy(); taken != nil {
		return fmt.Errorf("the keeper of %s ended without an answer: %w", o.ID, err)
	}
	return job.RefuseOver(err, run.Transient, "the keeper process ended before it started anything: %v", err)
}

// keeperProcess is the controller's side of a keeper.
type keeperProcess struct{ orders, answers *os.File }

// startKeeper starts a process that shares only two pipes with this one. It runs in its own session, so that no
// signal to the controller's reaches it.
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
