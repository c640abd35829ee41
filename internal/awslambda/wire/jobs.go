package wire

import (
	"os"
	"path/filepath"
	"time"

	_ "time/tzdata" // schedules must not depend on the machine's time zone data

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/evaluator"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/command"
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
		Settings: b.Settings, Store: b.Store, Narrow: some, Catalog: catalog.New(some, all.Kinds()), Now: time.Now, Logger: b.Logger,
		Evaluator: evaluator.New(evaluator.Options{Guard: guard, Secrets: secrets, Getenv: os.Getenv}),
		Jobs:      all.Types(guard, inside{commands}),
		Expand:    all.Expander(secrets, func(run.Key, int) job.Callback { return job.Callback{} }), // results are written to the job log
	})
}
