package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/evaluator"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/program"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store"
)

// jobs holds the job types and everything needed to start jobs, and what runs probes.
type jobs struct {
	types     map[string]job.Type
	commands  *command.Type
	evaluator *evaluator.Evaluator
	guard     *egress.Guard
	// expand fills in an attempt's config, with its variables and secrets, and its callback.
	expand func(a job.Attempt, of *pipeline.Job) (job.Attempt, error)
}

func newJobs(f settings.File, getenv func(string) string, callbacks api.Callbacks) (*jobs, error) {
	probeGuard, err := egress.New(f.Egress.Allow)
	if err != nil {
		return nil, err
	}
	guard := probeGuard.As("interlock/" + version)
	secrets, err := newSecrets(f, guard, getenv)
	if err != nil {
		return nil, err
	}
	policy, err := programs(f)
	if err != nil {
		return nil, err
	}
	commands, err := command.New(command.Options{Jobs: jobsDir(f.Data.Dir), Getenv: getenv, Programs: policy})
	if err != nil {
		return nil, err
	}
	return &jobs{
		types: all.Types(guard, commands), expand: all.Expander(secrets, callbacks.For),
		commands: commands, guard: guard,
		evaluator: evaluator.New(evaluator.Options{Guard: probeGuard, Secrets: secrets, Getenv: getenv, Programs: policy}),
	}, nil
}

// programs returns the policy for running programs on this machine. The user that runs them must
// not be able to read the server's own secrets and data.
func programs(f settings.File) (program.Policy, error) {
	policy := program.Policy{
		Off:    f.Jobs.Command == "off",
		Limits: program.Limits{Memory: int64(f.Jobs.Memory), Processes: f.Jobs.Processes, Output: int64(f.Jobs.Output)},
	}
	if policy.Limits.Memory == 0 {
		policy.Limits.Memory = program.MachineMemory() / 4 * 3
	}
	switch f.Jobs.Cgroup {
	case "off":
	case "auto":
		policy.Cgroup = program.DelegatedCgroup()
	default:
		if err := program.CheckCgroup(f.Jobs.Cgroup); err != nil {
			return policy, fmt.Errorf("jobs.cgroup: %w", err)
		}
		policy.Cgroup = f.Jobs.Cgroup
	}
	if f.Jobs.User == "" || policy.Off {
		return policy, nil
	}
	var err error
	if policy.User, err = program.FindUser(f.Jobs.User); err != nil {
		return policy, fmt.Errorf("jobs.user: %w", err)
	}
	return policy, policy.Check(append(f.SecretFiles(), f.Data.Dir)...)
}

// sweepAfter is the minimum time that an ended job's directory is kept. After that, no repeated
// start call can still be in progress.
const sweepAfter = 2 * time.Minute

// sweep removes the directories of commands whose result is stored: their output is in the job log.
// It removes directories that the store does not know after keep.
func (j *jobs) sweep(ctx context.Context, in store.Reader, now time.Time, keep time.Duration) error {
	_, err := j.commands.Sweep(ctx, now.Add(-sweepAfter), func(id run.AttemptID, since time.Time) (bool, error) {
		key, attempt, err := run.ParseAttemptID(string(id))
		if err != nil {
			return now.Sub(since) > keep, nil
		}
		r, err := in.Run(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return now.Sub(since) > keep, nil
		}
		return r.Settled(attempt), err
	})
	return err
}

// readTokens reads the tokens named in the server's file.
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

// tails returns a function that reads the output so far of a running job. It works only on the
// job's own replica, and only for job types that support it.
func (j *jobs) tails(replica string, known *catalog.Catalog) func(context.Context, run.Run) (string, bool, error) {
	return func(ctx context.Context, r run.Run) (string, bool, error) {
		p := r.Progress
		if p.Handle == "" || p.Replica != "" && p.Replica != replica {
			return "", false, nil
		}
		def, _, err := known.Shown(ctx, r, known.Current().Definition(r.Pipeline))
		if err != nil || def == nil || def.Job == nil {
			return "", false, err
		}
		t, can := j.types[def.Job.Type].(job.Tailer)
		if !can {
			return "", false, nil
		}
		text, err := t.Tail(p.Handle)
		return text, err == nil, err
	}
}

// newSecrets returns the secrets that the server's file lets pipelines read.
func newSecrets(f settings.File, guard *egress.Guard, getenv func(string) string) (*job.Secrets, error) {
	s, err := job.NewSecrets(f.Secrets.Env, f.Secrets.Files, func(name string) (string, bool) {
		value := getenv(name)
		return value, value != ""
	})
	if err != nil {
		return nil, err
	}
	stored := map[job.SecretKind][]string{job.ManagedSecret: f.Secrets.SecretsManager, job.Parameter: f.Secrets.SSM}
	return s.From(stored, awsapi.NewSecrets(awsapi.New(guard)).Read), nil
}
