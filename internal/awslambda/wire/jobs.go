package wire

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/evaluator"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Host returns the orchestrator, with all job types.
func Host(b Base) *awslambda.Host {
	guard, err := egress.New(b.EgressAllow)
	b.Must(err)
	secrets, err := job.NewSecrets(b.SecretVariables, nil, os.LookupEnv)
	b.Must(err)
	// The function's role limits what it may read.
	everything := map[job.SecretKind][]string{job.ManagedSecret: {"*"}, job.Parameter: {"*"}}
	secrets.From(everything, awsapi.NewSecrets(awsapi.New(guard)).Read)
	commands, err := command.New(command.Options{Jobs: filepath.Join(os.TempDir(), "jobs"), Getenv: os.Getenv})
	b.Must(err)
	some := awslambda.NewNarrow(b.Store)
	return awslambda.NewHost(awslambda.Parts{
		Settings: b.Settings, Store: b.Store, Narrow: some, Catalog: catalog.New(some, all.Kinds()), Now: time.Now, Logger: b.Logger, Meter: b.Meter, Tracing: b.Traces,
		Evaluator: evaluator.New(evaluator.Options{Guard: guard, Secrets: secrets, Getenv: os.Getenv}),
		Jobs:      all.Types(guard, inside{commands: commands, off: len(b.JobTypes) > 0 && !slices.Contains(b.JobTypes, "command")}),
		Expand:    all.Expander(secrets, func(run.Key, int) job.Callback { return job.Callback{} }), // results are written to the job log
	})
}

// inside runs a command within the call that starts it: Lambda freezes a function between calls,
// and no other function can see its processes. If a function is killed, its command is killed too,
// but how far it got is unknown: it cannot be searched for, and its start is held unless the file
// says otherwise.
type inside struct {
	commands *command.Type
	off      bool // the deployment does not offer commands
}

var (
	_ job.Type     = inside{}
	_ job.Blocking = inside{}
)

// longest is how long a command may run: the function needs the rest of its time to store the
// result.
const longest = 100 * time.Second

// Limit returns the command's own time limit.
func (inside) Limit(config pipeline.JobConfig) (time.Duration, bool) {
	if c, ok := config.(*command.Config); ok && c.Timeout > 0 {
		return min(c.Timeout.D(), longest), true
	}
	return longest, true
}

// Start runs the command to its end. If the deployment does not offer commands, it refuses.
func (i inside) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	if i.off { // a file may have been accepted before
		return job.Started{}, job.Refuse(run.Permanent, "the deployment runs no commands; set enable_command_trigger, or use another job type")
	}
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
