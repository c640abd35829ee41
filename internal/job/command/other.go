//go:build !unix

package command

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// Keep is not supported on this system.
func Keep() int {
	fmt.Fprintln(os.Stderr, "commands are not run on this system")
	return 2
}

// Type refuses every command: keepers need process groups and named pipes.
type Type struct{}

func New(Options) (*Type, error) { return &Type{}, nil }

// Start refuses.
func (t *Type) Start(context.Context, job.Attempt) (job.Started, error) {
	return job.Started{}, job.Refuse(run.Permanent, "commands are not run on this system; use another job type, or a controller on Linux")
}

// Status returns job.ErrUnknownHandle.
func (t *Type) Status(context.Context, job.Attempt, run.Handle) (job.Status, error) {
	return job.Status{}, job.ErrUnknownHandle
}

// Sweep has nothing to remove.
func (t *Type) Sweep(context.Context, time.Time, func(run.AttemptID, time.Time) (bool, error)) (int, error) {
	return 0, nil
}
