package awslambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

// Jobs asks the orchestrator about jobs.
type Jobs struct {
	Invoker      Invoker
	Orchestrator string
}

var _ Remote = Jobs{}

// StillRuns reports whether an abandoned job still runs.
func (j Jobs) StillRuns(ctx context.Context, r run.Run, _ time.Time) (bool, error) {
	if !r.Progress.Left.MayRun() {
		return false, nil
	}
	out, err := j.ask(ctx, StillRuns, r)
	return out.Runs, err
}

// Stop asks the orchestrator to end the job of an abandoned attempt. If the orchestrator does not answer, the caller
// asks again later.
func (j Jobs) Stop(ctx context.Context, r run.Run, _ time.Time) (run.Leftover, error) {
	out, err := j.ask(ctx, Stop, r)
	if err != nil {
		return run.JobStopping, err
	}
	if out.Trouble != "" {
		err = errors.New(out.Trouble)
	}
	return out.Left, err
}

// Sees returns true: no job belongs to one function.
func (Jobs) Sees(run.Run) bool { return true }

func (j Jobs) ask(ctx context.Context, mode Mode, r run.Run) (OrchestratorReply, error) {
	out, err := j.call(ctx, requestAbout(r, mode))
	if err != nil {
		return out, fmt.Errorf("ask the orchestrator about the job of %s: %w", r.ID(), err)
	}
	return out, nil
}

func (j Jobs) call(ctx context.Context, request OrchestratorRequest) (out OrchestratorReply, err error) {
	in, err := json.Marshal(request)
	if err != nil {
		return out, err
	}
	answer, err := j.Invoker.Call(ctx, j.Orchestrator, in)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(answer, &out)
}
