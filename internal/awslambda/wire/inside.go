package wire

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// inside runs a command within the call that starts it: Lambda freezes a function between calls, and no other
// function can see its processes. If a function is killed, its command is killed too, but how far it got is unknown:
// it cannot be searched for, and its start is held unless the file says otherwise.
type inside struct{ commands *command.Type }

var (
	_ job.Type     = inside{}
	_ job.Blocking = inside{}
)

// longest is how long a command may run: the function needs the rest of its time to store the result.
const longest = 100 * time.Second

// Limit returns the command's own time limit.
func (inside) Limit(config pipeline.JobConfig) (time.Duration, bool) {
	if c, ok := config.(*command.Config); ok && c.Timeout > 0 {
		return min(c.Timeout.D(), longest), true
	}
	return longest, true
}

// Start runs the command to its end.
func (i inside) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	started, err := i.commands.Start(ctx, a)
	if err != nil || started.Result != nil {
		return started, err
	}
	if err := i.commands.Wait(ctx, a, started.Handle); err != nil {
		return job.Started{}, err
	}
	status, err := i.commands.Status(ctx, a, started.Handle)
	started.Result = &status
	return started, err
}

// Status is called only for commands that an earlier call left behind.
func (i inside) Status(ctx context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	return i.commands.Status(ctx, a, h)
}
