package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/airflow"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/job/databricks"
	"github.com/interlock-go/interlock/internal/job/emr"
	"github.com/interlock-go/interlock/internal/job/emrserverless"
	"github.com/interlock-go/interlock/internal/job/glue"
	httpjob "github.com/interlock-go/interlock/internal/job/http"
	"github.com/interlock-go/interlock/internal/job/lambda"
	"github.com/interlock-go/interlock/internal/job/stepfunction"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/settings"
)

// jobs is everything that starts jobs.
type jobs struct {
	types    map[string]job.Type
	commands *command.Type
	guard    *egress.Guard
	secrets  *job.Secrets
	kinds    []pipeline.JobKind
	callback func(key run.Key, attempt int) job.Callback
}

func newJobs(f settings.File, getenv func(string) string, callbacks api.Callbacks) (*jobs, error) {
	guard, err := egress.New(f.Egress.Allow)
	if err != nil {
		return nil, err
	}
	secrets, err := job.NewSecrets(f.Secrets.Env, f.Secrets.Files, func(name string) (string, bool) {
		value := getenv(name)
		return value, value != ""
	})
	if err != nil {
		return nil, err
	}
	commands, err := command.New(command.Options{Jobs: jobsDir(f.Data), Getenv: getenv})
	if err != nil {
		return nil, err
	}
	cloud := awsapi.New(guard)
	return &jobs{
		types: map[string]job.Type{
			"command":        commands,
			"http":           httpjob.New(guard),
			"airflow":        airflow.New(guard),
			"databricks":     databricks.New(guard),
			"glue":           glue.New(cloud),
			"emr":            emr.New(cloud),
			"emr-serverless": emrserverless.New(cloud),
			"step-function":  stepfunction.New(cloud),
			"lambda":         lambda.New(cloud),
		},
		commands: commands, guard: guard, secrets: secrets, kinds: all.Kinds(), callback: callbacks.For,
	}, nil
}

// expand gives an attempt its config, with variables and secrets put in, and its callback.
func (j *jobs) expand(a job.Attempt, of *pipeline.Job) (job.Attempt, error) {
	i := slices.IndexFunc(j.kinds, func(k pipeline.JobKind) bool { return k.Name == of.Type })
	if i < 0 {
		return a, job.Refuse(run.Permanent, "there is no job type %q", of.Type)
	}
	a.Callback = j.callback(run.Key{Pipeline: a.Pipeline, Schedule: a.Schedule, Period: a.Period}, a.Number)
	return job.Expand(a, of.Raw, j.kinds[i].NewConfig(), j.secrets)
}

// sweep removes what ended commands left, long after anybody could ask for them.
func (j *jobs) sweep(ctx context.Context, now time.Time, keep time.Duration) error {
	_, err := j.commands.Sweep(ctx, now.Add(-keep))
	return err
}

// readTokens reads the tokens that the server's file names.
func readTokens(list []settings.Token, getenv func(string) string) ([]api.Token, error) {
	var tokens []api.Token
	for _, t := range list {
		role, err := api.ParseRole(t.Role)
		if err != nil {
			return nil, err
		}
		secret, err := readSecret(fmt.Sprintf("the token of %q", t.Name), t.TokenEnv, t.TokenFile, getenv)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, api.Token{Name: t.Name, Role: role, Pipelines: t.Pipelines, Secret: secret})
	}
	return tokens, nil
}
